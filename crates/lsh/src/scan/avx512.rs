//! Eight codes in a 512-bit vector, with VPOPCNTDQ.
#![expect(
    unsafe_code,
    reason = "vector loads and stores, and the call into AVX-512 code"
)]

use core::arch::x86_64::*;

use sordino_cpu::Avx512Popcnt;

use super::{Best, LANES};

pub(super) fn scan(_: Avx512Popcnt, rows: &[[u64; LANES]], query: &[u64], best: &mut Best) {
    // SAFETY: the token proves AVX-512 F and VPOPCNTDQ.
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
#[target_feature(enable = "avx512f,avx512vpopcntdq")]
fn fixed<const W: usize>(query: [u64; W], rows: &[[u64; LANES]], best: &mut Best) {
    let query = query.map(|word| word.cast_signed());
    let mut limit = _mm512_set1_epi64(i64::from(best.limit()));
    for (i, group) in rows.as_chunks::<W>().0.iter().enumerate() {
        let mut distances = _mm512_setzero_si512();
        for j in 0..W {
            let differ = _mm512_xor_si512(load(&group[j]), _mm512_set1_epi64(query[j]));
            distances = _mm512_add_epi64(distances, _mm512_popcnt_epi64(differ));
        }
        if _mm512_cmplt_epu64_mask(distances, limit) != 0 {
            offer(i, distances, best);
            limit = _mm512_set1_epi64(i64::from(best.limit()));
        }
    }
}

/// Codes of any number of words.
#[target_feature(enable = "avx512f,avx512vpopcntdq")]
fn any(query: &[u64], rows: &[[u64; LANES]], best: &mut Best) {
    let mut limit = _mm512_set1_epi64(i64::from(best.limit()));
    for (i, group) in rows.chunks_exact(query.len()).enumerate() {
        let mut distances = _mm512_setzero_si512();
        for (row, word) in group.iter().zip(query) {
            let differ = _mm512_xor_si512(load(row), _mm512_set1_epi64(word.cast_signed()));
            distances = _mm512_add_epi64(distances, _mm512_popcnt_epi64(differ));
        }
        if _mm512_cmplt_epu64_mask(distances, limit) != 0 {
            offer(i, distances, best);
            limit = _mm512_set1_epi64(i64::from(best.limit()));
        }
    }
}

/// Offers the codes of group `i`.
#[cold]
#[inline(never)]
#[target_feature(enable = "avx512f")]
fn offer(i: usize, distances: __m512i, best: &mut Best) {
    let mut lanes = [0_u64; LANES];
    // SAFETY: the array is 64 bytes.
    unsafe { _mm512_storeu_si512(lanes.as_mut_ptr().cast(), distances) };
    for (lane, distance) in lanes.into_iter().enumerate() {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "a distance is at most 1024"
        )]
        best.offer(LANES * i + lane, distance as u32);
    }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load(row: &[u64; LANES]) -> __m512i {
    // SAFETY: the array is 64 bytes.
    unsafe { _mm512_loadu_si512(row.as_ptr().cast()) }
}
