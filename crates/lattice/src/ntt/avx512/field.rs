//! The modulus, the butterfly, loads and stores.
#![expect(
    unsafe_code,
    reason = "intrinsics of the features that the token proves"
)]

use std::arch::x86_64::*;

use sordino_cpu::Avx512Ifma;

use crate::modulus::Modulus;

/// The number of lanes of a register.
pub(super) const LANES: usize = 8;

/// Eight words.
pub(super) type Words = [u64; LANES];

/// A factor in every lane, or eight factors, with their quotients `floor(w 2^52 / q)`.
#[derive(Clone, Copy)]
pub(super) struct Factor {
    pub(super) w: __m512i,
    pub(super) quotient: __m512i,
}

/// The modulus in the forms that the butterflies use. `u` is the power of two with `u / 2 < q < u`.
#[derive(Clone, Copy)]
pub(super) struct Field {
    pub(super) token: Avx512Ifma,
    pub(super) q: __m512i,
    twice: __m512i,
    /// `2^52 - q`.
    pub(super) negated: __m512i,
    mask: __m512i,
    /// `-q` as a word.
    below: __m512i,
    /// For each eighth of `[0, 4u)`, the multiple of `q` that moves it to about `2q`.
    folds: __m512i,
    /// `log2(u / 2)`.
    shift: __m512i,
}

impl Field {
    #[inline(always)]
    pub(super) fn new(token: Avx512Ifma, modulus: Modulus) -> Self {
        let q = modulus.q();
        let splat = |x| splat(token, x);
        Self {
            token,
            q: splat(q),
            twice: splat(2 * q),
            negated: splat((1 << 52) - q),
            mask: splat((1 << 52) - 1),
            below: splat(q.wrapping_neg()),
            folds: get(token, &folds(modulus)),
            shift: splat(u64::from(modulus.bits()) - 1),
        }
    }

    /// `start + x w` plus a multiple of `q`, in `start + [0, 2q)`. Only the low 52 bits of `x` count.
    #[inline(always)]
    fn add_product(self, start: __m512i, x: __m512i, factor: Factor) -> __m512i {
        // SAFETY: the token proves the target features.
        unsafe {
            let times = _mm512_madd52hi_epu64(_mm512_setzero_si512(), x, factor.quotient);
            let low = _mm512_madd52lo_epu64(start, x, factor.w);
            _mm512_madd52lo_epu64(low, times, self.negated)
        }
    }

    /// `x w mod q` in the low 52 bits, in `[0, 2q)`. Only the low 52 bits of `x` count.
    #[inline(always)]
    pub(super) fn mul_lazy(self, x: __m512i, factor: Factor) -> __m512i {
        self.add_product(splat(self.token, 0), x, factor)
    }

    /// `x w mod q`, canonical. Only the low 52 bits of `x` count.
    #[inline(always)]
    pub(super) fn mul(self, x: __m512i, factor: Factor) -> __m512i {
        self.reduce_once(self.mul_lazy(x, factor))
    }

    /// Adds a multiple of `q` to `x` in `[0, 4u)`, so that it is in `[3q/2 - u/4, 5q/2 + u/4)`. The bits that choose
    /// the multiple are below bit 52; bits above are kept. The look-up is a permutation of a register, which takes the
    /// same time for all multiples.
    #[inline(always)]
    fn fold(self, x: __m512i) -> __m512i {
        // SAFETY: the token proves the target features.
        unsafe {
            let eighth = _mm512_rorv_epi64(x, self.shift);
            _mm512_add_epi64(x, _mm512_permutexvar_epi64(eighth, self.folds))
        }
    }

    /// The low 52 bits of `x`, in `[0, 2q)`, as a canonical residue.
    #[inline(always)]
    fn reduce_once(self, x: __m512i) -> __m512i {
        // SAFETY: the token proves the target features.
        unsafe {
            let x = _mm512_and_si512(x, self.mask);
            _mm512_min_epu64(x, _mm512_sub_epi64(x, self.q))
        }
    }

    /// The low 52 bits of `x`, in `[0, 4q)`, minus `2q` if the result is not negative.
    #[inline(always)]
    fn reduce_twice(self, x: __m512i) -> __m512i {
        // SAFETY: the token proves the target features.
        unsafe {
            let x = _mm512_and_si512(x, self.mask);
            _mm512_min_epu64(x, _mm512_sub_epi64(x, self.twice))
        }
    }

    /// The low 52 bits of `x`, in `[0, 4q)`, as a canonical residue.
    #[inline(always)]
    pub(super) fn reduce_thrice(self, x: __m512i) -> __m512i {
        // SAFETY: the token proves the target features.
        unsafe {
            let x = self.reduce_twice(x);
            _mm512_min_epu64(x, _mm512_sub_epi64(x, self.q))
        }
    }

    /// Cooley and Tukey's `(x + w y, x - w y)`. Input is in `[0, 4u)`, and output in `[q/2 - u/4, 7q/2 + u/4)`, which
    /// is within `[0, 4q)`.
    #[inline(always)]
    pub(super) fn butterfly(self, x: __m512i, y: __m512i, factor: Factor) -> (__m512i, __m512i) {
        self.sum_and_difference(self.fold(x), self.add_product(self.below, y, factor))
    }

    /// Like [`butterfly`](Self::butterfly) for `x < 2q`, without a fold. Output is in `[0, 4q)`.
    #[inline(always)]
    pub(super) fn first_butterfly(
        self,
        x: __m512i,
        y: __m512i,
        factor: Factor,
    ) -> (__m512i, __m512i) {
        self.sum_and_difference(self.add(x, self.q), self.add_product(self.below, y, factor))
    }

    /// `(x + y, x - y)` of canonical residues. Output is in `[0, 2q)`.
    #[inline(always)]
    pub(super) fn canonical_butterfly(self, x: __m512i, y: __m512i) -> (__m512i, __m512i) {
        (self.add(x, y), self.sub(self.add(x, self.q), y))
    }

    /// `(x + y, x - y)` for both in `[0, 2q)`. Output is in `[0, 4q)`.
    #[inline(always)]
    pub(super) fn plain_butterfly(self, x: __m512i, y: __m512i) -> (__m512i, __m512i) {
        (self.add(x, y), self.sub(self.add(x, self.twice), y))
    }

    #[inline(always)]
    fn sum_and_difference(self, x: __m512i, y: __m512i) -> (__m512i, __m512i) {
        (self.add(x, y), self.sub(x, y))
    }

    #[inline(always)]
    pub(super) fn add(self, x: __m512i, y: __m512i) -> __m512i {
        // SAFETY: the token proves the target features.
        unsafe { _mm512_add_epi64(x, y) }
    }

    #[inline(always)]
    pub(super) fn sub(self, x: __m512i, y: __m512i) -> __m512i {
        // SAFETY: the token proves the target features.
        unsafe { _mm512_sub_epi64(x, y) }
    }

    /// Gentleman and Sande's `(x + y, w (x - y))`. Input and output are in `[0, 2q)`.
    #[inline(always)]
    pub(super) fn backward_butterfly(
        self,
        x: __m512i,
        y: __m512i,
        factor: Factor,
    ) -> (__m512i, __m512i) {
        let (sum, difference) = self.plain_butterfly(x, y);
        (self.reduce_twice(sum), self.mul_lazy(difference, factor))
    }

    /// Like [`backward_butterfly`](Self::backward_butterfly), with canonical output.
    #[inline(always)]
    pub(super) fn last_butterfly(
        self,
        x: __m512i,
        y: __m512i,
        factor: Factor,
    ) -> (__m512i, __m512i) {
        let (sum, difference) = self.plain_butterfly(x, y);
        (self.reduce_thrice(sum), self.mul(difference, factor))
    }

    /// `w (x - y)`, canonical, for `x` and `y` in `[0, 2q)`.
    #[inline(always)]
    pub(super) fn difference(self, x: __m512i, y: __m512i, factor: Factor) -> __m512i {
        self.mul(self.sub(self.add(x, self.twice), y), factor)
    }
}

/// For the `i`-th eighth of `[0, 4u)`, `(2 - k) q`, where `k q` is the multiple nearest to the eighth's middle `(2i +
/// 1) u / 4`. It is within `q/2` of the middle, so within `q/2 + u/4` of the whole eighth.
const fn folds(modulus: Modulus) -> Words {
    let (q, u) = (modulus.q(), 1 << modulus.bits());
    let mut folds = [0; LANES];
    let mut i = 0;
    while i < LANES {
        let k = ((2 * i as u64 + 1) * u + 2 * q) / (4 * q);
        folds[i] = (2 * q).wrapping_sub(k * q);
        i += 1;
    }
    folds
}

#[inline(always)]
pub(super) fn splat(_: Avx512Ifma, x: u64) -> __m512i {
    // SAFETY: the token proves the target features.
    unsafe { _mm512_set1_epi64(x.cast_signed()) }
}

#[inline(always)]
pub(super) fn get(_: Avx512Ifma, words: &Words) -> __m512i {
    // SAFETY: the token proves the target features; there are eight words.
    unsafe { _mm512_loadu_si512(words.as_ptr().cast()) }
}

#[inline(always)]
pub(super) fn put(_: Avx512Ifma, words: &mut Words, x: __m512i) {
    // SAFETY: the token proves the target features; there are eight words.
    unsafe { _mm512_storeu_si512(words.as_mut_ptr().cast(), x) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fold_leaves_room_for_a_product_on_both_sides() {
        // Primes just above and just below powers of two, and between them.
        let moduli = [
            1_048_583,
            16_515_073,
            2_147_352_577,
            562_949_955_125_249,
            675_539_943_817_217,
            743_093_936_848_897,
            844_424_928_952_321,
            957_014_919_610_369,
            1_125_899_906_826_241,
        ];
        for q in moduli {
            let modulus = Modulus::new(q).expect("a prime");
            let eighth = 1 << (modulus.bits() - 1);
            for (start, fold) in (0..).step_by(eighth).zip(folds(modulus)) {
                for x in [start, start + eighth as u64 - 1] {
                    let folded = x.wrapping_add(fold);
                    assert_eq!(folded % q, x % q, "{q}");
                    // A product less q is in [-q, q).
                    assert!(
                        folded >= q && folded + q <= 4 * q,
                        "{q}: {x} becomes {folded}"
                    );
                }
            }
        }
    }
}
