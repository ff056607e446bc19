//! A matrix of vectors, one per row.

use ndarray::ArrayView2;

use crate::Error;
use crate::arithmetic::normalise;

/// `len` vectors of `dim` finite coordinates each, row by row.
#[derive(Clone, PartialEq)]
pub struct Vectors {
    dim: usize,
    data: Vec<f32>,
}

/// Shows the numbers of rows and coordinates, and no coordinate: vectors may be secret.
impl std::fmt::Debug for Vectors {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Vectors({} x {})", self.len(), self.dim)
    }
}

impl Vectors {
    /// Takes `data` as rows of `dim` coordinates.
    ///
    /// # Errors
    /// Fails if `dim` is 0, if `data` is empty or not a multiple of `dim`, or if a coordinate is NaN or infinite.
    pub fn new(dim: usize, data: Vec<f32>) -> Result<Self, Error> {
        if dim == 0 || data.is_empty() {
            return Err(Error::NoVectors);
        }
        if !data.len().is_multiple_of(dim) {
            return Err(Error::RaggedMatrix {
                values: data.len(),
                dim,
            });
        }
        if let Some(at) = data.iter().position(|x| !x.is_finite()) {
            return Err(Error::NotFinite {
                row: at / dim,
                column: at % dim,
            });
        }
        Ok(Self { dim, data })
    }

    /// The number of vectors.
    #[must_use]
    pub fn len(&self) -> usize {
        self.data.len() / self.dim
    }

    /// Always false, since there is at least one vector. It exists because Rust's conventions expect it next
    /// to `len`.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.data.is_empty()
    }

    /// The number of coordinates of each vector.
    #[must_use]
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// Vector `index`.
    ///
    /// # Panics
    /// Panics if `index` is not below [`len`](Self::len).
    #[must_use]
    pub fn row(&self, index: usize) -> &[f32] {
        &self.data[index * self.dim..(index + 1) * self.dim]
    }

    /// The vectors in order.
    #[must_use]
    pub fn rows(&self) -> impl ExactSizeIterator<Item = &[f32]> {
        self.data.chunks_exact(self.dim)
    }

    /// All coordinates, row by row.
    #[must_use]
    pub fn as_slice(&self) -> &[f32] {
        &self.data
    }

    /// All coordinates, row by row, in the memory that held the matrix.
    #[must_use]
    pub fn into_vec(self) -> Vec<f32> {
        self.data
    }

    /// The first `len` vectors, or all of them if there are fewer.
    ///
    /// # Errors
    /// Fails if `len` is 0.
    pub fn truncated(mut self, len: usize) -> Result<Self, Error> {
        self.data.truncate(len.saturating_mul(self.dim));
        Self::new(self.dim, self.data)
    }

    /// Scales every vector to unit length, so that an inner product is a cosine.
    ///
    /// # Errors
    /// Fails if a vector is zero: it has no direction.
    pub fn normalised(mut self) -> Result<Self, Error> {
        for (row, vector) in self.data.chunks_exact_mut(self.dim).enumerate() {
            if !normalise(vector) {
                return Err(Error::ZeroVector { row });
            }
        }
        Ok(self)
    }

    /// Rows `range` as a matrix view with one vector in each row.
    ///
    /// # Panics
    /// Panics if `range` is not within the rows.
    #[must_use]
    pub fn view(&self, range: std::ops::Range<usize>) -> ArrayView2<'_, f32> {
        let data = &self.data[range.start * self.dim..range.end * self.dim];
        ArrayView2::from_shape((range.len(), self.dim), data).expect("a slice of whole rows")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_are_checked() {
        assert!(matches!(Vectors::new(0, vec![1.0]), Err(Error::NoVectors)));
        assert!(matches!(Vectors::new(3, vec![]), Err(Error::NoVectors)));
        assert!(matches!(
            Vectors::new(3, vec![1.0; 4]),
            Err(Error::RaggedMatrix { values: 4, dim: 3 })
        ));
        assert!(matches!(
            Vectors::new(2, vec![0.0, 1.0, f32::NAN, 2.0]),
            Err(Error::NotFinite { row: 1, column: 0 })
        ));
        let two = Vectors::new(2, vec![3.0, 4.0, 0.0, 0.0]).unwrap();
        assert_eq!((two.len(), two.dim(), two.row(0)), (2, 2, &[3.0, 4.0][..]));
        assert!(matches!(
            two.normalised(),
            Err(Error::ZeroVector { row: 1 })
        ));
    }
}
