//! The portable definition: products with constant [factors](super::factor), lazy ranges, canonical
//! results.

use super::Plan;
use crate::modulus::subtract_once;

/// Values are in `[0, 4q)` between stages. A stage subtracts `2q` from `x` if the result is not
/// negative. Then it computes `x' = x + w y`, `y' = x - w y + 2q`.
pub(super) fn forward(plan: &Plan, a: &mut [u64]) {
    let q = plan.modulus.q();
    let factors = &plan.forward.each;
    let mut half = plan.n;
    let mut groups = 1;
    while groups < plan.n {
        half /= 2;
        for (group, pair) in a.chunks_exact_mut(2 * half).enumerate() {
            let factor = factors[groups + group];
            let (upper, lower) = pair.split_at_mut(half);
            for (x, y) in upper.iter_mut().zip(lower) {
                let even = subtract_once(*x, 2 * q);
                let odd = factor.times(*y, q);
                *x = even + odd;
                *y = even + 2 * q - odd;
            }
        }
        groups *= 2;
    }
    for x in a {
        *x = subtract_once(subtract_once(*x, 2 * q), q);
    }
}

/// The first `k` stages of an inverse transform of the length of `a`, without their sums, then the
/// remaining stages.
pub(super) fn inverse_strided(plan: &Plan, a: &mut [u64], k: u32) {
    let mut len = a.len();
    for _ in 0..k {
        len /= 2;
        prune(plan, &mut a[..2 * len]);
    }
    inverse(plan, &mut a[..len]);
}

/// The first stage of an inverse transform of the length of `a`, with differences only: `a_i = w (a_2i -
/// a_(2i+1) + 2q)`. Input and output are in `[0, 2q)`.
pub(super) fn prune(plan: &Plan, a: &mut [u64]) {
    let q = plan.modulus.q();
    let len = a.len() / 2;
    let (factors, first) = match len {
        // The only stage is also the last, which scales.
        1 => (&plan.last.each, 1),
        _ => (&plan.inverse.each, len),
    };
    for i in 0..len {
        let difference = a[2 * i] + 2 * q - a[2 * i + 1];
        a[i] = factors[first + i].times(difference, q);
    }
}

/// An inverse transform of the length of `a`, a part of the plan's, scaled by `1/n`. Values are in `[0,
/// 2q)` before and between stages: `x' = x + y`, minus `2q` if the result is not negative, and `y' = w
/// (x - y + 2q)`. The output is canonical.
pub(super) fn inverse(plan: &Plan, a: &mut [u64]) {
    let q = plan.modulus.q();
    let factors = &plan.inverse.each;
    let len = a.len();
    let mut half = 1;
    while 2 * half < len {
        let groups = len / (2 * half);
        for (group, pair) in a.chunks_exact_mut(2 * half).enumerate() {
            let factor = factors[groups + group];
            let (upper, lower) = pair.split_at_mut(half);
            for (x, y) in upper.iter_mut().zip(lower) {
                let difference = *x + 2 * q - *y;
                *x = subtract_once(*x + *y, 2 * q);
                *y = factor.times(difference, q);
            }
        }
        half *= 2;
    }
    if len > 1 {
        let [sums, differences] = [plan.last.each[0], plan.last.each[1]];
        let (upper, lower) = a.split_at_mut(half);
        for (x, y) in upper.iter_mut().zip(lower) {
            let difference = *x + 2 * q - *y;
            *x = sums.times(*x + *y, q);
            *y = differences.times(difference, q);
        }
    }
    for x in a {
        *x = subtract_once(*x, q);
    }
}

/// `a b`, canonical.
pub(super) fn multiply(plan: &Plan, a: &mut [u64], b: &[u64]) {
    for (x, &y) in a.iter_mut().zip(b) {
        *x = plan.modulus.mul(*x, y);
    }
}

/// A product and a strided inverse.
pub(super) fn inverse_product(plan: &Plan, (a, b): (&[u64], &[u64]), out: &mut [u64], k: u32) {
    out.copy_from_slice(a);
    multiply(plan, out, b);
    inverse_strided(plan, out, k);
}
