//! Elements of `Z_q[X]/(X^n + 1)`. A polynomial as coefficients and one as values have different
//! types.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;

use std::marker::PhantomData;

use zeroize::Zeroize;

use crate::Modulus;
use crate::aligned::Aligned;
use crate::ntt::Plan;

/// Marks a polynomial as given by its coefficients, in natural order.
#[derive(Clone, Copy, Debug)]
pub struct Coefficient;

/// Marks a polynomial as given by its values, in the order of [`crate::ntt`].
#[derive(Clone, Copy, Debug)]
pub struct Ntt;

/// A polynomial of `n` residues in `[0, q)`, in the form `F`. It derefs to the residues.
///
/// `Debug` prints only the length, since a polynomial may be a secret. [`Zeroize`] erases it.
pub struct Poly<F> {
    residues: Aligned<u64>,
    form: PhantomData<F>,
}

impl<F> Poly<F> {
    /// The zero polynomial of `n` residues.
    #[must_use]
    pub fn zero(n: usize) -> Self {
        Self {
            residues: Aligned::new(n),
            form: PhantomData,
        }
    }
}

impl Poly<Coefficient> {
    /// The polynomial of small signed coefficients, in constant time.
    #[must_use]
    pub fn from_signed(coefficients: &[i8], plan: &Plan) -> Self {
        let mut poly = Self::zero(coefficients.len());
        add_signed(plan.modulus(), &mut poly, coefficients);
        poly
    }

    /// The same polynomial as values.
    ///
    /// # Panics
    /// Panics if the lengths of the polynomial and of the plan differ.
    #[must_use]
    pub fn into_ntt(mut self, plan: &Plan) -> Poly<Ntt> {
        plan.forward(&mut self.residues);
        Poly {
            residues: self.residues,
            form: PhantomData,
        }
    }
}

impl Poly<Ntt> {
    /// `self * other`, in constant time.
    ///
    /// # Panics
    /// Panics if a length differs from the plan's.
    pub fn multiply(&mut self, other: &Self, plan: &Plan) {
        plan.multiply(&mut self.residues, &other.residues);
    }
}

/// Adds small signed numbers to residues, in constant time.
///
/// # Panics
/// Panics if the lengths differ: a residue without its noise would reveal what it hides.
pub fn add_signed(modulus: Modulus, residues: &mut [u64], small: &[i8]) {
    assert_eq!(
        residues.len(),
        small.len(),
        "a small number for each residue"
    );
    #[cfg(target_arch = "x86_64")]
    if let Some(token) = sordino_cpu::Avx512::detect() {
        return avx512::add_signed(token, modulus, residues, small);
    }
    #[cfg(target_arch = "x86_64")]
    if let Some(token) = sordino_cpu::Avx2::detect() {
        return avx2::add_signed(token, modulus, residues, small);
    }
    add_signed_portable(modulus, residues, small);
}

#[inline(always)]
fn add_signed_portable(modulus: Modulus, residues: &mut [u64], small: &[i8]) {
    for (residue, &x) in residues.iter_mut().zip(small) {
        *residue = modulus.add(*residue, modulus.from_signed(i64::from(x)));
    }
}

impl<F> Clone for Poly<F> {
    fn clone(&self) -> Self {
        Self {
            residues: self.residues.clone(),
            form: PhantomData,
        }
    }
}

impl<F> std::ops::Deref for Poly<F> {
    type Target = [u64];
    fn deref(&self) -> &[u64] {
        &self.residues
    }
}

impl<F> std::ops::DerefMut for Poly<F> {
    fn deref_mut(&mut self) -> &mut [u64] {
        &mut self.residues
    }
}

impl<F> std::fmt::Debug for Poly<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Poly")
            .field("n", &self.residues.len())
            .finish_non_exhaustive()
    }
}

impl<F> Zeroize for Poly<F> {
    fn zeroize(&mut self) {
        self.residues.zeroize();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_numbers_are_added_mod_q() {
        let modulus = Modulus::new(2_147_389_441).expect("a prime");
        let q = modulus.q();
        for len in [0, 1, 7, 8, 9, 100] {
            let small: Vec<i8> = (0..len)
                .map(|i: u8| i.wrapping_mul(37).cast_signed())
                .collect();
            let start: Vec<u64> = small
                .iter()
                .map(|&x| if x % 2 == 0 { q - 1 } else { 5 })
                .collect();
            let (mut found, mut portable) = (start.clone(), start.clone());
            add_signed(modulus, &mut found, &small);
            add_signed_portable(modulus, &mut portable, &small);
            assert_eq!(found, portable);
            #[cfg(target_arch = "x86_64")]
            if let Some(token) = sordino_cpu::Avx2::detect() {
                let mut narrow = start.clone();
                avx2::add_signed(token, modulus, &mut narrow, &small);
                assert_eq!(narrow, portable);
            }
            for ((&found, &start), &x) in found.iter().zip(&start).zip(&small) {
                let sum = i128::from(start) + i128::from(x);
                assert_eq!(i128::from(found), sum.rem_euclid(i128::from(q)));
            }
        }
    }
}
