//! Cross-polytope hashing with many rotations at once. The hash of a vector is the nearest of all their vertices.
//! Andoni et al. 2015 join the vertices of several rotations to one key. The union here has one key for each
//! vertex, and a vector has a score for every key. So the likeliest keys of a query are the keys with the best
//! scores.

use crate::error::check_floats;
use crate::kernels::Kernels;
use crate::rotation::Rotation;
use crate::simhash::{MAX_DIM, Scratch};
use crate::{Error, Seed};

/// The largest number of vertices.
const MOST: usize = 1 << 20;

/// `count` vertices `+-R e_j` of random rotations `R`, as a hash with `count` values.
///
/// # Security
/// Anyone who knows the seed and sees a key learns where the vector is. This holds for every hash of this crate.
///
/// # Examples
/// ```
/// use sordino_lsh::{Scratch, Seed, Vertices};
///
/// let vertices = Vertices::new(3, 16, Seed([7; 32]))?;
/// let (mut scratch, mut scores) = (Scratch::default(), [0.0; 16]);
/// vertices.scores(&[1.0, 2.0, 3.0], &mut scratch, &mut scores)?;
/// // Opposite vertices have opposite scores.
/// assert_eq!(scores[0], -scores[1]);
/// # Ok::<(), sordino_lsh::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Vertices {
    dim: usize,
    count: usize,
    rotation: Rotation,
}

impl Vertices {
    /// `count` vertices, from 1 to 2^20, for vectors of `dim` floats, from 1 to 8194.
    ///
    /// # Errors
    /// [`Error::Dim`] if `dim` is not from 1 to 8194. [`Error::Functions`] if `count` is not from 1 to 2^20.
    pub fn new(dim: usize, count: usize, seed: Seed) -> Result<Self, Error> {
        if !(1..=MAX_DIM).contains(&dim) {
            return Err(Error::Dim {
                found: dim,
                most: MAX_DIM,
            });
        }
        if !(1..=MOST).contains(&count) {
            return Err(Error::Functions {
                tables: 1,
                functions: count,
                most: MOST,
            });
        }
        let copies = count.div_ceil(2 * Rotation::size(dim));
        Ok(Self {
            dim,
            count,
            rotation: Rotation::new(seed, dim, copies),
        })
    }

    /// The number of floats of a vector.
    #[must_use]
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// The number of vertices.
    #[must_use]
    pub fn count(&self) -> usize {
        self.count
    }

    /// The score of every vertex. A vertex that is nearer to the vector's direction has a larger score. Vertices
    /// `2 j` and `2 j + 1` are opposite.
    ///
    /// # Errors
    /// [`Error::Floats`] if `x` does not have `dim` floats, or `scores` does not have `count`.
    pub fn scores(
        &self,
        x: &[f32],
        scratch: &mut Scratch,
        scores: &mut [f32],
    ) -> Result<(), Error> {
        check_floats(x, self.dim)?;
        check_floats(scores, self.count)?;
        self.scores_of(x, scratch, scores);
        Ok(())
    }

    fn scores_of(&self, x: &[f32], scratch: &mut Scratch, scores: &mut [f32]) {
        self.rotation
            .apply(Kernels::detect(), x, &mut scratch.values);
        for (pair, value) in scores.chunks_mut(2).zip(&scratch.values) {
            pair[0] = *value;
            if let Some(opposite) = pair.get_mut(1) {
                *opposite = -value;
            }
        }
    }

    /// The vertices themselves, `count x dim` floats. Their lengths differ, unless `dim` is a power of two and at
    /// least 64.
    #[must_use]
    pub fn directions(&self) -> Vec<f32> {
        let (mut scratch, mut scores) = (Scratch::default(), vec![0.0; self.count]);
        let mut directions = vec![0.0; self.count * self.dim];
        let mut unit = vec![0.0; self.dim];
        for axis in 0..self.dim {
            unit[axis] = 1.0;
            self.scores_of(&unit, &mut scratch, &mut scores);
            unit[axis] = 0.0;
            for (direction, score) in directions.chunks_exact_mut(self.dim).zip(&scores) {
                direction[axis] = *score;
            }
        }
        directions
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dot(a: &[f32], b: &[f32]) -> f32 {
        a.iter().zip(b).map(|(a, b)| a * b).sum()
    }

    #[test]
    fn scores_are_products_with_the_directions() {
        for (dim, count) in [(1, 1), (3, 16), (64, 128), (100, 777), (128, 512)] {
            let vertices = Vertices::new(dim, count, Seed([3; 32])).unwrap();
            let directions = vertices.directions();
            assert_eq!(directions.len(), count * dim);
            let x: Vec<f32> = (0..dim).map(|i| (i as f32 * 1.7).sin()).collect();
            let (mut scratch, mut scores) = (Scratch::default(), vec![0.0; count]);
            vertices.scores(&x, &mut scratch, &mut scores).unwrap();
            let largest = scores
                .iter()
                .fold(0.0_f32, |most, score| most.max(score.abs()));
            for (direction, score) in directions.chunks_exact(dim).zip(&scores) {
                assert!((dot(direction, &x) - score).abs() <= 1e-4 * largest);
            }
        }
    }

    #[test]
    fn vertices_of_one_rotation_are_orthogonal_and_others_are_not() {
        let vertices = Vertices::new(64, 256, Seed([5; 32])).unwrap();
        let directions = vertices.directions();
        let at = |i: usize| &directions[i * 64..][..64];
        let length = dot(at(0), at(0));
        for i in (2..128).step_by(2) {
            assert!(dot(at(0), at(i)).abs() < 1e-4 * length);
            assert_eq!(at(i), at(i + 1).iter().map(|x| -x).collect::<Vec<_>>());
        }
        assert!((128..256).any(|i| dot(at(0), at(i)).abs() > 0.1 * length));
    }

    #[test]
    fn shapes_out_of_range_are_refused() {
        let new = |dim, count| Vertices::new(dim, count, Seed([1; 32])).map(|_| ());
        assert!(matches!(new(0, 8), Err(Error::Dim { .. })));
        assert!(matches!(new(MAX_DIM + 1, 8), Err(Error::Dim { .. })));
        assert!(matches!(new(8, 0), Err(Error::Functions { .. })));
        assert!(matches!(new(8, MOST + 1), Err(Error::Functions { .. })));
    }
}
