//! AVX2: `vpmaddwd` adds two neighbouring products of 16-bit integers to a sum of 32 bits. `vpmullw` keeps the lower 16
//! bits of a product.
#![expect(
    unsafe_code,
    reason = "vector loads and prefetches, entry into target features"
)]

use std::arch::x86_64::*;

use sordino_cpu::Avx2;

use super::{CENTRE, CHUNK, LANES, LINE, Words};
use crate::packed::BLOCK;

pub(super) fn products(_: Avx2, words: &Words, rows: &[u8], out: &mut [u32]) {
    assert_eq!(rows.len() * words.queries, out.len() * words.stride);
    // SAFETY: the token proves the target features; there are whole rows, and an output for each row and query.
    unsafe {
        match words.queries {
            1 => all::<1, 2>(words, rows, out),
            2 => all::<2, 2>(words, rows, out),
            3 => all::<3, 1>(words, rows, out),
            _ => all::<4, 1>(words, rows, out),
        }
    }
}

/// # Safety
/// `rows` must be whole rows.
#[target_feature(enable = "avx2")]
unsafe fn all<const Q: usize, const R: usize>(words: &Words, rows: &[u8], out: &mut [u32]) {
    assert_eq!(words.queries, Q);
    let together = rows.chunks_exact(R * words.stride);
    let alone = together.remainder().chunks_exact(words.stride);
    let (outs, outs_alone) = out.split_at_mut(together.len() * R * Q);
    for (rows, out) in together.zip(outs.chunks_exact_mut(R * Q)) {
        // SAFETY: the chunk has `R` rows, and there are `Q` queries.
        let sums = unsafe { some::<Q, R>(words, rows) };
        out.copy_from_slice(sums.as_flattened());
    }
    for (row, out) in alone.zip(outs_alone.chunks_exact_mut(Q)) {
        // SAFETY: the chunk has one row, and there are `Q` queries.
        let sums = unsafe { some::<Q, 1>(words, row) };
        out.copy_from_slice(sums.as_flattened());
    }
}

/// The products of `R` rows.
///
/// # Safety
/// `rows` must be `R` rows, and there must be `Q` queries.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn some<const Q: usize, const R: usize>(words: &Words, rows: &[u8]) -> [[u32; Q]; R] {
    let stride = words.stride;
    let (three, sign) = (_mm256_set1_epi16(3), _mm256_set1_epi16(i16::MIN));
    let centred = _mm256_set1_epi8(-0x56);
    let mut low = [[_mm256_setzero_si256(); Q]; R];
    let mut high = [[_mm256_setzero_si256(); Q]; R];
    let (mut row, mut halves) = (rows.as_ptr(), words.halves.as_ptr());
    let mut left = words.chunks();
    while left > 0 {
        let mut upper = [[_mm256_setzero_si256(); R]; 2];
        for (part, upper) in upper.iter_mut().enumerate() {
            for (r, upper) in upper.iter_mut().enumerate() {
                let at = row.wrapping_add(r * stride + part * LINE / 2);
                _mm_prefetch::<_MM_HINT_T0>(at.wrapping_add(R * stride).cast());
                // SAFETY: row `r` has a line of 64 bytes here, with the upper bits of a block. `part` is 0 or 1, and
                // each part has 32 bytes.
                let bits = unsafe { _mm256_loadu_si256(at.cast()) };
                *upper = _mm256_xor_si256(bits, centred);
            }
        }
        row = row.wrapping_add(LINE);
        for _ in 0..left.min(BLOCK) {
            for (part, upper) in upper.iter_mut().enumerate() {
                let mut x = [_mm256_setzero_si256(); R];
                let mut u = [_mm256_setzero_si256(); R];
                for r in 0..R {
                    let at = row.wrapping_add(r * stride + part * LINE / 2);
                    // Prefetches the same line of the next rows: the streams of a row are too short for the hardware
                    // prefetcher.
                    _mm_prefetch::<_MM_HINT_T0>(at.wrapping_add(R * stride).cast());
                    // SAFETY: row `r` has a line of 64 bytes here, with the entries of a chunk. `part` is 0 or 1, and
                    // each part has 32 bytes.
                    let entries = unsafe { _mm256_loadu_si256(at.cast()) };
                    x[r] = _mm256_xor_si256(entries, sign);
                    u[r] = _mm256_and_si256(upper[r], three);
                    upper[r] = _mm256_srli_epi16::<2>(upper[r]);
                }
                for k in 0..Q {
                    // SAFETY: the words have a chunk for each line of a row, with both halves of `Q` queries.
                    let (l, h) = unsafe {
                        let halves = halves.add(k * CHUNK + part * LANES / 2);
                        (
                            _mm256_loadu_si256(halves.cast()),
                            _mm256_loadu_si256(halves.add(LANES).cast()),
                        )
                    };
                    for r in 0..R {
                        low[r][k] = _mm256_add_epi32(low[r][k], _mm256_madd_epi16(x[r], l));
                        let more = _mm256_add_epi16(
                            _mm256_mullo_epi16(x[r], h),
                            _mm256_mullo_epi16(u[r], l),
                        );
                        high[r][k] = _mm256_add_epi16(high[r][k], more);
                    }
                }
            }
            row = row.wrapping_add(LINE);
            halves = halves.wrapping_add(Q * CHUNK);
        }
        left = left.saturating_sub(BLOCK);
    }
    let mut sums = [[0; Q]; R];
    for r in 0..R {
        for k in 0..Q {
            // The instruction adds pairs of signed 16-bit integers; only the lower 16 bits of a sum are used.
            let high = _mm256_madd_epi16(high[r][k], _mm256_set1_epi16(1));
            let sum = _mm256_add_epi32(low[r][k], _mm256_slli_epi32::<16>(high));
            let sum = _mm_add_epi32(
                _mm256_castsi256_si128(sum),
                _mm256_extracti128_si256::<1>(sum),
            );
            let sum = _mm_add_epi32(sum, _mm_shuffle_epi32::<0b0100_1110>(sum));
            let sum = _mm_add_epi32(sum, _mm_shuffle_epi32::<0b1011_0001>(sum));
            let centre = words.sums[k].wrapping_mul(CENTRE);
            sums[r][k] = _mm_cvtsi128_si32(sum).cast_unsigned().wrapping_add(centre);
        }
    }
    sums
}
