//! Double precision with fused multiply-add, for processors without wide integer products.
//!
//! A value is an integer in a double. With `h = fl(y w)` and `k = round(fl(y (w / q)))`, the rest
//! `y w - k q = (h - k q) - (h - y w)` takes two fused operations, each exact: `h` is a multiple of its own
//! last place, both differences are integers below `2^53`.
//!
//! Ranges, as multiples of `q < 2^50`, for `|w| <= q / 2`: a product of `|y| <= Y q` is at most
//! `1/2 + Y/8`, where the eighth is the error of `k`. Up to `Y = 8` a value is exact. Products of two
//! canonical residues are at most `7/8`. A double holds its value in the word of the residue that it
//! replaces; all operations take the same time whatever the values, as none is subnormal.

use super::{Plan, portable};
use crate::modulus::Modulus;

/// The largest size of a value, as a multiple of `q`.
const MOST: f64 = 8.0;

/// Constant factors `w`, balanced, and `w / q`.
#[derive(Clone, Default)]
pub(super) struct Factors {
    pub(super) w: Vec<f64>,
    pub(super) ratio: Vec<f64>,
}

impl Factors {
    pub(super) fn new(w: &[u64], modulus: Modulus) -> Self {
        let w: Vec<f64> = w.iter().map(|&w| modulus.centred(w) as f64).collect();
        let q = modulus.q() as f64;
        let ratio = w.iter().map(|w| w / q).collect();
        Self { w, ratio }
    }
}

/// Registers of `L` doubles. Whoever has a value of the type may use the instructions.
pub(super) trait Lanes<const L: usize>: Copy {
    type Vector: Copy;
    fn splat(self, x: f64) -> Self::Vector;
    fn doubles(self, from: &[f64; L]) -> Self::Vector;
    fn get(self, words: &[u64; L]) -> Self::Vector;
    fn put(self, words: &mut [u64; L], x: Self::Vector);
    /// Words below `2^52`, as doubles.
    fn doubles_of(self, words: Self::Vector) -> Self::Vector;
    /// Doubles that are integers in `[0, 2^52)`, as words.
    fn words_of(self, x: Self::Vector) -> Self::Vector;
    fn add(self, x: Self::Vector, y: Self::Vector) -> Self::Vector;
    fn sub(self, x: Self::Vector, y: Self::Vector) -> Self::Vector;
    fn mul(self, x: Self::Vector, y: Self::Vector) -> Self::Vector;
    /// `z - x y`, rounded once.
    fn sub_product(self, z: Self::Vector, x: Self::Vector, y: Self::Vector) -> Self::Vector;
    fn round(self, x: Self::Vector) -> Self::Vector;
    /// `q` where `x < 0`, 0 elsewhere.
    fn where_negative(self, x: Self::Vector, q: Self::Vector) -> Self::Vector;
    /// The words at even and those at odd places of two registers.
    fn evens_and_odds(self, x: Self::Vector, y: Self::Vector) -> (Self::Vector, Self::Vector);
    /// The stages of a forward transform whose partners share a register, on registers `2 pair` and
    /// `2 pair + 1` of a transform of length `n`.
    fn last_stages(
        self,
        field: Field<Self, L>,
        factors: &Factors,
        xy: (Self::Vector, Self::Vector),
        pair: usize,
        n: usize,
    ) -> (Self::Vector, Self::Vector);
    /// The same stages of an inverse transform.
    fn first_stages(
        self,
        field: Field<Self, L>,
        factors: &Factors,
        xy: (Self::Vector, Self::Vector),
        pair: usize,
        n: usize,
    ) -> (Self::Vector, Self::Vector);
}

/// A factor in every lane, or as many factors as lanes.
#[derive(Clone, Copy)]
pub(super) struct Factor<V> {
    pub(super) w: V,
    pub(super) ratio: V,
}

/// The modulus in the forms that the butterflies use.
#[derive(Clone, Copy)]
pub(super) struct Field<T: Lanes<L>, const L: usize> {
    lanes: T,
    q: T::Vector,
    per_q: T::Vector,
}

impl<T: Lanes<L>, const L: usize> Field<T, L> {
    #[inline(always)]
    fn new(lanes: T, modulus: Modulus) -> Self {
        let q = modulus.q() as f64;
        Self {
            lanes,
            q: lanes.splat(q),
            per_q: lanes.splat(1.0 / q),
        }
    }

    /// `y w mod q`, at most `1/2 + Y/8` in size.
    #[inline(always)]
    fn mul(self, y: T::Vector, factor: Factor<T::Vector>) -> T::Vector {
        let quotient = self.lanes.round(self.lanes.mul(y, factor.ratio));
        self.rest(y, factor.w, quotient)
    }

    /// `x y mod q` for canonical factors, at most 7/8 in size.
    #[inline(always)]
    fn mul_values(self, x: T::Vector, y: T::Vector) -> T::Vector {
        let product = self.lanes.mul(x, y);
        let quotient = self.lanes.round(self.lanes.mul(product, self.per_q));
        self.rest(x, y, quotient)
    }

    /// `x y - k q`.
    #[inline(always)]
    fn rest(self, x: T::Vector, y: T::Vector, k: T::Vector) -> T::Vector {
        let high = self.lanes.mul(x, y);
        let error = self.lanes.sub_product(high, x, y);
        self.lanes
            .sub(self.lanes.sub_product(high, k, self.q), error)
    }

    /// `x mod q`, at most 1/2 in size, and a little more for the error of `1 / q`.
    #[inline(always)]
    fn reduce(self, x: T::Vector) -> T::Vector {
        let quotient = self.lanes.round(self.lanes.mul(x, self.per_q));
        self.lanes.sub_product(x, quotient, self.q)
    }

    /// The canonical residue, as words.
    #[inline(always)]
    fn canonical(self, x: T::Vector) -> T::Vector {
        let x = self.reduce(x);
        let raised = self.lanes.add(x, self.lanes.where_negative(x, self.q));
        self.lanes.words_of(raised)
    }

    /// Cooley and Tukey's `(x + w y, x - w y)`: grows from `Y` to `9 Y / 8 + 1/2`.
    #[inline(always)]
    pub(super) fn cooley_tukey(
        self,
        x: T::Vector,
        y: T::Vector,
        factor: Factor<T::Vector>,
    ) -> (T::Vector, T::Vector) {
        let odd = self.mul(y, factor);
        (self.lanes.add(x, odd), self.lanes.sub(x, odd))
    }

    /// Gentleman and Sande's `(x + y, w (x - y))`: from `Y` to `2 Y` and `1/2 + Y/4`.
    #[inline(always)]
    pub(super) fn gentleman_sande(
        self,
        x: T::Vector,
        y: T::Vector,
        factor: Factor<T::Vector>,
    ) -> (T::Vector, T::Vector) {
        let difference = self.mul(self.lanes.sub(x, y), factor);
        (self.lanes.add(x, y), difference)
    }

    /// The same with the sum reduced: up to `Y = 2`, back to 1.
    #[inline(always)]
    pub(super) fn gentleman_sande_reduced(
        self,
        x: T::Vector,
        y: T::Vector,
        factor: Factor<T::Vector>,
    ) -> (T::Vector, T::Vector) {
        let (sum, difference) = self.gentleman_sande(x, y, factor);
        (self.reduce(sum), difference)
    }

    /// Factor `i` in every lane.
    #[inline(always)]
    fn splat(self, factors: &Factors, i: usize) -> Factor<T::Vector> {
        Factor {
            w: self.lanes.splat(factors.w[i]),
            ratio: self.lanes.splat(factors.ratio[i]),
        }
    }

    /// Factors from `i` on, one in each lane.
    #[inline(always)]
    pub(super) fn each(self, factors: &Factors, i: usize) -> Factor<T::Vector> {
        let load = |from: &[f64]| {
            let from = from[i..].first_chunk().expect("a register of factors");
            self.lanes.doubles(from)
        };
        Factor {
            w: load(&factors.w),
            ratio: load(&factors.ratio),
        }
    }
}

#[inline(always)]
pub(super) fn forward<T: Lanes<L>, const L: usize>(lanes: T, plan: &Plan, a: &mut [u64]) {
    let field = Field::new(lanes, plan.modulus);
    let factors = &plan.forward.double;
    let n = a.len();
    let (a, _) = a.as_chunks_mut::<L>();
    // Distances in registers. Stages down to distance 1 in pairs, an odd one first; then those within
    // registers.
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

/// The size of a reduced value.
const REDUCED: f64 = 0.51;

/// The size of a value after one more forward stage.
fn grown(size: f64) -> f64 {
    1.125 * size + 0.5
}

/// Every `2^k`-th coefficient from canonical residues.
#[inline(always)]
pub(super) fn inverse_strided<T: Lanes<L>, const L: usize>(
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

/// Every `2^k`-th coefficient of a product.
#[inline(always)]
pub(super) fn inverse_product<T: Lanes<L>, const L: usize>(
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
pub(super) fn multiply<T: Lanes<L>, const L: usize>(
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

/// Every `2^k`-th coefficient from doubles of size up to 1.
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
    // Fewer than two registers.
    #[expect(clippy::cast_possible_truncation, reason = "an integer below 2^52")]
    for word in &mut a[..len] {
        *word = plan.modulus.reduce_signed(f64::from_bits(*word) as i64);
    }
    portable::inverse_strided(plan, &mut a[..len], left);
}

/// The first stage of an inverse transform of the length of `a`, differences only.
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

/// An inverse transform of the length of `a`, at least two registers, scaled; canonical.
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
    // Distances in registers. Stages from distance 1 on in pairs, an odd one first; the last one of all
    // scales. Between passes values have size 1 at most.
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

/// The last stage: scaled, canonical.
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
