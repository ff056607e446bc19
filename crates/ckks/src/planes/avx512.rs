//! AVX-512: VBMI gathers bytes, and VNNI computes dot products.
#![expect(
    unsafe_code,
    reason = "vector loads and stores, entry into target features"
)]

use std::arch::x86_64::*;

use sordino_cpu::{Avx512, Avx512Vbmi, Avx512Vnni};

use super::{len, split};

/// How many numbers are handled at a time.
pub(super) const BLOCK: usize = 64;

pub(super) fn write(_: Avx512Vbmi, numbers: &[u64], r: u32, planes: &mut [u8]) {
    // SAFETY: the token proves the target features.
    unsafe { write_blocks(numbers, r, planes) }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
fn write_blocks(numbers: &[u64], r: u32, planes: &mut [u8]) {
    let count = numbers.len();
    assert!(count.is_multiple_of(BLOCK) && planes.len() == len(count, r));
    let (bytes, bits) = split(r);
    for (block, numbers) in numbers.as_chunks::<BLOCK>().0.iter().enumerate() {
        for four in 0..bytes / 4 + 1 {
            let gathered = four_planes(numbers, 4 * four);
            for (p, plane) in (4 * four..).zip(gathered) {
                if p < bytes {
                    let target = &mut planes[p * count + block * BLOCK..][..BLOCK];
                    // SAFETY: `target` has the 64 bytes that are stored.
                    unsafe { _mm512_storeu_si512(target.as_mut_ptr().cast(), plane) }
                } else if p == bytes {
                    for bit in 0..bits {
                        let set = _mm512_test_epi8_mask(plane, _mm512_set1_epi8(1 << bit));
                        let first = bytes * count + bit * count / 8 + block * BLOCK / 8;
                        planes[first..first + 8].copy_from_slice(&set.to_le_bytes());
                    }
                }
            }
        }
    }
}

/// Bytes `first`, ..., `first + 3` of 64 numbers, where `first` is 0 or 4.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
fn four_planes(numbers: &[u64; BLOCK], first: usize) -> [__m512i; 4] {
    // Byte 16 p + v of the index is byte first + p of number v, one of the 16 numbers in two
    // registers.
    let mut index = [0u8; 64];
    for (i, byte) in index.iter_mut().enumerate() {
        *byte = (i % 16 * 8 + i / 16 + first).to_le_bytes()[0];
    }
    // SAFETY: `index` has the 64 bytes that are loaded.
    let index = unsafe { _mm512_loadu_si512(index.as_ptr().cast()) };
    let sixteen = |i: usize| {
        let words = &numbers[16 * i..16 * (i + 1)];
        // SAFETY: `words` has the sixteen words that are loaded.
        let (low, high) = unsafe {
            (
                _mm512_loadu_si512(words.as_ptr().cast()),
                _mm512_loadu_si512(words.as_ptr().add(8).cast()),
            )
        };
        _mm512_permutex2var_epi8(low, index, high)
    };
    // Transposes lanes of 16 bytes.
    let (a, b, c, d) = (sixteen(0), sixteen(1), sixteen(2), sixteen(3));
    let (ab01, ab23) = (
        _mm512_shuffle_i64x2::<0b01_00_01_00>(a, b),
        _mm512_shuffle_i64x2::<0b11_10_11_10>(a, b),
    );
    let (cd01, cd23) = (
        _mm512_shuffle_i64x2::<0b01_00_01_00>(c, d),
        _mm512_shuffle_i64x2::<0b11_10_11_10>(c, d),
    );
    [
        _mm512_shuffle_i64x2::<0b10_00_10_00>(ab01, cd01),
        _mm512_shuffle_i64x2::<0b11_01_11_01>(ab01, cd01),
        _mm512_shuffle_i64x2::<0b10_00_10_00>(ab23, cd23),
        _mm512_shuffle_i64x2::<0b11_01_11_01>(ab23, cd23),
    ]
}

pub(super) fn read(_: Avx512, planes: &[u8], r: u32, out: &mut [u64]) {
    // SAFETY: the token proves the target features.
    unsafe { read_vectors(planes, r, out) }
}

#[target_feature(enable = "avx512f")]
fn read_vectors(planes: &[u8], r: u32, out: &mut [u64]) {
    let count = out.len();
    assert!(count.is_multiple_of(BLOCK) && planes.len() == len(count, r));
    let (bytes, bits) = split(r);
    for (i, vector) in out.as_chunks_mut::<8>().0.iter_mut().enumerate() {
        let mut numbers = _mm512_setzero_si512();
        for p in 0..bytes {
            let plane = &planes[p * count + 8 * i..][..8];
            // SAFETY: `plane` has the eight bytes that are loaded.
            let eight = unsafe { _mm_loadl_epi64(plane.as_ptr().cast()) };
            let shift = _mm512_set1_epi64(8 * p as i64);
            let part = _mm512_sllv_epi64(_mm512_cvtepu8_epi64(eight), shift);
            numbers = _mm512_or_si512(numbers, part);
        }
        for p in 0..bits {
            let set = planes[bytes * count + p * count / 8 + i];
            let bit = _mm512_set1_epi64(1 << (8 * bytes + p));
            numbers = _mm512_mask_or_epi64(numbers, set, numbers, bit);
        }
        // SAFETY: `vector` has the eight words that are stored.
        unsafe { _mm512_storeu_si512(vector.as_mut_ptr().cast(), numbers) }
    }
}

/// Multiplies `BYTES` byte planes and `BITS` bit planes with `W` windows at a time, so that a
/// register of the planes serves `W` products.
pub(super) fn dots<const BYTES: usize, const BITS: usize, const W: usize>(
    _: Avx512Vnni,
    planes: &[u8],
    count: usize,
    weights: &[i8],
    starts: &[usize],
    dots: &mut Vec<u64>,
) {
    let several = |starts: [usize; W]| {
        let windows = starts.map(|start| &weights[start..start + count]);
        // SAFETY: the token proves the target features.
        unsafe { dot_windows::<BYTES, BITS, W>(planes, count, windows) }
    };
    let (groups, rest) = starts.as_chunks::<W>();
    for &group in groups {
        dots.extend(several(group));
    }
    if let Some(&last) = rest.last() {
        let mut group = [last; W];
        group[..rest.len()].copy_from_slice(rest);
        dots.extend(&several(group)[..rest.len()]);
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
fn dot_windows<const BYTES: usize, const BITS: usize, const W: usize>(
    planes: &[u8],
    count: usize,
    windows: [&[i8]; W],
) -> [u64; W] {
    assert!(count.is_multiple_of(BLOCK) && planes.len() == BYTES * count + BITS * count / 8);
    assert!(windows.iter().all(|window| window.len() == count));
    let ones = _mm512_set1_epi8(1);
    let mut byte_sums = [[_mm512_setzero_si512(); W]; BYTES];
    let mut bit_sums = [[_mm512_setzero_si512(); W]; BITS];
    for at in (0..count).step_by(BLOCK) {
        // SAFETY: at + 64 <= count, the length of every window.
        let weights =
            windows.map(|window| unsafe { _mm512_loadu_si512(window.as_ptr().add(at).cast()) });
        for (p, sums) in byte_sums.iter_mut().enumerate() {
            // SAFETY: at + 64 <= count, the length of a byte plane.
            let plane = unsafe { _mm512_loadu_si512(planes.as_ptr().add(p * count + at).cast()) };
            for (sum, &weights) in sums.iter_mut().zip(&weights) {
                *sum = _mm512_dpbusd_epi32(*sum, plane, weights);
            }
        }
        for (p, sums) in bit_sums.iter_mut().enumerate() {
            let first = BYTES * count + p * count / 8 + at / 8;
            // SAFETY: at + 64 <= count, the bits of a bit plane.
            let set = unsafe { planes.as_ptr().add(first).cast::<u64>().read_unaligned() };
            let plane = _mm512_maskz_mov_epi8(u64::from_le(set), ones);
            for (sum, &weights) in sums.iter_mut().zip(&weights) {
                *sum = _mm512_dpbusd_epi32(*sum, plane, weights);
            }
        }
    }
    let mut dots = [0u64; W];
    let total = |sum| i64::from(_mm512_reduce_add_epi32(sum)).cast_unsigned();
    for (p, sums) in byte_sums.iter().enumerate() {
        for (dot, &sum) in dots.iter_mut().zip(sums) {
            *dot = dot.wrapping_add(total(sum) << (8 * p));
        }
    }
    for (p, sums) in bit_sums.iter().enumerate() {
        for (dot, &sum) in dots.iter_mut().zip(sums) {
            *dot = dot.wrapping_add(total(sum) << (8 * BYTES + p));
        }
    }
    dots
}
