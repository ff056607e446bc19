//! Sums of products of values: one list of polynomials times a list of pairs of them.
//!
//! Key switching multiplies digits with the halves of a key, and retrieval multiplies plaintexts with the halves of
//! ciphertexts. Both compute `sum_j x_j y_j` and `sum_j x_j y'_j`, value by value in NTT form. The lists may lie in any
//! order of tiles, so that a long sum reads both sides from one end to the other:
//!
//! | operand | value `k` of term `j` |
//! |---|---|
//! | `x_j` | `x[rows[(k div width) list + j] x_step + k mod width]` |
//! | `y_j` | `y[j y_step + k]`, or `y[j y_step + k mod 8]` where `y` is shared |
//! | `y'_j` | `second` values behind `y_j` |
//!
//! So one call computes several sums with the same pairs, each with its own list of rows, and loads the pairs only
//! once.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "aarch64")]
mod neon;
mod portable;

use sordino_cpu::{Backend, dispatch};

use crate::Modulus;

/// The number of values of a vector. Lengths are multiples of it.
pub const LANES: usize = 8;

/// The largest number of terms that a kernel's accumulators can hold: 4096 halves of products, of 52 bits each, fit
/// into a word.
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
    /// The single polynomials. Rows of them are summed.
    pub x: &'a [u64],
    /// The number of values from one row to the next.
    pub x_step: usize,
    /// The row number of each term, list after list.
    pub rows: &'a [u32],
    /// The number of terms.
    pub terms: usize,
    /// The number of rows from the beginning of one list to the next.
    pub list: usize,
    /// The number of values of a row. After them, the next list begins.
    pub width: usize,
    /// The pairs.
    pub y: &'a [u64],
    /// The number of values from one pair to the next.
    pub y_step: usize,
    /// The number of values from the first polynomial of a pair to the second.
    pub second: usize,
    /// True if the same eight values of a pair are multiplied with all values of a row.
    pub shared: bool,
}

impl Operands<'_> {
    /// Adds the sums to `first` and `second`, canonical.
    ///
    /// # Panics
    /// Panics if the lengths of `first` and `second` differ, or if a length or the width is not a multiple of
    /// [`LANES`]. It also panics if a row or a pair lies outside its slice.
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
        if self.terms == 0 || len == 0 {
            return;
        }
        assert!(
            self.width > 0 && self.width.is_multiple_of(LANES),
            "rows of {} values",
            self.width
        );
        // Kernels rely on these ends, so an end that has wrapped around must not pass the check.
        let end = |index: usize, step: usize, len: usize| index.checked_mul(step)?.checked_add(len);
        let lists = (0..len.div_ceil(self.width)).map(|i| {
            let from = end(i, self.list, 0).expect("a list of rows within memory");
            &self.rows[from..][..self.terms]
        });
        let last = lists.flatten().fold(0, |last, &row| last.max(row));
        let of_pair = if self.shared { LANES } else { len };
        let end_x = end(last as usize, self.x_step, self.width.min(len));
        let end_y = self
            .second
            .checked_add(of_pair)
            .and_then(|len| end(self.terms - 1, self.y_step, len));
        assert!(
            end_x.is_some_and(|end| end <= self.x.len())
                && end_y.is_some_and(|end| end <= self.y.len()),
            "terms of {end_x:?} and {end_y:?} values"
        );
        for from in (0..self.terms).step_by(MOST) {
            let part = Self {
                rows: &self.rows[from..],
                terms: (self.terms - from).min(MOST),
                y: &self.y[from * self.y_step..],
                ..*self
            };
            dispatch!(Kernels, kernels, self::add(modulus, &part, first, second));
        }
    }
}

/// The sum of `parts[i] 2^(25 i)`, reduced. Kernels with products of 25-bit halves end with it.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
fn join(modulus: Modulus, parts: [u64; 3]) -> u64 {
    let [low, middle, high] = parts.map(u128::from);
    modulus.reduce_wide(low + (middle << HALF) + (high << (2 * HALF)))
}

/// Bits of the lower half of a value that has two halves. A sum of 4096 products of halves has at most 62 bits, and a
/// sum of 4096 pairs of such products has 63.
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
                let rows = &o.rows[k / o.width * o.list..][..o.terms];
                rows.iter().enumerate().fold(start, |sum, (j, &row)| {
                    let x = o.x[row as usize * o.x_step + k % o.width];
                    modulus.add(sum, modulus.mul(x, y(j)))
                })
            };
            (0..len).map(sum).collect()
        })
    }

    fn check(modulus: Modulus, terms: usize, len: usize, shared: bool, extreme: bool) {
        check_lists(modulus, terms, (len.max(LANES), 1), shared, extreme, len);
    }

    /// Compares `lists` sums of rows of `width` values with the definition.
    fn check_lists(
        modulus: Modulus,
        terms: usize,
        (row, lists): (usize, usize),
        shared: bool,
        extreme: bool,
        len: usize,
    ) {
        let (x_step, width) = (row + 8, if shared { LANES } else { len });
        let count = terms.min(37);
        let mut x = vec![modulus.q() - 1; count * x_step];
        let mut y = vec![modulus.q() - 1; terms * 2 * width];
        if !extreme {
            residue::fill_vartime(&[1; 32], 0, modulus, &mut x);
            residue::fill_vartime(&[2; 32], 0, modulus, &mut y);
        }
        let list = terms + 3;
        let row_of = |j: usize| u32::try_from(j * 7 % count.max(1)).expect("few rows");
        let operands = Operands {
            x: &x,
            x_step,
            rows: &(0..list * lists).map(row_of).collect::<Vec<_>>(),
            terms,
            list,
            width: row,
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
            let terms = [0, 1, 2, 3, 7, 40, 4096, 4099];
            for terms in terms.into_iter().take(if cfg!(miri) { 3 } else { 8 }) {
                let lens = [0, 8, 16, 24, 32, 40];
                for len in lens.into_iter().step_by(if cfg!(miri) { 2 } else { 1 }) {
                    for (shared, extreme) in [(false, false), (true, false), (false, true)] {
                        check(modulus, terms, len, shared, extreme);
                    }
                }
            }
        }
    }

    #[test]
    fn several_lists_share_their_pairs() {
        let modulus = Modulus::new(1_125_899_906_826_241).expect("a prime");
        let terms = [1, 3, 128, 4099];
        for terms in terms.into_iter().take(if cfg!(miri) { 2 } else { 4 }) {
            for (row, lists) in [(8, 2), (8, 3), (8, 4), (8, 7), (16, 2), (16, 3), (24, 2)] {
                for shared in [false, true] {
                    check_lists(modulus, terms, (row, lists), shared, false, row * lists);
                }
            }
        }
    }

    /// Adds a row of eight values, with these steps, to eight sums.
    fn add_row(row: u32, x_step: usize, terms: usize, y_step: usize, second: usize) {
        Operands {
            x: &[0; 16],
            x_step,
            rows: &[1, row],
            terms,
            list: 0,
            width: 8,
            y: &[0; 16],
            y_step,
            second,
            shared: false,
        }
        .add_to(
            Modulus::new(1_125_899_906_826_241).expect("a prime"),
            &mut [0; 8],
            &mut [0; 8],
        );
    }

    #[test]
    #[should_panic(expected = "terms of")]
    fn a_row_outside_is_refused() {
        add_row(2, 8, 2, 0, 8);
    }

    #[test]
    #[should_panic(expected = "terms of None")]
    fn a_row_whose_place_wraps_around_is_refused() {
        // Three steps are two values past the end of the address space, and one step is far outside.
        add_row(3, usize::MAX / 3 + 1, 2, 0, 8);
    }

    #[test]
    #[should_panic(expected = "and None values")]
    fn a_pair_whose_place_wraps_around_is_refused() {
        add_row(1, 8, 2, usize::MAX, 1);
    }

    #[test]
    fn rows_within_are_added() {
        add_row(1, 8, 2, 0, 8);
    }
}
