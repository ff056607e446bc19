//! Generated sets of vectors and texts, so that an example needs no file.

use chacha20::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};

use crate::Vectors;
use crate::to_f32;

/// `len` vectors drawn uniformly from the unit sphere.
///
/// These vectors have no clusters: a query's true neighbours are spread over all parts. So a search that reads only
/// some parts cannot find most neighbours.
///
/// # Panics
/// Panics if `len` or `dim` is 0.
#[must_use]
pub fn uniform(len: usize, dim: usize, seed: u64) -> Vectors {
    let mut normal = Normal::new(seed);
    let data = (0..len * dim).map(|_| normal.draw()).collect();
    unit(dim, data)
}

/// `len` vectors in clusters with power-law sizes and low intrinsic dimension, like embeddings of real data. These are
/// the base vectors; `queries` more vectors come from the same clusters.
///
/// A cluster has a centre, 12 nearly orthonormal directions with falling weights, and a little isotropic noise.
/// Cluster `i` has a share of the vectors proportional to 1/(i + 10).
///
/// # Panics
/// Panics if `len`, `queries` or `dim` is 0.
#[must_use]
pub fn clustered(len: usize, queries: usize, dim: usize, seed: u64) -> (Vectors, Vectors) {
    const CLUSTERS: usize = 400;
    const DIRECTIONS: usize = 12;
    let mut normal = Normal::new(seed);
    let scale = 1.0 / to_f32((dim as f64).sqrt());
    let mut directions = |count: usize, length: f32| -> Vec<f32> {
        (0..count * dim)
            .map(|_| normal.draw() * scale * length)
            .collect()
    };
    // The centres share half their direction, as in embeddings, where a corpus has a nonzero mean.
    let mean = directions(1, 0.7);
    let clusters: Vec<(Vec<f32>, Vec<f32>)> = (0..CLUSTERS)
        .map(|_| {
            let centre = directions(1, 0.7)
                .iter()
                .zip(&mean)
                .map(|(x, m)| x + m)
                .collect();
            let frame =
                (1..=DIRECTIONS).flat_map(|i| directions(1, 0.45 / to_f32((i as f64).sqrt())));
            (centre, frame.collect())
        })
        .collect();
    let weights: Vec<f64> = (0..CLUSTERS).map(|i| 1.0 / (i as f64 + 10.0)).collect();
    let total: f64 = weights.iter().sum();

    let mut draw = |count: usize| {
        let mut data = Vec::with_capacity(count * dim);
        for _ in 0..count {
            let mut at = normal.uniform() * total;
            let cluster = weights.iter().position(|w| {
                at -= w;
                at < 0.0
            });
            let (centre, frame) = &clusters[cluster.unwrap_or(CLUSTERS - 1)];
            let mut x: Vec<f32> = centre
                .iter()
                .map(|c| c + normal.draw() * scale * 0.12)
                .collect();
            for direction in frame.chunks_exact(dim) {
                let along = normal.draw();
                x.iter_mut()
                    .zip(direction)
                    .for_each(|(x, d)| *x += along * d);
            }
            data.extend(x);
        }
        unit(dim, data)
    };
    let base = draw(len);
    (base, draw(queries))
}

/// `len` texts whose lengths and redundancy resemble natural text passages. Half have up to 20 words, and one in a
/// hundred has more than 100. The words follow Zipf's law and have no meaning.
#[must_use]
pub fn texts(len: usize, seed: u64) -> Vec<String> {
    const WORDS: f64 = 8192.0;
    const LONGEST: f64 = 500.0;
    let mut normal = Normal::new(seed);
    let text = |_| {
        // The lengths are log-normal.
        let words = (3.0 + 0.7 * f64::from(normal.draw())).exp().min(LONGEST);
        let mut text = String::new();
        for _ in 0..whole(words).max(1) {
            if !text.is_empty() {
                text.push(' ');
            }
            write_word(whole(WORDS.powf(normal.uniform())) - 1, &mut text);
        }
        text.push('.');
        text
    };
    (0..len).map(text).collect()
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a small number that is not negative"
)]
fn whole(number: f64) -> usize {
    number as usize
}

/// Appends the word of this rank; frequent words are short.
fn write_word(rank: usize, text: &mut String) {
    const STARTS: [&str; 16] = [
        "b", "d", "f", "g", "k", "l", "m", "n", "p", "r", "s", "t", "v", "st", "th", "w",
    ];
    const ENDS: [&str; 8] = ["a", "e", "i", "o", "u", "an", "er", "ing"];
    let mut rest = rank;
    loop {
        text.push_str(STARTS[rest % STARTS.len()]);
        text.push_str(ENDS[rest / STARTS.len() % ENDS.len()]);
        rest /= STARTS.len() * ENDS.len();
        if rest == 0 {
            return;
        }
        // Digits count from 0. Ranks with more syllables begin after all ranks with fewer.
        rest -= 1;
    }
}

fn unit(dim: usize, data: Vec<f32>) -> Vectors {
    let vectors = Vectors::new(dim, data).and_then(Vectors::normalised);
    vectors.expect("finite vectors, none of them zero")
}

/// Standard normal numbers by the Box-Muller transform, from a fixed seed.
struct Normal {
    rng: ChaCha20Rng,
    spare: Option<f32>,
}

impl Normal {
    fn new(seed: u64) -> Self {
        Self {
            rng: ChaCha20Rng::seed_from_u64(seed),
            spare: None,
        }
    }

    /// Uniform in (0, 1).
    fn uniform(&mut self) -> f64 {
        ((self.rng.next_u64() >> 12) as f64 + 0.5) / (1u64 << 52) as f64
    }

    fn draw(&mut self) -> f32 {
        self.spare.take().unwrap_or_else(|| {
            let radius = (-2.0 * self.uniform().ln()).sqrt();
            let (sin, cos) = (std::f64::consts::TAU * self.uniform()).sin_cos();
            self.spare = Some(to_f32(radius * sin));
            to_f32(radius * cos)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dot;
    use crate::recall;

    #[test]
    fn sets_are_unit_length_and_repeatable() {
        let a = uniform(50, 24, 1);
        assert_eq!(a, uniform(50, 24, 1));
        assert_ne!(a, uniform(50, 24, 2));
        let (base, queries) = clustered(50, 7, 24, 1);
        assert_eq!((base.len(), queries.len()), (50, 7));
        for vector in a.rows().chain(base.rows()).chain(queries.rows()) {
            assert!((dot(vector, vector) - 1.0).abs() < 1e-5);
        }
    }

    #[test]
    fn texts_are_repeatable_and_their_lengths_spread() {
        let made = texts(4000, 1);
        assert_eq!(made, texts(4000, 1));
        assert_ne!(made, texts(4000, 2));
        let mut lens: Vec<usize> = made.iter().map(String::len).collect();
        lens.sort_unstable();
        assert!((60..160).contains(&lens[2000]), "{}", lens[2000]);
        assert!((300..900).contains(&lens[3960]), "{}", lens[3960]);
        let words = (0..8192).map(|rank| {
            let mut word = String::new();
            write_word(rank, &mut word);
            word
        });
        let different: std::collections::HashSet<String> = words.collect();
        assert!(different.len() > 8000, "{}", different.len());
    }

    #[test]
    fn the_clustered_set_has_near_neighbours_and_the_uniform_one_has_not() {
        let nearest = |base: &Vectors, queries: &Vectors| {
            let truth = recall::exact(base, queries, 1);
            let cosines =
                (0..queries.len()).map(|q| dot(queries.row(q), base.row(truth.of(q)[0] as usize)));
            cosines.sum::<f32>() / queries.len() as f32
        };
        let (base, queries) = clustered(4000, 20, 128, 3);
        assert!(nearest(&base, &queries) > 0.75);
        assert!(nearest(&uniform(4000, 128, 3), &uniform(20, 128, 4)) < 0.5);
    }
}
