//! Hashed routing: buckets by a keyed hash, so that no centroids are downloaded or scored.
//!
//! The hash of a vector is the nearest of as many vertices as there are buckets (`sordino-lsh`,
//! [`Vertices`](sordino_lsh::Vertices)): directions that every reader derives from its key, and that say nothing of the
//! data. A query's likeliest buckets are those of the vertices with the best scores, which makes its
//! probe sequence. Vertices take the place of centroids in everything else: a full bucket's vectors
//! go to the next best one, and second copies fill the places left.
//!
//! Vectors are hashed as differences to their mean: real data lie on one side of the sphere, where
//! most directions are far from all of them. The mean, one vector, is all that a client downloads.
//!
//! Vertices know nothing of where the data is dense, so this takes several times as many buckets as
//! centroids do for the same recall; the planner has the numbers.

use sordino_lsh::{Seed, Vertices};

use crate::vectors::{normalise, to_f32};
use crate::{Error, Vectors};

/// The mean of all vectors, relative to which they are hashed.
#[derive(Clone, Debug, PartialEq)]
pub struct Mean(Vec<f32>);

impl Mean {
    /// The mean of the rows of a matrix.
    #[must_use]
    pub fn of(data: &Vectors) -> Self {
        let mut sums = vec![0.0f64; data.dim()];
        for row in data.rows() {
            sums.iter_mut()
                .zip(row)
                .for_each(|(sum, x)| *sum += f64::from(*x));
        }
        let mean = sums.iter().map(|sum| to_f32(sum / data.len() as f64));
        Self(mean.collect())
    }

    /// The coordinates.
    #[must_use]
    pub fn as_slice(&self) -> &[f32] {
        &self.0
    }

    /// Coordinates in single precision, little-endian.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        self.0.iter().flat_map(|x| x.to_le_bytes()).collect()
    }

    /// Reads what [`Self::to_bytes`] wrote; `None` if it is not finite.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let coordinates = bytes.as_chunks().0.iter().copied().map(f32::from_le_bytes);
        let mean: Vec<f32> = coordinates.collect();
        mean.iter().all(|x| x.is_finite()).then_some(Self(mean))
    }

    /// The direction of `vector` as it is hashed. A vector that is the mean has none and stays as it
    /// is.
    #[must_use]
    pub fn centred(&self, vector: &[f32]) -> Vec<f32> {
        let mut centred: Vec<f32> = vector.iter().zip(&self.0).map(|(x, m)| x - m).collect();
        if !normalise(&mut centred) {
            centred.copy_from_slice(vector);
        }
        centred
    }

    /// The directions of all rows of a matrix.
    ///
    /// # Errors
    /// If a direction is not finite.
    pub fn centred_all(&self, data: &Vectors) -> Result<Vectors, Error> {
        let all = data.rows().flat_map(|row| self.centred(row)).collect();
        Ok(Vectors::new(data.dim(), all)?)
    }
}

/// The unit vertices of as many buckets, row by row.
///
/// # Errors
/// [`Error::TooLarge`] if there are more than the hash can have.
pub fn vertices(seed: Seed, dim: usize, buckets: usize) -> Result<Vectors, Error> {
    let shape = |_| Error::TooLarge { n: buckets, dim };
    let vertices = Vertices::new(dim, buckets, seed).map_err(shape)?;
    let mut directions = vertices.directions();
    for direction in directions.chunks_exact_mut(dim) {
        // In fewer dimensions than 64 a part of a rotation may lose nearly all of a row.
        if !normalise(direction) {
            direction.fill(0.0);
            direction[0] = 1.0;
        }
    }
    Ok(Vectors::new(dim, directions)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic;

    #[test]
    fn a_mean_reads_back_and_centres() {
        let (data, _) = synthetic::clustered(500, 1, 24, 4);
        let mean = Mean::of(&data);
        let bytes = mean.to_bytes();
        assert_eq!(bytes.len(), 24 * size_of::<f32>());
        assert_eq!(Mean::from_bytes(&bytes).unwrap(), mean);
        let centred = mean.centred_all(&data).unwrap();
        let length = |data: &Vectors| {
            let mean = Mean::of(data).0;
            mean.iter().map(|x| x * x).sum::<f32>().sqrt()
        };
        assert!(length(&centred) < 0.2 * length(&data));
        assert_eq!(mean.centred(&mean.0), mean.0);
        assert_eq!(Mean::from_bytes(&f32::NAN.to_le_bytes()), None);
    }

    #[test]
    fn vertices_are_unit_vectors_that_the_key_alone_says() {
        for (dim, count) in [(1, 5), (24, 300), (128, 512)] {
            let vertices_of = |seed| vertices(Seed([seed; 32]), dim, count).unwrap();
            let all = vertices_of(1);
            assert_eq!(all.len(), count);
            for row in all.rows() {
                assert!((row.iter().map(|x| x * x).sum::<f32>() - 1.0).abs() < 1e-4);
            }
            assert_eq!(all, vertices_of(1));
            assert!(dim == 1 || all != vertices_of(2));
        }
    }
}
