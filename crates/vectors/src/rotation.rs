//! A public random rotation, which is applied to vectors before they are quantised.
//!
//! Rounding errors are independent of the data only if all coordinates behave alike. Raw
//! descriptors are small integers divided by a common norm, and break every error model; rotated descriptors do not.
//! The rotation preserves all inner products, so it does not change the results
//! of a search.

use core::mem;

use chacha20::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};
use rayon::prelude::*;
use zeroize::Zeroizing;

use crate::Vectors;

/// The number of rounds of {signs, Hadamard, permutation}. One round leaves blocks unmixed if `dim`
/// is not a power of two. Three rounds mix every coordinate into every other.
const ROUNDS: usize = 3;

/// An orthogonal map of `dim` coordinates, derived from a seed.
#[derive(Clone, Debug)]
pub struct Rotation {
    rounds: Vec<Round>,
}

#[derive(Clone, Debug)]
struct Round {
    /// `1.0` or `-1.0` for each coordinate.
    signs: Vec<f32>,
    /// Coordinate `i` of the result is coordinate `order[i]` before.
    order: Vec<u32>,
}

impl Rotation {
    /// Derives the rotation from `seed`, which is public.
    ///
    /// # Panics
    /// Panics if `dim` does not fit 32 bits.
    #[must_use]
    pub fn new(dim: usize, seed: [u8; 32]) -> Self {
        let mut rng = ChaCha20Rng::from_seed(seed);
        let dim = u32::try_from(dim).expect("a dimension below 2^32");
        let rounds = (0..ROUNDS)
            .map(|_| {
                let signs = (0..dim).map(|_| if rng.next_u32() & 1 == 0 { 1.0 } else { -1.0 });
                let signs = signs.collect();
                let mut order: Vec<u32> = (0..dim).collect();
                for last in (1..order.len()).rev() {
                    order.swap(last, below(&mut rng, last + 1));
                }
                Round { signs, order }
            })
            .collect();
        Self { rounds }
    }

    /// Rotates every vector.
    ///
    /// # Panics
    /// Panics if their dimension is not the rotation's.
    #[must_use]
    pub fn apply_all(&self, vectors: &Vectors) -> Vectors {
        let dim = vectors.dim();
        // The memory is allocated once, since joining pieces would need twice as much.
        let mut data = vec![0.0; vectors.as_slice().len()];
        data.par_chunks_exact_mut(dim)
            .zip(vectors.as_slice().par_chunks_exact(dim))
            .for_each(|(rotated, row)| rotated.copy_from_slice(&self.apply(row)));
        Vectors::new(dim, data).expect("a rotation keeps a matrix's shape and finiteness")
    }

    /// Rotates one vector.
    ///
    /// # Panics
    /// Panics if its length is not the rotation's dimension.
    #[must_use]
    pub fn apply(&self, vector: &[f32]) -> Vec<f32> {
        let mut x = vector.to_vec();
        // The buffer is erased, so that no copy of a query remains.
        let mut next = Zeroizing::new(vec![0.0; x.len()]);
        for round in &self.rounds {
            assert_eq!(
                x.len(),
                round.signs.len(),
                "vector and rotation differ in dimension"
            );
            for (x, sign) in x.iter_mut().zip(&round.signs) {
                *x *= sign;
            }
            blocks(&mut x);
            for (next, &from) in next.iter_mut().zip(&round.order) {
                *next = x[from as usize];
            }
            mem::swap(&mut x, &mut *next);
        }
        x
    }
}

impl Rotation {
    /// Applies the inverse rotation to a vector.
    ///
    /// # Panics
    /// Panics if its length is not the rotation's dimension.
    #[must_use]
    pub fn undo(&self, rotated: &[f32]) -> Vec<f32> {
        let mut x = rotated.to_vec();
        for round in self.rounds.iter().rev() {
            assert_eq!(
                x.len(),
                round.signs.len(),
                "vector and rotation differ in dimension"
            );
            let mut before = vec![0.0; x.len()];
            for (&from, &x) in round.order.iter().zip(&x) {
                before[from as usize] = x;
            }
            // Each transform is its own inverse.
            blocks(&mut before);
            for (x, sign) in before.iter_mut().zip(&round.signs) {
                *x *= sign;
            }
            x = before;
        }
        x
    }
}

/// Transforms block after block.
fn blocks(x: &mut [f32]) {
    let mut rest = x;
    while !rest.is_empty() {
        // The block is the largest power of two that fits: 384 = 256 + 128.
        let (block, after) = rest.split_at_mut(1 << rest.len().ilog2());
        hadamard(block);
        rest = after;
    }
}

/// The orthonormal Walsh-Hadamard transform of a power-of-two length, in place.
fn hadamard(x: &mut [f32]) {
    let mut half = 1;
    while half < x.len() {
        for pair in x.chunks_exact_mut(2 * half) {
            let (low, high) = pair.split_at_mut(half);
            for (a, b) in low.iter_mut().zip(high) {
                (*a, *b) = (*a + *b, *a - *b);
            }
        }
        half *= 2;
    }
    let scale = 1.0 / crate::to_f32((x.len() as f64).sqrt());
    for x in x {
        *x *= scale;
    }
}

/// A uniform number below `bound` from public randomness, by rejection sampling.
///
/// # Panics
/// Panics if `bound` is 0.
pub fn below<R: Rng + ?Sized>(rng: &mut R, bound: usize) -> usize {
    let bound = bound as u64;
    let zone = u64::MAX - u64::MAX % bound;
    loop {
        let x = rng.next_u64();
        if x < zone {
            return usize::try_from(x % bound).expect("below a usize");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dot;

    #[test]
    fn inner_products_survive_in_every_dimension() {
        for dim in [1, 2, 3, 5, 96, 100, 127, 128, 384] {
            let rotation = Rotation::new(dim, [7; 32]);
            let a: Vec<f32> = (0..dim).map(|i| ((i * 37 % 11) as f32) - 4.0).collect();
            let b: Vec<f32> = (0..dim).map(|i| ((i * 53 % 7) as f32) - 3.0).collect();
            let (ra, rb) = (rotation.apply(&a), rotation.apply(&b));
            let tolerance = 1e-4 * dot(&a, &a).max(dot(&b, &b)).max(1.0);
            assert!((dot(&a, &b) - dot(&ra, &rb)).abs() < tolerance, "dim {dim}");
        }
    }

    #[test]
    fn one_coordinate_spreads_over_all() {
        for dim in [128, 384] {
            let mut unit = vec![0.0; dim];
            unit[dim - 1] = 1.0;
            let spread = Rotation::new(dim, [1; 32]).apply(&unit);
            let largest = spread.iter().fold(0.0f32, |m, x| m.max(x.abs()));
            assert!(largest < 0.45, "dim {dim}: {largest}");
        }
    }

    #[test]
    fn seeds_differ_and_repeat() {
        let x = vec![1.0f32; 64];
        let [a, b, c] = [[1; 32], [1; 32], [2; 32]].map(|seed| Rotation::new(64, seed).apply(&x));
        assert_eq!(a, b);
        assert_ne!(a, c);
    }
}
