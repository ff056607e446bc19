//! The inverse transform: of a polynomial, of a product, or of every `2^k`-th coefficient.
#![expect(unsafe_code, reason = "entry into target features")]

use std::arch::x86_64::*;

use sordino_cpu::Avx512Ifma;

use super::field::{Factor, Field, LANES, Words, fours, get, ones, put, twos};
use super::product::Barrett;
use crate::ntt::{Factors, Plan, portable};

pub(in crate::ntt) fn inverse_strided(_: Avx512Ifma, plan: &Plan, a: &mut [u64], k: u32) {
    // SAFETY: the token proves the target features.
    unsafe { inverse_from(plan, a, k) }
}

#[target_feature(enable = "avx512f,avx512ifma")]
fn inverse_from(plan: &Plan, a: &mut [u64], k: u32) {
    let mut len = a.len();
    for _ in 0..k {
        len = half_length(plan, &mut a[..len], |a, i| get(&a[i]));
    }
    inverse_rest(plan, &mut a[..len]);
}

pub(in crate::ntt) fn inverse_product(
    _: Avx512Ifma,
    plan: &Plan,
    (a, b): (&[u64], &[u64]),
    out: &mut [u64],
    k: u32,
) {
    // SAFETY: the token proves the target features.
    unsafe { inverse_product_from(plan, (a, b), out, k) }
}

/// A product and its inverse transform, the products staying in registers.
#[target_feature(enable = "avx512f,avx512ifma")]
fn inverse_product_from(plan: &Plan, (a, b): (&[u64], &[u64]), out: &mut [u64], k: u32) {
    let barrett = Barrett::new(plan);
    let (a, _) = a.as_chunks::<LANES>();
    let (b, _) = b.as_chunks::<LANES>();
    assert!(LANES * a.len() == out.len() && a.len() == b.len());
    let product = |_: &[Words], i: usize| barrett.mul(get(&a[i]), get(&b[i]));
    if k == 0 {
        first_three(plan, out, product);
        return inverse_stages(plan, out);
    }
    let mut len = half_length(plan, out, product);
    for _ in 1..k {
        len = half_length(plan, &mut out[..len], |a, i| get(&a[i]));
    }
    inverse_rest(plan, &mut out[..len]);
}

/// An inverse transform of whatever length.
#[target_feature(enable = "avx512f,avx512ifma")]
fn inverse_rest(plan: &Plan, a: &mut [u64]) {
    if a.len() >= 2 * LANES {
        first_three(plan, a, |a, i| get(&a[i]));
        inverse_stages(plan, a);
    } else {
        portable::inverse(plan, a);
    }
}

/// The first stage of an inverse transform, differences only, of the registers that `source` gives;
/// returns the length that is left.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn half_length(plan: &Plan, a: &mut [u64], source: impl Fn(&[Words], usize) -> __m512i) -> usize {
    let field = Field::new(plan.modulus.q());
    let len = a.len() / 2;
    if len < LANES {
        portable::prune(plan, a);
        return len;
    }
    let even = _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14);
    let odd = _mm512_setr_epi64(1, 3, 5, 7, 9, 11, 13, 15);
    let (a, _) = a.as_chunks_mut::<LANES>();
    let (w, _) = plan.inverse.w[len..].as_chunks::<LANES>();
    let (quotient, _) = plan.inverse.quotient52[len..].as_chunks::<LANES>();
    for (i, (w, quotient)) in w.iter().zip(quotient).enumerate().take(len / LANES) {
        let (x, y) = (source(a, 2 * i), source(a, 2 * i + 1));
        let (x, y) = (
            _mm512_permutex2var_epi64(x, even, y),
            _mm512_permutex2var_epi64(x, odd, y),
        );
        let factor = Factor {
            w: get(w),
            quotient: get(quotient),
        };
        let difference = field.difference(x, y, factor);
        put(&mut a[i], _mm512_and_si512(difference, field.mask));
    }
    len
}

/// The first three stages of an inverse transform of the registers that `source` gives.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn first_three(plan: &Plan, a: &mut [u64], source: impl Fn(&[Words], usize) -> __m512i) {
    let field = Field::new(plan.modulus.q());
    let n = a.len();
    let (a, _) = a.as_chunks_mut::<LANES>();
    for i in (0..a.len()).step_by(2) {
        let (x, y) = (source(a, i), source(a, i + 1));
        let (x, y) = inverse_sixteen(field, &plan.inverse, x, y, n / 8 + i);
        put(&mut a[i], x);
        put(&mut a[i + 1], y);
    }
}

/// The stages of an inverse transform after the first three.
#[target_feature(enable = "avx512f,avx512ifma")]
fn inverse_stages(plan: &Plan, a: &mut [u64]) {
    let field = Field::new(plan.modulus.q());
    let factors = &plan.inverse;
    let (a, _) = a.as_chunks_mut::<LANES>();
    // Distances in registers. Stages from distance 1 on in pairs, an odd one first; the last one of all
    // scales.
    let last = (plan.last.splat(0), plan.last.splat(1));
    let mut half = 1;
    if a.len().ilog2() % 2 == 1 {
        let groups = a.len() / 2;
        for (group, [x, y]) in a.as_chunks_mut::<2>().0.iter_mut().enumerate() {
            let (x1, y1) = if groups == 1 {
                scale(field, get(x), get(y), last)
            } else {
                field.gentleman_sande(get(x), get(y), factors.splat(groups + group))
            };
            put(x, x1);
            put(y, y1);
        }
        half = 2;
    }
    while half < a.len() {
        let groups = a.len() / (4 * half);
        for (group, part) in a.chunks_exact_mut(4 * half).enumerate() {
            let first = [
                factors.splat(2 * (groups + group)),
                factors.splat(2 * (groups + group) + 1),
            ];
            let second = factors.splat(groups + group);
            let (upper, lower) = part.split_at_mut(2 * half);
            let (part0, part1) = upper.split_at_mut(half);
            let (part2, part3) = lower.split_at_mut(half);
            let parts = part0.iter_mut().zip(part1).zip(part2).zip(part3);
            for (((v0, v1), v2), v3) in parts {
                let (x0, x1) = field.gentleman_sande(get(v0), get(v1), first[0]);
                let (x2, x3) = field.gentleman_sande(get(v2), get(v3), first[1]);
                let ((x0, x2), (x1, x3)) = if groups == 1 {
                    (scale(field, x0, x2, last), scale(field, x1, x3, last))
                } else {
                    (
                        field.gentleman_sande(x0, x2, second),
                        field.gentleman_sande(x1, x3, second),
                    )
                };
                put(v0, x0);
                put(v1, x1);
                put(v2, x2);
                put(v3, x3);
            }
        }
        half *= 4;
    }
}

/// The last stage: scaled, canonical.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn scale(field: Field, x: __m512i, y: __m512i, last: (Factor, Factor)) -> (__m512i, __m512i) {
    (
        field.canonical(field.mul(_mm512_add_epi64(x, y), last.0)),
        field.canonical(field.difference(x, y, last.1)),
    )
}

/// The first three stages on 16 values; `first` is the factor that the third uses for the first eight.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn inverse_sixteen(
    field: Field,
    factors: &Factors,
    a: __m512i,
    b: __m512i,
    first: usize,
) -> (__m512i, __m512i) {
    let (x, y) = fours(a, b);
    let (x, y) = twos(x, y);
    let (x, y) = ones(x, y);
    let (x, y) = field.gentleman_sande(x, y, factors.eight(4 * first));
    let (x, y) = ones(x, y);
    let (x, y) = field.gentleman_sande(x, y, factors.four(2 * first));
    let (x, y) = twos(x, y);
    let (x, y) = field.gentleman_sande(x, y, factors.two(first));
    fours(x, y)
}
