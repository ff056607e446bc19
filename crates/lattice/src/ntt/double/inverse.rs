//! Inverse transforms of every `2^k`-th coefficient, and products.

use super::{Factor, Field, Lanes};
use crate::ntt::{Plan, portable};

/// Computes every `2^k`-th coefficient from canonical residues.
#[inline(always)]
pub(in crate::ntt) fn inverse_strided<T: Lanes<L>, const L: usize>(
    lanes: T,
    plan: &Plan,
    a: &mut [u64],
    k: u32,
) {
    for x in a.as_chunks_mut::<L>().0 {
        let value = lanes.doubles_of(lanes.get(x));
        lanes.put(x, value);
    }
    inverse_from(lanes, plan, a, k);
}

/// Computes every `2^k`-th coefficient of a product.
#[inline(always)]
pub(in crate::ntt) fn inverse_product<T: Lanes<L>, const L: usize>(
    lanes: T,
    plan: &Plan,
    (a, b): (&[u64], &[u64]),
    out: &mut [u64],
    k: u32,
) {
    let field = Field::new(lanes, plan.modulus);
    let factors = a.as_chunks::<L>().0.iter().zip(b.as_chunks::<L>().0);
    for (out, (x, y)) in out.as_chunks_mut::<L>().0.iter_mut().zip(factors) {
        let (x, y) = (
            lanes.doubles_of(lanes.get(x)),
            lanes.doubles_of(lanes.get(y)),
        );
        lanes.put(out, field.mul_values(x, y));
    }
    inverse_from(lanes, plan, out, k);
}

/// `a b`, canonical.
#[inline(always)]
pub(in crate::ntt) fn multiply<T: Lanes<L>, const L: usize>(
    lanes: T,
    plan: &Plan,
    a: &mut [u64],
    b: &[u64],
) {
    let field = Field::new(lanes, plan.modulus);
    let pairs = a.as_chunks_mut::<L>().0.iter_mut();
    for (x, y) in pairs.zip(b.as_chunks::<L>().0) {
        let (x1, y1) = (
            lanes.doubles_of(lanes.get(x)),
            lanes.doubles_of(lanes.get(y)),
        );
        let product = field.canonical(field.mul_values(x1, y1));
        lanes.put(x, product);
    }
}

/// Computes every `2^k`-th coefficient from doubles of absolute value up to 1.
#[inline(always)]
fn inverse_from<T: Lanes<L>, const L: usize>(lanes: T, plan: &Plan, a: &mut [u64], k: u32) {
    let mut len = a.len();
    let mut left = k;
    while left > 0 && len >= 2 * L {
        prune(lanes, plan, &mut a[..len]);
        (len, left) = (len / 2, left - 1);
    }
    if left == 0 && len >= 2 * L {
        return inverse(lanes, plan, &mut a[..len]);
    }
    // The rest has fewer than two registers.
    #[expect(clippy::cast_possible_truncation, reason = "an integer below 2^52")]
    for word in &mut a[..len] {
        *word = plan.modulus.reduce_signed(f64::from_bits(*word) as i64);
    }
    portable::inverse_strided(plan, &mut a[..len], left);
}

/// The first stage of an inverse transform of the length of `a`, with differences only.
#[inline(always)]
fn prune<T: Lanes<L>, const L: usize>(lanes: T, plan: &Plan, a: &mut [u64]) {
    let field = Field::new(lanes, plan.modulus);
    let len = a.len() / 2;
    let (a, _) = a.as_chunks_mut::<L>();
    for i in 0..len / L {
        let (x, y) = lanes.evens_and_odds(lanes.get(&a[2 * i]), lanes.get(&a[2 * i + 1]));
        let factor = field.each(&plan.inverse.double, len + L * i);
        let difference = field.mul(lanes.sub(x, y), factor);
        lanes.put(&mut a[i], difference);
    }
}

/// An inverse transform of the length of `a`, which has at least two registers. The output is scaled
/// and canonical.
#[inline(always)]
fn inverse<T: Lanes<L>, const L: usize>(lanes: T, plan: &Plan, a: &mut [u64]) {
    let field = Field::new(lanes, plan.modulus);
    let factors = &plan.inverse.double;
    let n = a.len();
    let (a, _) = a.as_chunks_mut::<L>();
    for (pair, [x, y]) in a.as_chunks_mut::<2>().0.iter_mut().enumerate() {
        let (x1, y1) = (lanes.get(x), lanes.get(y));
        let (x1, y1) = lanes.first_stages(field, factors, (x1, y1), pair, n);
        lanes.put(x, x1);
        lanes.put(y, y1);
    }
    // Here, distances count registers. Stages from distance 1 on are computed in pairs. If their number is odd, a
    // single stage comes first. The last stage also scales. Between passes, absolute values are at most 1.
    let last = (
        field.splat(&plan.last.double, 0),
        field.splat(&plan.last.double, 1),
    );
    let mut half = 1;
    if a.len().ilog2() % 2 == 1 {
        let groups = a.len() / 2;
        for (group, [x, y]) in a.as_chunks_mut::<2>().0.iter_mut().enumerate() {
            let (x1, y1) = (lanes.get(x), lanes.get(y));
            let (x1, y1) = if groups == 1 {
                scale(field, x1, y1, last)
            } else {
                field.gentleman_sande_reduced(x1, y1, field.splat(factors, groups + group))
            };
            lanes.put(x, x1);
            lanes.put(y, y1);
        }
        half = 2;
    }
    while half < a.len() {
        let groups = a.len() / (4 * half);
        for (group, part) in a.chunks_exact_mut(4 * half).enumerate() {
            let first = [
                field.splat(factors, 2 * (groups + group)),
                field.splat(factors, 2 * (groups + group) + 1),
            ];
            let second = field.splat(factors, groups + group);
            let (upper, lower) = part.split_at_mut(2 * half);
            let (part0, part1) = upper.split_at_mut(half);
            let (part2, part3) = lower.split_at_mut(half);
            let parts = part0.iter_mut().zip(part1).zip(part2).zip(part3);
            for (((v0, v1), v2), v3) in parts {
                let (x0, x1) = field.gentleman_sande(lanes.get(v0), lanes.get(v1), first[0]);
                let (x2, x3) = field.gentleman_sande(lanes.get(v2), lanes.get(v3), first[1]);
                let ((x0, x2), (x1, x3)) = if groups == 1 {
                    (scale(field, x0, x2, last), scale(field, x1, x3, last))
                } else {
                    (
                        field.gentleman_sande_reduced(x0, x2, second),
                        field.gentleman_sande_reduced(x1, x3, second),
                    )
                };
                lanes.put(v0, x0);
                lanes.put(v1, x1);
                lanes.put(v2, x2);
                lanes.put(v3, x3);
            }
        }
        half *= 4;
    }
}

/// The last stage. The output is scaled and canonical.
#[inline(always)]
fn scale<T: Lanes<L>, const L: usize>(
    field: Field<T, L>,
    x: T::Vector,
    y: T::Vector,
    last: (Factor<T::Vector>, Factor<T::Vector>),
) -> (T::Vector, T::Vector) {
    let (sum, difference) = (field.lanes.add(x, y), field.lanes.sub(x, y));
    (
        field.canonical(field.mul(sum, last.0)),
        field.canonical(field.mul(difference, last.1)),
    )
}
