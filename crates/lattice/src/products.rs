//! Sums of products of values: one list of polynomials times a list of pairs of them.
//!
//! Key switching multiplies digits with the halves of a key, retrieval plaintexts with the halves of
//! ciphertexts, always value by value in NTT form: `sum_j x_j y_j` and `sum_j x_j y'_j`. The lists may lie in
//! any order of tiles, so that both sides of a long sum are read from one end to the other:
//!
//! | operand | value `k` of term `j` |
//! |---|---|
//! | `x_j` | `x[rows[j] x_step + k]` |
//! | `y_j` | `y[j y_step + k]`, or `y[j y_step + k mod 8]` where `y` is shared |
//! | `y'_j` | `second` values behind `y_j` |

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "aarch64")]
mod neon;
mod portable;

use sordino_cpu::{Backend, dispatch};

use crate::Modulus;

/// Values of a vector: lengths are multiples of it.
pub const LANES: usize = 8;

/// Terms that a kernel's accumulators take: 4096 halves of products, of 52 bits, fit a word.
const MOST: usize = 4096;

sordino_cpu::kernels! {
    /// The kernels of sums of products.
    enum Kernels {
        Avx512: Avx512Ifma,
        Avx2: Avx2,
        Neon: Neon,
    }
}

/// The operands of a sum. All values are canonical.
#[derive(Clone, Copy, Debug)]
pub struct Operands<'a> {
    /// The single polynomials, in rows.
    pub x: &'a [u64],
    /// Values from one row to the next.
    pub x_step: usize,
    /// The row of each term.
    pub rows: &'a [u32],
    /// The pairs.
    pub y: &'a [u64],
    /// Values from one pair to the next.
    pub y_step: usize,
    /// Values from the first of a pair to the second.
    pub second: usize,
    /// True if the same eight values of a pair meet all values of a row.
    pub shared: bool,
}

impl Operands<'_> {
    /// Adds the sums to `first` and `second`, canonical.
    ///
    /// # Panics
    /// If the lengths of the two differ or are no multiple of [`LANES`], or a row or a pair lies outside
    /// its slice.
    pub fn add_to(&self, modulus: Modulus, first: &mut [u64], second: &mut [u64]) {
        self.add_by(Kernels::of(Backend::detect()), modulus, first, second);
    }

    fn add_by(&self, kernels: Kernels, modulus: Modulus, first: &mut [u64], second: &mut [u64]) {
        let len = first.len();
        assert!(
            len == second.len() && len.is_multiple_of(LANES),
            "{len} and {} values",
            second.len()
        );
        let Some(&last) = self.rows.iter().max() else {
            return;
        };
        let of_pair = if self.shared { LANES } else { len };
        let end_x = last as usize * self.x_step + len;
        let end_y = (self.rows.len() - 1) * self.y_step + self.second + of_pair;
        assert!(
            end_x <= self.x.len() && end_y <= self.y.len(),
            "terms of {end_x} and {end_y} values"
        );
        for (i, rows) in self.rows.chunks(MOST).enumerate() {
            let part = Self {
                rows,
                y: &self.y[i * MOST * self.y_step..],
                ..*self
            };
            dispatch!(Kernels, kernels, self::add(modulus, &part, first, second));
        }
    }
}

/// The sum of `parts[i] 2^(25 i)`, reduced: what kernels with products of 25-bit halves end with.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
fn join(modulus: Modulus, parts: [u64; 3]) -> u64 {
    let [low, middle, high] = parts.map(u128::from);
    modulus.reduce_wide(low + (middle << HALF) + (high << (2 * HALF)))
}

/// Bits of the lower half of a value, of those that have two: 4096 products of halves fit 62 bits, of
/// pairs of them 63.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
const HALF: i32 = 25;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::residue;

    fn defined(o: &Operands<'_>, modulus: Modulus, start: u64, len: usize) -> [Vec<u64>; 2] {
        [0, o.second].map(|of| {
            let sum = |k: usize| {
                let y = |j| o.y[j * o.y_step + of + if o.shared { k % LANES } else { k }];
                let terms = o.rows.iter().enumerate();
                terms.fold(start, |sum, (j, &row)| {
                    modulus.add(sum, modulus.mul(o.x[row as usize * o.x_step + k], y(j)))
                })
            };
            (0..len).map(sum).collect()
        })
    }

    fn check(modulus: Modulus, terms: usize, len: usize, shared: bool, extreme: bool) {
        let (x_step, width) = (len + 8, if shared { LANES } else { len });
        let count = terms.min(37);
        let mut x = vec![modulus.q() - 1; count * x_step];
        let mut y = vec![modulus.q() - 1; terms * 2 * width];
        if !extreme {
            residue::fill_vartime(&[1; 32], 0, modulus, &mut x);
            residue::fill_vartime(&[2; 32], 0, modulus, &mut y);
        }
        let row = |j: usize| u32::try_from(j * 7 % count.max(1)).expect("few rows");
        let operands = Operands {
            x: &x,
            x_step,
            rows: &(0..terms).map(row).collect::<Vec<_>>(),
            y: &y,
            y_step: 2 * width,
            second: width,
            shared,
        };
        let start = modulus.q() - 1;
        let expected = defined(&operands, modulus, start, len);
        for backend in Backend::available() {
            let (mut first, mut second) = (vec![start; len], vec![start; len]);
            operands.add_by(Kernels::of(backend), modulus, &mut first, &mut second);
            assert!(
                [first, second] == expected,
                "{} {terms} {len} {shared} {extreme} {backend:?}",
                modulus.q()
            );
        }
    }

    #[test]
    fn kernels_equal_the_definition() {
        for q in [1_125_899_906_826_241, 1_099_511_590_913, (1 << 21) + 17] {
            let modulus = Modulus::new(q).expect("a prime");
            for terms in [0, 1, 2, 3, 7, 40, 4096, 4099] {
                for len in [0, 8, 16, 24, 32, 40] {
                    for (shared, extreme) in [(false, false), (true, false), (false, true)] {
                        check(modulus, terms, len, shared, extreme);
                    }
                }
            }
        }
    }

    #[test]
    #[should_panic(expected = "terms of")]
    fn a_row_outside_is_refused() {
        let modulus = Modulus::new(1_125_899_906_826_241).expect("a prime");
        let operands = Operands {
            x: &[0; 16],
            x_step: 8,
            rows: &[2],
            y: &[0; 16],
            y_step: 16,
            second: 8,
            shared: false,
        };
        operands.add_to(modulus, &mut [0; 8], &mut [0; 8]);
    }
}
