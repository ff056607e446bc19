//! Sixteen lanes: one 512-bit vector per word of the state.
#![expect(
    unsafe_code,
    reason = "vector loads and stores, and the call into AVX-512 code"
)]

use core::arch::x86_64::*;
use core::slice::from_raw_parts;

use sordino_cpu::Avx512;

use super::{Kernel, Lanes, bits};
use crate::mode::Mode;
use crate::node::{BLOCK, CHUNK, IV, SCHEDULE, flag, len_of};

impl Kernel<16> for Avx512 {
    fn advance(self, lanes: &mut Lanes<'_, 16>, mode: &Mode) -> u32 {
        // SAFETY: the token proves AVX-512 F, BW, DQ and VL.
        unsafe { advance(lanes, mode) }
    }

    fn uniform<M: AsRef<[u8]>>(
        self,
        messages: &[M; 16],
        next: &[M; 16],
        mode: &Mode,
        tails: &mut [[u8; BLOCK]; 16],
        digests: &mut [[u8; 32]; 16],
    ) {
        // SAFETY: the token proves AVX-512 F, BW, DQ and VL.
        unsafe { uniform(messages, next, mode, tails, digests) }
    }

    #[inline]
    fn prefetch(self, bytes: &[u8]) {
        for k in 0..bytes.len().div_ceil(64) {
            // SAFETY: every x86-64 processor has SSE; fetching any address is allowed.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(bytes.as_ptr().wrapping_add(BLOCK * k).cast()) };
        }
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn advance(lanes: &mut Lanes<'_, 16>, mode: &Mode) -> u32 {
    let fresh = _mm512_movepi32_mask(load(&lanes.fresh));
    let mut cv = [_mm512_setzero_si512(); 8];
    for ((vector, words), key) in cv.iter_mut().zip(&lanes.cv).zip(mode.key) {
        *vector = _mm512_mask_mov_epi32(load(words), fresh, splat(key));
    }
    let counter = [load(&lanes.counter_low), load(&lanes.counter_high)];
    let base = splat(mode.flags);
    let mut flags = _mm512_mask_or_epi32(base, fresh, base, load(&lanes.start));
    let left = load(&lanes.left);
    let n = _mm512_reduce_min_epu32(left);
    let mut blocks = [core::ptr::null(); 16];
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
    let last = _mm512_cmpeq_epi32_mask(left, splat(n));
    let done = u32::from(last);
    for lane in bits(done) {
        // SAFETY: the lane is at its last block, of `tail_len` bytes.
        let bytes = unsafe { from_raw_parts(blocks[lane], lanes.tail_len[lane] as usize) };
        blocks[lane] = pad(bytes, &mut lanes.tails[lane]);
    }
    let len = _mm512_mask_mov_epi32(splat(64), last, load(&lanes.tail_len));
    flags = _mm512_mask_or_epi32(flags, last, flags, load(&lanes.end));
    // SAFETY: lanes that are not done have a whole block here, the others a padded one.
    unsafe { compress(&mut cv, &blocks, counter, len, flags) };
    store(&mut lanes.left, _mm512_sub_epi32(left, splat(n)));
    lanes.fresh = [0; 16];
    for (words, vector) in lanes.cv.iter_mut().zip(cv) {
        store(words, vector);
    }
    done
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn uniform<M: AsRef<[u8]>>(
    messages: &[M; 16],
    next: &[M; 16],
    mode: &Mode,
    tails: &mut [[u8; BLOCK]; 16],
    digests: &mut [[u8; 32]; 16],
) {
    let mut cv = [_mm512_setzero_si512(); 8];
    for (vector, word) in cv.iter_mut().zip(mode.key) {
        *vector = splat(word);
    }
    let counter = [splat(0), splat(0)];
    let mut flags = mode.flags | flag::CHUNK_START;
    let mut blocks = [core::ptr::null(); 16];
    let (mut lens, mut any) = ([0; 16], 0);
    for ((block, len), message) in blocks.iter_mut().zip(&mut lens).zip(messages) {
        let message = message.as_ref();
        *block = message.as_ptr();
        *len = len_of(message);
        any |= message.len();
    }
    let full = lens[0].saturating_sub(1) / 64;
    let tail_len = _mm512_sub_epi32(load(&lens), splat(64 * full));
    let same = _mm512_cmpgt_epu32_mask(tail_len, splat(64)) == 0;
    assert!(
        any < 2 * CHUNK && same,
        "messages of the same number of blocks, at most a chunk"
    );
    prefetch(next, 0);
    for k in 1..=full as usize {
        prefetch(next, k);
        // SAFETY: every message has this many blocks and at most a block more.
        unsafe { compress(&mut cv, &blocks, counter, splat(64), splat(flags)) };
        flags = mode.flags;
        for block in &mut blocks {
            *block = block.wrapping_add(BLOCK);
        }
    }
    flags |= flag::CHUNK_END | flag::ROOT;
    if _mm512_cmpeq_epi32_mask(tail_len, splat(64)) == u16::MAX {
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

/// Fetches block `k` of every message.
#[inline]
#[target_feature(enable = "avx512f")]
fn prefetch<M: AsRef<[u8]>>(messages: &[M; 16], k: usize) {
    for message in messages {
        _mm_prefetch::<_MM_HINT_T0>(message.as_ref().as_ptr().wrapping_add(BLOCK * k).cast());
    }
}

/// Copies a last block into `space`, zeros after it, and returns `space`.
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

/// The compression function on sixteen lanes.
///
/// # Safety
/// 64 bytes must be readable at every pointer.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
unsafe fn compress(
    cv: &mut [__m512i; 8],
    blocks: &[*const u8; 16],
    counter: [__m512i; 2],
    block_len: __m512i,
    flags: __m512i,
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

/// Word `i` of every lane's block in vector `i`. Quarters of four blocks are put side by side by the
/// loads, then a 4 x 4 transpose within each 128-bit part finishes.
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
unsafe fn transpose(blocks: &[*const u8; 16]) -> [__m512i; 16] {
    let mut m = [_mm512_setzero_si512(); 16];
    for quarter in 0..4 {
        let part = |lane: usize| {
            // SAFETY: `quarter` is at most 3, so the 16 bytes lie in the block of 64.
            unsafe { _mm_loadu_si128(blocks[lane].add(16 * quarter).cast()) }
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

/// The inverse for chaining values: lane `i`'s 32 bytes in row `i`.
#[inline]
#[target_feature(enable = "avx512f")]
fn untranspose(cv: &[__m512i; 8], digests: &mut [[u8; 32]; 16]) {
    // Part p of row j: four words of lane 4 p + j.
    let left = transpose_parts([cv[0], cv[1], cv[2], cv[3]]);
    let right = transpose_parts([cv[4], cv[5], cv[6], cv[7]]);
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
