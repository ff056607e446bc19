//! Sixteen lanes: one 512-bit vector per word of the state.
#![expect(
    unsafe_code,
    reason = "vector loads and stores, and the call into AVX-512 code"
)]

use core::arch::x86_64::*;
use core::slice::from_raw_parts;

use sordino_cpu::Avx512;

use super::{Kernel, Lanes, ones};
use crate::mode::Mode;
use crate::node::{BLOCK, CHUNK, IV, SCHEDULE, flag, len_of};

type Vector = __m512i;
/// One bit for every lane.
type Mask = __mmask16;

kernel!(Avx512, 16, "avx512f,avx512bw,avx512dq,avx512vl");

#[inline]
#[target_feature(enable = "avx512f")]
fn fetch(address: *const u8) {
    _mm_prefetch::<_MM_HINT_T0>(address.cast());
}

/// Copies a last block into `space`, adds zeros behind it, and returns `space`.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn pad(tail: &[u8], space: &mut [u8; BLOCK]) -> *const u8 {
    let bytes = u64::MAX.checked_shr(64 - len_of(tail)).unwrap_or(0);
    // SAFETY: the mask admits the bytes of the tail only; `space` is 64 bytes.
    unsafe {
        let block = _mm512_maskz_loadu_epi8(bytes, tail.as_ptr().cast());
        _mm512_storeu_si512(space.as_mut_ptr().cast(), block);
    }
    space.as_ptr()
}

#[inline]
#[target_feature(enable = "avx512f")]
fn splat(word: u32) -> __m512i {
    _mm512_set1_epi32(word.cast_signed())
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load(words: &[u32; 16]) -> __m512i {
    // SAFETY: the array is 64 bytes.
    unsafe { _mm512_loadu_si512(words.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn store(words: &mut [u32; 16], vector: __m512i) {
    // SAFETY: the array is 64 bytes.
    unsafe { _mm512_storeu_si512(words.as_mut_ptr().cast(), vector) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn add(a: __m512i, b: __m512i) -> __m512i {
    _mm512_add_epi32(a, b)
}

#[inline]
#[target_feature(enable = "avx512f")]
fn xor(a: __m512i, b: __m512i) -> __m512i {
    _mm512_xor_si512(a, b)
}

#[inline]
#[target_feature(enable = "avx512f")]
fn or(a: __m512i, b: __m512i) -> __m512i {
    _mm512_or_si512(a, b)
}

#[inline]
#[target_feature(enable = "avx512f")]
fn sub(a: __m512i, b: __m512i) -> __m512i {
    _mm512_sub_epi32(a, b)
}

#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn mask(words: __m512i) -> Mask {
    _mm512_movepi32_mask(words)
}

#[inline]
#[target_feature(enable = "avx512f")]
fn equal(a: __m512i, b: __m512i) -> Mask {
    _mm512_cmpeq_epi32_mask(a, b)
}

#[inline]
#[target_feature(enable = "avx512f")]
fn select(yes: Mask, a: __m512i, b: __m512i) -> __m512i {
    _mm512_mask_mov_epi32(b, yes, a)
}

#[inline]
#[target_feature(enable = "avx512f")]
fn keep(yes: Mask, a: __m512i) -> __m512i {
    _mm512_maskz_mov_epi32(yes, a)
}

#[inline]
fn bits(mask: Mask) -> u32 {
    u32::from(mask)
}

#[inline]
#[target_feature(enable = "avx512f")]
fn least(words: &[u32; 16]) -> u32 {
    _mm512_reduce_min_epu32(load(words))
}

#[inline]
#[target_feature(enable = "avx512f")]
fn rotate_16(x: __m512i) -> __m512i {
    _mm512_ror_epi32::<16>(x)
}

#[inline]
#[target_feature(enable = "avx512f")]
fn rotate_12(x: __m512i) -> __m512i {
    _mm512_ror_epi32::<12>(x)
}

#[inline]
#[target_feature(enable = "avx512f")]
fn rotate_8(x: __m512i) -> __m512i {
    _mm512_ror_epi32::<8>(x)
}

#[inline]
#[target_feature(enable = "avx512f")]
fn rotate_7(x: __m512i) -> __m512i {
    _mm512_ror_epi32::<7>(x)
}

/// Puts word `i` of every lane's block into vector `i`. The blocks are `offset` bytes behind the pointers. The
/// loads put quarters of four blocks next to each other, and a 4 x 4 transpose within each 128-bit part finishes.
///
/// # Safety
/// 64 bytes must be readable at each block.
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
unsafe fn transpose(blocks: &[*const u8; 16], offset: usize) -> [__m512i; 16] {
    let mut m = [_mm512_setzero_si512(); 16];
    for quarter in 0..4 {
        let part = |lane: usize| {
            // SAFETY: `quarter` is at most 3, so the 16 bytes lie in the block of 64.
            unsafe { _mm_loadu_si128(blocks[lane].wrapping_add(offset + 16 * quarter).cast()) }
        };
        let row = |j: usize| {
            let row = _mm512_castsi128_si512(part(j));
            let row = _mm512_inserti32x4::<1>(row, part(j + 4));
            let row = _mm512_inserti32x4::<2>(row, part(j + 8));
            _mm512_inserti32x4::<3>(row, part(j + 12))
        };
        let words = transpose_parts([row(0), row(1), row(2), row(3)]);
        m[4 * quarter..][..4].copy_from_slice(&words);
    }
    m
}

/// 4 x 4 transpose of the words within each 128-bit part.
#[inline]
#[target_feature(enable = "avx512f")]
fn transpose_parts(rows: [__m512i; 4]) -> [__m512i; 4] {
    let low = [
        _mm512_unpacklo_epi32(rows[0], rows[1]),
        _mm512_unpacklo_epi32(rows[2], rows[3]),
    ];
    let high = [
        _mm512_unpackhi_epi32(rows[0], rows[1]),
        _mm512_unpackhi_epi32(rows[2], rows[3]),
    ];
    [
        _mm512_unpacklo_epi64(low[0], low[1]),
        _mm512_unpackhi_epi64(low[0], low[1]),
        _mm512_unpacklo_epi64(high[0], high[1]),
        _mm512_unpackhi_epi64(high[0], high[1]),
    ]
}

/// The inverse of `transpose`, for chaining values: writes the 32 bytes of lane `i` to row `i`.
#[inline]
#[target_feature(enable = "avx512f")]
fn untranspose(cv: &[__m512i; 8], digests: &mut [[u8; 32]; 16]) {
    // Part p of row j: four words of lane 4 p + j.
    let left = transpose_parts([cv[0], cv[1], cv[2], cv[3]]);
    let right = transpose_parts([cv[4], cv[5], cv[6], cv[7]]);
    for j in 0..4 {
        // Parts 0 and 1, and parts 2 and 3, with the two halves of each lane next to each other.
        let pairs = [
            _mm512_permutex2var_epi64(
                left[j],
                _mm512_set_epi64(11, 10, 3, 2, 9, 8, 1, 0),
                right[j],
            ),
            _mm512_permutex2var_epi64(
                left[j],
                _mm512_set_epi64(15, 14, 7, 6, 13, 12, 5, 4),
                right[j],
            ),
        ];
        for (p, pair) in pairs.into_iter().enumerate() {
            let (a, b) = (8 * p + j, 8 * p + j + 4);
            // SAFETY: a row is 32 bytes.
            unsafe {
                _mm256_storeu_si256(digests[a].as_mut_ptr().cast(), _mm512_castsi512_si256(pair));
                _mm256_storeu_si256(
                    digests[b].as_mut_ptr().cast(),
                    _mm512_extracti64x4_epi64::<1>(pair),
                );
            }
        }
    }
}
