//! The portable definition of a draw.

#![expect(
    clippy::cast_possible_truncation,
    reason = "words are taken apart; magnitudes are below 14 * 1024"
)]

use std::hint::black_box;

use super::{BLOCK, Block};

/// Computes magnitudes from 16 bytes of `words` each.
#[inline(always)]
pub(super) fn magnitudes(table: &[Block], words: &[u8], out: &mut [i16]) {
    let (words, _) = words.as_chunks::<16>();
    for (out, u) in out.iter_mut().zip(words) {
        let u = u128::from_le_bytes(*u);
        // The low eight bytes are the high word. The choice is arbitrary, but tests fix it.
        let (high, low) = (u as u64, (u >> 64) as u64);
        *out = magnitude(table, high, low) as i16;
    }
}

/// Negates the samples whose bit of `signs` is 1.
pub(super) fn negate(signs: &[u8], out: &mut [i16]) {
    for (eight, byte) in out.chunks_mut(8).zip(signs) {
        for (i, out) in eight.iter_mut().enumerate() {
            let sign = -i16::from(byte >> i & 1);
            *out = (*out ^ sign).wrapping_sub(sign);
        }
    }
}

/// `#{k : u < T[k]}`.
#[inline(always)]
fn magnitude(table: &[Block], high: u64, low: u64) -> u64 {
    // Entries decrease, so the blocks whose last entry is above `u` count as a whole.
    let whole = table.iter().fold(0u64, |whole, block| {
        whole.wrapping_add(below(
            high,
            low,
            block.high[BLOCK - 1],
            block.low[BLOCK - 1],
        ))
    });
    let mut found = Block {
        high: [0; BLOCK],
        low: [0; BLOCK],
    };
    for (b, block) in table.iter().enumerate() {
        let difference = b as u64 ^ whole;
        // The mask is all ones for the first block that does not count as a whole, and zero for
        // every other block. It is opaque to the compiler, which would otherwise jump over the
        // blocks with a mask of zero (memcheck found it).
        let mask = black_box(((difference | difference.wrapping_neg()) >> 63).wrapping_sub(1));
        for j in 0..BLOCK {
            found.high[j] |= block.high[j] & mask;
            found.low[j] |= block.low[j] & mask;
        }
    }
    // Wrapping operations, though nothing wraps: a check for overflow would be a branch.
    let mut count = whole.wrapping_mul(BLOCK as u64);
    for j in 0..BLOCK {
        count = count.wrapping_add(below(high, low, found.high[j], found.low[j]));
    }
    count
}

/// 1 if the first of two 128-bit numbers is below the second, else 0: the borrow of their
/// difference.
#[inline(always)]
fn below(high: u64, low: u64, than_high: u64, than_low: u64) -> u64 {
    let borrow = |x: u64, y: u64, difference: u64| ((!x & y) | ((!x | y) & difference)) >> 63;
    let carry = borrow(low, than_low, low.wrapping_sub(than_low));
    borrow(
        high,
        than_high,
        high.wrapping_sub(than_high).wrapping_sub(carry),
    )
}
