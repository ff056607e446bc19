//! 128-bit vectors: four floats.
#![expect(
    unsafe_code,
    reason = "vector loads and stores, and the call into NEON code"
)]

use core::arch::aarch64::*;

use sordino_cpu::Neon;

use super::BLOCK;
use super::portable::{self, SMALL};

pub(super) fn rotate(_: Neon, values: &mut [f32], flips: &[u32]) {
    #[target_feature(enable = "neon")]
    fn body(values: &mut [f32], flips: &[u32]) {
        for flips in flips.chunks_exact(values.len()) {
            portable::flip(values, flips);
            for values in values.as_chunks_mut().0 {
                small_stages(values);
            }
            portable::stages(values, SMALL);
        }
    }
    // SAFETY: the token proves NEON.
    unsafe { body(values, flips) }
}

pub(super) fn project(_: Neon, x: &[f32], weights: &[[f32; BLOCK]], sums: &mut [f32; BLOCK]) {
    #[target_feature(enable = "neon")]
    fn body(x: &[f32], weights: &[[f32; BLOCK]], sums: &mut [f32; BLOCK]) {
        let mut total = [vdupq_n_f32(0.0); 16];
        for (x, row) in x.iter().zip(weights) {
            for (sum, row) in total.iter_mut().zip(row.as_chunks().0) {
                *sum = vaddq_f32(*sum, vmulq_f32(vdupq_n_f32(*x), load(row)));
            }
        }
        for (sums, total) in sums.as_chunks_mut().0.iter_mut().zip(total) {
            store(sums, total);
        }
    }
    // SAFETY: the token proves NEON.
    unsafe { body(x, weights, sums) }
}

pub(super) fn signs(_: Neon, values: &[[f32; BLOCK]], words: &mut [u64]) {
    #[target_feature(enable = "neon")]
    fn body(values: &[[f32; BLOCK]], words: &mut [u64]) {
        const PLACES: [u32; 4] = [1, 2, 4, 8];
        // SAFETY: the array is 16 bytes.
        let places = unsafe { vld1q_u32(PLACES.as_ptr()) };
        for (word, values) in words.iter_mut().zip(values) {
            *word = 0;
            for (i, values) in values.as_chunks().0.iter().enumerate() {
                let mask = vaddvq_u32(vandq_u32(vcgezq_f32(load(values)), places));
                *word |= u64::from(mask) << (4 * i);
            }
        }
    }
    // SAFETY: the token proves NEON.
    unsafe { body(values, words) }
}

#[inline]
#[target_feature(enable = "neon")]
fn load(values: &[f32; 4]) -> float32x4_t {
    // SAFETY: the array is 16 bytes.
    unsafe { vld1q_f32(values.as_ptr()) }
}

#[inline]
#[target_feature(enable = "neon")]
fn store(values: &mut [f32; 4], vector: float32x4_t) {
    // SAFETY: the array is 16 bytes.
    unsafe { vst1q_f32(values.as_mut_ptr(), vector) }
}

/// The butterflies of distance 1, 2, 4 and 8.
#[inline]
#[target_feature(enable = "neon")]
fn small_stages(values: &mut [f32; SMALL]) {
    let mut v = [vdupq_n_f32(0.0); 4];
    for (v, values) in v.iter_mut().zip(values.as_chunks().0) {
        *v = in_vector(load(values));
    }
    let [a, b, c, d] = v;
    let (a, b) = (vaddq_f32(a, b), vsubq_f32(a, b));
    let (c, d) = (vaddq_f32(c, d), vsubq_f32(c, d));
    let v = [
        vaddq_f32(a, c),
        vaddq_f32(b, d),
        vsubq_f32(a, c),
        vsubq_f32(b, d),
    ];
    for (values, v) in values.as_chunks_mut().0.iter_mut().zip(v) {
        store(values, v);
    }
}

/// Distances 1 and 2: gathers the lower and the upper elements of the pairs, adds and subtracts, and
/// puts them back.
#[inline]
#[target_feature(enable = "neon")]
fn in_vector(v: float32x4_t) -> float32x4_t {
    let (low, high) = (vtrn1q_f32(v, v), vtrn2q_f32(v, v));
    let v = vtrn1q_f32(vaddq_f32(low, high), vsubq_f32(low, high));
    let pairs = vreinterpretq_f64_f32(v);
    let low = vreinterpretq_f32_f64(vtrn1q_f64(pairs, pairs));
    let high = vreinterpretq_f32_f64(vtrn2q_f64(pairs, pairs));
    let (sum, difference) = (vaddq_f32(low, high), vsubq_f32(low, high));
    vreinterpretq_f32_f64(vtrn1q_f64(
        vreinterpretq_f64_f32(sum),
        vreinterpretq_f64_f32(difference),
    ))
}
