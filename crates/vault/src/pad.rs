//! The pads of masked mode, which hide stored coordinates from the server.
//!
//! ```text
//! F_k(row, version, coordinate) = word `coordinate` of the row's keystream, mod P = 2^26
//! keystream of a row            = AES-256_k(counter 0) || AES-256_k(counter 1) || ...
//! counter `block`               = version: 8 bytes | row * 2^s + block: 8 bytes, big-endian
//! ```
//!
//! All other numbers are little-endian, a word has 32 bits, and a block has four words. `2^s` is the smallest power of two
//! that is not less than the number of blocks of a row. All rows under one key have the same width. So each (row, version,
//! block) has a different counter, and all pads under one key are outputs of a pseudorandom permutation at different inputs.
//! The stored value, `code + pad mod P`, is uniform to anyone without the key.
//!
//! The counters of rows follow each other, as in counter mode with a big-endian counter (SP 800-38A). So a library that has
//! only that mode, such as a browser's, can make the pads of all rows in one call.
//!
//! # A pad is used once
//! If two contents shared a pad, the server would see their difference, `code - code'`. So a pad belongs to one row of one
//! version of one segment. Row and version are in the counter, and the key is derived from the segment's id. Versions grow
//! during the life of a directory, but a crash, a restored backup or a second writer can repeat a version. Safety therefore
//! rests on the id, which no two contents share: it is a keyed digest of fresh randomness and of the content.
//!
//! The client needs only each row's `<pad, query> mod P`, and sums it up while the cipher makes the keystream. Where the
//! cipher is slow, as in WebAssembly, the client keeps the pads instead (`KeptPads`).

use aes::Aes256;
use aes::cipher::{Array, BlockCipherEncrypt, KeyInit};
use rayon::prelude::*;
use zeroize::Zeroizing;

use crate::residue::centred;
use sordino_vectors::u32_of;

#[cfg(target_arch = "x86_64")]
mod aesni;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "x86_64")]
mod group;
mod kept;
mod portable;
#[cfg(target_arch = "x86_64")]
mod vaes;

pub use kept::KeptPads;

/// The number of rows that one task sums up. The number is large enough that the key schedule costs little, and small enough
/// that threads can share the work.
const ROWS: usize = 2048;

/// The pads of all rows of one index in one version.
pub struct Pad {
    key: Zeroizing<[u8; 32]>,
    version: u64,
    kept: Option<KeptPads>,
}

/// The position of a row's first block among all blocks, as a shift: `2^s` of the format.
fn shift(width: usize) -> u32 {
    width.div_ceil(4).next_power_of_two().trailing_zeros()
}

/// The number of a row's first block.
fn first_block(row: u32, shift: u32) -> u64 {
    u64::from(row) << shift
}

/// A part of the pads' keystream that is to be computed, by AES-256 in counter mode with a big-endian counter.
pub struct Keystream {
    /// The key.
    pub key: Zeroizing<[u8; 32]>,
    /// The first counter.
    pub counter: [u8; 16],
    /// The number of bytes, in whole blocks.
    pub len: usize,
}

impl Keystream {
    /// Makes the keystream as little-endian words, for callers that have no faster cipher.
    #[must_use]
    pub fn words(&self) -> Vec<u32> {
        let cipher = Aes256::new(&Array(*self.key));
        let first = u128::from_be_bytes(self.counter);
        let mut words = Vec::with_capacity(self.len / 4);
        let mut blocks = Zeroizing::new([[0; 16]; 64]);
        for begin in (0..self.len / 16).step_by(blocks.len()) {
            let blocks = &mut blocks[..(self.len / 16 - begin).min(64)];
            for (block, it) in (begin as u128..).zip(&mut *blocks) {
                *it = first.wrapping_add(block).to_be_bytes();
            }
            cipher.encrypt_blocks(Array::cast_slice_from_core_mut(blocks));
            let (of_blocks, _) = blocks.as_flattened().as_chunks();
            words.extend(of_blocks.iter().map(|word| u32::from_le_bytes(*word)));
        }
        words
    }
}

impl std::fmt::Debug for Keystream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Keystream")
            .field("len", &self.len)
            .finish_non_exhaustive()
    }
}

impl Pad {
    /// The pads of a segment under a separate key, for this version.
    #[must_use]
    pub fn new(key: Zeroizing<[u8; 32]>, version: u64) -> Self {
        Self {
            key,
            version,
            kept: None,
        }
    }

    /// The keystream of these rows.
    #[must_use]
    pub fn keystream(&self, first: u32, rows: usize, width: usize) -> Keystream {
        let shift = shift(width);
        Keystream {
            key: self.key.clone(),
            counter: portable::counter(self.version, first_block(first, shift)),
            len: (rows * 16) << shift,
        }
    }

    /// Keeps these pads, and uses them from now on for the rows that they belong to.
    pub fn keep(&mut self, kept: KeptPads) {
        self.kept = Some(kept);
    }

    /// The kept pads.
    #[must_use]
    pub fn kept(&self) -> Option<&KeptPads> {
        self.kept.as_ref()
    }

    /// Takes over the kept pads of another version of the same index, if they are the same pads.
    pub fn keep_of(&mut self, other: &mut Self) {
        if *self.key == *other.key && self.version == other.version {
            self.kept = other.kept.take();
        }
    }

    /// Adds row `row`'s pad to its codes, mod P and centred. The owner does this once for each content.
    pub fn mask(&self, row: u32, codes: &mut [i32]) {
        let cipher = Aes256::new(&Array(*self.key));
        let first = first_block(row, shift(codes.len()));
        for (chunk, codes) in (0..).zip(codes.chunks_mut(portable::WORDS)) {
            let pad = portable::keystream(&cipher, self.version, first, chunk);
            for (code, word) in codes.iter_mut().zip(*pad) {
                *code = centred(code.wrapping_add(word.cast_signed()));
            }
        }
    }

    /// Removes row `row`'s pad from the result of [`mask`](Self::mask).
    pub fn unmask(&self, row: u32, codes: &mut [i32]) {
        let cipher = Aes256::new(&Array(*self.key));
        let first = first_block(row, shift(codes.len()));
        for (chunk, codes) in (0..).zip(codes.chunks_mut(portable::WORDS)) {
            let pad = portable::keystream(&cipher, self.version, first, chunk);
            for (code, word) in codes.iter_mut().zip(*pad) {
                *code = centred(code.wrapping_sub(word.cast_signed()));
            }
        }
    }

    /// The inner product of each row's pad with `query`, mod 2^32 (which is a multiple of P), for rows from 0 on. Clients
    /// call it. It runs in constant time, and in parallel on rayon's current pool.
    pub fn products(&self, query: &[i32], products: &mut [u32]) {
        self.products_from(0, query, products);
    }

    /// Like [`products`](Self::products), for rows from `first` on.
    pub fn products_from(&self, first: u32, query: &[i32], products: &mut [u32]) {
        products
            .par_chunks_mut(ROWS)
            .enumerate()
            .for_each(|(chunk, products)| {
                self.rows(first + u32_of(chunk * ROWS), query, products);
            });
    }

    /// Computes rows from `first` on, on this thread.
    fn rows(&self, first: u32, query: &[i32], products: &mut [u32]) {
        if let Some(kept) = &self.kept
            && kept.products(first, query, products)
        {
            return;
        }
        #[cfg(target_arch = "x86_64")]
        if let Some(token) = sordino_cpu::Avx512Vaes::detect() {
            return avx512::products(token, &self.key, self.version, first, query, products);
        }
        #[cfg(target_arch = "x86_64")]
        if let Some(token) = sordino_cpu::Avx2Vaes::detect() {
            return vaes::products(token, &self.key, self.version, first, query, products);
        }
        #[cfg(target_arch = "x86_64")]
        if let Some(token) = sordino_cpu::AesNi::detect() {
            return aesni::products(token, &self.key, self.version, first, query, products);
        }
        portable::products(&self.key, self.version, first, query, products);
    }
}

impl std::fmt::Debug for Pad {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pad").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::residue::LOG_P;
    use proptest::prelude::*;

    /// The numbers of rows, and the largest number of coordinates. Under Miri they are small, because the specification is
    /// slow there.
    const COUNTS: std::ops::Range<usize> = if cfg!(miri) { 1..3 } else { 0..9 };
    const MOST: usize = if cfg!(miri) { 40 } else { 300 };

    fn pad(key: u8, version: u64) -> Pad {
        Pad::new(Zeroizing::new([key; 32]), version)
    }

    /// A word by the specification, from the cipher alone.
    fn word(key: [u8; 32], row: u32, version: u64, width: usize, coordinate: usize) -> u32 {
        let mut blocks = 1;
        while 4 * blocks < width {
            blocks *= 2;
        }
        let place = u64::from(row) * blocks as u64 + coordinate as u64 / 4;
        let mut block = [0; 16];
        block[..8].copy_from_slice(&version.to_le_bytes());
        block[8..].copy_from_slice(&place.to_be_bytes());
        let mut block = Array(block);
        Aes256::new(&Array(key)).encrypt_block(&mut block);
        let words: [[u8; 4]; 4] = block.0.as_chunks().0.try_into().expect("four words");
        u32::from_le_bytes(words[coordinate % 4])
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 1 } else { 48 }))]

        #[test]
        fn every_backend_equals_the_specification(
            key in any::<u8>(),
            version in any::<u64>(),
            first in any::<u32>().prop_map(|row| row.saturating_sub(9)),
            count in COUNTS,
            query in prop::collection::vec(any::<i32>(), 1..MOST),
        ) {
            let expected: Vec<u32> = (first..)
                .take(count)
                .map(|row| {
                    let sum = |sum: u32, (at, &x): (usize, &i32)| {
                        let word = word([key; 32], row, version, query.len(), at);
                        sum.wrapping_add(word.wrapping_mul(x.cast_unsigned()))
                    };
                    query.iter().enumerate().fold(0, sum)
                })
                .collect();
            let pad = pad(key, version);
            let mut found = vec![0; count];
            portable::products(&pad.key, version, first, &query, &mut found);
            prop_assert_eq!(&found, &expected);
            #[cfg(target_arch = "x86_64")]
            if let Some(token) = sordino_cpu::AesNi::detect() {
                found.fill(0);
                aesni::products(token, &pad.key, version, first, &query, &mut found);
                prop_assert_eq!(&found, &expected);
            }
            #[cfg(target_arch = "x86_64")]
            if let Some(token) = sordino_cpu::Avx2Vaes::detect() {
                found.fill(0);
                vaes::products(token, &pad.key, version, first, &query, &mut found);
                prop_assert_eq!(&found, &expected);
            }
            found.fill(0);
            pad.rows(first, &query, &mut found);
            prop_assert_eq!(&found, &expected);
        }

        #[test]
        fn a_mask_comes_off_with_its_product(
            codes in prop::collection::vec(-6000i32..6000, 1..200),
            version in any::<u64>(),
            row in 0u32..5000,
        ) {
            let pad = pad(3, version);
            let query: Vec<i32> = (0..).zip(&codes).map(|(i, _)| (i * 7919) % 11_443 - 5721).collect();
            let product = |a: &[i32]| {
                a.iter().zip(&query).fold(0i32, |sum, (&a, &b)| sum.wrapping_add(a.wrapping_mul(b)))
            };
            let mut stored = codes.clone();
            pad.mask(row, &mut stored);
            let mut bare = stored.clone();
            pad.unmask(row, &mut bare);
            prop_assert_eq!(&bare, &codes);
            let half = 1 << (LOG_P - 1);
            prop_assert!(stored.iter().all(|x| (-half..half).contains(x)));
            let mut products = vec![0; row as usize + 1];
            pad.products(&query, &mut products);
            let pads = products[row as usize].cast_signed();
            prop_assert_eq!(
                centred(product(&stored).wrapping_sub(pads)),
                centred(product(&codes))
            );
        }
    }

    #[test]
    fn keys_rows_versions_and_coordinates_all_change_the_pad() {
        let zero = |key, version, row| {
            let mut codes = vec![0; 64];
            pad(key, version).mask(row, &mut codes);
            codes
        };
        let base = zero(1, 1, 1);
        for other in [
            zero(2, 1, 1),
            zero(1, 2, 1),
            zero(1, 1 << 40, 1),
            zero(1, 1, 2),
        ] {
            let equal = base.iter().zip(&other).filter(|(a, b)| a == b).count();
            assert_eq!(equal, 0);
        }
        let mut distinct = base.clone();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), 64);
        assert_eq!(base, zero(1, 1, 1));
    }

    #[test]
    fn masked_zeros_look_uniform() {
        let mut codes = vec![0i32; 1 << 14];
        pad(5, 9).mask(0, &mut codes);
        // Each of the 26 bits is set in about half of the words: within 6 standard deviations, which are 64 words each.
        for bit in 0..LOG_P {
            let set = codes.iter().filter(|x| *x >> bit & 1 == 1).count();
            assert!(set.abs_diff(1 << 13) < 384, "bit {bit}: {set}");
        }
    }
}
