//! Secrets of LWE samples: how they and their errors are drawn, and their products with matrices.

#![expect(
    clippy::cast_possible_wrap,
    reason = "words are cut to balanced halves"
)]

use rand_core::CryptoRng;
use sordino_lattice::matrix::scan::{CHUNK_ROWS, columns};
use sordino_lattice::matrix::{Small, Words};
use sordino_lattice::sample::gaussian::Sampler;
use sordino_lattice::sample::hedge::Hedge;
use sordino_lattice::sample::stream::{CHUNK, Stream};
use sordino_lattice::threads;
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use crate::lwe::Domain;
use crate::params::ERROR_BITS;
use crate::{Params, Protocol, Seed, Set};

/// The number of products below which the calling thread computes them alone, because waking another thread costs more.
const SHARED_WORDS: usize = 1 << 21;
/// The smallest number of words in a thread's chunk.
const CHUNK_WORDS: usize = 1 << 18;

/// The distributions of secrets and errors.
#[derive(Clone, Debug)]
pub(crate) enum Draw {
    /// Secrets and errors from one discrete Gaussian.
    Gaussian(Sampler),
    /// Secrets uniform mod `q`, errors uniform over [`ERROR_BITS`] bits.
    Uniform,
}

impl Draw {
    /// The distributions of a set.
    pub(crate) fn of(set: Set) -> Self {
        match set.gaussian() {
            Some((numerator, denominator)) => Self::Gaussian(Sampler::new(numerator, denominator)),
            None => Self::Uniform,
        }
    }

    /// The number of rows of 16 bits that a secret takes: a uniform entry is `low + 2^16 high`.
    const fn rows(&self) -> usize {
        match self {
            Self::Gaussian(_) => 1,
            Self::Uniform => 2,
        }
    }

    /// Fills every row of a secret, and an error.
    fn fill(&self, seed: &[u8; 32], secret: &mut [&mut [i16]], error: &mut [i16]) {
        let mut stream = Stream::new(seed, 0);
        match self {
            Self::Gaussian(sampler) => {
                secret
                    .iter_mut()
                    .for_each(|row| sampler.fill(&mut stream, row));
                sampler.fill(&mut stream, error);
            }
            Self::Uniform => {
                secret.iter_mut().for_each(|row| uniform(&mut stream, row));
                uniform(&mut stream, error);
                for e in error {
                    *e >>= i16::BITS - ERROR_BITS;
                }
            }
        }
    }
}

/// Uniform 16-bit integers.
fn uniform(stream: &mut Stream, out: &mut [i16]) {
    for out in out.chunks_mut(CHUNK / 2) {
        let (bytes, _) = stream.chunk(2 * out.len()).as_chunks();
        for (entry, bytes) in out.iter_mut().zip(bytes) {
            *entry = i16::from_le_bytes(*bytes);
        }
    }
}

/// `S`: `k` secrets of `n` entries. Zeroised on drop.
#[derive(Zeroize, ZeroizeOnDrop)]
pub(crate) struct Secrets {
    /// The number of rows of 16 bits for each secret.
    each: usize,
    rows: Small,
}

impl Secrets {
    /// An empty list of secrets.
    pub(crate) fn none() -> Self {
        Self {
            each: 1,
            rows: Small::zeroed(0, 0),
        }
    }

    /// One vector of whole words, as signed halves.
    pub(crate) fn from_words(words: &[u32]) -> Self {
        let mut rows = Small::zeroed(2, words.len());
        for (low, word) in rows.row_mut(0).iter_mut().zip(words) {
            *low = (word & 0xffff) as u16 as i16;
        }
        for (high, word) in rows.row_mut(1).iter_mut().zip(words) {
            *high = (word.wrapping_add(0x8000) >> 16) as u16 as i16;
        }
        Self { each: 2, rows }
    }

    /// Secret `t` alone.
    pub(crate) fn single(&self, t: usize) -> Self {
        Self {
            each: self.each,
            rows: self.rows.part(t * self.each..(t + 1) * self.each),
        }
    }

    /// Joins secrets of the same parameter set into one matrix.
    pub(crate) fn together(singles: &[&Self]) -> Self {
        let rows: Vec<_> = singles.iter().map(|single| &single.rows).collect();
        Self {
            each: singles.first().map_or(1, |single| single.each),
            rows: Small::together(&rows),
        }
    }

    /// `W S^T`: `k` words for every row of `W`, on all threads.
    pub(crate) fn product(&self, w: &Words) -> Vec<u32> {
        let mut out = product(w, &self.rows);
        if self.each == 2 {
            let k = out.len() / 2;
            for i in 0..k {
                out[i] = out[2 * i].wrapping_add(out[2 * i + 1] << 16);
            }
            out[k..].zeroize();
            out.truncate(k);
        }
        out
    }
}

/// The records that queries are about to ask for.
#[derive(Clone, Copy)]
pub(crate) enum Asked<'a> {
    /// The indices of the records.
    Records(&'a [usize]),
    /// The number of records, whose indices are not known yet.
    Later(usize),
}

/// A seed for the secret and the error of every query, so that threads can share the drawing. AES expands it several
/// times faster than the caller's generator gives bytes.
///
/// Each seed is a keyed hash of 32 bytes of the generator and of everything that the queries ask for. So a generator
/// that repeats itself does not repeat a secret for other records ([`Hedge`]). This also holds for a record at the same
/// position of two batches. Otherwise the batches would show at which positions they agree.
pub(crate) fn seeds<P: Protocol, R: CryptoRng + ?Sized>(
    rng: &mut R,
    domain: Domain,
    (params, a, version): (&Params<P>, &Seed, u64),
    asked: Asked<'_>,
) -> Zeroizing<Vec<[u8; 32]>> {
    let (count, indices) = match asked {
        Asked::Records(indices) => (indices.len(), indices),
        Asked::Later(count) => (count, [].as_slice()),
    };
    let params = params.to_bytes();
    let mut seeds = Zeroizing::new(vec![[0; 32]; count]);
    for (t, seed) in seeds.iter_mut().enumerate() {
        let hedge = Hedge::new(rng, "sordino-pir query")
            .field(&[domain as u8])
            .field(&params)
            .field(&a.0)
            .field(&version.to_le_bytes())
            .field(&(t as u64).to_le_bytes())
            .words(indices, |index| (*index as u64).to_le_bytes());
        *seed = hedge.seeds::<1>()[0];
    }
    seeds
}

/// A fresh secret from each seed, and `A s + e` for each of them: one pass over `A`.
pub(crate) fn masks(
    seeds: &[[u8; 32]],
    draw: &Draw,
    n: usize,
    a: &Words,
) -> (Secrets, Vec<Vec<u32>>) {
    let k = seeds.len();
    let mut s = Secrets {
        each: draw.rows(),
        rows: Small::zeroed(draw.rows() * k, n),
    };
    let mut e = Small::zeroed(k, a.rows());
    let mut rows: Vec<_> = s.rows.rows_mut().collect();
    let mut errors: Vec<_> = e.rows_mut().collect();
    if let ([seed], [error]) = (seeds, &mut errors[..]) {
        draw.fill(seed, &mut rows, error);
    } else {
        let each = rows.chunks_mut(draw.rows()).zip(&mut errors).zip(seeds);
        threads::for_each(
            each.collect(),
            || (),
            |(), _, ((s, e), seed)| draw.fill(seed, s, e),
        );
    }
    let mut masks = columns(&Zeroizing::new(s.product(a)), k);
    for (mask, e) in masks.iter_mut().zip(e.rows_mut()) {
        for (word, e) in mask.iter_mut().zip(e) {
            *word = word.wrapping_add(i32::from(*e).cast_unsigned());
        }
    }
    (s, masks)
}

/// `W S^T` for small numbers, on all threads.
pub(crate) fn product(w: &Words, s: &Small) -> Vec<u32> {
    let k = s.rows();
    let mut out = vec![0; w.rows() * k];
    if k == 0 {
        return out;
    }
    let rows = CHUNK_WORDS
        .div_ceil(k * s.row(0).len())
        .next_multiple_of(CHUNK_ROWS);
    let small = w.rows() * k * s.row(0).len() < SHARED_WORDS;
    if small || rows >= w.rows() || threads::count() == 1 {
        w.mul(0..w.rows(), s, &mut out);
    } else {
        let chunks = out.chunks_mut(rows * k).collect();
        threads::for_each(
            chunks,
            || (),
            |(), chunk, out: &mut [u32]| {
                let first = chunk * rows;
                w.mul(first..first + out.len() / k, s, out);
            },
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use sordino_lattice::matrix::Backend;

    use super::*;

    /// One uniform secret of `n` entries and an error of `m`.
    fn drawn(n: usize, m: usize) -> (Secrets, Vec<i16>) {
        let mut rows = Small::zeroed(2, n);
        let mut error = vec![0; m];
        let mut secret: Vec<_> = rows.rows_mut().collect();
        Draw::Uniform.fill(&[7; 32], &mut secret, &mut error);
        (Secrets { each: 2, rows }, error)
    }

    #[test]
    fn uniform_errors_are_uniform_over_their_bits() {
        let (secret, error) = drawn(3000, 1 << 17);
        let mut counts = [0u32; 1 << ERROR_BITS];
        for e in &error {
            counts[usize::try_from(e + 512).expect("at least -512")] += 1;
        }
        // Chi squared of 1023 degrees of freedom: 1023 on average, 45 to one standard deviation.
        let chi_squared: f64 = counts
            .iter()
            .map(|count| (f64::from(*count) - 128.0).powi(2) / 128.0)
            .sum();
        assert!((800.0..1250.0).contains(&chi_squared), "{chi_squared}");
        // Halves of a secret are independent 16-bit integers: every bit is set half of the time.
        for half in 0..2 {
            for bit in 0..16 {
                let ones = secret.rows.row(half).iter();
                let ones = ones.filter(|s| **s >> bit & 1 == 1).count();
                assert!((1350..1650).contains(&ones), "{half} {bit}: {ones}");
            }
        }
        assert_ne!(secret.rows.row(0), secret.rows.row(1));
    }

    #[test]
    fn uniform_secrets_give_whole_products() {
        let (n, rows) = (100, 37);
        let (secret, _) = drawn(n, 0);
        let word = |i: usize, j: usize| {
            u32::try_from(i * n + j + 1)
                .expect("few")
                .wrapping_mul(0x9E37_79B9)
        };
        let s = secret.rows.row(0).iter().zip(secret.rows.row(1));
        let s: Vec<_> = s
            .map(|(low, high)| i32::from(*low).wrapping_add(i32::from(*high) << 16))
            .map(i32::cast_unsigned)
            .collect();
        let expected: Vec<_> = (0..rows)
            .map(|i| {
                let products = s.iter().enumerate();
                products.fold(0u32, |sum, (j, s)| {
                    sum.wrapping_add(word(i, j).wrapping_mul(*s))
                })
            })
            .collect();
        for backend in Backend::available_with_tiles() {
            let w = Words::from_rows(backend, rows, n, |i, out| {
                for (j, out) in out.iter_mut().enumerate() {
                    *out = word(i, j);
                }
            });
            assert_eq!(secret.product(&w), expected, "{}", backend.name());
            let two = Secrets::together(&[&secret, &secret]);
            let twice: Vec<_> = expected.iter().flat_map(|word| [*word; 2]).collect();
            assert_eq!(two.product(&w), twice);
            assert_eq!(two.single(1).product(&w), expected);
            assert_eq!(Secrets::from_words(&s).product(&w), expected);
        }
    }
}
