//! The centred binomial distribution with parameter 21: the error of every RLWE sample.

use super::stream::{CHUNK, Stream};

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;

/// Half the number of coins of one sample.
pub const ETA: u32 = 21;

/// The variance, `ETA / 2`. The standard deviation is 3.24, just above the 3.19 that the security estimates assume.
pub const VARIANCE: f64 = 10.5;

/// The number of samples from one 16-byte block of the stream.
const PER_BLOCK: usize = 3;

/// Fills `out` with independent samples in `-21..=21`.
///
/// A sum of 21 coins minus a sum of 21 others is the sum of all 42, with the others inverted, minus 21. So each sample
/// is the number of ones among 42 bits, minus 21. A block of the stream is two 64-bit words and gives three samples: from
/// the low 42 bits of each word, and from the top 21 bits of both. With `m = ceil(part.len() / 3)` for parts of at most
/// `3 CHUNK / 16` samples, block `i` gives samples `i`, `m + i` and `2m + i`. Constant-time.
pub fn fill(stream: &mut Stream, out: &mut [i8]) {
    for part in out.chunks_mut(PER_BLOCK * CHUNK / 16) {
        let blocks = part.len().div_ceil(PER_BLOCK);
        #[cfg(target_arch = "x86_64")]
        if let Some(token) = sordino_cpu::Avx512Popcnt::detect() {
            avx512::count(token, stream.chunk(16 * blocks), part);
            continue;
        }
        #[cfg(target_arch = "x86_64")]
        if let Some(token) = sordino_cpu::Avx2::detect() {
            avx2::count(token, stream.chunk(16 * blocks), part);
            continue;
        }
        count(stream.chunk(16 * blocks), part);
    }
}

#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "a bit count is at most 64")]
fn count(chunk: &[u8], samples: &mut [i8]) {
    const COINS: u64 = (1 << (2 * ETA)) - 1;
    const UNUSED: u32 = u64::BITS - ETA;
    let sample = |bits: u64| bits.count_ones().cast_signed() as i8 - ETA as i8;
    let (words, _) = chunk.as_chunks::<8>();
    let (blocks, _) = words.as_chunks::<2>();
    let (first, rest) = samples.split_at_mut(blocks.len().min(samples.len()));
    let (second, third) = rest.split_at_mut(blocks.len().min(rest.len()));
    for (out, [low, _]) in first.iter_mut().zip(blocks) {
        *out = sample(u64::from_le_bytes(*low) & COINS);
    }
    for (out, [_, high]) in second.iter_mut().zip(blocks) {
        *out = sample(u64::from_le_bytes(*high) & COINS);
    }
    for (out, [low, high]) in third.iter_mut().zip(blocks) {
        let tops =
            (u64::from_le_bytes(*low) >> UNUSED) << ETA | u64::from_le_bytes(*high) >> UNUSED;
        *out = sample(tops);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backends_agree() {
        let lens = [0, 1, 2, 3, 4, 5, 100, 767, 768, 769, 2048];
        // Under Miri only the lengths 0, 5 and 2048.
        for len in lens.into_iter().step_by(if cfg!(miri) { 5 } else { 1 }) {
            let mut found = vec![0; len];
            fill(&mut Stream::new(&[3; 32], 0), &mut found);
            let mut stream = Stream::new(&[3; 32], 0);
            let mut expected = vec![0; len];
            for part in expected.chunks_mut(PER_BLOCK * CHUNK / 16) {
                count(stream.chunk(16 * part.len().div_ceil(3)), part);
            }
            assert_eq!(found, expected);
            #[cfg(target_arch = "x86_64")]
            if let Some(token) = sordino_cpu::Avx2::detect() {
                let mut stream = Stream::new(&[3; 32], 0);
                let mut narrow = vec![0; len];
                for part in narrow.chunks_mut(PER_BLOCK * CHUNK / 16) {
                    let blocks = part.len().div_ceil(PER_BLOCK);
                    avx2::count(token, stream.chunk(16 * blocks), part);
                }
                assert_eq!(narrow, expected);
            }
        }
    }

    #[test]
    fn has_the_mean_variance_and_tails_of_the_binomial() {
        const SAMPLES: usize = 1 << 20;
        let mut samples = vec![0; SAMPLES];
        fill(&mut Stream::new(&[9; 32], 0), &mut samples);
        let mean = samples.iter().map(|&x| f64::from(x)).sum::<f64>() / SAMPLES as f64;
        let second = samples.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>() / SAMPLES as f64;
        // Allows five standard deviations of each estimate.
        assert!(
            mean.abs() < 5.0 * (VARIANCE / SAMPLES as f64).sqrt(),
            "{mean}"
        );
        assert!(
            (second - VARIANCE).abs() < 5.0 * VARIANCE * (2.0 / SAMPLES as f64).sqrt(),
            "{second}"
        );
        // P(|x| > 10) = 2 P(Binomial(42, 1/2) > 31) = 0.00117 (exact sum below).
        let mut choose = 1.0f64;
        let mut tail = 0.0;
        for k in 0..=10 {
            tail += choose;
            choose *= f64::from(42 - k) / f64::from(k + 1);
        }
        let tail = 2.0 * tail / 2f64.powi(42);
        let found = samples.iter().filter(|x| x.unsigned_abs() > 10).count() as f64;
        let expected = tail * SAMPLES as f64;
        assert!(
            (found - expected).abs() < 5.0 * expected.sqrt(),
            "{found} against {expected}"
        );
    }
}
