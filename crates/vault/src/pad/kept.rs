//! Pads that were expanded once and are kept: 26 bits of every word, for clients whose cipher is slow.
//!
//! A word `w` mod `P` is split into signed parts, `w = low + 2^16 (middle + 2^8 high)` with 16, 8 and 2 bits. Processors have
//! instructions for the sums of their products with 16-bit numbers:
//!
//! ```text
//! row = low of all coordinates, i16 | middle of all, i8 | bit 0 of high of all | bit 1 of high of all
//! ```
//!
//! Coordinates are filled up to a multiple of [`STEP`] with zeros. `2^24 high` counts mod `P = 2^26`, so mod 4.

use sordino_vectors::u32_of;
use zeroize::Zeroizing;

use super::shift;

#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
mod simd128;

/// The number of coordinates that the kernels handle together: the bits of a register.
const STEP: usize = 128;

/// The number of coordinates whose high parts share one word.
const BITS: usize = 64;

/// The pads of the rows from number 0 on. They are erased when dropped.
pub struct KeptPads {
    width: usize,
    /// The number of coordinates of a row, including padding.
    full: usize,
    rows: usize,
    low: Zeroizing<Vec<i16>>,
    middle: Zeroizing<Vec<i8>>,
    /// For each row first bit 0 of all coordinates, then bit 1.
    high: Zeroizing<Vec<u64>>,
}

impl KeptPads {
    /// Memory for the pads of this number of rows.
    #[must_use]
    pub fn new(rows: usize, width: usize) -> Self {
        let full = width.next_multiple_of(STEP);
        Self {
            width,
            full,
            rows: 0,
            low: Zeroizing::new(Vec::with_capacity(rows * full)),
            middle: Zeroizing::new(Vec::with_capacity(rows * full)),
            high: Zeroizing::new(Vec::with_capacity(rows * 2 * full / BITS)),
        }
    }

    /// The number of bytes that the pads of this number of rows take.
    #[must_use]
    pub fn bytes(rows: usize, width: usize) -> usize {
        let full = width.next_multiple_of(STEP);
        rows.saturating_mul(3 * full + full / 4)
    }

    /// The number of rows whose pads are kept.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Appends the rows of this [keystream](super::Pad::keystream), in little-endian words. Its rows follow the rows that are here.
    pub fn append(&mut self, keystream: &[u32]) {
        let row = 4usize << shift(self.width);
        for words in keystream.chunks_exact(row) {
            self.append_row(&words[..self.width]);
        }
    }

    fn append_row(&mut self, words: &[u32]) {
        let (low, high) = (self.low.len(), self.high.len());
        self.low.resize(low + self.full, 0);
        self.middle.resize(low + self.full, 0);
        self.high.resize(high + 2 * self.full / BITS, 0);
        let (bits0, bits1) = self.high[high..].split_at_mut(self.full / BITS);
        let mut row = Row {
            low: &mut self.low[low..],
            middle: &mut self.middle[low..],
            high: [bits0, bits1],
        };
        #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
        simd128::split(words, &mut row);
        #[cfg(not(all(target_arch = "wasm32", target_feature = "simd128")))]
        row.split(0, words);
        self.rows += 1;
    }

    /// The products of rows from `first` on with the query, mod `P`. Returns false and does nothing if some of these rows
    /// are not kept. It also returns false if the query has another width, or larger numbers than unit vectors have.
    pub(super) fn products(&self, first: u32, query: &[i32], products: &mut [u32]) -> bool {
        let first = first as usize;
        let here = first + products.len() <= self.rows && query.len() == self.width;
        let fits = query
            .iter()
            .fold(true, |fits, &x| fits & (i32::from(truncated(x)) == x));
        if !here || !fits {
            return false;
        }
        let query = Query::new(query, self.full);
        let bits = 2 * self.full / BITS;
        for (row, product) in (first..).zip(products) {
            let (low, middle) = (
                &self.low[row * self.full..],
                &self.middle[row * self.full..],
            );
            let (low, middle) = (&low[..self.full], &middle[..self.full]);
            let high = &self.high[row * bits..][..bits];
            #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
            let sums = simd128::sums(low, middle, high, &query);
            #[cfg(not(all(target_arch = "wasm32", target_feature = "simd128")))]
            let sums = sums(low, middle, high, &query);
            *product = sums.product();
        }
        true
    }
}

/// The parts of one row, for writing.
struct Row<'a> {
    low: &'a mut [i16],
    middle: &'a mut [i8],
    high: [&'a mut [u64]; 2],
}

impl Row<'_> {
    /// Splits the words of coordinates from `first` on. If a part is negative, the next one is larger by 1.
    fn split(&mut self, first: usize, words: &[u32]) {
        for (at, &word) in (first..).zip(words) {
            let [low, more, ..] = word.to_le_bytes();
            let rest = word.wrapping_add(0x8000);
            let [.., middle, _] = rest.to_le_bytes();
            let [.., high] = rest.wrapping_add(0x80_0000).to_le_bytes();
            self.low[at] = i16::from_le_bytes([low, more]);
            self.middle[at] = middle.cast_signed();
            for (bit, bits) in (0..).zip(&mut self.high) {
                bits[at / BITS] |= u64::from(high >> bit & 1) << (at % BITS);
            }
        }
    }
}

/// A query in the form in which it is multiplied with rows. Erased when dropped.
struct Query {
    codes: Zeroizing<Vec<i16>>,
    /// Bit 0 of all coordinates, and bit 1.
    bits: [Zeroizing<Vec<u64>>; 2],
}

impl Query {
    fn new(query: &[i32], full: usize) -> Self {
        let mut codes = Zeroizing::new(vec![0; full]);
        let mut bits = [0, 1].map(|_| Zeroizing::new(vec![0u64; full / BITS]));
        for (at, (code, &x)) in codes.iter_mut().zip(query).enumerate() {
            *code = truncated(x);
            for (bit, bits) in bits.iter_mut().enumerate() {
                bits[at / BITS] |= u64::from(x.cast_unsigned() >> bit & 1) << (at % BITS);
            }
        }
        Self { codes, bits }
    }
}

/// The sums of the products of a row's parts.
struct Sums {
    low: u32,
    middle: u32,
    /// The sum mod 4.
    high: u32,
}

impl Sums {
    /// The product of the row, mod `P`.
    fn product(&self) -> u32 {
        let sum = self
            .low
            .wrapping_add(self.middle << 16)
            .wrapping_add(self.high << 24);
        sum & ((1 << crate::residue::LOG_P) - 1)
    }
}

/// The portable definition.
#[cfg(any(test, not(all(target_arch = "wasm32", target_feature = "simd128"))))]
fn sums(low: &[i16], middle: &[i8], high: &[u64], query: &Query) -> Sums {
    let product = |sum: u32, (part, code): (i32, &i16)| {
        sum.wrapping_add((part * i32::from(*code)).cast_unsigned())
    };
    let low = low.iter().map(|&part| i32::from(part));
    let middle = middle.iter().map(|&part| i32::from(part));
    Sums {
        low: low.zip(query.codes.iter()).fold(0, product),
        middle: middle.zip(query.codes.iter()).fold(0, product),
        high: high_sum(high, query),
    }
}

/// The sum of the products of high parts, mod 4. Only the terms of `(a0 + 2 a1) (b0 + 2 b1)` that are not multiples of
/// 4 count.
fn high_sum(high: &[u64], query: &Query) -> u32 {
    let (bits0, bits1) = high.split_at(high.len() / 2);
    let own = bits0.iter().zip(bits1);
    let both = own.zip(query.bits[0].iter().zip(query.bits[1].iter()));
    both.fold(0, |sum, ((a0, a1), (b0, b1))| {
        let twice = ((a0 & b1) ^ (a1 & b0)).count_ones();
        sum + (a0 & b0).count_ones() + 2 * twice
    }) & 3
}

/// The low 16 bits, which hold every number of unit vectors.
fn truncated(x: i32) -> i16 {
    let [low, high, ..] = x.to_le_bytes();
    i16::from_le_bytes([low, high])
}

impl std::fmt::Debug for KeptPads {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KeptPads")
            .field("rows", &u32_of(self.rows))
            .field("width", &self.width)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pad::Pad;
    use crate::residue::{LOG_P, centred};
    use proptest::prelude::*;

    const P: u32 = 1 << LOG_P;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 1 } else { 32 }))]

        #[test]
        fn products_of_kept_pads_are_those_of_the_cipher(
            version in any::<u64>(),
            rows in 1usize..8,
            query in prop::collection::vec(-5723i32..5724, 1..if cfg!(miri) { 20 } else { 300 }),
            extreme in any::<bool>(),
        ) {
            let mut query = query;
            if extreme {
                query[0] = i16::MIN.into();
            }
            let width = query.len();
            let mut pad = Pad::new(Zeroizing::new([7; 32]), version);
            let mut expected = vec![0; rows];
            pad.products(&query, &mut expected);
            let mut kept = KeptPads::new(rows, width);
            let (begin, end) = (rows / 2, rows - rows / 2);
            kept.append(&pad.keystream(0, begin, width).words());
            kept.append(&pad.keystream(u32_of(begin), end, width).words());
            prop_assert_eq!(kept.rows(), rows);
            let mut found = vec![0; rows];
            prop_assert!(kept.products(0, &query, &mut found));
            let low: Vec<u32> = expected.iter().map(|product| product % P).collect();
            prop_assert_eq!(&found, &low);
            // The pad itself computes these products from now on, and its results must be the same.
            prop_assert!(!kept.products(1, &query, &mut found));
            prop_assert!(!kept.products(0, &query[1..], &mut found));
            pad.keep(kept);
            let (mut own, mut more) = (vec![0; rows], vec![0; rows + 1]);
            pad.products(&query, &mut own);
            prop_assert_eq!(&own, &low);
            pad.products(&query, &mut more);
            let one = |x: u32| centred(x.cast_signed());
            prop_assert!(more.iter().zip(&own).all(|(a, b)| one(*a) == one(*b)));
        }
    }

    #[test]
    fn every_word_is_the_sum_of_its_parts() {
        let words: Vec<u32> = [
            0,
            0x7fff,
            0x8000,
            0xffff,
            0x7f_ffff,
            0x80_0000,
            P - 1,
            P,
            u32::MAX,
        ]
        .into_iter()
        .chain((0..500).map(|i: u32| i.wrapping_mul(0x9e37_79b9)))
        .collect();
        let mut kept = KeptPads::new(1, words.len());
        kept.append_row(&words);
        for (at, word) in words.iter().enumerate() {
            let high = [0, 1].map(|bit| kept.high[bit * kept.full / BITS + at / BITS]);
            let [b0, b1] = high.map(|bits| i64::from(bits >> (at % BITS) & 1 == 1));
            let rest = i64::from(kept.middle[at]) + 256 * (b0 + 2 * b1);
            let sum = i64::from(kept.low[at]) + 65536 * rest;
            assert_eq!(sum.rem_euclid(P.into()), i64::from(word % P), "{word:x}");
        }
    }

    #[test]
    fn sums_are_those_of_the_definition() {
        let mut kept = KeptPads::new(3, 200);
        let words: Vec<u32> = (0..3 * 256u32)
            .map(|i| i.wrapping_mul(2_654_435_761))
            .collect();
        kept.append(&words);
        let codes: Vec<i32> = (0..200).map(|i| (i * 7919) % 11_447 - 5723).collect();
        let mut found = vec![0; 3];
        assert!(kept.products(0, &codes, &mut found));
        let query = Query::new(&codes, kept.full);
        for (row, found) in found.iter().enumerate() {
            let coordinates = row * kept.full..(row + 1) * kept.full;
            let bits = 2 * kept.full / BITS;
            let high = &kept.high[row * bits..][..bits];
            let sums = sums(
                &kept.low[coordinates.clone()],
                &kept.middle[coordinates],
                high,
                &query,
            );
            assert_eq!(sums.product(), *found);
        }
    }
}
