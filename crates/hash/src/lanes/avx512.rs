//! Sixteen lanes: one 512-bit vector per word of the state.
#![expect(
    unsafe_code,
    reason = "vector loads and stores, and the call into AVX-512 code"
)]

use core::arch::x86_64::*;
use core::array::from_fn;

use sordino_cpu::Avx512;

use super::{Kernel, Lanes, padded};
use crate::mode::Mode;
use crate::node::{BLOCK, IV, Node, SCHEDULE, halves};

impl Kernel<16> for Avx512 {
    fn advance(self, lanes: &mut Lanes<'_, 16>, mode: &Mode, n: usize) {
        // SAFETY: the token proves AVX-512 F, BW, DQ and VL.
        unsafe { advance(lanes, mode, n) }
    }

    fn uniform(self, nodes: &[Node<'_>; 16], mode: &Mode, digests: &mut [[u8; 32]; 16]) {
        // SAFETY: the token proves AVX-512 F, BW, DQ and VL.
        unsafe { uniform(nodes, mode, digests) }
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn advance(lanes: &mut Lanes<'_, 16>, mode: &Mode, n: usize) {
    let fresh = _mm512_movepi32_mask(load(&lanes.fresh));
    let mut cv: [__m512i; 8] =
        from_fn(|i| _mm512_mask_mov_epi32(load(&lanes.cv[i]), fresh, splat(mode.key[i])));
    let counter = [load(&lanes.counter_low), load(&lanes.counter_high)];
    let base = splat(mode.flags);
    let mut flags = _mm512_mask_or_epi32(base, fresh, base, load(&lanes.start));
    for k in 0..n - 1 {
        let m = transpose(&from_fn(|lane| &lanes.blocks[lane][k]));
        compress(&mut cv, &m, counter, splat(64), flags);
        flags = base;
    }
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a node has at most 16 blocks"
    )]
    let last = _mm512_cmpeq_epi32_mask(load(&lanes.left), splat(n as u32));
    let m = transpose(&from_fn(|lane| {
        if last >> lane & 1 == 1 {
            &lanes.tail[lane]
        } else {
            &lanes.blocks[lane][n - 1]
        }
    }));
    let len = _mm512_mask_mov_epi32(splat(64), last, load(&lanes.tail_len));
    flags = _mm512_mask_or_epi32(flags, last, flags, load(&lanes.end));
    compress(&mut cv, &m, counter, len, flags);
    for (words, vector) in lanes.cv.iter_mut().zip(cv) {
        store(words, vector);
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn uniform(nodes: &[Node<'_>; 16], mode: &Mode, digests: &mut [[u8; 32]; 16]) {
    let mut cv: [__m512i; 8] = from_fn(|i| splat(mode.key[i]));
    let (low, high): ([u32; 16], [u32; 16]) = (
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
    let (m, len) = if let Some(tails) = whole(nodes) {
        (transpose(&tails), splat(64))
    } else {
        let tails: [[u8; BLOCK]; 16] = from_fn(|lane| padded(nodes[lane].tail));
        #[expect(
            clippy::cast_possible_truncation,
            reason = "a tail is at most 64 bytes"
        )]
        let lens: [u32; 16] = from_fn(|lane| nodes[lane].tail.len() as u32);
        (transpose(&from_fn(|lane| &tails[lane])), load(&lens))
    };
    compress(&mut cv, &m, counter, len, splat(flags | nodes[0].end));
    untranspose(&cv, digests);
}

/// The tails, if all are whole blocks.
#[inline]
fn whole<'a>(nodes: &[Node<'a>; 16]) -> Option<[&'a [u8; BLOCK]; 16]> {
    static NONE: [u8; BLOCK] = [0; BLOCK];
    let mut tails = [&NONE; 16];
    for (tail, node) in tails.iter_mut().zip(nodes) {
        *tail = node.tail.try_into().ok()?;
    }
    Some(tails)
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

/// The compression function on sixteen lanes.
#[inline]
#[target_feature(enable = "avx512f")]
fn compress(
    cv: &mut [__m512i; 8],
    m: &[__m512i; 16],
    counter: [__m512i; 2],
    block_len: __m512i,
    flags: __m512i,
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
        cv[i] = _mm512_xor_si512(v[i], v[i + 8]);
    }
}

/// Round `R`. The four G of a half round go step by step together, so that four independent chains
/// are in flight.
#[inline]
#[target_feature(enable = "avx512f")]
fn round<const R: usize>(v: &mut [__m512i; 16], m: &[__m512i; 16]) {
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
#[target_feature(enable = "avx512f")]
fn g4(v: &mut [__m512i; 16], at: [[usize; 4]; 4], x: [__m512i; 8]) {
    for (i, [a, b, _, _]) in at.into_iter().enumerate() {
        v[a] = _mm512_add_epi32(_mm512_add_epi32(v[a], x[2 * i]), v[b]);
    }
    for [a, _, _, d] in at {
        v[d] = _mm512_ror_epi32::<16>(_mm512_xor_si512(v[d], v[a]));
    }
    for [_, _, c, d] in at {
        v[c] = _mm512_add_epi32(v[c], v[d]);
    }
    for [_, b, c, _] in at {
        v[b] = _mm512_ror_epi32::<12>(_mm512_xor_si512(v[b], v[c]));
    }
    for (i, [a, b, _, _]) in at.into_iter().enumerate() {
        v[a] = _mm512_add_epi32(_mm512_add_epi32(v[a], x[2 * i + 1]), v[b]);
    }
    for [a, _, _, d] in at {
        v[d] = _mm512_ror_epi32::<8>(_mm512_xor_si512(v[d], v[a]));
    }
    for [_, _, c, d] in at {
        v[c] = _mm512_add_epi32(v[c], v[d]);
    }
    for [_, b, c, _] in at {
        v[b] = _mm512_ror_epi32::<7>(_mm512_xor_si512(v[b], v[c]));
    }
}

/// Word `i` of every lane's block in vector `i`. Quarters of four blocks are put side by side by the
/// loads, then a 4 x 4 transpose within each 128-bit part finishes.
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn transpose(blocks: &[&[u8; BLOCK]; 16]) -> [__m512i; 16] {
    let mut m = [_mm512_setzero_si512(); 16];
    for quarter in 0..4 {
        let rows: [__m512i; 4] = from_fn(|j| {
            let part = |lane: usize| {
                // SAFETY: `quarter` is at most 3, so the 16 bytes lie in the block of 64.
                unsafe { _mm_loadu_si128(blocks[lane].as_ptr().add(16 * quarter).cast()) }
            };
            let row = _mm512_castsi128_si512(part(j));
            let row = _mm512_inserti32x4::<1>(row, part(j + 4));
            let row = _mm512_inserti32x4::<2>(row, part(j + 8));
            _mm512_inserti32x4::<3>(row, part(j + 12))
        });
        let low = [
            _mm512_unpacklo_epi32(rows[0], rows[1]),
            _mm512_unpacklo_epi32(rows[2], rows[3]),
        ];
        let high = [
            _mm512_unpackhi_epi32(rows[0], rows[1]),
            _mm512_unpackhi_epi32(rows[2], rows[3]),
        ];
        m[4 * quarter] = _mm512_unpacklo_epi64(low[0], low[1]);
        m[4 * quarter + 1] = _mm512_unpackhi_epi64(low[0], low[1]);
        m[4 * quarter + 2] = _mm512_unpacklo_epi64(high[0], high[1]);
        m[4 * quarter + 3] = _mm512_unpackhi_epi64(high[0], high[1]);
    }
    m
}

/// The inverse for chaining values: lane `i`'s 32 bytes in row `i`.
#[inline]
#[target_feature(enable = "avx512f")]
fn untranspose(cv: &[__m512i; 8], digests: &mut [[u8; 32]; 16]) {
    let half = |w: usize| {
        let low = [
            _mm512_unpacklo_epi32(cv[w], cv[w + 1]),
            _mm512_unpacklo_epi32(cv[w + 2], cv[w + 3]),
        ];
        let high = [
            _mm512_unpackhi_epi32(cv[w], cv[w + 1]),
            _mm512_unpackhi_epi32(cv[w + 2], cv[w + 3]),
        ];
        // Part p of row j: four words of lane 4 p + j.
        [
            _mm512_unpacklo_epi64(low[0], low[1]),
            _mm512_unpackhi_epi64(low[0], low[1]),
            _mm512_unpacklo_epi64(high[0], high[1]),
            _mm512_unpackhi_epi64(high[0], high[1]),
        ]
    };
    let (left, right) = (half(0), half(4));
    for j in 0..4 {
        // Parts 0, 1 and parts 2, 3 with the two halves of each lane side by side.
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
