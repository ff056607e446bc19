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

/// Eight words to `slice[at..]`.
#[inline]
#[target_feature(enable = "avx512f")]
fn store(slice: &mut [u64], at: usize, x: __m512i) {
    let words = &mut slice[at..at + LANES];
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
    let (mut half, mut groups) = (n / 2, 1);
    // Stages down to half = 32 in pairs, an odd one first; 16 to 1 in one pass at the end.
    if n >= 64 && n.ilog2().is_multiple_of(2) {
        let (upper, lower) = a.split_at_mut(half);
        let factor = factors.splat(1);
        for at in (0..half).step_by(LANES) {
            let (x, y) = field.cooley_tukey(load(upper, at), load(lower, at), factor);
            store(upper, at, x);
            store(lower, at, y);
        }
        (half, groups) = (half / 2, 2);
    }
    while half >= 32 {
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
            for at in (0..quarter).step_by(LANES) {
                let (x0, x2) = field.cooley_tukey(load(part0, at), load(part2, at), first);
                let (x1, x3) = field.cooley_tukey(load(part1, at), load(part3, at), first);
                let (x0, x1) = field.cooley_tukey(x0, x1, second[0]);
                let (x2, x3) = field.cooley_tukey(x2, x3, second[1]);
                store(part0, at, x0);
                store(part1, at, x1);
                store(part2, at, x2);
                store(part3, at, x3);
            }
        }
        (half, groups) = (half / 4, groups * 4);
    }
    if n == 16 {
        let (x, y) = field.cooley_tukey(load(a, 0), load(a, 8), factors.splat(1));
        let (x, y) = forward_sixteen(field, factors, x, y, n / 8);
        store(a, 0, x);
        store(a, 8, y);
        return;
    }
    for (group, part) in a.chunks_exact_mut(32).enumerate() {
        let first = factors.splat(n / 32 + group);
        let second = 2 * (n / 32 + group);
        let (x0, x2) = field.cooley_tukey(load(part, 0), load(part, 16), first);
        let (x1, x3) = field.cooley_tukey(load(part, 8), load(part, 24), first);
        let (x0, x1) = field.cooley_tukey(x0, x1, factors.splat(second));
        let (x2, x3) = field.cooley_tukey(x2, x3, factors.splat(second + 1));
        let (x0, x1) = forward_sixteen(field, factors, x0, x1, n / 8 + 4 * group);
        let (x2, x3) = forward_sixteen(field, factors, x2, x3, n / 8 + 4 * group + 2);
        store(part, 0, x0);
        store(part, 8, x1);
        store(part, 16, x2);
        store(part, 24, x3);
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
    let mut len = plan.n;
    for _ in 0..k {
        len /= 2;
        if len >= LANES {
            // SAFETY: the token proves the target features.
            unsafe { prune(plan, &mut a[..2 * len]) }
        } else {
            portable::prune(plan, &mut a[..2 * len]);
        }
    }
    if len >= 2 * LANES {
        // SAFETY: the token proves the target features.
        unsafe { inverse_stages(plan, &mut a[..len]) }
    } else {
        portable::inverse(plan, &mut a[..len]);
    }
}

/// The first stage of an inverse transform, differences only; canonical up to one `q`.
#[target_feature(enable = "avx512f,avx512ifma")]
fn prune(plan: &Plan, a: &mut [u64]) {
    let field = Field::new(plan.modulus.q());
    let len = a.len() / 2;
    for at in (0..len).step_by(LANES) {
        let (x, y) = (load(a, 2 * at), load(a, 2 * at + LANES));
        let even = _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14);
        let odd = _mm512_setr_epi64(1, 3, 5, 7, 9, 11, 13, 15);
        let (x, y) = (
            _mm512_permutex2var_epi64(x, even, y),
            _mm512_permutex2var_epi64(x, odd, y),
        );
        let difference = field.difference(x, y, plan.inverse.eight(len + at));
        store(a, at, _mm512_and_si512(difference, field.mask));
    }
}

#[target_feature(enable = "avx512f,avx512ifma")]
fn inverse_stages(plan: &Plan, a: &mut [u64]) {
    let field = Field::new(plan.modulus.q());
    let factors = &plan.inverse;
    let len = a.len();
    for (group, part) in a.chunks_exact_mut(16).enumerate() {
        let (x, y) = inverse_sixteen(
            field,
            factors,
            load(part, 0),
            load(part, 8),
            len / 8 + 2 * group,
        );
        store(part, 0, x);
        store(part, 8, y);
    }
    // Stages from half = 8 on in pairs, an odd one first; the last one of all scales.
    let last = (plan.last.splat(0), plan.last.splat(1));
    let mut half = 8;
    if len.ilog2().is_multiple_of(2) {
        for (group, part) in a.chunks_exact_mut(16).enumerate() {
            let (x, y) = (load(part, 0), load(part, 8));
            let (x, y) = if len == 16 {
                scale(field, x, y, last)
            } else {
                field.gentleman_sande(x, y, factors.splat(len / 16 + group))
            };
            store(part, 0, x);
            store(part, 8, y);
        }
        half = 16;
    }
    while half < len {
        let groups = len / (4 * half);
        for (group, part) in a.chunks_exact_mut(4 * half).enumerate() {
            let first = [
                factors.splat(2 * (groups + group)),
                factors.splat(2 * (groups + group) + 1),
            ];
            let second = factors.splat(groups + group);
            let (upper, lower) = part.split_at_mut(2 * half);
            let (part0, part1) = upper.split_at_mut(half);
            let (part2, part3) = lower.split_at_mut(half);
            for at in (0..half).step_by(LANES) {
                let (x0, x1) = field.gentleman_sande(load(part0, at), load(part1, at), first[0]);
                let (x2, x3) = field.gentleman_sande(load(part2, at), load(part3, at), first[1]);
                let ((x0, x2), (x1, x3)) = if groups == 1 {
                    (scale(field, x0, x2, last), scale(field, x1, x3, last))
                } else {
                    (
                        field.gentleman_sande(x0, x2, second),
                        field.gentleman_sande(x1, x3, second),
                    )
                };
                store(part0, at, x0);
                store(part1, at, x1);
                store(part2, at, x2);
                store(part3, at, x3);
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

/// Barrett's reduction on 52-bit halves. With factors shifted so that the product has 103 bits, its high
/// half is `h = floor(a b / 2^(2 bits - 51))`; `floor(h m / 2^52)` with `m = floor(2^(2 bits + 1) / q)` is
/// the quotient or at most three less, so the rest is in `[0, 4q)`.
#[target_feature(enable = "avx512f,avx512ifma")]
#[expect(clippy::cast_possible_truncation, reason = "at most 52 bits")]
fn multiply_values(plan: &Plan, a: &mut [u64], b: &[u64]) {
    let field = Field::new(plan.modulus.q());
    let bits = plan.modulus.bits();
    let barrett = splat(((1u128 << (2 * bits + 1)) / u128::from(plan.modulus.q())) as u64);
    let shifts = (
        _mm_cvtsi32_si128(52 - bits as i32),
        _mm_cvtsi32_si128(51 - bits as i32),
    );
    let zero = _mm512_setzero_si512();
    for at in (0..a.len()).step_by(LANES) {
        let (x, y) = (load(a, at), load(b, at));
        let shifted = (_mm512_sll_epi64(x, shifts.0), _mm512_sll_epi64(y, shifts.1));
        let high = _mm512_madd52hi_epu64(zero, shifted.0, shifted.1);
        let low = _mm512_madd52lo_epu64(zero, x, y);
        let times = _mm512_madd52hi_epu64(zero, high, barrett);
        let rest = _mm512_madd52lo_epu64(low, times, field.negated);
        store(a, at, field.canonical(field.reduce_twice(rest)));
    }
}
