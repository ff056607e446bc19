//! `(a + y) mod m` and `(a - y) mod m` in vector registers, where the way of a number from a
//! block to an integer and back would be a tenth of a round.
//!
//! The remainder comes from a fraction as in [`crate::residue`], in units of `2^-52`: 52-bit
//! products of pieces of `y` with fractions of powers of two. The smaller the modulus, the wider
//! the pieces may be and the fewer there are. All integers are in the first 64 bits of a register.

use core::arch::x86_64::*;

/// Proof that the processor has what this file uses.
#[derive(Clone, Copy)]
pub(crate) struct Token(());

impl Token {
    pub(crate) fn detect() -> Option<Self> {
        sordino_cpu::Avx512Ifma::detect().map(|_| Self(()))
    }
}

/// One modulus, in one direction, for `y` in up to `N` pieces.
#[derive(Clone, Copy)]
pub(crate) struct Modulus<const N: usize> {
    m: u64,
    /// The fraction of `+-2^k / m`, rounded to the nearest, for the piece that begins at bit `k`.
    pieces: [u64; N],
    /// `2^52 / m`, and the 52 bits that follow.
    whole: u64,
    part: u64,
    bias: u64,
}

impl<const N: usize> Modulus<N> {
    /// For pieces of `widths` bits from the least, at most 32 each. `None` if the roundings may
    /// add up to `1 / m`.
    #[expect(clippy::cast_possible_truncation, reason = "fractions are below 2^52")]
    pub(crate) fn new(m: u64, widths: [u32; N], subtract: bool) -> Option<Self> {
        let (one, wide) = (1u128 << 52, u128::from(m));
        let mut pieces = [0; N];
        let (mut up, mut down, mut power) = (0, 0, 1 % wide);
        for (piece, width) in pieces.iter_mut().zip(widths) {
            let largest = (1u128 << width) - 1;
            let signed = if subtract {
                (wide - power) % wide
            } else {
                power
            };
            let (q, r) = ((signed << 52) / wide, (signed << 52) % wide);
            if 2 * r >= wide {
                // One whole is none.
                *piece = (q + 1) as u64 % (1 << 52);
                up += (largest * (wide - r)).div_ceil(wide);
            } else {
                *piece = q as u64;
                down += (largest * r).div_ceil(wide);
            }
            power = (power << width) % wide;
        }
        // What the fraction of the other half rounds down is below two units.
        let bias = down + 2;
        (wide * (up + bias) <= one).then(|| Self {
            m,
            pieces,
            whole: (one / wide) as u64,
            part: (((one % wide) << 52) / wide) as u64,
            bias: bias as u64,
        })
    }

    /// Both moduli of a cipher.
    pub(crate) fn pair(m: [u64; 2], widths: [u32; N], subtract: bool) -> Option<[Self; 2]> {
        let [u, v] = m.map(|m| Self::new(m, widths, subtract));
        Some([u?, v?])
    }
}

/// A [`Modulus`] in registers.
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
pub(crate) fn registers<const N: usize>(modulus: &Modulus<N>) -> Registers<N> {
    let first = |x: u64| _mm_cvtsi64_si128(x as i64);
    Registers {
        m: first(modulus.m),
        pieces: modulus.pieces.map(first),
        whole: first(modulus.whole),
        part: first(modulus.part),
        bias: first(modulus.bias),
    }
}

/// `(a + y) mod m`, or `(a - y) mod m` if the pieces are so. `places` has, for each piece of `y`,
/// its bytes in `s`, the least significant first; a place of -1 is zero.
#[inline]
#[target_feature(enable = "avx512f,avx512vl,avx512ifma,avx2")]
pub(crate) fn mix<const N: usize, const USED: usize>(
    modulus: &Registers<N>,
    a: __m128i,
    s: __m128i,
    places: &[[i8; 4]; USED],
) -> __m128i {
    let zero = _mm_setzero_si128();
    // All that the other half adds is ready before `s`.
    let fraction = _mm_madd52lo_epu64(modulus.bias, a, modulus.whole);
    let mut sum = [zero; USED];
    sum[0] = _mm_madd52hi_epu64(fraction, a, modulus.part);
    for ((sum, &[a, b, c, d]), fraction) in sum.iter_mut().zip(places).zip(modulus.pieces) {
        let place = _mm_setr_epi8(a, b, c, d, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1);
        *sum = _mm_madd52lo_epu64(*sum, _mm_shuffle_epi8(s, place), fraction);
    }
    // Pairwise, for the least depth.
    let mut step = 1;
    while step < USED {
        for i in (step..USED).step_by(2 * step) {
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

    #[target_feature(enable = "avx512f,avx512vl,avx512ifma,avx2")]
    fn mixed<const N: usize>(modulus: &Modulus<N>, places: &[[i8; 4]; N], a: u64, y: u128) -> u64 {
        let block = _mm_set_epi64x((y >> 64) as i64, y as i64);
        let a = _mm_cvtsi64_si128(a as i64);
        _mm_cvtsi128_si64(mix(&registers(modulus), a, block, places)) as u64
    }

    /// `y` and `a` at random and where their sum or difference is near a multiple of `m`.
    fn equals_the_remainder<const N: usize>(m: u64, widths: [u32; N]) {
        let mut at = 0;
        let places: [[i8; 4]; N] = widths.map(|width| {
            let (from, bytes) = (at, width / 8);
            at += bytes;
            core::array::from_fn(|i| {
                if (i as u32) < bytes {
                    (from + i as u32) as i8
                } else {
                    -1
                }
            })
        });
        let (mut seed, wide) = (u128::from(m), u128::from(m));
        for subtract in [false, true] {
            let modulus = Modulus::new(m, widths, subtract).expect("small enough");
            for i in 0..4000 {
                seed = seed.wrapping_mul(0x2545f4914f6cdd1d_1234567890abcdef) ^ (seed >> 77);
                let a = [0, wide - 1, (seed >> 9) % wide][i % 3];
                let near = if subtract { a } else { wide - a };
                let random = seed << (128 - 8 * at) >> (128 - 8 * at);
                let multiple = random / wide * wide;
                let y = match (i / 3) % 4 {
                    0 => random,
                    1 => u128::MAX >> (128 - 8 * at),
                    2 => multiple.saturating_sub(wide) + near,
                    _ => (multiple.saturating_sub(wide) + near).saturating_sub(1),
                };
                let y_mod = if subtract { wide - y % wide } else { y % wide };
                // SAFETY: the caller has a token.
                let found = unsafe { mixed(&modulus, &places, a as u64, y) };
                assert_eq!(u128::from(found), (a + y_mod) % wide, "{m} {a} {y}");
            }
        }
    }

    #[test]
    fn remainders_are_exact_up_to_the_largest_modulus() {
        if Token::detect().is_none() {
            return;
        }
        for m in [1000, 36 * 36, 100_000, 99_999, 1 << 17] {
            equals_the_remainder(m, [32, 32]);
            equals_the_remainder(m, [32, 32, 32, 32]);
        }
        for m in [1000, 100_000_000, 99_999_999, 1 << 26] {
            equals_the_remainder(m, [24, 24, 16]);
            equals_the_remainder(m, [24, 24, 24, 24, 16, 16]);
        }
        assert!(Modulus::new(100_000_007, [32, 32], false).is_none());
    }
}
