//! NEON: widening multiply-adds of 16-bit integers.
#![expect(unsafe_code, reason = "vector loads, entry into target features")]

use std::arch::aarch64::*;

use sordino_cpu::Neon;

use super::{CENTRE, CHUNK, LANES, LINE, Words};
use crate::packed::BLOCK;

/// The number of entries of a register.
const WIDTH: usize = 8;

pub(super) fn products(_: Neon, words: &Words, rows: &[u8], out: &mut [u32]) {
    assert_eq!(rows.len() * words.queries, out.len() * words.stride);
    let rows = rows.chunks_exact(words.stride);
    for (row, out) in rows.zip(out.chunks_exact_mut(words.queries)) {
        // SAFETY: the token proves the target features; it is a whole row, with an output for each query.
        unsafe {
            match words.queries {
                1 => one::<1>(words, row, out),
                2 => one::<2>(words, row, out),
                3 => one::<3>(words, row, out),
                _ => one::<4>(words, row, out),
            }
        }
    }
}

/// # Safety
/// `row` must be a whole row, and there must be `Q` queries.
#[target_feature(enable = "neon")]
unsafe fn one<const Q: usize>(words: &Words, row: &[u8], out: &mut [u32]) {
    assert_eq!((words.queries, out.len()), (Q, Q));
    let three = vdupq_n_u16(3);
    let (sign, centred) = (vdupq_n_u16(0x8000), vdupq_n_u16(0xaaaa));
    // The lower half has two sums, so that one multiply-add need not wait for the other. The upper half's sums need
    // only 16 bits.
    let mut low = [[vdupq_n_s32(0); 2]; Q];
    let mut high = [[vdupq_n_s16(0); 2]; Q];
    let (mut row, mut halves) = (row.as_ptr(), words.halves.as_ptr());
    let mut left = words.chunks();
    while left > 0 {
        let mut upper = [centred; LANES / WIDTH];
        for (part, upper) in upper.iter_mut().enumerate() {
            // SAFETY: the row has a line of 64 bytes here, with the upper bits of a block. `part` is 0 to 3, and each
            // part has 16 bytes. Numbers are little-endian, as this architecture is here.
            let bits = unsafe { vreinterpretq_u16_u8(vld1q_u8(row.add(2 * part * WIDTH))) };
            *upper = veorq_u16(bits, centred);
        }
        row = row.wrapping_add(LINE);
        for _ in 0..left.min(BLOCK) {
            for (part, upper) in upper.iter_mut().enumerate() {
                // SAFETY: the row has a line of 64 bytes here, with the entries of a chunk. `part` is 0 to 3, and
                // each part has 16 bytes.
                let x = unsafe { vreinterpretq_u16_u8(vld1q_u8(row.add(2 * part * WIDTH))) };
                let x = vreinterpretq_s16_u16(veorq_u16(x, sign));
                let u = vreinterpretq_s16_u16(vandq_u16(*upper, three));
                *upper = vshrq_n_u16::<2>(*upper);
                for k in 0..Q {
                    // SAFETY: the words have a chunk for each line of a row, with both halves of `Q` queries.
                    let (l, h) = unsafe {
                        let halves = halves.add(k * CHUNK + part * WIDTH);
                        (vld1q_s16(halves), vld1q_s16(halves.add(LANES)))
                    };
                    low[k][0] = vmlal_s16(low[k][0], vget_low_s16(x), vget_low_s16(l));
                    low[k][1] = vmlal_high_s16(low[k][1], x, l);
                    high[k][0] = vmlaq_s16(high[k][0], x, h);
                    high[k][1] = vmlaq_s16(high[k][1], u, l);
                }
            }
            row = row.wrapping_add(LINE);
            halves = halves.wrapping_add(Q * CHUNK);
        }
        left = left.saturating_sub(BLOCK);
    }
    for k in 0..Q {
        let low = vaddvq_s32(vaddq_s32(low[k][0], low[k][1])).cast_unsigned();
        let high = i32::from(vaddvq_s16(vaddq_s16(high[k][0], high[k][1]))) << 16;
        let centre = words.sums[k].wrapping_mul(CENTRE);
        out[k] = low.wrapping_add(high.cast_unsigned()).wrapping_add(centre);
    }
}
