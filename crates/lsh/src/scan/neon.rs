//! Eight codes in four 128-bit vectors. The kernel counts bits in each byte. The counts stay in bytes until all words
//! of a code are added, since 16 words give at most 128.
#![expect(
    unsafe_code,
    reason = "vector loads and stores, and the call into NEON code"
)]

use core::arch::aarch64::*;

use sordino_cpu::Neon;

use super::{Best, LANES};

pub(super) fn scan(_: Neon, rows: &[[u64; LANES]], query: &[u64], best: &mut Best) {
    // SAFETY: the token proves NEON.
    unsafe { any(query, rows, best) }
}

#[target_feature(enable = "neon")]
fn any(query: &[u64], rows: &[[u64; LANES]], best: &mut Best) {
    for (i, group) in rows.chunks_exact(query.len()).enumerate() {
        let mut bytes = [vdupq_n_u8(0); 4];
        for (row, word) in group.iter().zip(query) {
            for (pair, bytes) in bytes.iter_mut().enumerate() {
                // SAFETY: `row` has eight words, and `pair` is at most 3.
                let codes = unsafe { vld1q_u64(row.as_ptr().add(2 * pair)) };
                let differ = veorq_u64(codes, vdupq_n_u64(*word));
                *bytes = vaddq_u8(*bytes, vcntq_u8(vreinterpretq_u8_u64(differ)));
            }
        }
        let mut distances = [0_u64; LANES];
        let mut near = vdupq_n_u64(0);
        let limit = vdupq_n_u64(u64::from(best.limit()));
        for (pair, bytes) in bytes.into_iter().enumerate() {
            let sums = vpaddlq_u32(vpaddlq_u16(vpaddlq_u8(bytes)));
            near = vorrq_u64(near, vcltq_u64(sums, limit));
            // SAFETY: `distances` has eight words, and `pair` is at most 3.
            unsafe { vst1q_u64(distances.as_mut_ptr().add(2 * pair), sums) };
        }
        if vmaxvq_u32(vreinterpretq_u32_u64(near)) != 0 {
            for (lane, distance) in distances.into_iter().enumerate() {
                #[expect(
                    clippy::cast_possible_truncation,
                    reason = "a distance is at most 1024"
                )]
                best.offer(LANES * i + lane, distance as u32);
            }
        }
    }
}
