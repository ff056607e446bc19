//! `(a + y) mod m` and `(a - y) mod m` in vector registers, where the way of a number from a
//! block to an integer and back would be a tenth of a round.
//!
//! The remainder comes from a fraction as in [`crate::residue`], in units of `2^-52`: 52-bit
//! products of pieces of `y` with fractions of powers of two. The smaller the modulus, the wider
//! the pieces may be and the fewer there are. All integers are in the first 64 bits of a register.

use super::Residue;
use crate::feistel::Direction;
use core::arch::x86_64::*;

/// Proof that the processor has what this file uses.
#[derive(Clone, Copy)]
pub(crate) struct Token(());

impl Token {
    pub(crate) fn detect() -> Option<Self> {
        sordino_cpu::Avx512Ifma::detect().map(|_| Self(()))
    }
}

/// Where the bytes of each piece of `y` lie in a block, the least significant first; a place of
/// -1 is zero.
pub(crate) type Places<const N: usize> = [[i8; 4]; N];

/// The moduli of two halves, for `y` in few pieces where that is exact and in more where not.
#[derive(Clone)]
pub(crate) enum Moduli<const FEW: usize, const MORE: usize> {
    Few(Token, [Residue<52, FEW>; 2]),
    More(Token, [Residue<52, MORE>; 2]),
}

impl<const FEW: usize, const MORE: usize> Moduli<FEW, MORE> {
    /// `None` where the processor or the moduli do not allow it.
    pub(crate) fn new(m: [u64; 2], few: &Places<FEW>, more: &Places<MORE>) -> Option<Self> {
        let token = Token::detect()?;
        let few = pair(m, few).map(|halves| Self::Few(token, halves));
        few.or_else(|| Some(Self::More(token, pair(m, more)?)))
    }
}

fn pair<const N: usize>(m: [u64; 2], places: &Places<N>) -> Option<[Residue<52, N>; 2]> {
    let width = |place: [i8; 4]| place.map(|at| if at < 0 { 0 } else { 8 }).iter().sum();
    let [u, v] = m.map(|m| Residue::new(m, places.map(width)));
    Some([u?, v?])
}

/// A [`Residue`] of one direction in registers.
#[derive(Clone, Copy)]
pub(crate) struct Registers<const N: usize> {
    m: __m128i,
    pieces: [__m128i; N],
    whole: __m128i,
    part: __m128i,
    bias: __m128i,
}

#[inline]
#[target_feature(enable = "sse2")]
#[expect(clippy::cast_possible_wrap, reason = "bits")]
pub(crate) fn registers<const D: Direction, const N: usize>(
    residue: &Residue<52, N>,
) -> Registers<N> {
    let first = |x: u64| _mm_cvtsi64_si128(x as i64);
    let fractions = residue.direction::<D>();
    Registers {
        m: first(residue.m),
        pieces: fractions.pieces.map(first),
        whole: first(residue.whole),
        part: first(residue.part),
        bias: first(fractions.bias),
    }
}

/// `(a + y) mod m`, or `(a - y) mod m` by the direction, for the pieces of `y` in the block `s`.
#[inline]
#[target_feature(enable = "avx512f,avx512vl,avx512ifma,avx2")]
pub(crate) fn mix<const N: usize>(
    modulus: &Registers<N>,
    a: __m128i,
    s: __m128i,
    places: &Places<N>,
) -> __m128i {
    let zero = _mm_setzero_si128();
    // All that the other half adds is ready before `s`.
    let fraction = _mm_madd52lo_epu64(modulus.bias, a, modulus.whole);
    let mut sum = [zero; N];
    sum[0] = _mm_madd52hi_epu64(fraction, a, modulus.part);
    for ((sum, &[a, b, c, d]), fraction) in sum.iter_mut().zip(places).zip(modulus.pieces) {
        let place = _mm_setr_epi8(a, b, c, d, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1);
        *sum = _mm_madd52lo_epu64(*sum, _mm_shuffle_epi8(s, place), fraction);
    }
    // Pairwise, for the least depth.
    let mut step = 1;
    while step < N {
        for i in (step..N).step_by(2 * step) {
            sum[i - step] = _mm_add_epi64(sum[i - step], sum[i]);
        }
        step *= 2;
    }
    // Of the sum the lower 52 bits are the fraction; the product takes no others.
    _mm_madd52hi_epu64(zero, sum[0], modulus.m)
}

#[cfg(test)]
#[expect(unsafe_code, reason = "calls of vector instructions")]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "bits, and numbers below 2^32"
)]
mod tests {
    use super::*;
    use crate::feistel::{DECRYPT, ENCRYPT};

    #[target_feature(enable = "avx512f,avx512vl,avx512ifma,avx2")]
    fn mixed<const D: Direction, const N: usize>(
        residue: &Residue<52, N>,
        places: &Places<N>,
        a: u64,
        y: u128,
    ) -> u64 {
        let block = _mm_set_epi64x((y >> 64) as i64, y as i64);
        let a = _mm_cvtsi64_si128(a as i64);
        let registers = registers::<D, N>(residue);
        _mm_cvtsi128_si64(mix(&registers, a, block, places)) as u64
    }

    /// `y` and `a` at random and where their sum or difference is near a multiple of `m`.
    fn equals_the_remainder<const N: usize>(m: u64, places: &Places<N>) {
        let last = places.iter().flatten().max().copied().unwrap_or_default();
        let unused = 8 * (15 - last as u32);
        let [residue, _] = pair([m, m], places).expect("small enough");
        let (mut seed, wide) = (u128::from(m), u128::from(m));
        for subtract in [false, true] {
            for i in 0..4000 {
                seed = seed.wrapping_mul(0x2545f4914f6cdd1d_1234567890abcdef) ^ (seed >> 77);
                let a = [0, wide - 1, (seed >> 9) % wide][i % 3];
                let near = if subtract { a } else { wide - a };
                let random = seed << unused >> unused;
                let multiple = random / wide * wide;
                let y = match (i / 3) % 4 {
                    0 => random,
                    1 => u128::MAX >> unused,
                    2 => multiple.saturating_sub(wide) + near,
                    _ => (multiple.saturating_sub(wide) + near).saturating_sub(1),
                };
                let y_mod = if subtract { wide - y % wide } else { y % wide };
                // SAFETY: the caller has a token.
                let found = unsafe {
                    if subtract {
                        mixed::<DECRYPT, N>(&residue, places, a as u64, y)
                    } else {
                        mixed::<ENCRYPT, N>(&residue, places, a as u64, y)
                    }
                };
                assert_eq!(u128::from(found), (a + y_mod) % wide, "{m} {a} {y}");
            }
        }
    }

    #[test]
    fn remainders_are_exact_up_to_the_largest_modulus() {
        const TWO: Places<2> = [[0, 1, 2, 3], [4, 5, 6, 7]];
        const THREE: Places<3> = [[0, 1, 2, -1], [3, 4, 5, -1], [6, 7, -1, -1]];
        const FOUR: Places<4> = [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11], [12, 13, 14, 15]];
        const SIX: Places<6> = [
            [0, 1, 2, -1],
            [3, 4, 5, -1],
            [6, 7, 8, -1],
            [9, 10, 11, -1],
            [12, 13, -1, -1],
            [14, 15, -1, -1],
        ];
        if Token::detect().is_none() {
            return;
        }
        for m in [1000, 36 * 36, 100_000, 99_999, 1 << 17] {
            equals_the_remainder(m, &TWO);
            equals_the_remainder(m, &FOUR);
        }
        for m in [1000, 100_000_000, 99_999_999, 1 << 26] {
            equals_the_remainder(m, &THREE);
            equals_the_remainder(m, &SIX);
        }
        assert!(pair([1000, 100_000_007], &TWO).is_none());
    }
}
