//! NEON: two doubles at a time.
#![expect(
    unsafe_code,
    reason = "vector loads and stores of the features that the token proves"
)]

use std::arch::aarch64::*;

use sordino_cpu::Neon;

use super::Plan;
use super::double::{self, Factors, Field, Lanes};

pub(super) fn forward(token: Neon, plan: &Plan, a: &mut [u64]) {
    double::forward(token, plan, a);
}

pub(super) fn inverse_strided(token: Neon, plan: &Plan, a: &mut [u64], k: u32) {
    double::inverse_strided(token, plan, a, k);
}

pub(super) fn inverse_product(
    token: Neon,
    plan: &Plan,
    ab: (&[u64], &[u64]),
    out: &mut [u64],
    k: u32,
) {
    double::inverse_product(token, plan, ab, out, k);
}

pub(super) fn multiply(token: Neon, plan: &Plan, a: &mut [u64], b: &[u64]) {
    double::multiply(token, plan, a, b);
}

impl Lanes<2> for Neon {
    type Vector = float64x2_t;

    #[inline(always)]
    fn splat(self, x: f64) -> float64x2_t {
        // SAFETY: the token proves the target features.
        unsafe { vdupq_n_f64(x) }
    }

    #[inline(always)]
    fn doubles(self, from: &[f64; 2]) -> float64x2_t {
        // SAFETY: the token proves the target features; there are two doubles.
        unsafe { vld1q_f64(from.as_ptr()) }
    }

    #[inline(always)]
    fn get(self, words: &[u64; 2]) -> float64x2_t {
        // SAFETY: the token proves the target features; there are two words.
        unsafe { vld1q_f64(words.as_ptr().cast()) }
    }

    #[inline(always)]
    fn put(self, words: &mut [u64; 2], x: float64x2_t) {
        // SAFETY: the token proves the target features; there are two words.
        unsafe { vst1q_f64(words.as_mut_ptr().cast(), x) }
    }

    #[inline(always)]
    fn doubles_of(self, words: float64x2_t) -> float64x2_t {
        // SAFETY: the token proves the target features.
        unsafe { vcvtq_f64_u64(vreinterpretq_u64_f64(words)) }
    }

    #[inline(always)]
    fn words_of(self, x: float64x2_t) -> float64x2_t {
        // SAFETY: the token proves the target features.
        unsafe { vreinterpretq_f64_u64(vcvtq_u64_f64(x)) }
    }

    #[inline(always)]
    fn add(self, x: float64x2_t, y: float64x2_t) -> float64x2_t {
        // SAFETY: the token proves the target features.
        unsafe { vaddq_f64(x, y) }
    }

    #[inline(always)]
    fn sub(self, x: float64x2_t, y: float64x2_t) -> float64x2_t {
        // SAFETY: the token proves the target features.
        unsafe { vsubq_f64(x, y) }
    }

    #[inline(always)]
    fn mul(self, x: float64x2_t, y: float64x2_t) -> float64x2_t {
        // SAFETY: the token proves the target features.
        unsafe { vmulq_f64(x, y) }
    }

    #[inline(always)]
    fn sub_product(self, z: float64x2_t, x: float64x2_t, y: float64x2_t) -> float64x2_t {
        // SAFETY: the token proves the target features.
        unsafe { vfmsq_f64(z, x, y) }
    }

    #[inline(always)]
    fn round(self, x: float64x2_t) -> float64x2_t {
        // SAFETY: the token proves the target features.
        unsafe { vrndnq_f64(x) }
    }

    #[inline(always)]
    fn where_negative(self, x: float64x2_t, q: float64x2_t) -> float64x2_t {
        // SAFETY: the token proves the target features.
        unsafe { vreinterpretq_f64_u64(vandq_u64(vcltzq_f64(x), vreinterpretq_u64_f64(q))) }
    }

    #[inline(always)]
    fn evens_and_odds(self, x: float64x2_t, y: float64x2_t) -> (float64x2_t, float64x2_t) {
        // SAFETY: the token proves the target features.
        unsafe { (vtrn1q_f64(x, y), vtrn2q_f64(x, y)) }
    }

    #[inline(always)]
    fn last_stages(
        self,
        field: Field<Self, 2>,
        factors: &Factors,
        (x, y): (float64x2_t, float64x2_t),
        pair: usize,
        n: usize,
    ) -> (float64x2_t, float64x2_t) {
        let (x, y) = self.evens_and_odds(x, y);
        let (x, y) = field.cooley_tukey(x, y, field.each(factors, n / 2 + 2 * pair));
        self.evens_and_odds(x, y)
    }

    #[inline(always)]
    fn first_stages(
        self,
        field: Field<Self, 2>,
        factors: &Factors,
        (x, y): (float64x2_t, float64x2_t),
        pair: usize,
        n: usize,
    ) -> (float64x2_t, float64x2_t) {
        let (x, y) = self.evens_and_odds(x, y);
        let (x, y) = field.gentleman_sande_reduced(x, y, field.each(factors, n / 2 + 2 * pair));
        self.evens_and_odds(x, y)
    }
}
