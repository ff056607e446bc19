//! AVX-512 IFMA: the two 52-bit halves of products are summed separately, and joined at the end.
#![expect(
    unsafe_code,
    reason = "vector loads and stores, entry into target features"
)]

use std::arch::x86_64::*;

use sordino_cpu::Avx512Ifma;

use super::{LANES, Operands};
use crate::Modulus;

/// The number of vectors of a row that are summed at the same time, with four accumulators each.
const HELD: usize = 4;

pub(super) fn add(
    _: Avx512Ifma,
    modulus: Modulus,
    o: &Operands<'_>,
    first: &mut [u64],
    second: &mut [u64],
) {
    // SAFETY: the token proves the target features. `add_by` has checked that all rows and pairs lie within their
    // slices for the length of `first` and `second`.
    unsafe { add_vectors(modulus, o, first, second) }
}

/// # Safety
/// The checks of `add_by` must hold: for the length of `first` and `second`, rows and pairs of `o` lie within their
/// slices.
#[target_feature(enable = "avx512f,avx512ifma")]
unsafe fn add_vectors(modulus: Modulus, o: &Operands<'_>, first: &mut [u64], second: &mut [u64]) {
    let reduction = Reduction::new(modulus);
    let mut at = 0;
    while at < first.len() {
        // SAFETY: `HELD` vectors, or one, are left from `at` on.
        at += unsafe {
            if first.len() - at >= HELD * LANES {
                add_held::<HELD>(reduction, o, at, first, second)
            } else {
                add_held::<1>(reduction, o, at, first, second)
            }
        };
    }
}

/// Adds `V` vectors from value `at` on. Returns how many values these have.
///
/// # Safety
/// The checks of `add_by` must hold, and `first` and `second` must have `8 V` values from `at` on.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
unsafe fn add_held<const V: usize>(
    reduction: Reduction,
    o: &Operands<'_>,
    at: usize,
    first: &mut [u64],
    second: &mut [u64],
) -> usize {
    let zero = _mm512_setzero_si512();
    let mut sums = [[zero; 4]; V];
    let (of_pair, per_vector) = if o.shared { (0, 0) } else { (at, LANES) };
    let lists: [_; V] = std::array::from_fn(|v| {
        let k = at + v * LANES;
        let rows = &o.rows[k / o.width * o.list..][..o.terms];
        (rows, o.x[k % o.width..].as_ptr())
    });
    for j in 0..o.terms {
        // SAFETY: by the contract of this function. Every list has `terms` rows. A vector does not go past the end of a
        // row, for `width` is a multiple of eight. Pairs that are shared are one vector, whose step is zero.
        unsafe {
            let y = o.y.as_ptr().add(j * o.y_step + of_pair);
            for (v, (sums, (rows, x))) in sums.iter_mut().zip(lists).enumerate() {
                let x = x.add(*rows.get_unchecked(j) as usize * o.x_step);
                let x = _mm512_loadu_si512(x.cast());
                let y = y.add(v * per_vector);
                let a = _mm512_loadu_si512(y.cast());
                let b = _mm512_loadu_si512(y.add(o.second).cast());
                sums[0] = _mm512_madd52lo_epu64(sums[0], x, a);
                sums[1] = _mm512_madd52hi_epu64(sums[1], x, a);
                sums[2] = _mm512_madd52lo_epu64(sums[2], x, b);
                sums[3] = _mm512_madd52hi_epu64(sums[3], x, b);
            }
        }
    }
    for (v, sums) in sums.iter().enumerate() {
        for (out, sums) in [&mut *first, &mut *second]
            .into_iter()
            .zip(sums.as_chunks::<2>().0)
        {
            let words = &mut out[at + v * LANES..][..LANES];
            // SAFETY: `words` has the eight words that are loaded and stored.
            unsafe {
                let old = _mm512_loadu_si512(words.as_ptr().cast());
                let new = reduction.join(old, *sums);
                _mm512_storeu_si512(words.as_mut_ptr().cast(), new);
            }
        }
    }
    V * LANES
}

/// Reduces sums of halves by Shoup's products with the constants 1, `2^52` and `2^104`.
#[derive(Clone, Copy)]
struct Reduction {
    q: __m512i,
    /// `2^52 - q`.
    negated: __m512i,
    mask: __m512i,
    one: Factor,
    two52: Factor,
    two104: Factor,
}

/// `w` below `q`, and `floor(w 2^52 / q)`.
#[derive(Clone, Copy)]
struct Factor {
    w: __m512i,
    quotient: __m512i,
}

impl Reduction {
    #[target_feature(enable = "avx512f")]
    #[expect(
        clippy::cast_possible_truncation,
        reason = "w < q, so it is below 2^52"
    )]
    fn new(modulus: Modulus) -> Self {
        let q = modulus.q();
        let splat = |x: u64| _mm512_set1_epi64(x.cast_signed());
        let factor = |w: u64| Factor {
            w: splat(w),
            quotient: splat(((u128::from(w) << 52) / u128::from(q)) as u64),
        };
        let two52 = modulus.reduce(1 << 52);
        Self {
            q: splat(q),
            negated: splat((1 << 52) - q),
            mask: splat((1 << 52) - 1),
            one: factor(1),
            two52: factor(two52),
            two104: factor(modulus.mul(two52, two52)),
        }
    }

    /// `x w mod q` in `[0, 2q)`. Only the low 52 bits of `x` count.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn mul(self, x: __m512i, factor: Factor) -> __m512i {
        let zero = _mm512_setzero_si512();
        let times = _mm512_madd52hi_epu64(zero, x, factor.quotient);
        let low = _mm512_madd52lo_epu64(zero, x, factor.w);
        _mm512_and_si512(_mm512_madd52lo_epu64(low, times, self.negated), self.mask)
    }

    /// `old + low + 2^52 high`, canonical, for `old < q`, any `low` and `high < 2^61`.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn join(self, old: __m512i, [low, high]: [__m512i; 2]) -> __m512i {
        let high = _mm512_add_epi64(high, _mm512_srli_epi64::<52>(low));
        let top = _mm512_srli_epi64::<52>(high);
        // Each term is at most 2q, plus q: the sum is below 7q, which is below 2^53.
        let sum = _mm512_add_epi64(
            _mm512_add_epi64(old, self.mul(low, self.one)),
            _mm512_add_epi64(self.mul(high, self.two52), self.mul(top, self.two104)),
        );
        let four = _mm512_slli_epi64::<2>(self.q);
        let two = _mm512_slli_epi64::<1>(self.q);
        [four, two, self.q].into_iter().fold(sum, |sum, less| {
            _mm512_min_epu64(sum, _mm512_sub_epi64(sum, less))
        })
    }
}
