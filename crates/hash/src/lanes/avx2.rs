//! Eight lanes: one 256-bit vector per word of the state.
#![expect(
    unsafe_code,
    reason = "vector loads and stores, and the call into AVX2 code"
)]

use core::arch::x86_64::*;
use core::slice::from_raw_parts;

use sordino_cpu::Avx2;

use super::{Kernel, Lanes, bits};
use crate::mode::Mode;
use crate::node::{BLOCK, CHUNK, IV, SCHEDULE, flag, len_of};

impl Kernel<8> for Avx2 {
    fn advance(self, lanes: &mut Lanes<'_, 8>, mode: &Mode) -> u32 {
        // SAFETY: the token proves AVX2.
        unsafe { advance(lanes, mode) }
    }

    fn uniform<M: AsRef<[u8]>>(
        self,
        messages: &[M; 8],
        next: &[M; 8],
        mode: &Mode,
        tails: &mut [[u8; BLOCK]; 8],
        digests: &mut [[u8; 32]; 8],
    ) {
        // SAFETY: the token proves AVX2.
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

#[target_feature(enable = "avx2")]
fn advance(lanes: &mut Lanes<'_, 8>, mode: &Mode) -> u32 {
    let fresh = load(&lanes.fresh);
    let mut cv = [_mm256_setzero_si256(); 8];
    for ((vector, words), key) in cv.iter_mut().zip(&lanes.cv).zip(mode.key) {
        *vector = _mm256_blendv_epi8(load(words), splat(key), fresh);
    }
    let counter = [load(&lanes.counter_low), load(&lanes.counter_high)];
    let base = splat(mode.flags);
    let mut flags = _mm256_or_si256(base, _mm256_and_si256(fresh, load(&lanes.start)));
    let left = load(&lanes.left);
    let n = lanes
        .left
        .iter()
        .fold(u32::MAX, |least, &left| least.min(left));
    let mut blocks = [core::ptr::null(); 8];
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
    let last = _mm256_cmpeq_epi32(left, splat(n));
    let done = _mm256_movemask_ps(_mm256_castsi256_ps(last)).cast_unsigned();
    for lane in bits(done) {
        // SAFETY: the lane is at its last block, of `tail_len` bytes.
        let bytes = unsafe { from_raw_parts(blocks[lane], lanes.tail_len[lane] as usize) };
        blocks[lane] = pad(bytes, &mut lanes.tails[lane]);
    }
    let len = _mm256_blendv_epi8(splat(64), load(&lanes.tail_len), last);
    flags = _mm256_or_si256(flags, _mm256_and_si256(last, load(&lanes.end)));
    // SAFETY: lanes that are not done have a whole block here, the others a padded one.
    unsafe { compress(&mut cv, &blocks, counter, len, flags) };
    store(&mut lanes.left, _mm256_sub_epi32(left, splat(n)));
    lanes.fresh = [0; 8];
    for (words, vector) in lanes.cv.iter_mut().zip(cv) {
        store(words, vector);
    }
    done
}

#[target_feature(enable = "avx2")]
fn uniform<M: AsRef<[u8]>>(
    messages: &[M; 8],
    next: &[M; 8],
    mode: &Mode,
    tails: &mut [[u8; BLOCK]; 8],
    digests: &mut [[u8; 32]; 8],
) {
    let mut cv = [_mm256_setzero_si256(); 8];
    for (vector, word) in cv.iter_mut().zip(mode.key) {
        *vector = splat(word);
    }
    let counter = [splat(0), splat(0)];
    let mut flags = mode.flags | flag::CHUNK_START;
    let mut blocks = [core::ptr::null(); 8];
    let (mut lens, mut any) = ([0; 8], 0);
    for ((block, len), message) in blocks.iter_mut().zip(&mut lens).zip(messages) {
        let message = message.as_ref();
        *block = message.as_ptr();
        *len = len_of(message);
        any |= message.len();
    }
    let full = lens[0].saturating_sub(1) / 64;
    let tail_len = _mm256_sub_epi32(load(&lens), splat(64 * full));
    let same = _mm256_movemask_epi8(_mm256_cmpgt_epi32(tail_len, splat(64))) == 0;
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
    if _mm256_movemask_epi8(_mm256_cmpeq_epi32(tail_len, splat(64))) == -1 {
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
#[target_feature(enable = "avx2")]
fn prefetch<M: AsRef<[u8]>>(messages: &[M; 8], k: usize) {
    for message in messages {
        _mm_prefetch::<_MM_HINT_T0>(message.as_ref().as_ptr().wrapping_add(BLOCK * k).cast());
    }
}

/// Copies a last block into `space`, zeros after it, and returns `space`.
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

/// The compression function on eight lanes.
///
/// # Safety
/// 64 bytes must be readable at every pointer.
#[target_feature(enable = "avx2")]
unsafe fn compress(
    cv: &mut [__m256i; 8],
    blocks: &[*const u8; 8],
    counter: [__m256i; 2],
    block_len: __m256i,
    flags: __m256i,
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

/// Word `i` of every lane's block in vector `i`.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn transpose(blocks: &[*const u8; 8]) -> [__m256i; 16] {
    let mut m = [_mm256_setzero_si256(); 16];
    for quarter in 0..4 {
        let part = |lane: usize| {
            // SAFETY: `quarter` is at most 3, so the 16 bytes lie in the block of 64.
            unsafe { _mm_loadu_si128(blocks[lane].add(16 * quarter).cast()) }
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

/// The inverse for chaining values: lane `i`'s 32 bytes in row `i`.
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
