//! The mean relative to which routed mode compares vectors.
//!
//! Real vectors lie on one side of the sphere, so most directions are far from all of them. The differences of the vectors
//! to their mean point in all directions.

use crate::vectors::{normalise, to_f32};
use sordino_index::Error;
use sordino_vectors::Vectors;

/// The mean of all vectors. Vectors are compared relative to it.
#[derive(Clone, Debug, PartialEq)]
pub struct Mean(Vec<f32>);

impl Mean {
    /// The mean of some vectors of `dim` coordinates.
    #[must_use]
    pub fn of(dim: usize, vectors: impl IntoIterator<Item = impl AsRef<[f32]>>) -> Self {
        let (mut sums, mut count) = (vec![0.0f64; dim], 0u64);
        for vector in vectors {
            let both = sums.iter_mut().zip(vector.as_ref());
            both.for_each(|(sum, x)| *sum += f64::from(*x));
            count += 1;
        }
        let mean = sums.iter().map(|sum| to_f32(sum / count as f64));
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

    /// Reads what [`Self::to_bytes`] wrote. `None` if a number is not finite.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let coordinates = bytes.as_chunks().0.iter().copied().map(f32::from_le_bytes);
        let mean: Vec<f32> = coordinates.collect();
        mean.iter().all(|x| x.is_finite()).then_some(Self(mean))
    }

    /// The direction of `vector` relative to the mean. A vector that equals the mean has no direction, and stays unchanged.
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
    /// Fails if a direction is not finite.
    pub fn centred_all(&self, data: &Vectors) -> Result<Vectors, Error> {
        let all = data.rows().flat_map(|row| self.centred(row)).collect();
        Ok(Vectors::new(data.dim(), all)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic;

    #[test]
    fn a_mean_reads_back_and_centres() {
        let (data, _) = synthetic::clustered(500, 1, 24, 4);
        let mean = Mean::of(24, data.rows());
        let bytes = mean.to_bytes();
        assert_eq!(bytes.len(), 24 * size_of::<f32>());
        assert_eq!(Mean::from_bytes(&bytes).unwrap(), mean);
        let centred = mean.centred_all(&data).unwrap();
        let length = |data: &Vectors| {
            let mean = Mean::of(24, data.rows()).0;
            mean.iter().map(|x| x * x).sum::<f32>().sqrt()
        };
        assert!(length(&centred) < 0.2 * length(&data));
        assert_eq!(mean.centred(&mean.0), mean.0);
        assert_eq!(Mean::from_bytes(&f32::NAN.to_le_bytes()), None);
    }
}
