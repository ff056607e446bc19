//! Digits of a ciphertext, and their products with encryptions of their factors.

use sordino_lattice::aligned::Aligned;
use sordino_lattice::gadget::Gadget;
use sordino_lattice::products::Operands;

use super::ring::{N, OF_C0, OF_C1, modulus, plan};

/// The largest number of digits that this memory holds: those that an external product takes. Keys
/// have fewer.
const MOST: usize = OF_C0.digits() + OF_C1.digits();

/// Working memory of key switches and external products.
pub(crate) struct Digits {
    /// A polynomial's coefficients.
    coefficients: Aligned<u64>,
    /// Digits in NTT form, one polynomial each.
    digits: Aligned<u64>,
}

impl Digits {
    pub(crate) fn new() -> Self {
        Self {
            coefficients: Aligned::new(N),
            digits: Aligned::new(MOST * N),
        }
    }

    /// Takes `values`, a polynomial in NTT form, apart into digits. They become the digits from number
    /// `at` on.
    pub(crate) fn take(&mut self, gadget: Gadget, at: usize, values: &[u64]) {
        self.coefficients.copy_from_slice(values);
        plan().inverse(&mut self.coefficients);
        let digits = &mut self.digits[at * N..][..gadget.digits() * N];
        gadget.decompose(modulus(), &self.coefficients, digits);
        for digit in digits.chunks_exact_mut(N) {
            plan().forward(digit);
        }
    }

    /// Adds the sum of the first `count` digits times their pairs to a ciphertext.
    pub(crate) fn add_products(&self, count: usize, pairs: &[u64], ciphertext: &mut [u64]) {
        const ROWS: [u32; MOST] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12];
        let operands = Operands {
            x: &self.digits,
            x_step: N,
            rows: &ROWS,
            terms: count,
            list: 0,
            width: N,
            y: pairs,
            y_step: 2 * N,
            second: N,
            shared: false,
        };
        let (first, second) = ciphertext.split_at_mut(N);
        operands.add_to(modulus(), first, second);
    }
}
