//! The discrete Gaussian over the integers, centred at 0, by inversion of its cumulative table.
//!
//! The probability of `x` is proportional to `rho(x) = exp(-x^2 / (2 sigma^2))`; `sigma` is the
//! standard deviation, not the width `s = sigma sqrt(2 pi)` of other texts. The table holds
//! `T[k] = floor(2^128 P(|x| >= k))` for every `k >= 1` for which that is not 0 (beyond 13 `sigma`
//! nothing is left), so a uniform 128-bit `u` gives `|x| = #{k : u < T[k]}`, and one more bit the
//! sign. The table is computed with integers only; its entries are within `2^-128` of the truth.
//!
//! # Security
//! A draw makes the same comparisons whatever `u` is (with every entry of the table, or, with
//! AVX-512, in two steps): neither branches nor addresses nor divisions depend on it. Samples and the randomness behind them are secret; the
//! buffers used here are zeroised.

use rand_core::CryptoRng;
use zeroize::Zeroize;

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod fixed;
mod portable;

use fixed::Fixed;

/// Samples that one pass over the table serves.
pub(crate) const BLOCK: usize = 16;

/// One block of 128-bit uniform values, high and low words apart.
struct Uniform {
    high: [u64; BLOCK],
    low: [u64; BLOCK],
}

/// The cumulative table of one `sigma`.
#[derive(Clone, Debug)]
pub struct Sampler {
    /// `T[1], T[2], ...`, high and low words.
    table: Vec<(u64, u64)>,
    #[cfg(target_arch = "x86_64")]
    segments: avx512::Segments,
}

impl Sampler {
    /// The table for `sigma = numerator / denominator`: about 13 `sigma` entries, computed in about
    /// a millisecond. Keep it.
    ///
    /// # Panics
    /// If `sigma` is not between 1 and 1024, or its terms are above 32768.
    #[must_use]
    pub fn new(numerator: u32, denominator: u32) -> Self {
        assert!(
            denominator > 0 && numerator >= denominator && numerator <= 1024 * denominator,
            "sigma {numerator}/{denominator} is not between 1 and 1024"
        );
        assert!(
            numerator <= 1 << 15 && denominator <= 1 << 15,
            "sigma in lowest terms"
        );
        let densities = densities(numerator, denominator);
        // tails[k - 1] = rho(k) + rho(k + 1) + ...: summed from the small end.
        let mut tails = Vec::with_capacity(densities.len());
        let mut tail = Fixed::ZERO;
        for density in densities.iter().skip(1).rev() {
            tail = tail.add(density);
            tails.push(tail);
        }
        tails.reverse();
        let total = densities[0].add(&tail).add(&tail);
        let table = tails.iter().map(|tail| tail.add(tail).ratio(&total));
        let table: Vec<_> = table.take_while(|entry| *entry != (0, 0)).collect();
        Self {
            #[cfg(target_arch = "x86_64")]
            segments: avx512::Segments::new(&table),
            table,
        }
    }

    /// The largest magnitude that can be drawn.
    #[must_use]
    pub fn bound(&self) -> usize {
        self.table.len()
    }

    /// `T[k] = floor(2^128 P(|x| >= k))`, for `k` from 1 to [`Self::bound`].
    #[must_use]
    pub fn tail(&self, k: usize) -> u128 {
        let (high, low) = self.table[k - 1];
        u128::from(high) << 64 | u128::from(low)
    }

    /// Fills `out` with independent samples, from 129 random bits each.
    pub fn fill<R: CryptoRng + ?Sized>(&self, rng: &mut R, out: &mut [i16]) {
        let mut uniform = Uniform {
            high: [0; BLOCK],
            low: [0; BLOCK],
        };
        let mut bytes = [0; BLOCK * 16 + BLOCK / 8];
        let mut counts = [0; BLOCK];
        for out in out.chunks_mut(BLOCK) {
            rng.fill_bytes(&mut bytes);
            let (words, signs) = bytes.split_at(BLOCK * 16);
            let (words, _) = words.as_chunks::<8>();
            for (i, pair) in words.chunks_exact(2).enumerate() {
                uniform.high[i] = u64::from_le_bytes(pair[0]);
                uniform.low[i] = u64::from_le_bytes(pair[1]);
            }
            self.magnitudes(&uniform, &mut counts);
            for (i, (out, count)) in out.iter_mut().zip(counts).enumerate() {
                let sign = -i16::from(signs[i / 8] >> (i % 8) & 1);
                *out = (count ^ sign).wrapping_sub(sign);
            }
        }
        uniform.high.zeroize();
        uniform.low.zeroize();
        bytes.zeroize();
        counts.zeroize();
    }

    /// `|x|` for every value of a block.
    fn magnitudes(&self, uniform: &Uniform, counts: &mut [i16; BLOCK]) {
        #[cfg(target_arch = "x86_64")]
        if let Some(token) = sordino_cpu::Avx512::detect() {
            return avx512::magnitudes(token, &self.segments, uniform, counts);
        } else if let Some(token) = sordino_cpu::Avx2::detect() {
            return avx2::magnitudes(token, &self.table, uniform, counts);
        }
        portable::magnitudes(&self.table, uniform, counts);
    }
}

/// `rho(0), rho(1), ...` until nothing is left of it.
fn densities(numerator: u32, denominator: u32) -> Vec<Fixed> {
    // g = exp(-1 / (2 sigma^2)); rho(k + 1) = rho(k) g^(2 k + 1).
    let g = Fixed::exp_minus(denominator * denominator, numerator * numerator);
    let g_squared = g.mul(&g);
    let mut densities = vec![Fixed::ONE];
    let (mut density, mut step) = (Fixed::ONE, g);
    loop {
        density = density.mul(&step);
        step = step.mul(&g_squared);
        if density == Fixed::ZERO {
            return densities;
        }
        densities.push(density);
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    /// Every backend against the definition, on both sides of every entry of the table.
    #[test]
    fn backends_equal_the_definition() {
        for (numerator, denominator) in [(32, 1), (16, 1), (32, 5), (11, 1), (1, 1), (1000, 1)] {
            let sampler = Sampler::new(numerator, denominator);
            let edges = (1..=sampler.bound()).flat_map(|k| {
                let tail = sampler.tail(k);
                [tail - 1, tail, tail + 1]
            });
            let mut values: Vec<u128> = edges.chain([0, u128::MAX]).collect();
            values.resize(values.len().next_multiple_of(BLOCK), 1 << 127);
            for block in values.chunks(BLOCK) {
                let mut uniform = Uniform {
                    high: [0; BLOCK],
                    low: [0; BLOCK],
                };
                for (i, value) in block.iter().enumerate() {
                    let bytes = value.to_le_bytes();
                    let (words, _) = bytes.as_chunks();
                    uniform.low[i] = u64::from_le_bytes(words[0]);
                    uniform.high[i] = u64::from_le_bytes(words[1]);
                }
                let mut expected = [0; BLOCK];
                portable::magnitudes(&sampler.table, &uniform, &mut expected);
                let mut found = [-1; BLOCK];
                if let Some(token) = sordino_cpu::Avx512::detect() {
                    avx512::magnitudes(token, &sampler.segments, &uniform, &mut found);
                    assert_eq!(found, expected, "avx512");
                }
                if let Some(token) = sordino_cpu::Avx2::detect() {
                    avx2::magnitudes(token, &sampler.table, &uniform, &mut found);
                    assert_eq!(found, expected, "avx2");
                }
            }
        }
    }
}
