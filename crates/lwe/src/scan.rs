//! Products of [packed](crate::packed) rows with a few lists of words, mod 2^32: one pass over the rows.
//!
//! A word is split into balanced halves, `w = l + 2^16 h mod 2^32` with `l` in `[-2^15, 2^15)`. An entry is split into
//! `x` and `u`. `x` is the number in its lower 16 bits, minus `2^15`. `u` is the signed number in its upper 2 bits,
//! plus 2. So every factor fits a signed 16-bit integer:
//!
//! ```text
//! entry    = x + 2^16 u + CENTRE
//! sum of entry w = sum of x l + 2^16 (sum of x h + u l) + CENTRE (sum of w)     mod 2^32
//! ```
//!
//! The sum of words is the same for all rows. The words of `Q` queries lie as `[line][query][l of 32, h of 32]`.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "aarch64")]
mod neon;
mod portable;

use sordino_cpu::{Backend, dispatch};
use sordino_lattice::aligned::Aligned;

use crate::packed::{self, LANES, LINE};

/// The number of numbers that one query has for a line: two halves of [`LANES`].
const CHUNK: usize = 2 * LANES;
/// The negated value of an entry whose `x` and `u` are zero: `2^15 - 2^16 * 2`.
const CENTRE: u32 = (1u32 << 15).wrapping_sub(2 << 16);
/// The largest number of queries of a scan. The sums of four queries and a row fill the registers.
pub(crate) const MOST: usize = 4;

sordino_cpu::kernels! {
    /// The kernels of scans. All of them give the same products.
    pub(crate) enum Kernels {
        Avx512: Avx512Vnni,
        Avx2: Avx2,
        Neon: Neon,
    }
}

/// The words of up to [`MOST`] queries, in halves.
pub(crate) struct Words {
    queries: usize,
    halves: Aligned<i16>,
    /// The sum of each query's words.
    sums: Vec<u32>,
    /// The bytes of a row for which these words are laid out.
    stride: usize,
}

impl Words {
    /// Lays out lists of the same length, and fills the last line with zeros.
    ///
    /// # Panics
    /// Panics if there are no lists, or more than [`MOST`].
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a word is cut into its halves"
    )]
    pub(crate) fn new(queries: &[&[u32]]) -> Self {
        assert!((1..=MOST).contains(&queries.len()), "queries of a scan");
        let chunks = queries[0].len().div_ceil(LANES);
        let mut halves = Aligned::new(chunks * queries.len() * CHUNK);
        for (k, words) in queries.iter().enumerate() {
            for (c, words) in words.chunks(LANES).enumerate() {
                let (low, high) =
                    halves[(c * queries.len() + k) * CHUNK..][..CHUNK].split_at_mut(LANES);
                for ((low, high), &word) in low.iter_mut().zip(high).zip(words) {
                    *low = (word as u16).cast_signed();
                    let rest = word.wrapping_sub(i32::from(*low).cast_unsigned());
                    *high = ((rest >> 16) as u16).cast_signed();
                }
            }
        }
        let sum = |words: &&[u32]| {
            words
                .iter()
                .fold(0, |sum: u32, &word| sum.wrapping_add(word))
        };
        Self {
            queries: queries.len(),
            halves,
            sums: queries.iter().map(sum).collect(),
            stride: packed::stride(queries[0].len()),
        }
    }

    /// The number of lines of a row.
    fn chunks(&self) -> usize {
        self.halves.len() / (self.queries * CHUNK)
    }

    /// Writes the product of each row of `rows` with each query, row after row.
    ///
    /// # Panics
    /// Panics if `rows` is not a whole number of rows, or `out` does not have exactly the length of the products.
    pub(crate) fn products(&self, rows: &[u8], out: &mut [u32]) {
        self.products_by(Kernels::of(Backend::detect()), rows, out);
    }

    fn products_by(&self, kernels: Kernels, rows: &[u8], out: &mut [u32]) {
        assert_eq!(
            (rows.len() * self.queries, rows.len() % self.stride),
            (out.len() * self.stride, 0),
            "rows and products"
        );
        dispatch!(Kernels, kernels, self::products(self, rows, out));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Computes the product with whole words, as a check on the portable definition.
    fn exact(row: &[i32], words: &[u32]) -> u32 {
        row.iter().zip(words).fold(0, |sum: u32, (&entry, &word)| {
            sum.wrapping_add(entry.cast_unsigned().wrapping_mul(word))
        })
    }

    fn check(columns: usize, rows: &[Vec<i32>], queries: &[Vec<u32>]) {
        let lists: Vec<&[u32]> = queries.iter().map(Vec::as_slice).collect();
        let words = Words::new(&lists);
        let mut bytes = vec![0u8; rows.len() * words.stride];
        for (row, place) in rows.iter().zip(bytes.chunks_exact_mut(words.stride)) {
            packed::write(place, row);
        }
        let expected: Vec<u32> = rows
            .iter()
            .flat_map(|row| queries.iter().map(|words| exact(row, words)))
            .collect();
        for backend in Backend::available() {
            let mut out = vec![0; expected.len()];
            words.products_by(Kernels::of(backend), &bytes, &mut out);
            assert_eq!(out, expected, "{backend:?}, {columns} columns");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 4 } else { 64 }))]
        #[test]
        fn all_kernels_give_the_products(
            columns in prop_oneof![1..=70usize, 250..260usize, 500..600usize],
            rows in 0..13usize,
            queries in 1..=MOST,
            seed: u64,
        ) {
            let mut state = seed;
            let mut next = || {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (state >> 32) as u32
            };
            let rows: Vec<Vec<i32>> =
                (0..rows).map(|_| (0..columns).map(|_| next().cast_signed() >> 14).collect()).collect();
            let queries: Vec<Vec<u32>> =
                (0..queries).map(|_| (0..columns).map(|_| next()).collect()).collect();
            check(columns, &rows, &queries);
        }
    }

    #[test]
    fn extreme_entries_and_words_wrap_alike() {
        // The sum of two products of -2^15 and -2^15 is 2^31, which no signed 32-bit integer holds.
        for entry in [-(1 << 17), (1 << 17) - 1, 0x7fff, -0x8000, -1, 0] {
            for word in [0x8000_8000, 0x8000, 0x8000_0000, 0x7fff_7fff, u32::MAX, 0] {
                let columns = if cfg!(miri) { 64 } else { 8192 };
                let rows = vec![vec![entry; columns]; 5];
                check(columns, &rows, &vec![vec![word; columns]; 2]);
            }
        }
    }
}
