//! Four lanes: one 128-bit vector per word of the state.
#![expect(
    unsafe_code,
    reason = "vector loads and stores, and the call into NEON code"
)]

use core::arch::aarch64::*;
use core::slice::from_raw_parts;

use sordino_cpu::Neon;

use super::{Kernel, Lanes, bits};
use crate::mode::Mode;
use crate::node::{BLOCK, CHUNK, IV, SCHEDULE, flag, len_of};

impl Kernel<4> for Neon {
    fn advance(self, lanes: &mut Lanes<'_, 4>, mode: &Mode) -> u32 {
        // SAFETY: the token proves NEON.
        unsafe { advance(lanes, mode) }
    }

    fn uniform<M: AsRef<[u8]>>(
        self,
        messages: &[M; 4],
        _next: &[M; 4],
        mode: &Mode,
        tails: &mut [[u8; BLOCK]; 4],
        digests: &mut [[u8; 32]; 4],
    ) {
        // SAFETY: the token proves NEON.
        unsafe { uniform(messages, mode, tails, digests) }
    }

    #[inline]
    fn prefetch(self, _bytes: &[u8]) {}
}

#[target_feature(enable = "neon")]
fn advance(lanes: &mut Lanes<'_, 4>, mode: &Mode) -> u32 {
    let fresh = load(&lanes.fresh);
    let mut cv = [vdupq_n_u32(0); 8];
    for ((vector, words), key) in cv.iter_mut().zip(&lanes.cv).zip(mode.key) {
        *vector = vbslq_u32(fresh, splat(key), load(words));
    }
    let counter = [load(&lanes.counter_low), load(&lanes.counter_high)];
    let base = splat(mode.flags);
    let mut flags = vorrq_u32(base, vandq_u32(fresh, load(&lanes.start)));
    let left = load(&lanes.left);
    let n = vminvq_u32(left);
    let mut blocks = [core::ptr::null(); 4];
    for (block, (bytes, at)) in blocks.iter_mut().zip(lanes.bytes.iter().zip(&mut lanes.at)) {
        *block = bytes.as_ptr().wrapping_add(*at as usize);
        *at += 64 * n;
    }
    for _ in 1..n {
        // SAFETY: every lane has `n` blocks left, all but the last of them whole.
        unsafe { compress(&mut cv, &blocks, counter, splat(64), flags) };
        flags = base;
        for block in &mut blocks {
            *block = block.wrapping_add(BLOCK);
        }
    }
    let last = vceqq_u32(left, splat(n));
    let done = vaddvq_u32(vandq_u32(last, load(&[1, 2, 4, 8])));
    for lane in bits(done) {
        // SAFETY: the lane is at its last block, of `tail_len` bytes.
        let bytes = unsafe { from_raw_parts(blocks[lane], lanes.tail_len[lane] as usize) };
        blocks[lane] = pad(bytes, &mut lanes.tails[lane]);
    }
    let len = vbslq_u32(last, load(&lanes.tail_len), splat(64));
    flags = vorrq_u32(flags, vandq_u32(last, load(&lanes.end)));
    // SAFETY: lanes that are not done have a whole block here, the others a padded one.
    unsafe { compress(&mut cv, &blocks, counter, len, flags) };
    store(&mut lanes.left, vsubq_u32(left, splat(n)));
    lanes.fresh = [0; 4];
    for (words, vector) in lanes.cv.iter_mut().zip(cv) {
        store(words, vector);
    }
    done
}

#[target_feature(enable = "neon")]
fn uniform<M: AsRef<[u8]>>(
    messages: &[M; 4],
    mode: &Mode,
    tails: &mut [[u8; BLOCK]; 4],
    digests: &mut [[u8; 32]; 4],
) {
    let mut cv = [vdupq_n_u32(0); 8];
    for (vector, word) in cv.iter_mut().zip(mode.key) {
        *vector = splat(word);
    }
    let counter = [splat(0), splat(0)];
    let mut flags = mode.flags | flag::CHUNK_START;
    let mut blocks = [core::ptr::null(); 4];
    let (mut lens, mut any) = ([0; 4], 0);
    for ((block, len), message) in blocks.iter_mut().zip(&mut lens).zip(messages) {
        let message = message.as_ref();
        *block = message.as_ptr();
        *len = len_of(message);
        any |= message.len();
    }
    let full = lens[0].saturating_sub(1) / 64;
    let tail_len = vsubq_u32(load(&lens), splat(64 * full));
    let same = vmaxvq_u32(tail_len) <= 64;
    assert!(
        any < 2 * CHUNK && same,
        "messages of the same number of blocks, at most a chunk"
    );
    for _ in 0..full {
        // SAFETY: every message has this many blocks and at most a block more.
        unsafe { compress(&mut cv, &blocks, counter, splat(64), splat(flags)) };
        flags = mode.flags;
        for block in &mut blocks {
            *block = block.wrapping_add(BLOCK);
        }
    }
    flags |= flag::CHUNK_END | flag::ROOT;
    if vminvq_u32(tail_len) == 64 {
        // SAFETY: every last block is whole.
        unsafe { compress(&mut cv, &blocks, counter, splat(64), splat(flags)) };
    } else {
        for (lane, space) in tails.iter_mut().enumerate() {
            // SAFETY: this many bytes of the message are left, at most 64.
            let tail = unsafe { from_raw_parts(blocks[lane], (lens[lane] - 64 * full) as usize) };
            blocks[lane] = pad(tail, space);
        }
        // SAFETY: every block is a padded copy.
        unsafe { compress(&mut cv, &blocks, counter, tail_len, splat(flags)) };
    }
    untranspose(&cv, digests);
}

/// Copies a last block into `space`, zeros after it, and returns `space`.
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

/// The compression function on four lanes.
///
/// # Safety
/// 64 bytes must be readable at every pointer.
#[target_feature(enable = "neon")]
unsafe fn compress(
    cv: &mut [uint32x4_t; 8],
    blocks: &[*const u8; 4],
    counter: [uint32x4_t; 2],
    block_len: uint32x4_t,
    flags: uint32x4_t,
) {
    // SAFETY: the caller's.
    let m = unsafe { transpose(blocks) };
    let mut v = [
        cv[0],
        cv[1],
        cv[2],
        cv[3],
        cv[4],
        cv[5],
        cv[6],
        cv[7],
        splat(IV[0]),
        splat(IV[1]),
        splat(IV[2]),
        splat(IV[3]),
        counter[0],
        counter[1],
        block_len,
        flags,
    ];
    rounds!(v, m, 0 1 2 3 4 5 6);
    for i in 0..8 {
        cv[i] = xor(v[i], v[i + 8]);
    }
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
fn rotate_12(x: uint32x4_t) -> uint32x4_t {
    rotate::<12, 20>(x)
}

#[inline]
#[target_feature(enable = "neon")]
fn rotate_7(x: uint32x4_t) -> uint32x4_t {
    rotate::<7, 25>(x)
}

/// Rotates right by `RIGHT`, where `LEFT` is 32 - `RIGHT`: a shift, and a shift that inserts.
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

/// Word `i` of every lane's block in vector `i`.
#[inline]
#[target_feature(enable = "neon")]
unsafe fn transpose(blocks: &[*const u8; 4]) -> [uint32x4_t; 16] {
    let mut m = [splat(0); 16];
    for quarter in 0..4 {
        let row = |lane: usize| {
            // SAFETY: `quarter` is at most 3, so the 16 bytes lie in the block of 64.
            vreinterpretq_u32_u8(unsafe { vld1q_u8(blocks[lane].add(16 * quarter)) })
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

/// The inverse for chaining values: lane `i`'s 32 bytes in row `i`.
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
