//! Eight codes in two 256-bit vectors. The kernel counts bits with a table for nibbles (Mula). The counts stay in bytes
//! until all words of a code are added, since 16 words give at most 128.
#![expect(
    unsafe_code,
    reason = "vector loads and stores, and the call into AVX2 code"
)]

use core::arch::x86_64::*;

use sordino_cpu::Avx2;

use super::{Best, LANES};

pub(super) fn scan(_: Avx2, rows: &[[u64; LANES]], query: &[u64], best: &mut Best) {
    // SAFETY: the token proves AVX2.
    unsafe {
        match query {
            [a] => fixed([*a], rows, best),
            [a, b] => fixed([*a, *b], rows, best),
            [a, b, c, d] => fixed([*a, *b, *c, *d], rows, best),
            _ => any(query, rows, best),
        }
    }
}

/// Codes of `W` words. The query stays in registers.
#[target_feature(enable = "avx2")]
fn fixed<const W: usize>(query: [u64; W], rows: &[[u64; LANES]], best: &mut Best) {
    for (i, group) in rows.as_chunks::<W>().0.iter().enumerate() {
        let mut bytes = [_mm256_setzero_si256(); 2];
        for j in 0..W {
            add(&mut bytes, &group[j], query[j]);
        }
        finish(i, bytes, best);
    }
}

/// Codes of any number of words.
#[target_feature(enable = "avx2")]
fn any(query: &[u64], rows: &[[u64; LANES]], best: &mut Best) {
    for (i, group) in rows.chunks_exact(query.len()).enumerate() {
        let mut bytes = [_mm256_setzero_si256(); 2];
        for (row, word) in group.iter().zip(query) {
            add(&mut bytes, row, *word);
        }
        finish(i, bytes, best);
    }
}

/// Adds the counts of one word, byte by byte.
#[inline]
#[target_feature(enable = "avx2")]
fn add(bytes: &mut [__m256i; 2], row: &[u64; LANES], word: u64) {
    let table = _mm256_broadcastsi128_si256(_mm_setr_epi8(
        0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4,
    ));
    let nibble = _mm256_set1_epi8(0x0f);
    for (half, bytes) in bytes.iter_mut().enumerate() {
        // SAFETY: `row` has eight words, and `half` is 0 or 1.
        let codes = unsafe { _mm256_loadu_si256(row.as_ptr().add(4 * half).cast()) };
        let differ = _mm256_xor_si256(codes, _mm256_set1_epi64x(word.cast_signed()));
        let low = _mm256_shuffle_epi8(table, _mm256_and_si256(differ, nibble));
        let shifted = _mm256_srli_epi16::<4>(differ);
        let high = _mm256_shuffle_epi8(table, _mm256_and_si256(shifted, nibble));
        *bytes = _mm256_add_epi8(*bytes, _mm256_add_epi8(low, high));
    }
}

/// Sums the bytes of each code, and offers group `i` if one of its codes is near.
#[inline]
#[target_feature(enable = "avx2")]
fn finish(i: usize, bytes: [__m256i; 2], best: &mut Best) {
    let zero = _mm256_setzero_si256();
    let distances = [
        _mm256_sad_epu8(bytes[0], zero),
        _mm256_sad_epu8(bytes[1], zero),
    ];
    let limit = _mm256_set1_epi64x(i64::from(best.limit()));
    let near = _mm256_or_si256(
        _mm256_cmpgt_epi64(limit, distances[0]),
        _mm256_cmpgt_epi64(limit, distances[1]),
    );
    if _mm256_movemask_epi8(near) != 0 {
        offer(i, distances, best);
    }
}

/// Offers the codes of group `i`.
#[cold]
#[inline(never)]
#[target_feature(enable = "avx2")]
fn offer(i: usize, distances: [__m256i; 2], best: &mut Best) {
    let mut lanes = [0_u64; LANES];
    for (half, distances) in distances.into_iter().enumerate() {
        // SAFETY: `lanes` has eight words, and `half` is 0 or 1.
        unsafe { _mm256_storeu_si256(lanes.as_mut_ptr().add(4 * half).cast(), distances) };
    }
    for (lane, distance) in lanes.into_iter().enumerate() {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "a distance is at most 1024"
        )]
        best.offer(LANES * i + lane, distance as u32);
    }
}
