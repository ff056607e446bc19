//! Four lanes: one 128-bit vector per word of the state.
#![expect(
    unsafe_code,
    reason = "vector loads and stores, and the call into NEON code"
)]

use core::arch::aarch64::*;
use core::array::from_fn;

use sordino_cpu::Neon;

use super::{Kernel, Lanes, padded};
use crate::mode::Mode;
use crate::node::{BLOCK, IV, Node, SCHEDULE, halves};

impl Kernel<4> for Neon {
    fn advance(self, lanes: &mut Lanes<'_, 4>, mode: &Mode, n: usize) {
        // SAFETY: the token proves NEON.
        unsafe { advance(lanes, mode, n) }
    }

    fn uniform(self, nodes: &[Node<'_>; 4], mode: &Mode, digests: &mut [[u8; 32]; 4]) {
        // SAFETY: the token proves NEON.
        unsafe { uniform(nodes, mode, digests) }
    }
}

#[target_feature(enable = "neon")]
fn advance(lanes: &mut Lanes<'_, 4>, mode: &Mode, n: usize) {
    let fresh = load(&lanes.fresh);
    let mut cv: [uint32x4_t; 8] =
        from_fn(|i| vbslq_u32(fresh, splat(mode.key[i]), load(&lanes.cv[i])));
    let counter = [load(&lanes.counter_low), load(&lanes.counter_high)];
    let base = splat(mode.flags);
    let mut flags = vorrq_u32(base, vandq_u32(fresh, load(&lanes.start)));
    for k in 0..n - 1 {
        let m = transpose(&from_fn(|lane| &lanes.blocks[lane][k]));
        compress(&mut cv, &m, counter, splat(64), flags);
        flags = base;
    }
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a node has at most 16 blocks"
    )]
    let n_left = n as u32;
    let last = vceqq_u32(load(&lanes.left), splat(n_left));
    let m = transpose(&from_fn(|lane| {
        if lanes.left[lane] == n_left {
            &lanes.tail[lane]
        } else {
            &lanes.blocks[lane][n - 1]
        }
    }));
    let len = vbslq_u32(last, load(&lanes.tail_len), splat(64));
    flags = vorrq_u32(flags, vandq_u32(last, load(&lanes.end)));
    compress(&mut cv, &m, counter, len, flags);
    for (words, vector) in lanes.cv.iter_mut().zip(cv) {
        store(words, vector);
    }
}

#[target_feature(enable = "neon")]
fn uniform(nodes: &[Node<'_>; 4], mode: &Mode, digests: &mut [[u8; 32]; 4]) {
    let mut cv: [uint32x4_t; 8] = from_fn(|i| splat(mode.key[i]));
    let (low, high): ([u32; 4], [u32; 4]) = (
        from_fn(|lane| halves(nodes[lane].counter).0),
        from_fn(|lane| halves(nodes[lane].counter).1),
    );
    let counter = [load(&low), load(&high)];
    let mut flags = mode.flags | nodes[0].start;
    for k in 0..nodes[0].blocks.len() {
        let m = transpose(&from_fn(|lane| &nodes[lane].blocks[k]));
        compress(&mut cv, &m, counter, splat(64), splat(flags));
        flags = mode.flags;
    }
    let tails: [[u8; BLOCK]; 4] = from_fn(|lane| padded(nodes[lane].tail));
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a tail is at most 64 bytes"
    )]
    let lens: [u32; 4] = from_fn(|lane| nodes[lane].tail.len() as u32);
    let m = transpose(&from_fn(|lane| &tails[lane]));
    compress(
        &mut cv,
        &m,
        counter,
        load(&lens),
        splat(flags | nodes[0].end),
    );
    untranspose(&cv, digests);
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
#[inline]
#[target_feature(enable = "neon")]
fn compress(
    cv: &mut [uint32x4_t; 8],
    m: &[uint32x4_t; 16],
    counter: [uint32x4_t; 2],
    block_len: uint32x4_t,
    flags: uint32x4_t,
) {
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
    round::<0>(&mut v, m);
    round::<1>(&mut v, m);
    round::<2>(&mut v, m);
    round::<3>(&mut v, m);
    round::<4>(&mut v, m);
    round::<5>(&mut v, m);
    round::<6>(&mut v, m);
    for i in 0..8 {
        cv[i] = veorq_u32(v[i], v[i + 8]);
    }
}

/// Round `R`, the four G of a half round together.
#[inline]
#[target_feature(enable = "neon")]
fn round<const R: usize>(v: &mut [uint32x4_t; 16], m: &[uint32x4_t; 16]) {
    let s = const { &SCHEDULE[R] };
    g4(
        v,
        [[0, 4, 8, 12], [1, 5, 9, 13], [2, 6, 10, 14], [3, 7, 11, 15]],
        from_fn(|i| m[s[i]]),
    );
    g4(
        v,
        [[0, 5, 10, 15], [1, 6, 11, 12], [2, 7, 8, 13], [3, 4, 9, 14]],
        from_fn(|i| m[s[8 + i]]),
    );
}

/// Four independent G: `x[2 i]` and `x[2 i + 1]` go into the `i`-th.
#[inline]
#[target_feature(enable = "neon")]
fn g4(v: &mut [uint32x4_t; 16], at: [[usize; 4]; 4], x: [uint32x4_t; 8]) {
    for (i, [a, b, _, _]) in at.into_iter().enumerate() {
        v[a] = vaddq_u32(vaddq_u32(v[a], x[2 * i]), v[b]);
    }
    for [a, _, _, d] in at {
        v[d] = rotate_16(veorq_u32(v[d], v[a]));
    }
    for [_, _, c, d] in at {
        v[c] = vaddq_u32(v[c], v[d]);
    }
    for [_, b, c, _] in at {
        v[b] = rotate::<12, 20>(veorq_u32(v[b], v[c]));
    }
    for (i, [a, b, _, _]) in at.into_iter().enumerate() {
        v[a] = vaddq_u32(vaddq_u32(v[a], x[2 * i + 1]), v[b]);
    }
    for [a, _, _, d] in at {
        v[d] = rotate_8(veorq_u32(v[d], v[a]));
    }
    for [_, _, c, d] in at {
        v[c] = vaddq_u32(v[c], v[d]);
    }
    for [_, b, c, _] in at {
        v[b] = rotate::<7, 25>(veorq_u32(v[b], v[c]));
    }
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
fn transpose(blocks: &[&[u8; BLOCK]; 4]) -> [uint32x4_t; 16] {
    let mut m = [splat(0); 16];
    for quarter in 0..4 {
        let rows: [uint32x4_t; 4] = from_fn(|lane| {
            // SAFETY: `quarter` is at most 3, so the 16 bytes lie in the block of 64.
            vreinterpretq_u32_u8(unsafe { vld1q_u8(blocks[lane].as_ptr().add(16 * quarter)) })
        });
        m[4 * quarter..][..4].copy_from_slice(&transpose_4(&rows));
    }
    m
}

/// 4 x 4 transpose of words.
#[inline]
#[target_feature(enable = "neon")]
fn transpose_4(rows: &[uint32x4_t; 4]) -> [uint32x4_t; 4] {
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
    let left = transpose_4(&[cv[0], cv[1], cv[2], cv[3]]);
    let right = transpose_4(&[cv[4], cv[5], cv[6], cv[7]]);
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
