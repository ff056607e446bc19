//! The second dimension: folds the sums of a slot's rows into the one that the encrypted bits choose.
//!
//! A bit is encrypted for external products as GSW does over rings (Gentry, Sahai, Waters, eprint 2013/340; Mughees,
//! Chen, Ren, eprint 2021/1081). Every digit of a ciphertext's `c_0` has an encryption of the bit times the digit's
//! factor. Every digit of `c_1` has an encryption of this product times `s`. A query has the first kind, and a server
//! makes the second with the key for `s^2`: from `c_0 + c_1 s = m + e` follows `c_0 s + c_1 s^2 = (m + e) s`.

use sordino_lattice::aligned::Aligned;
use sordino_lattice::pages::Pages;
use sordino_lattice::threads;

use super::digits::Digits;
use super::expand::{TOGETHER, expand};
use super::keys::Evaluation;
use super::ring::{EVERY, GADGETS, N, OF_C0, OF_C1, SQUARE, modulus};

/// The words of one encryption from an expansion, of all encryptions of one bit, and of the ciphertexts made from them.
const WORDS: usize = 2 * N;
const OF_QUERY: usize = WORDS * OF_C1.digits();
const OF_BIT: usize = WORDS * (OF_C0.digits() + OF_C1.digits());

/// The encrypted bits of the rows' numbers.
#[derive(Debug)]
pub(crate) struct Bits {
    /// For each bit, its encryptions times every factor of `c_1`'s digits.
    expanded: Pages,
    /// For each bit a ciphertext in NTT form for each digit of `c_0`, then for each digit of `c_1`.
    pairs: Pages,
}

impl Bits {
    /// Room for `count` bits.
    pub(crate) fn new(count: usize) -> Self {
        Self {
            expanded: Pages::zeroed_words(count * OF_QUERY),
            pairs: Pages::zeroed_words(count * OF_BIT),
        }
    }

    #[cfg(test)]
    pub(crate) fn held_bytes(&self) -> usize {
        self.expanded.len() + self.pairs.len()
    }

    /// Takes the bits in the ciphertexts of a query, expanded to this depth.
    pub(crate) fn fill(&mut self, keys: &Evaluation, depth: u32, ciphertexts: &[Aligned<u64>]) {
        let words = self.expanded.words_mut();
        let count = words.len() / WORDS;
        let pieces = words.chunks_mut(WORDS << depth.min(TOGETHER));
        let put = |piece: &mut &mut [u64], n: usize, ciphertext: &[u64]| {
            piece[n * WORDS..][..WORDS].copy_from_slice(ciphertext);
        };
        expand((keys, depth), ciphertexts, count, pieces.collect(), put);
        let expanded = self.expanded.words().chunks_exact(OF_QUERY);
        let bits = expanded.zip(self.pairs.words_mut().chunks_exact_mut(OF_BIT));
        threads::for_each(bits.collect(), Digits::new, |digits, _, (bit, pairs)| {
            complete(keys, digits, bit, pairs);
        });
    }

    /// The ciphertexts of bits `first` to `first + count`, [`OF_BIT`] words each.
    pub(crate) fn of(&self, first: usize, count: usize) -> &[u64] {
        &self.pairs.words()[first * OF_BIT..][..count * OF_BIT]
    }
}

/// Makes the ciphertexts that an external product needs from the ciphertexts of a query.
fn complete(keys: &Evaluation, digits: &mut Digits, bit: &[u64], pairs: &mut [u64]) {
    let (of_c0, of_c1) = pairs.split_at_mut(WORDS * OF_C0.digits());
    let bit = bit.chunks_exact(WORDS);
    let same = bit.clone().skip(1).step_by(EVERY);
    for (pair, same) in of_c0.chunks_exact_mut(WORDS).zip(same) {
        pair.copy_from_slice(same);
    }
    for (pair, bit) in of_c1.chunks_exact_mut(WORDS).zip(bit) {
        pair[..N].fill(0);
        pair[N..].copy_from_slice(&bit[..N]);
        digits.take(GADGETS[SQUARE], 0, &bit[N..]);
        digits.add_products(GADGETS[SQUARE].digits(), keys.key(SQUARE), pair);
    }
}

/// Folds the ciphertexts of rows, in NTT form, into the one that the bits choose, the lowest bit first. The result
/// replaces the first row.
pub(crate) fn fold(digits: &mut Digits, bits: &[u64], rows: &mut [u64]) {
    let q = modulus();
    for (i, bit) in bits.chunks_exact(OF_BIT).enumerate() {
        for pair in rows.chunks_mut(WORDS << (i + 1)) {
            let half = WORDS << i;
            // A row without a partner does not change, because no row has a number with this bit set
            // there.
            if pair.len() <= half {
                continue;
            }
            // even + bit (odd - even)
            let (even, odd) = pair.split_at_mut(half);
            let (even, odd) = (&mut even[..WORDS], &mut odd[..WORDS]);
            for (odd, even) in odd.iter_mut().zip(even.iter()) {
                *odd = q.sub(*odd, *even);
            }
            digits.take(OF_C0, 0, &odd[..N]);
            digits.take(OF_C1, OF_C0.digits(), &odd[N..]);
            digits.add_products(OF_C0.digits() + OF_C1.digits(), bit, even);
        }
    }
}
