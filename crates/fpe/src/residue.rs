//! `(a + y) mod m` and `(a - y) mod m` for a secret `y` in several pieces and a public `m`. Only two products depend on
//! each other.
//!
//! The remainder of `x` by `m` is `m` times the fractional part of `x / m` (Lemire, Kaser and Kurz, "Faster remainder
//! by direct computation"). Fractions are integers modulo `2^BITS`, in units of `2^-BITS`. A piece of `y` that begins
//! at bit `k` adds its value times the fraction of `2^k / m`. This fraction is rounded to a unit and computed in
//! advance. All these products are independent of each other. The product with `m` gives the exact remainder if the sum
//! is not below the true fraction and less than `1 / m` above it. [`Residue::new`] adds up the roundings and refuses
//! moduli for which they may reach `1 / m`. It adds a bias that keeps the sum from falling below the true fraction.

#[cfg(all(feature = "std", target_arch = "x86_64"))]
pub(crate) mod avx512;

use crate::feistel::Direction;

/// A public modulus of at most `2^32`, for `y` in `N` pieces. Fractions have 64 bits in general registers. In vector
/// registers they have 52 bits, the width of the products there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Residue<const BITS: u32, const N: usize> {
    pub(crate) m: u64,
    /// `floor(2^BITS / m)`, the fraction of `1 / m`, and the `BITS` bits of it that follow.
    whole: u64,
    part: u64,
    plus: Fractions<N>,
    minus: Fractions<N>,
}

/// The constants of one direction, which adds or subtracts `y`.
#[derive(Clone, Copy, Debug)]
struct Fractions<const N: usize> {
    /// For each piece of `y`, which begins at bit `k`, the fraction of `2^k / m`, or of `-2^k / m` for subtraction,
    /// rounded to nearest.
    pieces: [u64; N],
    /// A constant that keeps the sum of all roundings from being negative.
    bias: u64,
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "arithmetic mod 2^64, and upper halves of products"
)]
impl<const BITS: u32, const N: usize> Residue<BITS, N> {
    const ONE: u128 = 1 << BITS;

    /// Constants for pieces of `widths` bits, at most 32 each, the least significant first. `None` if the roundings may
    /// add up to `1 / m`. Fractions of 64 bits are always enough for two words if `m` is a power of a radix, and for
    /// four words if `m <= 2^30`.
    pub(crate) fn new(m: u64, widths: [u32; N]) -> Option<Self> {
        let wide = u128::from(m);
        Some(Self {
            m,
            whole: (Self::ONE / wide) as u64,
            part: (((Self::ONE % wide) << BITS) / wide) as u64,
            plus: Self::fractions(wide, widths, |power| power)?,
            minus: Self::fractions(wide, widths, |power| (wide - power) % wide)?,
        })
    }

    fn fractions(m: u128, widths: [u32; N], signed: impl Fn(u128) -> u128) -> Option<Fractions<N>> {
        let mut pieces = [0; N];
        // Bounds on the sum of all roundings up and on the sum of all roundings down, in units.
        let (mut up, mut down, mut power) = (0, 0, 1 % m);
        for (piece, width) in pieces.iter_mut().zip(widths) {
            let largest = (1u128 << width) - 1;
            let fraction = signed(power) << BITS;
            let (q, r) = (fraction / m, fraction % m);
            if 2 * r >= m {
                // A fraction of one is a fraction of zero.
                *piece = ((q + 1) % Self::ONE) as u64;
                up += (largest * (m - r)).div_ceil(m);
            } else {
                *piece = q as u64;
                down += (largest * r).div_ceil(m);
            }
            power = (power << width) % m;
        }
        // The fraction of `a / m` is rounded down by less than two units.
        let bias = down + 2;
        (m * (up + bias) <= Self::ONE).then_some(Fractions {
            pieces,
            bias: bias as u64,
        })
    }

    /// The constants that add `y` (forward) or subtract it (backward).
    #[inline(always)]
    fn direction<const D: Direction>(&self) -> &Fractions<N> {
        if D { &self.plus } else { &self.minus }
    }
}

impl<const N: usize> Residue<64, N> {
    /// `(a + y) mod m`, or `(a - y) mod m`, for `a < m` and the words of `y`, least significant first.
    #[inline(always)]
    pub(crate) fn mix<const D: Direction>(&self, a: u64, y: [u32; N]) -> u64 {
        let high = |x: u64, y: u64| ((u128::from(x) * u128::from(y)) >> 64) as u64;
        let Fractions { pieces, bias } = self.direction::<D>();
        let mut fraction = a
            .wrapping_mul(self.whole)
            .wrapping_add(high(a, self.part))
            .wrapping_add(*bias);
        for (piece, y) in pieces.iter().zip(y) {
            fraction = fraction.wrapping_add(piece.wrapping_mul(y.into()));
        }
        high(fraction, self.m)
    }
}

#[cfg(test)]
#[expect(clippy::cast_possible_truncation, reason = "words of an integer")]
mod tests {
    use super::*;
    use crate::feistel::{DECRYPT, ENCRYPT};
    use proptest::prelude::*;

    fn expected(a: u64, y: u128, m: u64, subtract: bool) -> u64 {
        let m = u128::from(m);
        let r = if subtract { (m - y % m) % m } else { y % m };
        u64::try_from((u128::from(a) + r) % m).unwrap()
    }

    fn mix<const N: usize>(of: &Residue<64, N>, subtract: bool, a: u64, y: [u32; N]) -> u64 {
        if subtract {
            of.mix::<DECRYPT>(a, y)
        } else {
            of.mix::<ENCRYPT>(a, y)
        }
    }

    #[test]
    fn powers_of_every_radix_fit_two_words() {
        for radix in 2..=65536u64 {
            let mut m = 1;
            while m * radix <= 1 << 32 {
                m *= radix;
                let residue = Residue::<64, 2>::new(m, [32; 2]).unwrap();
                for subtract in [false, true] {
                    for a in [0, m - 1] {
                        for y in [u64::MAX, u64::MAX / m * m, u64::MAX / m * m - 1, m - 1, 0] {
                            let words = [y as u32, (y >> 32) as u32];
                            let expected = expected(a, y.into(), m, subtract);
                            assert_eq!(mix(&residue, subtract, a, words), expected, "{m} {a} {y}");
                        }
                    }
                }
            }
        }
        let new = |m| Residue::<64, 4>::new(m, [32; 4]);
        assert!(new(1 << 30).is_some());
        let refused = |m| new(m).is_none();
        assert!(((1 << 32) - 1000..1 << 32).any(refused));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]

        #[test]
        fn equals_the_remainder(
            m in prop_oneof![2u64..(1 << 30), (0u32..30, 0u64..5).prop_map(|(s, d)| (2 << s) - d.min((2 << s) - 2))],
            a in any::<u64>(),
            y in any::<u128>(),
            near in prop_oneof![Just(None), (0u128..3).prop_map(Some)],
            subtract in any::<bool>(),
        ) {
            let m = m.clamp(2, 1 << 30);
            let a = a % m;
            // Tests values where a + y or a - y is near a multiple of m.
            let y = near.map_or(y, |d| {
                let multiple = y / u128::from(m) * u128::from(m);
                let sum = if subtract { u128::from(a) } else { u128::from(m - a) };
                multiple.saturating_add(sum).saturating_sub(1).saturating_add(d)
            });
            let word = |k: u32| (y >> (32 * k)) as u32;
            let four = Residue::<64, 4>::new(m, [32; 4]).unwrap();
            prop_assert_eq!(mix(&four, subtract, a, [word(0), word(1), word(2), word(3)]), expected(a, y, m, subtract));
            let two = Residue::<64, 2>::new(m, [32; 2]).unwrap();
            prop_assert_eq!(mix(&two, subtract, a, [word(0), word(1)]), expected(a, (y as u64).into(), m, subtract));
        }
    }
}
