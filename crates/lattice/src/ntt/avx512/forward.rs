//! The forward transform.
#![expect(unsafe_code, reason = "entry into target features")]

use std::arch::x86_64::*;

use sordino_cpu::Avx512Ifma;

use super::field::{Field, LANES, fours, get, ones, put, twos};
use crate::ntt::{Factors, Plan};

pub(in crate::ntt) fn forward(_: Avx512Ifma, plan: &Plan, a: &mut [u64]) {
    // SAFETY: the token proves the target features.
    unsafe { forward_stages(plan, a) }
}

#[target_feature(enable = "avx512f,avx512ifma")]
fn forward_stages(plan: &Plan, a: &mut [u64]) {
    let field = Field::new(plan.modulus.q());
    let factors = &plan.forward;
    let n = a.len();
    let (a, _) = a.as_chunks_mut::<LANES>();
    // Distances in registers. Stages down to distance 1 in pairs, an odd one first; then the last three.
    let (mut half, mut groups) = (a.len() / 2, 1);
    if half.ilog2().is_multiple_of(2) {
        let (upper, lower) = a.split_at_mut(half);
        let factor = factors.splat(1);
        for (x, y) in upper.iter_mut().zip(lower) {
            let (x1, y1) = field.cooley_tukey(get(x), get(y), factor);
            put(x, x1);
            put(y, y1);
        }
        (half, groups) = (half / 2, 2);
    }
    while half >= 2 {
        let quarter = half / 2;
        for (group, part) in a.chunks_exact_mut(2 * half).enumerate() {
            let first = factors.splat(groups + group);
            let second = [
                factors.splat(2 * (groups + group)),
                factors.splat(2 * (groups + group) + 1),
            ];
            let (upper, lower) = part.split_at_mut(half);
            let (part0, part1) = upper.split_at_mut(quarter);
            let (part2, part3) = lower.split_at_mut(quarter);
            let parts = part0.iter_mut().zip(part1).zip(part2).zip(part3);
            for (((v0, v1), v2), v3) in parts {
                let (x0, x2) = field.cooley_tukey(get(v0), get(v2), first);
                let (x1, x3) = field.cooley_tukey(get(v1), get(v3), first);
                let (x0, x1) = field.cooley_tukey(x0, x1, second[0]);
                let (x2, x3) = field.cooley_tukey(x2, x3, second[1]);
                put(v0, x0);
                put(v1, x1);
                put(v2, x2);
                put(v3, x3);
            }
        }
        (half, groups) = (half / 4, groups * 4);
    }
    for (pair, [x, y]) in a.as_chunks_mut::<2>().0.iter_mut().enumerate() {
        let (x1, y1) = forward_sixteen(field, factors, get(x), get(y), n / 8 + 2 * pair);
        put(x, x1);
        put(y, y1);
    }
}

/// The last three stages on 16 values, canonical; `first` is the factor of the first eight.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn forward_sixteen(
    field: Field,
    factors: &Factors,
    a: __m512i,
    b: __m512i,
    first: usize,
) -> (__m512i, __m512i) {
    let (x, y) = fours(a, b);
    let (x, y) = field.cooley_tukey(x, y, factors.two(first));
    let (x, y) = twos(x, y);
    let (x, y) = field.cooley_tukey(x, y, factors.four(2 * first));
    let (x, y) = ones(x, y);
    let (x, y) = field.cooley_tukey(x, y, factors.eight(4 * first));
    let x = field.canonical(field.reduce_twice(x));
    let y = field.canonical(field.reduce_twice(y));
    // In lane order a0 a2 a4 a6 b0 ..., a1 a3 a5 a7 b1 ...
    let (x, y) = ones(x, y);
    let (x, y) = twos(x, y);
    fours(x, y)
}
