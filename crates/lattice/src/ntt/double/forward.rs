//! The forward transform.

use super::{Field, Lanes, MOST};
use crate::ntt::Plan;

#[inline(always)]
pub(in crate::ntt) fn forward<T: Lanes<L>, const L: usize>(lanes: T, plan: &Plan, a: &mut [u64]) {
    let field = Field::new(lanes, plan.modulus);
    let factors = &plan.forward.double;
    let n = a.len();
    let (a, _) = a.as_chunks_mut::<L>();
    // Here, distances count registers. Stages down to distance 1 are computed in pairs. If their number is odd, a
    // single stage comes first. Then come the stages within registers.
    let (mut half, mut groups) = (a.len() / 2, 1);
    let mut size = 1.0;
    for x in &mut *a {
        let value = lanes.doubles_of(lanes.get(x));
        lanes.put(x, value);
    }
    if half.ilog2().is_multiple_of(2) {
        let (upper, lower) = a.split_at_mut(half);
        let factor = field.splat(factors, 1);
        for (x, y) in upper.iter_mut().zip(lower) {
            let (x1, y1) = field.cooley_tukey(lanes.get(x), lanes.get(y), factor);
            lanes.put(x, x1);
            lanes.put(y, y1);
        }
        (half, groups) = (half / 2, 2);
        size = grown(size);
    }
    while half >= 2 {
        let quarter = half / 2;
        let reduce = grown(grown(size)) > MOST;
        for (group, part) in a.chunks_exact_mut(2 * half).enumerate() {
            let first = field.splat(factors, groups + group);
            let second = [
                field.splat(factors, 2 * (groups + group)),
                field.splat(factors, 2 * (groups + group) + 1),
            ];
            let (upper, lower) = part.split_at_mut(half);
            let (part0, part1) = upper.split_at_mut(quarter);
            let (part2, part3) = lower.split_at_mut(quarter);
            let parts = part0.iter_mut().zip(part1).zip(part2).zip(part3);
            for (((v0, v1), v2), v3) in parts {
                let (mut x0, mut x1) = (lanes.get(v0), lanes.get(v1));
                let (mut x2, mut x3) = (lanes.get(v2), lanes.get(v3));
                if reduce {
                    (x0, x1) = (field.reduce(x0), field.reduce(x1));
                    (x2, x3) = (field.reduce(x2), field.reduce(x3));
                }
                let (x0, x2) = field.cooley_tukey(x0, x2, first);
                let (x1, x3) = field.cooley_tukey(x1, x3, first);
                let (x0, x1) = field.cooley_tukey(x0, x1, second[0]);
                let (x2, x3) = field.cooley_tukey(x2, x3, second[1]);
                lanes.put(v0, x0);
                lanes.put(v1, x1);
                lanes.put(v2, x2);
                lanes.put(v3, x3);
            }
        }
        size = grown(grown(if reduce { REDUCED } else { size }));
        (half, groups) = (half / 4, groups * 4);
    }
    let reduce = grown(grown(size)) > MOST;
    for (pair, [x, y]) in a.as_chunks_mut::<2>().0.iter_mut().enumerate() {
        let (mut x1, mut y1) = (lanes.get(x), lanes.get(y));
        if reduce {
            (x1, y1) = (field.reduce(x1), field.reduce(y1));
        }
        let (x1, y1) = lanes.last_stages(field, factors, (x1, y1), pair, n);
        lanes.put(x, field.canonical(x1));
        lanes.put(y, field.canonical(y1));
    }
}

/// The largest absolute value after a reduction, as a multiple of `q`.
const REDUCED: f64 = 0.51;

/// The largest absolute value after one more forward stage, from the one before.
fn grown(size: f64) -> f64 {
    1.125 * size + 0.5
}
