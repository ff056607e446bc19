//! The work with LWE samples that both schemes share: expanding `A` and rounding.

#![expect(clippy::cast_possible_truncation, reason = "words are cut to digits")]

use sordino_lattice::choice::equal;
use sordino_lattice::rounding;
use sordino_lattice::sample::uniform;

use crate::Seed;
use crate::database::CENTRE;
use crate::params::{ANSWER_BITS, LOG_DELTA, LOG_Q};

/// Separates the matrices that one seed expands to, so that they share no randomness.
#[derive(Clone, Copy)]
pub(crate) enum Domain {
    /// SimplePIR's `A`.
    Simple = 1,
    /// DoublePIR's `A_1`, of the first level.
    First = 2,
    /// DoublePIR's `A_2`, of the second level.
    Second = 3,
}

/// A function that fills `out` with row `j` of the domain's matrix.
pub(crate) fn rows_of_a(seed: &Seed, domain: Domain) -> impl FnMut(usize, &mut [u32]) + use<> {
    let mut rows = uniform::Rows::new(&seed.0, domain as u8);
    move |j, out| rows.fill(j as u64, out)
}

/// Adds `Delta` to the word at `position`. It touches all words alike.
pub(crate) fn add_unit(b: &mut [u32], position: usize) {
    for (j, word) in b.iter_mut().enumerate() {
        *word = word.wrapping_add(equal(j, position) << LOG_DELTA);
    }
}

/// The nearest multiple of `2^(32 - width)`, as a word of `width` bits, ties upwards.
///
/// Use this rounding only for hints and answers. Their errors are too large by half a unit on average, but this bias
/// does not add up. An answer's word is rounded once, and the errors of a hint are multiplied by a secret with mean
/// zero.
pub(crate) fn round(word: u32, width: u32) -> u32 {
    let shift = LOG_Q - width;
    if shift == 0 {
        return word;
    }
    word.wrapping_add(1 << (shift - 1)) >> shift
}

/// Rounds every word to the nearest multiple of `2^(32 - width)`, as a word of 32 bits, ties to even.
///
/// A row of equal digits adds up the errors of all words. With ties upwards, as in [`round`], each would be half a unit
/// too large on average: 64 units to a column under digits of -128.
pub(crate) fn round_query(words: &mut [u32], width: u32) {
    let dropped = LOG_Q - width;
    for word in words {
        // The cast cuts to 32 bits: a word that is rounded up to 2^32 is 0 mod q.
        *word = (rounding::shift(u64::from(*word), dropped) << dropped) as u32;
    }
}

/// Rounds a word to the 12 bits of an answer.
pub(crate) fn round_answer(word: u32) -> u16 {
    round(word, ANSWER_BITS) as u16
}

/// The byte that a word of an answer encodes, given its product `H_i s`.
pub(crate) fn decode_answer(word: u16, product: u32) -> u8 {
    decode(u32::from(word) << (LOG_Q - ANSWER_BITS), product)
}

/// The byte that a whole word encodes, given its product.
pub(crate) fn decode(word: u32, product: u32) -> u8 {
    let noisy = word.wrapping_sub(product);
    let rounded = noisy.wrapping_add(1 << (LOG_DELTA - 1)) >> LOG_DELTA;
    // The cast keeps the lowest eight bits.
    (rounded as u8) ^ CENTRE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_rounded_queries_are_zero_on_average_and_half_a_step_at_most() {
        for width in 24..=LOG_Q {
            let step = 1i64 << (LOG_Q - width);
            // Tests every word of two steps: from zero on, in the middle, and around the end of the range.
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
