//! AVX2: `vpmaddwd` adds neighbouring products of 16-bit integers, which wraps like the sum.
#![expect(unsafe_code, reason = "vector loads, entry into target features")]

use std::arch::x86_64::*;

use sordino_cpu::Avx2;

use super::{CHUNK, LANES, LINE, Words};

pub(super) fn products(_: Avx2, words: &Words, rows: &[u8], out: &mut [u32]) {
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
#[target_feature(enable = "avx2")]
unsafe fn one<const Q: usize>(words: &Words, row: &[u8], out: &mut [u32]) {
    assert_eq!((words.queries, out.len()), (Q, Q));
    let mut low = [_mm256_setzero_si256(); Q];
    let mut high = [_mm256_setzero_si256(); Q];
    let (row, halves) = (row.as_ptr(), words.halves.as_ptr());
    for c in 0..words.chunks() {
        for part in 0..2 {
            // SAFETY: half of chunk `c`.
            let x = unsafe { _mm256_loadu_si256(row.add(c * LINE + part * LINE / 2).cast()) };
            for k in 0..Q {
                // SAFETY: the words have as many chunks, of both halves of `Q` queries.
                let (l, h) = unsafe {
                    let halves = halves.add((c * Q + k) * CHUNK + part * LANES / 2);
                    (
                        _mm256_loadu_si256(halves.cast()),
                        _mm256_loadu_si256(halves.add(LANES).cast()),
                    )
                };
                low[k] = _mm256_add_epi32(low[k], _mm256_madd_epi16(x, l));
                high[k] = _mm256_add_epi32(high[k], _mm256_madd_epi16(x, h));
            }
        }
    }
    for k in 0..Q {
        let sum = _mm256_add_epi32(low[k], _mm256_slli_epi32::<16>(high[k]));
        let sum = _mm_add_epi32(
            _mm256_castsi256_si128(sum),
            _mm256_extracti128_si256::<1>(sum),
        );
        let sum = _mm_add_epi32(sum, _mm_shuffle_epi32::<0b0100_1110>(sum));
        let sum = _mm_add_epi32(sum, _mm_shuffle_epi32::<0b1011_0001>(sum));
        out[k] = _mm_cvtsi128_si32(sum).cast_unsigned();
    }
}
