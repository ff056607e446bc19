//! AVX-512 IFMA: 52-bit Shoup products.
//!
//! Between butterflies only the low 52 bits of a lane are the value, in `[0, 4q)` forward and `[0, 2q)`
//! backward, both below `2^52`: what lies above is left over from unfinished subtractions. A product
//! reads 52 bits of its factors, so only a value that is to be compared is cleaned first.
#![expect(
    unsafe_code,
    reason = "vector loads and stores, entry into target features"
)]

use std::arch::x86_64::*;

use sordino_cpu::Avx512Ifma;

use super::{Factors, Plan, portable};

/// Lanes of a register.
const LANES: usize = 8;

/// A factor in every lane, or eight factors, with their quotients `floor(w 2^52 / q)`.
#[derive(Clone, Copy)]
struct Factor {
    w: __m512i,
    quotient: __m512i,
}

/// The modulus in the forms that the butterflies use.
#[derive(Clone, Copy)]
struct Field {
    q: __m512i,
    twice: __m512i,
    /// `2^52 - q`.
    negated: __m512i,
    mask: __m512i,
}

impl Field {
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn new(q: u64) -> Self {
        Self {
            q: splat(q),
            twice: splat(2 * q),
            negated: splat((1 << 52) - q),
            mask: splat((1 << 52) - 1),
        }
    }

    /// `x w mod q` in `[0, 2q)`, in the low 52 bits; of `x`, the low 52 bits count.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn mul(self, x: __m512i, factor: Factor) -> __m512i {
        let zero = _mm512_setzero_si512();
        let times = _mm512_madd52hi_epu64(zero, x, factor.quotient);
        let low = _mm512_madd52lo_epu64(zero, x, factor.w);
        _mm512_madd52lo_epu64(low, times, self.negated)
    }

    /// The low 52 bits of `x`, less `2q` if that is not negative.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn reduce_twice(self, x: __m512i) -> __m512i {
        let x = _mm512_and_si512(x, self.mask);
        _mm512_min_epu64(x, _mm512_sub_epi64(x, self.twice))
    }

    /// The low 52 bits of `x`, in `[0, 2q)`, as a canonical residue.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn canonical(self, x: __m512i) -> __m512i {
        let x = _mm512_and_si512(x, self.mask);
        _mm512_min_epu64(x, _mm512_sub_epi64(x, self.q))
    }

    /// Cooley and Tukey's: `(x + w y, x - w y)`, in and out in `[0, 4q)`.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn cooley_tukey(self, x: __m512i, y: __m512i, factor: Factor) -> (__m512i, __m512i) {
        let even = self.reduce_twice(x);
        let odd = self.mul(y, factor);
        let raised = _mm512_add_epi64(even, self.twice);
        (_mm512_add_epi64(even, odd), _mm512_sub_epi64(raised, odd))
    }

    /// Gentleman and Sande's: `(x + y, w (x - y))`, in and out in `[0, 2q)`.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn gentleman_sande(self, x: __m512i, y: __m512i, factor: Factor) -> (__m512i, __m512i) {
        let sum = self.reduce_twice(_mm512_add_epi64(x, y));
        (sum, self.difference(x, y, factor))
    }

    /// `w (x - y)`, in and out in `[0, 2q)`.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn difference(self, x: __m512i, y: __m512i, factor: Factor) -> __m512i {
        let raised = _mm512_add_epi64(x, self.twice);
        self.mul(_mm512_sub_epi64(raised, y), factor)
    }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn splat(x: u64) -> __m512i {
    _mm512_set1_epi64(x.cast_signed())
}

/// Eight words from `slice[at..]`.
#[inline]
#[target_feature(enable = "avx512f")]
fn load(slice: &[u64], at: usize) -> __m512i {
    let words = &slice[at..at + LANES];
    // SAFETY: eight words.
    unsafe { _mm512_loadu_si512(words.as_ptr().cast()) }
}

/// Eight words.
type Words = [u64; LANES];

#[inline]
#[target_feature(enable = "avx512f")]
fn get(words: &Words) -> __m512i {
    // SAFETY: eight words.
    unsafe { _mm512_loadu_si512(words.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn put(words: &mut Words, x: __m512i) {
    // SAFETY: eight words.
    unsafe { _mm512_storeu_si512(words.as_mut_ptr().cast(), x) }
}

impl Factors {
    /// Factor `i` in every lane.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn splat(&self, i: usize) -> Factor {
        Factor {
            w: splat(self.w[i]),
            quotient: splat(self.quotient52[i]),
        }
    }

    /// Factors `i..i + 8`.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn eight(&self, i: usize) -> Factor {
        Factor {
            w: load(&self.w, i),
            quotient: load(&self.quotient52, i),
        }
    }

    /// Factors `i..i + 4`, each in two lanes.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn four(&self, i: usize) -> Factor {
        let each_twice = _mm512_setr_epi64(0, 0, 1, 1, 2, 2, 3, 3);
        let spread = |slice: &[u64]| {
            let words = &slice[i..i + 4];
            // SAFETY: four words.
            let four = unsafe { _mm256_loadu_si256(words.as_ptr().cast()) };
            _mm512_permutexvar_epi64(each_twice, _mm512_castsi256_si512(four))
        };
        Factor {
            w: spread(&self.w),
            quotient: spread(&self.quotient52),
        }
    }

    /// Factors `i` and `i + 1`, each in four lanes.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn two(&self, i: usize) -> Factor {
        let spread = |slice: &[u64]| {
            _mm512_mask_set1_epi64(splat(slice[i]), 0xf0, slice[i + 1].cast_signed())
        };
        Factor {
            w: spread(&self.w),
            quotient: spread(&self.quotient52),
        }
    }
}

/// Halves of two registers: `(a0..3 b0..3, a4..7 b4..7)`. Its own inverse.
#[inline]
#[target_feature(enable = "avx512f")]
fn fours(a: __m512i, b: __m512i) -> (__m512i, __m512i) {
    (
        _mm512_shuffle_i64x2::<0b01_00_01_00>(a, b),
        _mm512_shuffle_i64x2::<0b11_10_11_10>(a, b),
    )
}

/// From `(a0..3 b0..3, a4..7 b4..7)` to `(a01 a45 b01 b45, a23 a67 b23 b67)`. Its own inverse.
#[inline]
#[target_feature(enable = "avx512f")]
fn twos(x: __m512i, y: __m512i) -> (__m512i, __m512i) {
    let even = _mm512_setr_epi64(0, 1, 8, 9, 4, 5, 12, 13);
    let odd = _mm512_setr_epi64(2, 3, 10, 11, 6, 7, 14, 15);
    (
        _mm512_permutex2var_epi64(x, even, y),
        _mm512_permutex2var_epi64(x, odd, y),
    )
}

/// From pairs in each of two registers to their first and their second words. Its own inverse.
#[inline]
#[target_feature(enable = "avx512f")]
fn ones(x: __m512i, y: __m512i) -> (__m512i, __m512i) {
    (_mm512_unpacklo_epi64(x, y), _mm512_unpackhi_epi64(x, y))
}

pub(super) fn forward(_: Avx512Ifma, plan: &Plan, a: &mut [u64]) {
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

pub(super) fn inverse_strided(_: Avx512Ifma, plan: &Plan, a: &mut [u64], k: u32) {
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

pub(super) fn inverse_product(
    _: Avx512Ifma,
    plan: &Plan,
    (a, b): (&[u64], &[u64]),
    out: &mut [u64],
    k: u32,
) {
    // SAFETY: the token proves the target features.
    unsafe { inverse_product_from(plan, (a, b), out, k) }
}

/// As a product and an inverse, with the products in registers.
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

pub(super) fn multiply(_: Avx512Ifma, plan: &Plan, a: &mut [u64], b: &[u64]) {
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
struct Barrett {
    field: Field,
    m: __m512i,
    shifts: (__m128i, __m128i),
}

impl Barrett {
    #[inline]
    #[target_feature(enable = "avx512f")]
    #[expect(clippy::cast_possible_truncation, reason = "at most 52 bits")]
    fn new(plan: &Plan) -> Self {
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
    fn mul(self, a: __m512i, b: __m512i) -> __m512i {
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
