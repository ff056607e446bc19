//! 512-bit vectors: sixteen floats.
#![expect(
    unsafe_code,
    reason = "vector loads and stores, and the call into AVX-512 code"
)]

use core::arch::x86_64::*;

use sordino_cpu::Avx512Popcnt;

use super::BLOCK;
use super::portable::{self, SMALL};

pub(super) fn rotate(_: Avx512Popcnt, values: &mut [f32], flips: &[u32]) {
    #[target_feature(enable = "avx512f,avx512dq")]
    fn body(values: &mut [f32], flips: &[u32]) {
        for flips in flips.chunks_exact(values.len()) {
            let (values16, flips16) = (values.as_chunks_mut::<SMALL>().0, flips.as_chunks().0);
            for (values, flips) in values16.iter_mut().zip(flips16) {
                small_stages(values, flips);
            }
            portable::stages(values, SMALL);
        }
    }
    // SAFETY: the token proves AVX-512 F and DQ.
    unsafe { body(values, flips) }
}

pub(super) fn project(
    _: Avx512Popcnt,
    x: &[f32],
    weights: &[[f32; BLOCK]],
    sums: &mut [f32; BLOCK],
) {
    #[target_feature(enable = "avx512f")]
    fn body(x: &[f32], weights: &[[f32; BLOCK]], sums: &mut [f32; BLOCK]) {
        let mut total = [_mm512_setzero_ps(); 4];
        for (x, row) in x.iter().zip(weights) {
            for (sum, row) in total.iter_mut().zip(row.as_chunks().0) {
                *sum = _mm512_add_ps(*sum, _mm512_mul_ps(_mm512_set1_ps(*x), load(row)));
            }
        }
        for (sums, total) in sums.as_chunks_mut().0.iter_mut().zip(total) {
            store(sums, total);
        }
    }
    // SAFETY: the token proves AVX-512 F.
    unsafe { body(x, weights, sums) }
}

pub(super) fn signs(_: Avx512Popcnt, values: &[[f32; BLOCK]], words: &mut [u64]) {
    #[target_feature(enable = "avx512f")]
    fn body(values: &[[f32; BLOCK]], words: &mut [u64]) {
        for (word, values) in words.iter_mut().zip(values) {
            *word = 0;
            for (i, values) in values.as_chunks().0.iter().enumerate() {
                let mask = _mm512_cmp_ps_mask::<_CMP_GE_OQ>(load(values), _mm512_setzero_ps());
                *word |= u64::from(mask) << (16 * i);
            }
        }
    }
    // SAFETY: the token proves AVX-512 F.
    unsafe { body(values, words) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load(values: &[f32; 16]) -> __m512 {
    // SAFETY: the array is 64 bytes.
    unsafe { _mm512_loadu_ps(values.as_ptr()) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn store(values: &mut [f32; 16], vector: __m512) {
    // SAFETY: the array is 64 bytes.
    unsafe { _mm512_storeu_ps(values.as_mut_ptr(), vector) }
}

/// Flips signs, then the butterflies of distance 1, 2, 4 and 8. In each, the upper half is negated
/// and the other half of every pair added: `a + b` below, `a + (-b)` above.
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn small_stages(values: &mut [f32; SMALL], flips: &[u32; SMALL]) {
    // SAFETY: the array is 64 bytes.
    let flips = unsafe { _mm512_loadu_si512(flips.as_ptr().cast()) };
    let v = _mm512_xor_ps(load(values), _mm512_castsi512_ps(flips));
    let v = _mm512_add_ps(negated(v, 0xaaaa), _mm512_permute_ps::<0b10_11_00_01>(v));
    let v = _mm512_add_ps(negated(v, 0xcccc), _mm512_permute_ps::<0b01_00_11_10>(v));
    let v = _mm512_add_ps(
        negated(v, 0xf0f0),
        _mm512_shuffle_f32x4::<0b10_11_00_01>(v, v),
    );
    let v = _mm512_add_ps(
        negated(v, 0xff00),
        _mm512_shuffle_f32x4::<0b01_00_11_10>(v, v),
    );
    store(values, v);
}

/// Negates the elements that a mask selects.
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn negated(v: __m512, mask: __mmask16) -> __m512 {
    _mm512_mask_xor_ps(v, mask, v, _mm512_set1_ps(-0.0))
}
