//! The work with LWE samples that both schemes share: expanding `A`, scanning in parallel, rounding,

#![expect(
    clippy::cast_possible_truncation,
    reason = "words are cut to digits and flags"
)]

use sordino_lattice::matrix::{Backend, Digits, Panels, Vector};
use sordino_lattice::rounding;
use sordino_lattice::sample::uniform;
use sordino_lattice::threads;

use crate::Seed;
use crate::database::CENTRE;
use crate::params::{ANSWER_BITS, LOG_DELTA, LOG_Q};

/// Products of digits and words below which a scan stays on its thread. Waking another takes about 20 us
/// (Zen 5, two virtual cores): 316 KB scanned by both, and the client's products with 2 MB, made a query
/// of 55 us one of 96 us.
const SHARED_DIGITS: usize = 1 << 23;
/// Bytes of digits of a thread's chunk, at least.
const CHUNK_BYTES: usize = 1 << 18;
/// Columns of one panel.
const PANEL: usize = 16;
/// Columns beyond full panels that are cheaper one by one than as a panel of 16: on 13 to 20 MB a panel
/// takes as long as 12 of them, and 8 of them two thirds of it (Zen 5).
const MAX_ALONE: usize = 11;
/// Chunks are a multiple of this many rows, so that every kernel's row blocks (of 4, 6, 8 or 16) are full.
pub(crate) const CHUNK_ROWS: usize = 48;

/// The matrices that a seed expands to share no randomness.
#[derive(Clone, Copy)]
pub(crate) enum Domain {
    /// SimplePIR's `A`.
    Simple = 1,
    /// DoublePIR's `A_1`, of the first level.
    First = 2,
    /// DoublePIR's `A_2`, of the second level.
    Second = 3,
}

/// The rows of the matrix of a domain: `(j, out)` fills `out` with row `j`.
pub(crate) fn rows_of_a(seed: &Seed, domain: Domain) -> impl FnMut(usize, &mut [u32]) + use<> {
    let mut rows = uniform::Rows::new(&seed.0, domain as u8);
    move |j, out| rows.fill(j as u64, out)
}

/// `out = product(D)`, `width` words a row, chunk by chunk on all threads.
pub(crate) fn for_row_chunks(
    digits: Digits<'_>,
    width: usize,
    out: &mut [u32],
    product: impl Fn(Digits<'_>, &mut [u32]) + Sync,
) {
    let row_work = (digits.columns() * width).max(1);
    let rows = CHUNK_BYTES
        .div_ceil(row_work)
        .max(digits.rows().div_ceil(8 * threads::count()))
        .next_multiple_of(CHUNK_ROWS);
    let small = digits.rows() * row_work < SHARED_DIGITS;
    if small || rows >= digits.rows() || threads::count() == 1 {
        return product(digits, out);
    }
    let chunks = out.chunks_mut(rows * width).collect();
    threads::for_each(
        chunks,
        || (),
        |(), chunk, out: &mut [u32]| {
            let first = chunk * rows;
            product(digits.slice(first..first + out.len() / width), out);
        },
    );
}

/// `D B` for any number of columns of `B`, row after row: one pass over `D`.
///
/// Full panels of 16 columns go through the panel kernel. A few columns beside them are cheaper one by
/// one, over rows that are still in the cache.
pub(crate) fn scan(backend: Backend, digits: Digits<'_>, columns: &[&[u32]]) -> Vec<u32> {
    let k = columns.len();
    let alone = match k % PANEL {
        few if few <= MAX_ALONE => few,
        _ => 0,
    };
    let (together, alone) = columns.split_at(k - alone);
    let panels = Panels::from_columns(backend, together);
    let alone: Vec<_> = alone.iter().map(|q| Vector::new(backend, q)).collect();
    let mut out = vec![0; digits.rows() * k];
    if k == 0 {
        return out;
    }
    for_row_chunks(digits, k, &mut out, |digits, out| {
        if alone.is_empty() {
            return digits.mul_panels(&panels, out);
        }
        let rows = CHUNK_BYTES
            .div_ceil(digits.columns())
            .next_multiple_of(CHUNK_ROWS);
        let mut product = vec![0; rows * together.len().max(1)];
        for first in (0..digits.rows()).step_by(rows) {
            let digits = digits.slice(first..digits.rows().min(first + rows));
            let out = &mut out[first * k..(first + digits.rows()) * k];
            if !together.is_empty() {
                let product = &mut product[..digits.rows() * together.len()];
                digits.mul_panels(&panels, product);
                let product = product.chunks_exact(together.len());
                for (out, product) in out.chunks_exact_mut(k).zip(product) {
                    out[..together.len()].copy_from_slice(product);
                }
            }
            for (t, q) in alone.iter().enumerate() {
                let product = &mut product[..digits.rows()];
                digits.mul_vec(q, product);
                let places = out[together.len() + t..].iter_mut().step_by(k);
                for (place, word) in places.zip(product) {
                    *place = *word;
                }
            }
        }
    });
    out
}

/// Rows that are taken apart together: every cache line of them serves all columns before the next rows.
const APART: usize = 64;

/// The `k` columns of a product, which has them row after row.
pub(crate) fn columns(product: &[u32], k: usize) -> Vec<Vec<u32>> {
    if k == 0 {
        return Vec::new();
    }
    let mut columns: Vec<_> = (0..k)
        .map(|_| Vec::with_capacity(product.len() / k))
        .collect();
    for rows in product.chunks(APART * k) {
        for (t, column) in columns.iter_mut().enumerate() {
            column.extend(rows[t..].iter().step_by(k));
        }
    }
    columns
}

/// Adds `Delta` to the word at `position`, touching all of them alike.
pub(crate) fn add_unit(b: &mut [u32], position: usize) {
    for (j, word) in b.iter_mut().enumerate() {
        *word = word.wrapping_add(equal(j, position) << LOG_DELTA);
    }
}

/// 1 if two indices are equal, else 0, without a branch.
pub(crate) fn equal(a: usize, b: usize) -> u32 {
    let difference = (a ^ b) as u64;
    let nonzero = (difference | difference.wrapping_neg()) >> 63;
    (nonzero ^ 1) as u32
}

/// The nearest multiple of `2^(32 - width)`, as a word of `width` bits, ties upwards.
///
/// For hints and answers alone. The half unit by which their errors are too large on average does not add
/// up: an answer's word is rounded once, and the errors of a hint meet a secret whose mean is zero.
pub(crate) fn round(word: u32, width: u32) -> u32 {
    let shift = LOG_Q - width;
    if shift == 0 {
        return word;
    }
    word.wrapping_add(1 << (shift - 1)) >> shift
}

/// Every word becomes the nearest multiple of `2^(32 - width)`, as a word of 32 bits, ties to even.
///
/// A row of equal digits adds the errors of all words up: with ties upwards, as in [`round`], each would be
/// half a unit too large on average, 64 to a column under digits of -128.
pub(crate) fn round_query(words: &mut [u32], width: u32) {
    let dropped = LOG_Q - width;
    for word in words {
        // Cut to 32 bits: what is rounded up to 2^32 is 0 mod q.
        *word = (rounding::shift(u64::from(*word), dropped) << dropped) as u32;
    }
}

/// [`round`] to the 12 bits of an answer.
pub(crate) fn round_answer(word: u32) -> u16 {
    round(word, ANSWER_BITS) as u16
}

/// The byte behind a word of an answer and its product `H_i s`.
pub(crate) fn decode_answer(word: u16, product: u32) -> u8 {
    decode(u32::from(word) << (LOG_Q - ANSWER_BITS), product)
}

/// The byte behind a whole word and its product.
pub(crate) fn decode(word: u32, product: u32) -> u8 {
    let noisy = word.wrapping_sub(product);
    let rounded = noisy.wrapping_add(1 << (LOG_DELTA - 1)) >> LOG_DELTA;
    // Eight bits are left.
    (rounded as u8) ^ CENTRE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_rounded_queries_are_zero_on_average_and_half_a_step_at_most() {
        for width in 24..=LOG_Q {
            let step = 1i64 << (LOG_Q - width);
            // Every word of two steps: from zero on, in the middle, around the end of the words.
            for first in [0, 1 << 31, 0u32.wrapping_sub(1 << (LOG_Q - width))] {
                let words = || (0..2u32 << (LOG_Q - width)).map(|i| first.wrapping_add(i));
                let mut rounded: Vec<_> = words().collect();
                round_query(&mut rounded, width);
                let errors = rounded.iter().zip(words());
                let errors = errors.map(|(rounded, word)| {
                    assert_eq!(i64::from(*rounded) % step, 0);
                    i64::from(rounded.wrapping_sub(word).cast_signed())
                });
                let (sum, worst) = errors.fold((0, 0), |(sum, worst), error| {
                    (sum + error, worst.max(error.abs()))
                });
                assert_eq!((sum, worst), (0, step / 2), "{width} bits from {first}");
            }
        }
    }

    #[test]
    fn errors_of_rounded_answers_are_half_a_step_at_most() {
        let step = 1u32 << (LOG_Q - ANSWER_BITS);
        let around = |i: u32| [0, step / 2 - 1, step / 2, step - 1].map(|low| i * step + low);
        for word in (0..1 << ANSWER_BITS).flat_map(around) {
            let rounded = u32::from(round_answer(word)) << (LOG_Q - ANSWER_BITS);
            let error = rounded.wrapping_sub(word).cast_signed();
            assert!(error.unsigned_abs() <= step / 2, "{word}: {error}");
        }
    }
}
