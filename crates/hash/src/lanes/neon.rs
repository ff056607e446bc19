//! Four lanes: one 128-bit vector per word of the state.
#![expect(
    unsafe_code,
    reason = "vector loads and stores, and the call into NEON code"
)]

use core::arch::aarch64::*;
use core::slice::from_raw_parts;

use sordino_cpu::Neon;

use super::{Kernel, Lanes, ones};
use crate::mode::Mode;
use crate::node::{BLOCK, CHUNK, IV, SCHEDULE, flag, len_of};

type Vector = uint32x4_t;
/// All ones or 0 in every lane.
type Mask = uint32x4_t;

kernel!(Neon, 4, "neon");

/// Does nothing: the effect of prefetching on such processors was not measured.
#[inline]
#[target_feature(enable = "neon")]
fn fetch(_address: *const u8) {}

/// Copies a last block into `space`, adds zeros behind it, and returns `space`.
#[inline]
fn pad(tail: &[u8], space: &mut [u8; BLOCK]) -> *const u8 {
    *space = [0; BLOCK];
    space[..tail.len()].copy_from_slice(tail);
    space.as_ptr()
}

#[inline]
#[target_feature(enable = "neon")]
fn splat(word: u32) -> uint32x4_t {
    vdupq_n_u32(word)
}

#[inline]
#[target_feature(enable = "neon")]
fn load(words: &[u32; 4]) -> uint32x4_t {
    // SAFETY: the array is 16 bytes.
    unsafe { vld1q_u32(words.as_ptr()) }
}

#[inline]
#[target_feature(enable = "neon")]
fn store(words: &mut [u32; 4], vector: uint32x4_t) {
    // SAFETY: the array is 16 bytes.
    unsafe { vst1q_u32(words.as_mut_ptr(), vector) }
}

#[inline]
#[target_feature(enable = "neon")]
fn add(a: uint32x4_t, b: uint32x4_t) -> uint32x4_t {
    vaddq_u32(a, b)
}

#[inline]
#[target_feature(enable = "neon")]
fn xor(a: uint32x4_t, b: uint32x4_t) -> uint32x4_t {
    veorq_u32(a, b)
}

#[inline]
#[target_feature(enable = "neon")]
fn or(a: uint32x4_t, b: uint32x4_t) -> uint32x4_t {
    vorrq_u32(a, b)
}

#[inline]
#[target_feature(enable = "neon")]
fn sub(a: uint32x4_t, b: uint32x4_t) -> uint32x4_t {
    vsubq_u32(a, b)
}

#[inline]
fn mask(words: uint32x4_t) -> Mask {
    words
}

#[inline]
#[target_feature(enable = "neon")]
fn equal(a: uint32x4_t, b: uint32x4_t) -> Mask {
    vceqq_u32(a, b)
}

#[inline]
#[target_feature(enable = "neon")]
fn select(yes: Mask, a: uint32x4_t, b: uint32x4_t) -> uint32x4_t {
    vbslq_u32(yes, a, b)
}

#[inline]
#[target_feature(enable = "neon")]
fn keep(yes: Mask, a: uint32x4_t) -> uint32x4_t {
    vandq_u32(yes, a)
}

#[inline]
#[target_feature(enable = "neon")]
fn bits(mask: Mask) -> u32 {
    vaddvq_u32(vandq_u32(mask, load(&[1, 2, 4, 8])))
}

#[inline]
#[target_feature(enable = "neon")]
fn least(words: &[u32; 4]) -> u32 {
    vminvq_u32(load(words))
}

#[inline]
#[target_feature(enable = "neon")]
fn rotate_12(x: uint32x4_t) -> uint32x4_t {
    rotate::<12, 20>(x)
}

#[inline]
#[target_feature(enable = "neon")]
fn rotate_7(x: uint32x4_t) -> uint32x4_t {
    rotate::<7, 25>(x)
}

/// Rotates right by `RIGHT`, where `LEFT` is 32 - `RIGHT`, by a shift and a shift that inserts.
#[inline]
#[target_feature(enable = "neon")]
fn rotate<const RIGHT: i32, const LEFT: i32>(x: uint32x4_t) -> uint32x4_t {
    vsriq_n_u32::<RIGHT>(vshlq_n_u32::<LEFT>(x), x)
}

/// Rotates right by 16: swaps half words.
#[inline]
#[target_feature(enable = "neon")]
fn rotate_16(x: uint32x4_t) -> uint32x4_t {
    vreinterpretq_u32_u16(vrev32q_u16(vreinterpretq_u16_u32(x)))
}

/// Rotates right by 8: a byte shuffle.
#[inline]
#[target_feature(enable = "neon")]
fn rotate_8(x: uint32x4_t) -> uint32x4_t {
    const BYTES: [u8; 16] = [1, 2, 3, 0, 5, 6, 7, 4, 9, 10, 11, 8, 13, 14, 15, 12];
    // SAFETY: the array is 16 bytes.
    let bytes = unsafe { vld1q_u8(BYTES.as_ptr()) };
    vreinterpretq_u32_u8(vqtbl1q_u8(vreinterpretq_u8_u32(x), bytes))
}

/// Puts word `i` of every lane's block into vector `i`. The blocks are `offset` bytes behind the
/// pointers.
///
/// # Safety
/// 64 bytes must be readable at each block.
#[inline]
#[target_feature(enable = "neon")]
unsafe fn transpose(blocks: &[*const u8; 4], offset: usize) -> [uint32x4_t; 16] {
    let mut m = [splat(0); 16];
    for quarter in 0..4 {
        let row = |lane: usize| {
            // SAFETY: `quarter` is at most 3, so the 16 bytes lie in the block of 64.
            vreinterpretq_u32_u8(unsafe {
                vld1q_u8(blocks[lane].wrapping_add(offset + 16 * quarter))
            })
        };
        let words = transpose_4([row(0), row(1), row(2), row(3)]);
        m[4 * quarter..][..4].copy_from_slice(&words);
    }
    m
}

/// 4 x 4 transpose of words.
#[inline]
#[target_feature(enable = "neon")]
fn transpose_4(rows: [uint32x4_t; 4]) -> [uint32x4_t; 4] {
    let pair = |a, b| {
        let (even, odd) = (vtrn1q_u32(a, b), vtrn2q_u32(a, b));
        (vreinterpretq_u64_u32(even), vreinterpretq_u64_u32(odd))
    };
    let ((even_01, odd_01), (even_23, odd_23)) = (pair(rows[0], rows[1]), pair(rows[2], rows[3]));
    [
        vreinterpretq_u32_u64(vtrn1q_u64(even_01, even_23)),
        vreinterpretq_u32_u64(vtrn1q_u64(odd_01, odd_23)),
        vreinterpretq_u32_u64(vtrn2q_u64(even_01, even_23)),
        vreinterpretq_u32_u64(vtrn2q_u64(odd_01, odd_23)),
    ]
}

/// The inverse for chaining values: writes lane `i`'s 32 bytes to row `i`.
#[inline]
#[target_feature(enable = "neon")]
fn untranspose(cv: &[uint32x4_t; 8], digests: &mut [[u8; 32]; 4]) {
    let left = transpose_4([cv[0], cv[1], cv[2], cv[3]]);
    let right = transpose_4([cv[4], cv[5], cv[6], cv[7]]);
    for (lane, digest) in digests.iter_mut().enumerate() {
        // SAFETY: a row is 32 bytes.
        unsafe {
            vst1q_u8(digest.as_mut_ptr(), vreinterpretq_u8_u32(left[lane]));
            vst1q_u8(
                digest.as_mut_ptr().add(16),
                vreinterpretq_u8_u32(right[lane]),
            );
        }
    }
}
