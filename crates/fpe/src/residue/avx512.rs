//! `(a + y) mod m` and `(a - y) mod m` in vector registers. Moving a number from a block to a general register and
//! back would take a tenth of a round.
//!
//! A fraction gives the remainder, as in [`crate::residue`], in units of `2^-52`. The fraction is a sum of 52-bit
//! products: pieces of `y`, times fractions of powers of two. For a smaller modulus the pieces may be wider, so there
//! are fewer. All integers are in the first 64 bits of a register.
#![expect(unsafe_code, reason = "loads, and calls of vector instructions")]

use super::Residue;
use crate::feistel::Direction;
use core::arch::x86_64::*;

/// Proof that the processor has the instructions of this file.
#[derive(Clone, Copy)]
pub(crate) struct Token(());

impl Token {
    pub(crate) fn detect() -> Option<Self> {
        sordino_cpu::Avx512Ifma::detect().map(|_| Self(()))
    }
}

/// The positions of the bytes of each piece of `y` in a block, the least significant first. A position of -1 gives
/// zero.
pub(crate) type Places<const N: usize> = [[i8; 4]; N];

/// The moduli of two halves, for `y` in `N` pieces.
#[derive(Clone)]
pub(crate) struct Moduli<const N: usize> {
    token: Token,
    halves: [Residue<52, N>; 2],
    /// For each piece, the shuffle that extracts it from a block. The masks are data. If they were constants, the
    /// compiler would replace some of the shuffles by two, which it believes to be cheaper. This costs 3 ns of FF3's
    /// 155.
    masks: [[u8; 16]; N],
}

impl<const N: usize> Moduli<N> {
    /// `None` if the processor or the moduli do not allow it.
    #[expect(
        clippy::cast_sign_loss,
        reason = "what has its upper bit set is a zero"
    )]
    pub(crate) fn new(m: [u64; 2], places: &Places<N>) -> Option<Self> {
        let width = |place: [i8; 4]| place.map(|at| if at < 0 { 0 } else { 8 }).iter().sum();
        let [u, v] = m.map(|m| Residue::new(m, places.map(width)));
        Some(Self {
            token: Token::detect()?,
            halves: [u?, v?],
            masks: places.map(|[a, b, c, d]| {
                let mut mask = [0x80; 16];
                mask[..4].copy_from_slice(&[a as u8, b as u8, c as u8, d as u8]);
                mask
            }),
        })
    }

    /// The constants for rounds in one direction.
    #[inline]
    #[target_feature(enable = "sse2")]
    pub(crate) fn registers<const D: Direction>(&self) -> Registers<N> {
        let _ = self.token;
        let [u, v] = &self.halves;
        Registers {
            halves: [half::<D, N>(u), half::<D, N>(v)],
            // SAFETY: `mask` has the 16 bytes that are loaded.
            masks: self
                .masks
                .map(|mask| unsafe { _mm_loadu_si128(mask.as_ptr().cast()) }),
        }
    }
}

/// [`Moduli`] of one direction in registers.
#[derive(Clone, Copy)]
pub(crate) struct Registers<const N: usize> {
    halves: [Half<N>; 2],
    masks: [__m128i; N],
}

#[derive(Clone, Copy)]
struct Half<const N: usize> {
    m: __m128i,
    pieces: [__m128i; N],
    whole: __m128i,
    part: __m128i,
    bias: __m128i,
}

#[inline]
#[target_feature(enable = "sse2")]
#[expect(clippy::cast_possible_wrap, reason = "bits")]
fn half<const D: Direction, const N: usize>(residue: &Residue<52, N>) -> Half<N> {
    let first = |x: u64| _mm_cvtsi64_si128(x as i64);
    let fractions = residue.direction::<D>();
    Half {
        m: first(residue.m),
        pieces: fractions.pieces.map(first),
        whole: first(residue.whole),
        part: first(residue.part),
        bias: first(fractions.bias),
    }
}

impl<const N: usize> Registers<N> {
    /// `(a + y) mod m` or `(a - y) mod m`, depending on the direction. `y` is taken from the block `s`, and `m` is
    /// the modulus of half 0 or 1.
    #[inline]
    #[target_feature(enable = "avx512f,avx512vl,avx512ifma,avx2")]
    pub(crate) fn mix(&self, half: usize, a: __m128i, s: __m128i) -> __m128i {
        let zero = _mm_setzero_si128();
        let half = &self.halves[half];
        // The terms of `a` are computed first, since they are ready before `s` is.
        let fraction = _mm_madd52lo_epu64(half.bias, a, half.whole);
        let mut sum = [zero; N];
        sum[0] = _mm_madd52hi_epu64(fraction, a, half.part);
        for ((sum, mask), piece) in sum.iter_mut().zip(self.masks).zip(half.pieces) {
            *sum = _mm_madd52lo_epu64(*sum, _mm_shuffle_epi8(s, mask), piece);
        }
        // The sum is pairwise, so that the chain of additions is as short as possible.
        let mut step = 1;
        while step < N {
            for i in (step..N).step_by(2 * step) {
                sum[i - step] = _mm_add_epi64(sum[i - step], sum[i]);
            }
            step *= 2;
        }
        // The fraction is the lower 52 bits of the sum. The product ignores the other bits.
        _mm_madd52hi_epu64(zero, sum[0], half.m)
    }
}

#[cfg(test)]
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
    fn mixed<const D: Direction, const N: usize>(moduli: &Moduli<N>, a: u64, y: u128) -> u64 {
        let block = _mm_set_epi64x((y >> 64) as i64, y as i64);
        let a = _mm_cvtsi64_si128(a as i64);
        _mm_cvtsi128_si64(moduli.registers::<D>().mix(1, a, block)) as u64
    }

    /// Tests random `y` and `a`, and some whose sum or difference is near a multiple of `m`.
    fn equals_the_remainder<const N: usize>(m: u64, places: &Places<N>) {
        let last = places.iter().flatten().max().copied().unwrap_or_default();
        let unused = 8 * (15 - last as u32);
        let moduli = Moduli::new([2, m], places).expect("small enough");
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
                        mixed::<DECRYPT, N>(&moduli, a as u64, y)
                    } else {
                        mixed::<ENCRYPT, N>(&moduli, a as u64, y)
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
        assert!(Moduli::new([1000, 100_000_007], &TWO).is_none());
    }
}
