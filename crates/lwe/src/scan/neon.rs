//! NEON: widening multiply-adds of 16-bit integers.
#![expect(unsafe_code, reason = "vector loads, entry into target features")]

use std::arch::aarch64::*;

use sordino_cpu::Neon;

use super::{CHUNK, LANES, LINE, Words};

/// Entries of a register.
const WIDTH: usize = 8;

pub(super) fn products(_: Neon, words: &Words, rows: &[u8], out: &mut [u32]) {
    assert_eq!(rows.len() * words.queries, out.len() * words.stride());
    let rows = rows.chunks_exact(words.stride());
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
/// `row` is a row, and there are `Q` queries.
#[target_feature(enable = "neon")]
unsafe fn one<const Q: usize>(words: &Words, row: &[u8], out: &mut [u32]) {
    assert_eq!((words.queries, out.len()), (Q, Q));
    // Two sums of each half, so that one multiply-add need not wait for the other.
    let mut low = [[vdupq_n_s32(0); 2]; Q];
    let mut high = [[vdupq_n_s32(0); 2]; Q];
    let (row, halves) = (row.as_ptr(), words.halves.as_ptr());
    for c in 0..words.chunks() {
        for part in (0..LANES).step_by(WIDTH) {
            // SAFETY: eight entries of chunk `c`. Entries are little-endian, as this architecture is here.
            let x = unsafe { vreinterpretq_s16_u8(vld1q_u8(row.add(c * LINE + 2 * part))) };
            for k in 0..Q {
                // SAFETY: the words have as many chunks, of both halves of `Q` queries.
                let (l, h) = unsafe {
                    let halves = halves.add((c * Q + k) * CHUNK + part);
                    (vld1q_s16(halves), vld1q_s16(halves.add(LANES)))
                };
                low[k][0] = vmlal_s16(low[k][0], vget_low_s16(x), vget_low_s16(l));
                low[k][1] = vmlal_high_s16(low[k][1], x, l);
                high[k][0] = vmlal_s16(high[k][0], vget_low_s16(x), vget_low_s16(h));
                high[k][1] = vmlal_high_s16(high[k][1], x, h);
            }
        }
    }
    for k in 0..Q {
        let low = vaddq_s32(low[k][0], low[k][1]);
        let high = vaddq_s32(high[k][0], high[k][1]);
        out[k] = vaddvq_s32(vaddq_s32(low, vshlq_n_s32::<16>(high))).cast_unsigned();
    }
}
