//! The modulus, butterflies, loads and stores.
#![expect(unsafe_code, reason = "vector loads and stores")]

use std::arch::x86_64::*;

use crate::ntt::Factors;

/// Lanes of a register.
pub(super) const LANES: usize = 8;

/// A factor in every lane, or eight factors, with their quotients `floor(w 2^52 / q)`.
#[derive(Clone, Copy)]
pub(super) struct Factor {
    pub(super) w: __m512i,
    pub(super) quotient: __m512i,
}

/// The modulus in the forms that the butterflies use.
#[derive(Clone, Copy)]
pub(super) struct Field {
    pub(super) q: __m512i,
    pub(super) twice: __m512i,
    /// `2^52 - q`.
    pub(super) negated: __m512i,
    pub(super) mask: __m512i,
}

impl Field {
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) fn new(q: u64) -> Self {
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
    pub(super) fn mul(self, x: __m512i, factor: Factor) -> __m512i {
        let zero = _mm512_setzero_si512();
        let times = _mm512_madd52hi_epu64(zero, x, factor.quotient);
        let low = _mm512_madd52lo_epu64(zero, x, factor.w);
        _mm512_madd52lo_epu64(low, times, self.negated)
    }

    /// The low 52 bits of `x`, less `2q` if that is not negative.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) fn reduce_twice(self, x: __m512i) -> __m512i {
        let x = _mm512_and_si512(x, self.mask);
        _mm512_min_epu64(x, _mm512_sub_epi64(x, self.twice))
    }

    /// The low 52 bits of `x`, in `[0, 2q)`, as a canonical residue.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) fn canonical(self, x: __m512i) -> __m512i {
        let x = _mm512_and_si512(x, self.mask);
        _mm512_min_epu64(x, _mm512_sub_epi64(x, self.q))
    }

    /// Cooley and Tukey's: `(x + w y, x - w y)`, in and out in `[0, 4q)`.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(super) fn cooley_tukey(self, x: __m512i, y: __m512i, factor: Factor) -> (__m512i, __m512i) {
        let even = self.reduce_twice(x);
        let odd = self.mul(y, factor);
        let raised = _mm512_add_epi64(even, self.twice);
        (_mm512_add_epi64(even, odd), _mm512_sub_epi64(raised, odd))
    }

    /// Gentleman and Sande's: `(x + y, w (x - y))`, in and out in `[0, 2q)`.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(super) fn gentleman_sande(
        self,
        x: __m512i,
        y: __m512i,
        factor: Factor,
    ) -> (__m512i, __m512i) {
        let sum = self.reduce_twice(_mm512_add_epi64(x, y));
        (sum, self.difference(x, y, factor))
    }

    /// `w (x - y)`, in and out in `[0, 2q)`.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(super) fn difference(self, x: __m512i, y: __m512i, factor: Factor) -> __m512i {
        let raised = _mm512_add_epi64(x, self.twice);
        self.mul(_mm512_sub_epi64(raised, y), factor)
    }
}

#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn splat(x: u64) -> __m512i {
    _mm512_set1_epi64(x.cast_signed())
}

/// Eight words from `slice[at..]`.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn load(slice: &[u64], at: usize) -> __m512i {
    let words = &slice[at..at + LANES];
    // SAFETY: eight words.
    unsafe { _mm512_loadu_si512(words.as_ptr().cast()) }
}

/// Eight words.
pub(super) type Words = [u64; LANES];

#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn get(words: &Words) -> __m512i {
    // SAFETY: eight words.
    unsafe { _mm512_loadu_si512(words.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn put(words: &mut Words, x: __m512i) {
    // SAFETY: eight words.
    unsafe { _mm512_storeu_si512(words.as_mut_ptr().cast(), x) }
}

impl Factors {
    /// Factor `i` in every lane.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) fn splat(&self, i: usize) -> Factor {
        Factor {
            w: splat(self.w[i]),
            quotient: splat(self.quotient52[i]),
        }
    }

    /// Factors `i..i + 8`.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) fn eight(&self, i: usize) -> Factor {
        Factor {
            w: load(&self.w, i),
            quotient: load(&self.quotient52, i),
        }
    }

    /// Factors `i..i + 4`, each in two lanes.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) fn four(&self, i: usize) -> Factor {
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
    pub(super) fn two(&self, i: usize) -> Factor {
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
pub(super) fn fours(a: __m512i, b: __m512i) -> (__m512i, __m512i) {
    (
        _mm512_shuffle_i64x2::<0b01_00_01_00>(a, b),
        _mm512_shuffle_i64x2::<0b11_10_11_10>(a, b),
    )
}

/// From `(a0..3 b0..3, a4..7 b4..7)` to `(a01 a45 b01 b45, a23 a67 b23 b67)`. Its own inverse.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn twos(x: __m512i, y: __m512i) -> (__m512i, __m512i) {
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
pub(super) fn ones(x: __m512i, y: __m512i) -> (__m512i, __m512i) {
    (_mm512_unpacklo_epi64(x, y), _mm512_unpackhi_epi64(x, y))
}
