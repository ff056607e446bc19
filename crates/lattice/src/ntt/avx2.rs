//! AVX2 and FMA: four doubles at a time.
#![expect(
    unsafe_code,
    reason = "intrinsics of the features that the token proves, entry into target features"
)]

use std::arch::x86_64::*;

use sordino_cpu::Avx2Fma;

use super::Plan;
use super::double::{self, Factor, Factors, Field, Lanes};

/// `2^52`. For an integer `x` below `2^52`, the bits of the double `2^52 + x` are these bits plus `x`.
const TWO52: f64 = 4_503_599_627_370_496.0;

pub(super) fn forward(token: Avx2Fma, plan: &Plan, a: &mut [u64]) {
    #[target_feature(enable = "avx2,fma")]
    fn entered(token: Avx2Fma, plan: &Plan, a: &mut [u64]) {
        double::forward(token, plan, a);
    }
    // SAFETY: the token proves the target features.
    unsafe { entered(token, plan, a) }
}

pub(super) fn inverse_strided(token: Avx2Fma, plan: &Plan, a: &mut [u64], k: u32) {
    #[target_feature(enable = "avx2,fma")]
    fn entered(token: Avx2Fma, plan: &Plan, a: &mut [u64], k: u32) {
        double::inverse_strided(token, plan, a, k);
    }
    // SAFETY: the token proves the target features.
    unsafe { entered(token, plan, a, k) }
}

pub(super) fn inverse_product(
    token: Avx2Fma,
    plan: &Plan,
    ab: (&[u64], &[u64]),
    out: &mut [u64],
    k: u32,
) {
    #[target_feature(enable = "avx2,fma")]
    fn entered(token: Avx2Fma, plan: &Plan, ab: (&[u64], &[u64]), out: &mut [u64], k: u32) {
        double::inverse_product(token, plan, ab, out, k);
    }
    // SAFETY: the token proves the target features.
    unsafe { entered(token, plan, ab, out, k) }
}

pub(super) fn multiply(token: Avx2Fma, plan: &Plan, a: &mut [u64], b: &[u64]) {
    #[target_feature(enable = "avx2,fma")]
    fn entered(token: Avx2Fma, plan: &Plan, a: &mut [u64], b: &[u64]) {
        double::multiply(token, plan, a, b);
    }
    // SAFETY: the token proves the target features.
    unsafe { entered(token, plan, a, b) }
}

/// Exchanges halves of two registers: `(a0 a1 b0 b1, a2 a3 b2 b3)`. It is its own inverse.
#[inline(always)]
fn halves(_: Avx2Fma, a: __m256d, b: __m256d) -> (__m256d, __m256d) {
    // SAFETY: the token proves the target features.
    unsafe {
        (
            _mm256_permute2f128_pd::<0x20>(a, b),
            _mm256_permute2f128_pd::<0x31>(a, b),
        )
    }
}

/// Collects the first and the second words of the pairs in two registers: `(x0 y0 x2 y2, x1 y1 x3 y3)`.
/// It is its own inverse.
#[inline(always)]
fn ones(_: Avx2Fma, x: __m256d, y: __m256d) -> (__m256d, __m256d) {
    // SAFETY: the token proves the target features.
    unsafe { (_mm256_unpacklo_pd(x, y), _mm256_unpackhi_pd(x, y)) }
}

/// Factors `i` and `i + 1`, each in two lanes.
#[inline(always)]
fn two(token: Avx2Fma, factors: &Factors, i: usize) -> Factor<__m256d> {
    let spread = |from: &[f64]| token.doubles(&[from[i], from[i], from[i + 1], from[i + 1]]);
    Factor {
        w: spread(&factors.w),
        ratio: spread(&factors.ratio),
    }
}

impl Lanes<4> for Avx2Fma {
    type Vector = __m256d;

    #[inline(always)]
    fn splat(self, x: f64) -> __m256d {
        // SAFETY: the token proves the target features.
        unsafe { _mm256_set1_pd(x) }
    }

    #[inline(always)]
    fn doubles(self, from: &[f64; 4]) -> __m256d {
        // SAFETY: the token proves the target features; there are four doubles.
        unsafe { _mm256_loadu_pd(from.as_ptr()) }
    }

    #[inline(always)]
    fn get(self, words: &[u64; 4]) -> __m256d {
        // SAFETY: the token proves the target features; there are four words.
        unsafe { _mm256_loadu_pd(words.as_ptr().cast()) }
    }

    #[inline(always)]
    fn put(self, words: &mut [u64; 4], x: __m256d) {
        // SAFETY: the token proves the target features; there are four words.
        unsafe { _mm256_storeu_pd(words.as_mut_ptr().cast(), x) }
    }

    #[inline(always)]
    fn doubles_of(self, words: __m256d) -> __m256d {
        let two52 = self.splat(TWO52);
        // SAFETY: the token proves the target features.
        unsafe { _mm256_sub_pd(_mm256_or_pd(words, two52), two52) }
    }

    #[inline(always)]
    fn words_of(self, x: __m256d) -> __m256d {
        let two52 = self.splat(TWO52);
        // SAFETY: the token proves the target features.
        unsafe { _mm256_xor_pd(_mm256_add_pd(x, two52), two52) }
    }

    #[inline(always)]
    fn add(self, x: __m256d, y: __m256d) -> __m256d {
        // SAFETY: the token proves the target features.
        unsafe { _mm256_add_pd(x, y) }
    }

    #[inline(always)]
    fn sub(self, x: __m256d, y: __m256d) -> __m256d {
        // SAFETY: the token proves the target features.
        unsafe { _mm256_sub_pd(x, y) }
    }

    #[inline(always)]
    fn mul(self, x: __m256d, y: __m256d) -> __m256d {
        // SAFETY: the token proves the target features.
        unsafe { _mm256_mul_pd(x, y) }
    }

    #[inline(always)]
    fn sub_product(self, z: __m256d, x: __m256d, y: __m256d) -> __m256d {
        // SAFETY: the token proves the target features.
        unsafe { _mm256_fnmadd_pd(x, y, z) }
    }

    #[inline(always)]
    fn round(self, x: __m256d) -> __m256d {
        // SAFETY: the token proves the target features.
        unsafe { _mm256_round_pd::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(x) }
    }

    #[inline(always)]
    fn where_negative(self, x: __m256d, q: __m256d) -> __m256d {
        // SAFETY: the token proves the target features.
        unsafe { _mm256_and_pd(_mm256_cmp_pd::<_CMP_LT_OQ>(x, _mm256_setzero_pd()), q) }
    }

    #[inline(always)]
    fn evens_and_odds(self, x: __m256d, y: __m256d) -> (__m256d, __m256d) {
        let (x, y) = halves(self, x, y);
        ones(self, x, y)
    }

    #[inline(always)]
    fn last_stages(
        self,
        field: Field<Self, 4>,
        factors: &Factors,
        (x, y): (__m256d, __m256d),
        pair: usize,
        n: usize,
    ) -> (__m256d, __m256d) {
        let (x, y) = halves(self, x, y);
        let (x, y) = field.cooley_tukey(x, y, two(self, factors, n / 4 + 2 * pair));
        let (x, y) = ones(self, x, y);
        let (x, y) = field.cooley_tukey(x, y, field.each(factors, n / 2 + 4 * pair));
        let (x, y) = ones(self, x, y);
        halves(self, x, y)
    }

    #[inline(always)]
    fn first_stages(
        self,
        field: Field<Self, 4>,
        factors: &Factors,
        (x, y): (__m256d, __m256d),
        pair: usize,
        n: usize,
    ) -> (__m256d, __m256d) {
        let (x, y) = halves(self, x, y);
        let (x, y) = ones(self, x, y);
        let (x, y) = field.gentleman_sande(x, y, field.each(factors, n / 2 + 4 * pair));
        let (x, y) = ones(self, x, y);
        let (x, y) = field.gentleman_sande_reduced(x, y, two(self, factors, n / 4 + 2 * pair));
        halves(self, x, y)
    }
}
