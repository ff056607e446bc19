//! `(a + y) mod m` and `(a - y) mod m` of a secret `y` of several words by a public `m`, in the
//! depth of two products.
//!
//! What is kept of `(a + y) / m` is its fraction, in units of `2^-64`: a sum of products, mod
//! `2^64`, of each word `y_k` by the rounded fraction of `2^(32 k) / m`. The fraction times `m` is
//! the remainder, if the roundings add up to less than `1 / m`; a bias keeps their sum from
//! falling below zero. (The remainder from the fraction: Lemire, Kaser and Kurz, "Faster remainder
//! by direct computation".)

#[cfg(all(feature = "std", target_arch = "x86_64"))]
pub(crate) mod avx512;

/// One public modulus, one direction. `N` is the number of 32-bit words of `y`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Residue<const N: usize> {
    m: u64,
    /// The fraction of `+-2^(32 k) / m`, rounded to the nearest.
    words: [u64; N],
    /// `2^64 / m`, and the 64 bits that follow.
    whole: u64,
    part: u64,
    bias: u64,
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "arithmetic mod 2^64, and upper halves of products"
)]
impl<const N: usize> Residue<N> {
    /// `m` of at most `2^32`; `None` if the roundings may add up to `1 / m`, which they do not
    /// for two words and a power of a radix, nor for four words and `m <= 2^30`.
    pub(crate) fn new(m: u64, subtract: bool) -> Option<Self> {
        let one = 1u128 << 64;
        let (wide, largest) = (u128::from(m), u128::from(u32::MAX));
        let mut words = [0; N];
        // The roundings up and down, each at most so many units.
        let (mut up, mut down) = (0, 0);
        let mut power = 1 % wide;
        for word in &mut words {
            let signed = if subtract {
                (wide - power) % wide
            } else {
                power
            };
            let (q, r) = ((signed << 64) / wide, (signed << 64) % wide);
            if 2 * r >= wide {
                *word = (q + 1) as u64;
                up += (largest * (wide - r)).div_ceil(wide);
            } else {
                *word = q as u64;
                down += (largest * r).div_ceil(wide);
            }
            power = (power << 32) % wide;
        }
        // What `fraction` rounds down is below two units.
        let bias = down + 2;
        (wide * (up + bias) <= one).then(|| Self {
            m,
            words,
            whole: (one / wide) as u64,
            part: (((one % wide) << 64) / wide) as u64,
            bias: bias as u64,
        })
    }

    /// `(a + y) mod m`, or `(a - y) mod m`, for `a < m` and the words of `y` from the least.
    #[inline(always)]
    pub(crate) fn mix(&self, a: u64, y: [u32; N]) -> u64 {
        let high = |x: u64, y: u64| ((u128::from(x) * u128::from(y)) >> 64) as u64;
        let mut fraction = a
            .wrapping_mul(self.whole)
            .wrapping_add(high(a, self.part))
            .wrapping_add(self.bias);
        for (word, y) in self.words.iter().zip(y) {
            fraction = fraction.wrapping_add(word.wrapping_mul(y.into()));
        }
        high(fraction, self.m)
    }
}

#[cfg(test)]
#[expect(clippy::cast_possible_truncation, reason = "words of an integer")]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn expected(a: u64, y: u128, m: u64, subtract: bool) -> u64 {
        let m = u128::from(m);
        let r = if subtract { (m - y % m) % m } else { y % m };
        u64::try_from((u128::from(a) + r) % m).unwrap()
    }

    #[test]
    fn powers_of_every_radix_fit_two_words() {
        for radix in 2..=65536u64 {
            let mut m = 1;
            while m * radix <= 1 << 32 {
                m *= radix;
                for subtract in [false, true] {
                    let residue = Residue::<2>::new(m, subtract).unwrap();
                    for a in [0, m - 1] {
                        for y in [u64::MAX, u64::MAX / m * m, u64::MAX / m * m - 1, m - 1, 0] {
                            let words = [y as u32, (y >> 32) as u32];
                            let expected = expected(a, y.into(), m, subtract);
                            assert_eq!(residue.mix(a, words), expected, "{m} {a} {y}");
                        }
                    }
                }
            }
        }
        assert!(Residue::<4>::new(1 << 30, false).is_some());
        let refused = |m| Residue::<4>::new(m, false).is_none();
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
            // Where a + y or a - y is near a multiple of m.
            let y = near.map_or(y, |d| {
                let multiple = y / u128::from(m) * u128::from(m);
                let sum = if subtract { u128::from(a) } else { u128::from(m - a) };
                multiple.saturating_add(sum).saturating_sub(1).saturating_add(d)
            });
            let word = |k: u32| (y >> (32 * k)) as u32;
            let four = Residue::<4>::new(m, subtract).unwrap();
            prop_assert_eq!(four.mix(a, [word(0), word(1), word(2), word(3)]), expected(a, y, m, subtract));
            let two = Residue::<2>::new(m, subtract).unwrap();
            prop_assert_eq!(two.mix(a, [word(0), word(1)]), expected(a, (y as u64).into(), m, subtract));
        }
    }
}
