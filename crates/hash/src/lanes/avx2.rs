//! Eight lanes: one 256-bit vector per word of the state.
#![expect(
    unsafe_code,
    reason = "vector loads and stores, and the call into AVX2 code"
)]

use core::arch::x86_64::*;
use core::slice::from_raw_parts;

use sordino_cpu::Avx2;

use super::{Kernel, Lanes, ones};
use crate::mode::Mode;
use crate::node::{BLOCK, CHUNK, IV, SCHEDULE, flag, len_of};

type Vector = __m256i;
/// All ones or 0 in every lane.
type Mask = __m256i;

kernel!(Avx2, 8, "avx2");

#[inline]
#[target_feature(enable = "avx2")]
fn fetch(address: *const u8) {
    _mm_prefetch::<_MM_HINT_T0>(address.cast());
}

/// Copies a last block into `space`, adds zeros behind it, and returns `space`.
#[inline]
fn pad(tail: &[u8], space: &mut [u8; BLOCK]) -> *const u8 {
    *space = [0; BLOCK];
    space[..tail.len()].copy_from_slice(tail);
    space.as_ptr()
}

#[inline]
#[target_feature(enable = "avx2")]
fn splat(word: u32) -> __m256i {
    _mm256_set1_epi32(word.cast_signed())
}

#[inline]
#[target_feature(enable = "avx2")]
fn load(words: &[u32; 8]) -> __m256i {
    // SAFETY: the array is 32 bytes.
    unsafe { _mm256_loadu_si256(words.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx2")]
fn store(words: &mut [u32; 8], vector: __m256i) {
    // SAFETY: the array is 32 bytes.
    unsafe { _mm256_storeu_si256(words.as_mut_ptr().cast(), vector) }
}

#[inline]
#[target_feature(enable = "avx2")]
fn add(a: __m256i, b: __m256i) -> __m256i {
    _mm256_add_epi32(a, b)
}

#[inline]
#[target_feature(enable = "avx2")]
fn xor(a: __m256i, b: __m256i) -> __m256i {
    _mm256_xor_si256(a, b)
}

#[inline]
#[target_feature(enable = "avx2")]
fn or(a: __m256i, b: __m256i) -> __m256i {
    _mm256_or_si256(a, b)
}

#[inline]
#[target_feature(enable = "avx2")]
fn sub(a: __m256i, b: __m256i) -> __m256i {
    _mm256_sub_epi32(a, b)
}

#[inline]
fn mask(words: __m256i) -> Mask {
    words
}

#[inline]
#[target_feature(enable = "avx2")]
fn equal(a: __m256i, b: __m256i) -> Mask {
    _mm256_cmpeq_epi32(a, b)
}

#[inline]
#[target_feature(enable = "avx2")]
fn select(yes: Mask, a: __m256i, b: __m256i) -> __m256i {
    _mm256_blendv_epi8(b, a, yes)
}

#[inline]
#[target_feature(enable = "avx2")]
fn keep(yes: Mask, a: __m256i) -> __m256i {
    _mm256_and_si256(yes, a)
}

#[inline]
#[target_feature(enable = "avx2")]
fn bits(mask: Mask) -> u32 {
    _mm256_movemask_ps(_mm256_castsi256_ps(mask)).cast_unsigned()
}

#[inline]
#[target_feature(enable = "avx2")]
fn least(words: &[u32; 8]) -> u32 {
    words.iter().fold(u32::MAX, |least, &word| least.min(word))
}

#[inline]
#[target_feature(enable = "avx2")]
fn rotate_12(x: __m256i) -> __m256i {
    rotate::<12, 20>(x)
}

#[inline]
#[target_feature(enable = "avx2")]
fn rotate_7(x: __m256i) -> __m256i {
    rotate::<7, 25>(x)
}

/// Rotates right by `RIGHT`, where `LEFT` is 32 - `RIGHT`.
#[inline]
#[target_feature(enable = "avx2")]
fn rotate<const RIGHT: i32, const LEFT: i32>(x: __m256i) -> __m256i {
    _mm256_or_si256(_mm256_srli_epi32::<RIGHT>(x), _mm256_slli_epi32::<LEFT>(x))
}

/// Rotates right by 16: a byte shuffle.
#[inline]
#[target_feature(enable = "avx2")]
fn rotate_16(x: __m256i) -> __m256i {
    let bytes = _mm_set_epi8(13, 12, 15, 14, 9, 8, 11, 10, 5, 4, 7, 6, 1, 0, 3, 2);
    _mm256_shuffle_epi8(x, _mm256_broadcastsi128_si256(bytes))
}

/// Rotates right by 8: a byte shuffle.
#[inline]
#[target_feature(enable = "avx2")]
fn rotate_8(x: __m256i) -> __m256i {
    let bytes = _mm_set_epi8(12, 15, 14, 13, 8, 11, 10, 9, 4, 7, 6, 5, 0, 3, 2, 1);
    _mm256_shuffle_epi8(x, _mm256_broadcastsi128_si256(bytes))
}

/// Puts word `i` of every lane's block into vector `i`. The blocks are `offset` bytes behind the
/// pointers.
///
/// # Safety
/// 64 bytes must be readable at each block.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn transpose(blocks: &[*const u8; 8], offset: usize) -> [__m256i; 16] {
    let mut m = [_mm256_setzero_si256(); 16];
    for quarter in 0..4 {
        let part = |lane: usize| {
            // SAFETY: `quarter` is at most 3, so the 16 bytes lie in the block of 64.
            unsafe { _mm_loadu_si128(blocks[lane].wrapping_add(offset + 16 * quarter).cast()) }
        };
        let row =
            |j: usize| _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(part(j)), part(j + 4));
        let words = transpose_parts([row(0), row(1), row(2), row(3)]);
        m[4 * quarter..][..4].copy_from_slice(&words);
    }
    m
}

/// 4 x 4 transpose of the words within each 128-bit part.
#[inline]
#[target_feature(enable = "avx2")]
fn transpose_parts(rows: [__m256i; 4]) -> [__m256i; 4] {
    let low = [
        _mm256_unpacklo_epi32(rows[0], rows[1]),
        _mm256_unpacklo_epi32(rows[2], rows[3]),
    ];
    let high = [
        _mm256_unpackhi_epi32(rows[0], rows[1]),
        _mm256_unpackhi_epi32(rows[2], rows[3]),
    ];
    [
        _mm256_unpacklo_epi64(low[0], low[1]),
        _mm256_unpackhi_epi64(low[0], low[1]),
        _mm256_unpacklo_epi64(high[0], high[1]),
        _mm256_unpackhi_epi64(high[0], high[1]),
    ]
}

/// The inverse for chaining values: writes lane `i`'s 32 bytes to row `i`.
#[inline]
#[target_feature(enable = "avx2")]
fn untranspose(cv: &[__m256i; 8], digests: &mut [[u8; 32]; 8]) {
    let left = transpose_parts([cv[0], cv[1], cv[2], cv[3]]);
    let right = transpose_parts([cv[4], cv[5], cv[6], cv[7]]);
    for j in 0..4 {
        // Part p of `left[j]` and `right[j]` are the halves of lane 4 p + j.
        let lanes = [
            _mm256_permute2x128_si256::<0x20>(left[j], right[j]),
            _mm256_permute2x128_si256::<0x31>(left[j], right[j]),
        ];
        for (p, lane) in lanes.into_iter().enumerate() {
            // SAFETY: a row is 32 bytes.
            unsafe { _mm256_storeu_si256(digests[4 * p + j].as_mut_ptr().cast(), lane) }
        }
    }
}
