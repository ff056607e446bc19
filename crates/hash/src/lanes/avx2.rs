//! Eight lanes: one 256-bit vector per word of the state.
#![expect(
    unsafe_code,
    reason = "vector loads and stores, and the call into AVX2 code"
)]

use core::arch::x86_64::*;
use core::array::from_fn;

use sordino_cpu::Avx2;

use super::{Kernel, Lanes, padded};
use crate::mode::Mode;
use crate::node::{BLOCK, IV, Node, SCHEDULE, halves};

impl Kernel<8> for Avx2 {
    fn advance(self, lanes: &mut Lanes<'_, 8>, mode: &Mode, n: usize) {
        // SAFETY: the token proves AVX2.
        unsafe { advance(lanes, mode, n) }
    }

    fn uniform(self, nodes: &[Node<'_>; 8], mode: &Mode, digests: &mut [[u8; 32]; 8]) {
        // SAFETY: the token proves AVX2.
        unsafe { uniform(nodes, mode, digests) }
    }
}

#[target_feature(enable = "avx2")]
fn advance(lanes: &mut Lanes<'_, 8>, mode: &Mode, n: usize) {
    let fresh = load(&lanes.fresh);
    let mut cv: [__m256i; 8] =
        from_fn(|i| _mm256_blendv_epi8(load(&lanes.cv[i]), splat(mode.key[i]), fresh));
    let counter = [load(&lanes.counter_low), load(&lanes.counter_high)];
    let base = splat(mode.flags);
    let mut flags = _mm256_or_si256(base, _mm256_and_si256(fresh, load(&lanes.start)));
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
    let last = _mm256_cmpeq_epi32(load(&lanes.left), splat(n_left));
    let m = transpose(&from_fn(|lane| {
        if lanes.left[lane] == n_left {
            &lanes.tail[lane]
        } else {
            &lanes.blocks[lane][n - 1]
        }
    }));
    let len = _mm256_blendv_epi8(splat(64), load(&lanes.tail_len), last);
    flags = _mm256_or_si256(flags, _mm256_and_si256(last, load(&lanes.end)));
    compress(&mut cv, &m, counter, len, flags);
    for (words, vector) in lanes.cv.iter_mut().zip(cv) {
        store(words, vector);
    }
}

#[target_feature(enable = "avx2")]
fn uniform(nodes: &[Node<'_>; 8], mode: &Mode, digests: &mut [[u8; 32]; 8]) {
    let mut cv: [__m256i; 8] = from_fn(|i| splat(mode.key[i]));
    let (low, high): ([u32; 8], [u32; 8]) = (
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
    let tails: [[u8; BLOCK]; 8] = from_fn(|lane| padded(nodes[lane].tail));
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a tail is at most 64 bytes"
    )]
    let lens: [u32; 8] = from_fn(|lane| nodes[lane].tail.len() as u32);
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

/// The compression function on eight lanes.
#[inline]
#[target_feature(enable = "avx2")]
fn compress(
    cv: &mut [__m256i; 8],
    m: &[__m256i; 16],
    counter: [__m256i; 2],
    block_len: __m256i,
    flags: __m256i,
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
        cv[i] = _mm256_xor_si256(v[i], v[i + 8]);
    }
}

/// Round `R`, the four G of a half round together.
#[inline]
#[target_feature(enable = "avx2")]
fn round<const R: usize>(v: &mut [__m256i; 16], m: &[__m256i; 16]) {
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
#[target_feature(enable = "avx2")]
fn g4(v: &mut [__m256i; 16], at: [[usize; 4]; 4], x: [__m256i; 8]) {
    for (i, [a, b, _, _]) in at.into_iter().enumerate() {
        v[a] = _mm256_add_epi32(_mm256_add_epi32(v[a], x[2 * i]), v[b]);
    }
    for [a, _, _, d] in at {
        v[d] = rotate_16(_mm256_xor_si256(v[d], v[a]));
    }
    for [_, _, c, d] in at {
        v[c] = _mm256_add_epi32(v[c], v[d]);
    }
    for [_, b, c, _] in at {
        v[b] = rotate::<12, 20>(_mm256_xor_si256(v[b], v[c]));
    }
    for (i, [a, b, _, _]) in at.into_iter().enumerate() {
        v[a] = _mm256_add_epi32(_mm256_add_epi32(v[a], x[2 * i + 1]), v[b]);
    }
    for [a, _, _, d] in at {
        v[d] = rotate_8(_mm256_xor_si256(v[d], v[a]));
    }
    for [_, _, c, d] in at {
        v[c] = _mm256_add_epi32(v[c], v[d]);
    }
    for [_, b, c, _] in at {
        v[b] = rotate::<7, 25>(_mm256_xor_si256(v[b], v[c]));
    }
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

/// Word `i` of every lane's block in vector `i`.
#[inline]
#[target_feature(enable = "avx2")]
fn transpose(blocks: &[&[u8; BLOCK]; 8]) -> [__m256i; 16] {
    let mut m = [_mm256_setzero_si256(); 16];
    for quarter in 0..4 {
        let rows: [__m256i; 4] = from_fn(|j| {
            let part = |lane: usize| {
                // SAFETY: `quarter` is at most 3, so the 16 bytes lie in the block of 64.
                unsafe { _mm_loadu_si128(blocks[lane].as_ptr().add(16 * quarter).cast()) }
            };
            _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(part(j)), part(j + 4))
        });
        m[4 * quarter..][..4].copy_from_slice(&transpose_parts(&rows));
    }
    m
}

/// 4 x 4 transpose of the words within each 128-bit part.
#[inline]
#[target_feature(enable = "avx2")]
fn transpose_parts(rows: &[__m256i; 4]) -> [__m256i; 4] {
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

/// The inverse for chaining values: lane `i`'s 32 bytes in row `i`.
#[inline]
#[target_feature(enable = "avx2")]
fn untranspose(cv: &[__m256i; 8], digests: &mut [[u8; 32]; 8]) {
    let left = transpose_parts(&[cv[0], cv[1], cv[2], cv[3]]);
    let right = transpose_parts(&[cv[4], cv[5], cv[6], cv[7]]);
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
