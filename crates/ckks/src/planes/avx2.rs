//! AVX2: the portable loops, compiled for 256-bit registers, and dot products of pairs of bytes.
#![expect(
    unsafe_code,
    reason = "vector loads and stores, entry into target features"
)]

use std::arch::x86_64::*;

use sordino_cpu::Avx2;

use super::portable;

/// How many numbers a dot product handles at a time.
pub(super) const BLOCK: usize = 32;

pub(super) fn write(_: Avx2, numbers: &[u64], r: u32, planes: &mut [u8]) {
    #[target_feature(enable = "avx2")]
    fn written(numbers: &[u64], r: u32, planes: &mut [u8]) {
        portable::write(numbers, r, planes);
    }
    // SAFETY: the token proves the target features.
    unsafe { written(numbers, r, planes) }
}

pub(super) fn read(_: Avx2, planes: &[u8], r: u32, out: &mut [u64]) {
    #[target_feature(enable = "avx2")]
    fn filled(planes: &[u8], r: u32, out: &mut [u64]) {
        portable::read(planes, r, out);
    }
    // SAFETY: the token proves the target features.
    unsafe { filled(planes, r, out) }
}

/// Multiplies `BYTES` byte planes and `BITS` bit planes with two windows at a time, so that a
/// register of the planes serves two products.
pub(super) fn dots<const BYTES: usize, const BITS: usize>(
    _: Avx2,
    planes: &[u8],
    count: usize,
    weights: &[i8],
    starts: &[usize],
    dots: &mut Vec<u64>,
) {
    for pair in starts.chunks(2) {
        let windows = [pair[0], pair[pair.len() - 1]];
        let windows = windows.map(|start| &weights[start..start + count]);
        // SAFETY: the token proves the target features.
        let two = unsafe { dot_windows::<BYTES, BITS>(planes, count, windows) };
        dots.extend(&two[..pair.len()]);
    }
}

/// The sum of two products of a byte and a weight up to 64 fits into 16 bits.
#[target_feature(enable = "avx2")]
fn dot_windows<const BYTES: usize, const BITS: usize>(
    planes: &[u8],
    count: usize,
    windows: [&[i8]; 2],
) -> [u64; 2] {
    assert!(count.is_multiple_of(BLOCK) && planes.len() == BYTES * count + BITS * count / 8);
    assert!(windows.iter().all(|window| window.len() == count));
    let (bytes_of_one, words_of_one) = (_mm256_set1_epi8(1), _mm256_set1_epi16(1));
    // Byte i of a register receives byte i / 8 of 32 bits, of which it keeps bit i mod 8.
    let source = _mm256_setr_epi64x(
        0,
        0x0101_0101_0101_0101,
        0x0202_0202_0202_0202,
        0x0303_0303_0303_0303,
    );
    let kept = _mm256_set1_epi64x(0x8040_2010_0804_0201_u64.cast_signed());
    let mut byte_sums = [[_mm256_setzero_si256(); 2]; BYTES];
    let mut bit_sums = [[_mm256_setzero_si256(); 2]; BITS];
    for at in (0..count).step_by(BLOCK) {
        // SAFETY: at + 32 <= count, the length of every window.
        let weights = unsafe {
            [
                _mm256_loadu_si256(windows[0].as_ptr().add(at).cast()),
                _mm256_loadu_si256(windows[1].as_ptr().add(at).cast()),
            ]
        };
        for (p, sums) in byte_sums.iter_mut().enumerate() {
            // SAFETY: at + 32 <= count, the length of a byte plane.
            let plane = unsafe { _mm256_loadu_si256(planes.as_ptr().add(p * count + at).cast()) };
            for (sum, &weights) in sums.iter_mut().zip(&weights) {
                let pairs = _mm256_maddubs_epi16(plane, weights);
                *sum = _mm256_add_epi32(*sum, _mm256_madd_epi16(pairs, words_of_one));
            }
        }
        for (p, sums) in bit_sums.iter_mut().enumerate() {
            let first = BYTES * count + p * count / 8 + at / 8;
            // SAFETY: at + 32 <= count, the bits of a bit plane.
            let bits = unsafe { planes.as_ptr().add(first).cast::<i32>().read_unaligned() };
            let spread = _mm256_shuffle_epi8(_mm256_set1_epi32(bits), source);
            let set = _mm256_cmpeq_epi8(_mm256_and_si256(spread, kept), kept);
            for (sum, &weights) in sums.iter_mut().zip(&weights) {
                let pairs = _mm256_maddubs_epi16(bytes_of_one, _mm256_and_si256(set, weights));
                *sum = _mm256_add_epi32(*sum, _mm256_madd_epi16(pairs, words_of_one));
            }
        }
    }
    let mut dots = [0u64; 2];
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

/// The sum of eight signed 32-bit numbers, mod `2^64`.
#[target_feature(enable = "avx2")]
fn total(sum: __m256i) -> u64 {
    let mut parts = [0i32; 8];
    // SAFETY: `parts` has the eight numbers that are stored.
    unsafe { _mm256_storeu_si256(parts.as_mut_ptr().cast(), sum) }
    i64::from(parts.iter().sum::<i32>()).cast_unsigned()
}
