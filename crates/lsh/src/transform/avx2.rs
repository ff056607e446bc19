//! 256-bit vectors: eight floats.
#![expect(
    unsafe_code,
    reason = "vector loads and stores, and the call into AVX2 code"
)]

use core::arch::x86_64::*;

use sordino_cpu::Avx2;

use super::BLOCK;
use super::portable::{self, SMALL};

pub(super) fn rotate(_: Avx2, values: &mut [f32], flips: &[u32]) {
    #[target_feature(enable = "avx2")]
    fn body(values: &mut [f32], flips: &[u32]) {
        for flips in flips.chunks_exact(values.len()) {
            portable::flip(values, flips);
            for values in values.as_chunks_mut().0 {
                small_stages(values);
            }
            portable::stages(values, SMALL);
        }
    }
    // SAFETY: the token proves AVX2.
    unsafe { body(values, flips) }
}

pub(super) fn project(_: Avx2, x: &[f32], weights: &[[f32; BLOCK]], sums: &mut [f32; BLOCK]) {
    #[target_feature(enable = "avx2")]
    fn body(x: &[f32], weights: &[[f32; BLOCK]], sums: &mut [f32; BLOCK]) {
        let mut total = [_mm256_setzero_ps(); 8];
        for (x, row) in x.iter().zip(weights) {
            for (sum, row) in total.iter_mut().zip(row.as_chunks().0) {
                *sum = _mm256_add_ps(*sum, _mm256_mul_ps(_mm256_set1_ps(*x), load(row)));
            }
        }
        for (sums, total) in sums.as_chunks_mut().0.iter_mut().zip(total) {
            store(sums, total);
        }
    }
    // SAFETY: the token proves AVX2.
    unsafe { body(x, weights, sums) }
}

pub(super) fn signs(_: Avx2, values: &[[f32; BLOCK]], words: &mut [u64]) {
    #[target_feature(enable = "avx2")]
    fn body(values: &[[f32; BLOCK]], words: &mut [u64]) {
        for (word, values) in words.iter_mut().zip(values) {
            *word = 0;
            for (i, values) in values.as_chunks().0.iter().enumerate() {
                let at_least = _mm256_cmp_ps::<_CMP_GE_OQ>(load(values), _mm256_setzero_ps());
                let mask = _mm256_movemask_ps(at_least).cast_unsigned();
                *word |= u64::from(mask) << (8 * i);
            }
        }
    }
    // SAFETY: the token proves AVX2.
    unsafe { body(values, words) }
}

#[inline]
#[target_feature(enable = "avx2")]
fn load(values: &[f32; 8]) -> __m256 {
    // SAFETY: the array is 32 bytes.
    unsafe { _mm256_loadu_ps(values.as_ptr()) }
}

#[inline]
#[target_feature(enable = "avx2")]
fn store(values: &mut [f32; 8], vector: __m256) {
    // SAFETY: the array is 32 bytes.
    unsafe { _mm256_storeu_ps(values.as_mut_ptr(), vector) }
}

/// The butterflies of distance 1, 2, 4 and 8. Within a vector the upper half is negated and the other
/// half of every pair added: `a + b` below, `a + (-b)` above.
#[inline]
#[target_feature(enable = "avx2")]
fn small_stages(values: &mut [f32; SMALL]) {
    let (low, high) = values.split_at_mut(8);
    let (Some(low), Some(high)) = (low.first_chunk_mut(), high.first_chunk_mut()) else {
        return;
    };
    let (a, b) = (in_vector(load(low)), in_vector(load(high)));
    store(low, _mm256_add_ps(a, b));
    store(high, _mm256_sub_ps(a, b));
}

#[inline]
#[target_feature(enable = "avx2")]
fn in_vector(v: __m256) -> __m256 {
    let negate = |v, upper| _mm256_xor_ps(v, upper);
    let odd = _mm256_setr_ps(0.0, -0.0, 0.0, -0.0, 0.0, -0.0, 0.0, -0.0);
    let v = _mm256_add_ps(negate(v, odd), _mm256_permute_ps::<0b10_11_00_01>(v));
    let pairs = _mm256_setr_ps(0.0, 0.0, -0.0, -0.0, 0.0, 0.0, -0.0, -0.0);
    let v = _mm256_add_ps(negate(v, pairs), _mm256_permute_ps::<0b01_00_11_10>(v));
    let half = _mm256_setr_ps(0.0, 0.0, 0.0, 0.0, -0.0, -0.0, -0.0, -0.0);
    _mm256_add_ps(negate(v, half), _mm256_permute2f128_ps::<0x01>(v, v))
}
