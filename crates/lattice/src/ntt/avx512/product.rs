//! Products of values.
#![expect(unsafe_code, reason = "entry into target features")]

use std::arch::x86_64::*;

use sordino_cpu::Avx512Ifma;

use super::field::{Field, LANES, get, put, splat};
use crate::ntt::Plan;

pub(in crate::ntt) fn multiply(_: Avx512Ifma, plan: &Plan, a: &mut [u64], b: &[u64]) {
    // SAFETY: the token proves the target features.
    unsafe { multiply_values(plan, a, b) }
}

#[target_feature(enable = "avx512f,avx512ifma")]
fn multiply_values(plan: &Plan, a: &mut [u64], b: &[u64]) {
    let barrett = Barrett::new(plan);
    let (a, _) = a.as_chunks_mut::<LANES>();
    let (b, _) = b.as_chunks::<LANES>();
    for (x, y) in a.iter_mut().zip(b) {
        let product = barrett.mul(get(x), get(y));
        put(x, barrett.field.canonical(product));
    }
}

/// Barrett's reduction on 52-bit halves. With factors shifted so that the product has 103 bits, its high
/// half is `h = floor(a b / 2^(2 bits - 51))`; `floor(h m / 2^52)` with `m = floor(2^(2 bits + 1) / q)` is
/// the quotient or at most three less, so the rest is in `[0, 4q)`.
#[derive(Clone, Copy)]
pub(super) struct Barrett {
    pub(super) field: Field,
    m: __m512i,
    shifts: (__m128i, __m128i),
}

impl Barrett {
    #[inline]
    #[target_feature(enable = "avx512f")]
    #[expect(clippy::cast_possible_truncation, reason = "at most 52 bits")]
    pub(super) fn new(plan: &Plan) -> Self {
        let (q, bits) = (plan.modulus.q(), plan.modulus.bits());
        let shift = |by: u32| _mm_cvtsi32_si128(by.cast_signed() - bits.cast_signed());
        Self {
            field: Field::new(q),
            m: splat(((1u128 << (2 * bits + 1)) / u128::from(q)) as u64),
            shifts: (shift(52), shift(51)),
        }
    }

    /// `a b` in `[0, 2q)`, for canonical factors.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(super) fn mul(self, a: __m512i, b: __m512i) -> __m512i {
        let zero = _mm512_setzero_si512();
        let shifted = (
            _mm512_sll_epi64(a, self.shifts.0),
            _mm512_sll_epi64(b, self.shifts.1),
        );
        let high = _mm512_madd52hi_epu64(zero, shifted.0, shifted.1);
        let low = _mm512_madd52lo_epu64(zero, a, b);
        let times = _mm512_madd52hi_epu64(zero, high, self.m);
        self.field
            .reduce_twice(_mm512_madd52lo_epu64(low, times, self.field.negated))
    }
}
