//! Products of values.
#![expect(
    unsafe_code,
    reason = "intrinsics of the features that the token proves, entry into target features"
)]

use std::arch::x86_64::*;

use sordino_cpu::Avx512Ifma;

use super::field::{Field, LANES, get, put, splat};
use crate::ntt::Plan;

pub(in crate::ntt) fn multiply(token: Avx512Ifma, plan: &Plan, a: &mut [u64], b: &[u64]) {
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn entered(token: Avx512Ifma, plan: &Plan, a: &mut [u64], b: &[u64]) {
        let barrett = Barrett::new(token, plan);
        let (a, _) = a.as_chunks_mut::<LANES>();
        let (b, _) = b.as_chunks::<LANES>();
        for (x, y) in a.iter_mut().zip(b) {
            put(token, x, barrett.mul(get(token, x), get(token, y)));
        }
    }
    // SAFETY: the token proves the target features.
    unsafe { entered(token, plan, a, b) }
}

/// Barrett's reduction on 52-bit halves. With factors shifted so that the product has 103 bits, its high half is `h =
/// floor(a b / 2^(2 bits - 51))`. With `m = floor(2^(2 bits + 1) / q)`, `floor(h m / 2^52)` is the quotient or at most
/// three less. So the remainder is in `[0, 4q)`.
#[derive(Clone, Copy)]
pub(super) struct Barrett {
    field: Field,
    m: __m512i,
    shifts: (__m512i, __m512i),
}

impl Barrett {
    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "at most 52 bits")]
    pub(super) fn new(token: Avx512Ifma, plan: &Plan) -> Self {
        let (q, bits) = (plan.modulus.q(), plan.modulus.bits());
        let m = ((1u128 << (2 * bits + 1)) / u128::from(q)) as u64;
        let shift = |to: u32| splat(token, u64::from(to - bits));
        Self {
            field: Field::new(token, plan.modulus),
            m: splat(token, m),
            shifts: (shift(52), shift(51)),
        }
    }

    /// `a b`, canonical, for canonical factors.
    #[inline(always)]
    pub(super) fn mul(self, a: __m512i, b: __m512i) -> __m512i {
        // SAFETY: the token of the field proves the target features.
        let rest = unsafe {
            let zero = _mm512_setzero_si512();
            let shifted = (
                _mm512_sllv_epi64(a, self.shifts.0),
                _mm512_sllv_epi64(b, self.shifts.1),
            );
            let high = _mm512_madd52hi_epu64(zero, shifted.0, shifted.1);
            let low = _mm512_madd52lo_epu64(zero, a, b);
            let times = _mm512_madd52hi_epu64(zero, high, self.m);
            _mm512_madd52lo_epu64(low, times, self.field.negated)
        };
        self.field.reduce_thrice(rest)
    }
}
