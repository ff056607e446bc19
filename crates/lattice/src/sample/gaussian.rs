//! The discrete Gaussian over the integers, centred at 0, by inversion of its cumulative table.
//!
//! The probability of `x` is proportional to `rho(x) = exp(-x^2 / (2 sigma^2))`. `sigma` is the standard deviation, not
//! the width `s = sigma sqrt(2 pi)` of other texts. The table holds `T[k] = floor(2^128 P(|x| >= k))` for every `k >=
//! 1` for which that is not 0 (up to about 13 `sigma`). So a uniform 128-bit `u` gives `|x| = #{k : u < T[k]}`, and one
//! more bit gives the sign. The table is computed with integers only; its entries are within `2^-128` of the exact
//! values.
//!
//! # Security
//! The portable draw finds its block of 32 entries by comparing `u` with the last entry of every block. It copies that
//! block by reading all blocks under masks, and compares `u` with its 32 entries. Neither branches nor addresses nor
//! divisions depend on `u`. Comparisons are borrows of subtractions, since the compiler may turn `<` into branches.
//! `scripts/constant_time.sh` checks the compiled code. Samples and the randomness that they come from are secret. The
//! stream zeroises its own copy of that randomness.

use super::stream::{CHUNK, Stream};

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod fixed;
mod portable;

use fixed::Fixed;

/// The number of entries of a block of the table.
const BLOCK: usize = 32;
/// The number of samples that share one call of the stream, which is a chunk of the stream.
const BATCH: usize = CHUNK / 16;
/// Calls of the stream are rounded up to this number of samples. 64 blocks are encrypted together, and fewer blocks
/// would take the same time.
const STEP: usize = 64;

/// The cumulative table of one `sigma`.
#[derive(Clone)]
pub struct Sampler {
    /// The number of entries that are not 0.
    bound: usize,
    table: Vec<Block>,
    #[cfg(target_arch = "x86_64")]
    runs: Option<avx512::Runs>,
}

/// `T[32 b + 1], ..., T[32 b + 32]`, with high and low words in separate arrays.
#[derive(Clone, Copy)]
struct Block {
    high: [u64; BLOCK],
    low: [u64; BLOCK],
}

impl std::fmt::Debug for Sampler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sampler")
            .field("bound", &self.bound)
            .finish_non_exhaustive()
    }
}

impl Sampler {
    /// The table for `sigma = numerator / denominator`. It has about 13 `sigma` entries and takes about a millisecond,
    /// so keep it.
    ///
    /// # Panics
    /// Panics if `sigma` is not between 1 and 1024, or its numerator or denominator is above 32768.
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
        // tails[k - 1] = rho(k) + rho(k + 1) + ..., summed from the small end.
        let mut tails = Vec::with_capacity(densities.len());
        let mut tail = Fixed::ZERO;
        for density in densities.iter().skip(1).rev() {
            tail = tail.add(density);
            tails.push(tail);
        }
        tails.reverse();
        let total = densities[0].add(&tail).add(&tail);
        let mut sampler = Self {
            bound: 0,
            table: Vec::new(),
            #[cfg(target_arch = "x86_64")]
            runs: None,
        };
        for tail in tails {
            let (high, low) = tail.add(&tail).ratio(&total);
            if (high, low) == (0, 0) {
                break;
            }
            sampler.push(high, low);
        }
        // A last entry of 0 ends the search for every `u`.
        sampler.push(0, 0);
        sampler.bound -= 1;
        #[cfg(target_arch = "x86_64")]
        {
            sampler.runs = avx512::Runs::new(&sampler.table);
        }
        sampler
    }

    fn push(&mut self, high: u64, low: u64) {
        let at = self.bound % BLOCK;
        if at == 0 {
            self.table.push(Block {
                high: [0; BLOCK],
                low: [0; BLOCK],
            });
        }
        if let Some(block) = self.table.last_mut() {
            block.high[at] = high;
            block.low[at] = low;
        }
        self.bound += 1;
    }

    /// The largest absolute value of a sample.
    #[must_use]
    pub const fn bound(&self) -> usize {
        self.bound
    }

    /// `T[k] = floor(2^128 P(|x| >= k))`, for `k` from 1 to [`Self::bound`].
    ///
    /// # Panics
    /// Panics if `k` is outside of that range.
    #[must_use]
    pub fn tail(&self, k: usize) -> u128 {
        assert!((1..=self.bound).contains(&k), "no entry {k}");
        let block = &self.table[(k - 1) / BLOCK];
        let at = (k - 1) % BLOCK;
        u128::from(block.high[at]) << 64 | u128::from(block.low[at])
    }

    /// Fills `out` with independent samples, from 129 bits of the stream each. For each part of up to 256 samples it
    /// takes 128 bits for every sample, and then a bit for each sign.
    pub fn fill(&self, stream: &mut Stream, out: &mut [i16]) {
        for part in out.chunks_mut(BATCH) {
            let words = stream.chunk(16 * part.len().next_multiple_of(STEP));
            self.magnitudes(words, part);
        }
        for part in out.chunks_mut(8 * CHUNK) {
            let signs = stream.chunk(part.len().div_ceil(8));
            #[cfg(target_arch = "x86_64")]
            if let Some(token) = sordino_cpu::Avx512::detect() {
                avx512::negate(token, signs, part);
                continue;
            }
            portable::negate(signs, part);
        }
    }

    /// Computes magnitudes from 16 bytes each. `words` has whole steps.
    fn magnitudes(&self, words: &[u8], out: &mut [i16]) {
        #[cfg(target_arch = "x86_64")]
        if let (Some(token), Some(runs)) = (sordino_cpu::Avx512::detect(), &self.runs) {
            return runs.magnitudes(token, words, out);
        } else if let Some(token) = sordino_cpu::Avx2::detect() {
            return avx2::magnitudes(token, &self.table, words, out);
        }
        portable::magnitudes(&self.table, words, out);
    }
}

/// `rho(0), rho(1), ...` up to the last one above 0.
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
    use proptest::prelude::*;

    /// Values at, just below and just above entries, where a comparison can go wrong.
    fn edges(sampler: &Sampler, picks: &[(usize, i8)]) -> Vec<u8> {
        let values = picks.iter().map(|(k, offset)| {
            let entry = sampler.tail(1 + k % sampler.bound());
            let u = entry.wrapping_add_signed(i128::from(*offset % 2));
            let bytes = u.to_le_bytes();
            [&bytes[8..], &bytes[..8]].concat()
        });
        values.collect::<Vec<_>>().concat()
    }

    /// The numbers in `words`, shifted right by `shifts`, so that all lengths down to 0 occur.
    fn scaled(words: &[u8], shifts: &[u32]) -> Vec<u8> {
        let (words, _) = words.as_chunks::<16>();
        let values = words.iter().zip(shifts).map(|(word, shift)| {
            let u = u128::from_le_bytes(*word).checked_shr(*shift).unwrap_or(0);
            let bytes = u.to_le_bytes();
            [&bytes[8..], &bytes[..8]].concat()
        });
        values.collect::<Vec<_>>().concat()
    }

    proptest! {
        #[test]
        fn wide_draws_are_the_portable_ones(
            words in prop::collection::vec(any::<u8>(), 4 * STEP * 16),
            shifts in prop::collection::vec(0u32..129, 4 * STEP),
            signs in prop::collection::vec(any::<u8>(), STEP / 2),
            picks in prop::collection::vec(any::<(usize, i8)>(), 4 * STEP),
            len in 0..=4 * STEP,
        ) {
            let all = [(1, 1), (32, 1), (16, 1), (32, 5), (40, 1)];
            for sigma in all.into_iter().take(if cfg!(miri) { 1 } else { all.len() }) {
                let sampler = Sampler::new(sigma.0, sigma.1);
                for words in [&words, &scaled(&words, &shifts), &edges(&sampler, &picks)] {
                    let (mut expected, mut found) = (vec![0; len], vec![0; len]);
                    portable::magnitudes(&sampler.table, words, &mut expected);
                    if let Some(token) = sordino_cpu::Avx2::detect() {
                        avx2::magnitudes(token, &sampler.table, words, &mut found);
                        prop_assert_eq!(&found, &expected);
                    }
                    found.fill(0);
                    sampler.magnitudes(words, &mut found);
                    prop_assert_eq!(&found, &expected);
                    portable::negate(&signs, &mut expected);
                    if let Some(token) = sordino_cpu::Avx512::detect() {
                        avx512::negate(token, &signs, &mut found);
                        prop_assert_eq!(&found, &expected);
                    }
                }
            }
        }
    }

    #[test]
    fn every_entry_is_told_from_its_neighbours() {
        for sigma in [(32, 1), (16, 1), (32, 5), (11, 1), (2, 1)] {
            let sampler = Sampler::new(sigma.0, sigma.1);
            let picks: Vec<_> = (0..sampler.bound())
                .flat_map(|k| [(k, -1), (k, 0), (k, 1)])
                .collect();
            for picks in picks.chunks(STEP) {
                let mut words = edges(&sampler, picks);
                words.resize(16 * STEP, 0xff);
                let (mut expected, mut found) = ([0; STEP], [0; STEP]);
                portable::magnitudes(&sampler.table, &words, &mut expected);
                for ((k, offset), magnitude) in picks.iter().zip(expected) {
                    let entry = sampler.tail(k + 1);
                    let u = entry.wrapping_add_signed(i128::from(*offset));
                    let above = |k: &usize| u < sampler.tail(*k);
                    let count = (1..=sampler.bound()).take_while(above).count();
                    assert_eq!(usize::from(magnitude.unsigned_abs()), count, "{sigma:?}");
                }
                sampler.magnitudes(&words, &mut found);
                assert_eq!(found, expected, "{sigma:?}");
            }
        }
    }
}
