//! A matrix of vectors, one per row, and the file formats it is read from.

use std::path::Path;

use ndarray::ArrayView2;

use crate::Error;

pub mod ids;
pub mod npy;
pub mod texmex;

mod bin;
mod element;
mod reader;
mod rows;
#[cfg(feature = "arrow")]
mod table;

pub use reader::{Chunk, ColumnNames, Format, Reader};

/// `len` vectors of `dim` finite coordinates each, row by row.
#[derive(Clone, Debug, PartialEq)]
pub struct Vectors {
    dim: usize,
    data: Vec<f32>,
}

impl Vectors {
    /// Takes `data` as rows of `dim` coordinates.
    ///
    /// # Errors
    /// If `dim` is 0, the matrix is empty or ragged, or a coordinate is NaN or infinite.
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

    /// Reads a whole file, in the format of its extension: see [`Format`].
    ///
    /// # Errors
    /// If the file cannot be read, its format is not one of these, its length contradicts its
    /// header, or it holds no vector or a value that is not finite.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        Self::collect(Reader::open(path)?).map_err(|error| error.in_file(path))
    }

    /// Reads the bytes of a whole file.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn from_bytes(format: Format, bytes: Vec<u8>) -> Result<Self, Error> {
        Self::collect(Reader::from_bytes(format, bytes)?)
    }

    /// All that is left of a file.
    ///
    /// # Errors
    /// As the reader's, and if nothing is left.
    pub fn collect(reader: Reader) -> Result<Self, Error> {
        let dim = reader.dim();
        let mut data = Vec::new();
        for chunk in reader {
            data.extend_from_slice(chunk?.vectors.as_slice());
        }
        Self::new(dim, data)
    }

    /// The number of vectors.
    #[must_use]
    pub fn len(&self) -> usize {
        self.data.len() / self.dim
    }

    /// Never: a matrix holds at least one vector. Beside `len` because readers expect it.
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
    /// If `index` is not below [`len`](Self::len).
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

    /// The first `len` vectors, or all of them if there are fewer.
    ///
    /// # Errors
    /// If `len` is 0.
    pub fn truncated(mut self, len: usize) -> Result<Self, Error> {
        self.data.truncate(len.saturating_mul(self.dim));
        Self::new(self.dim, self.data)
    }

    /// Scales every vector to unit length, so that an inner product is a cosine.
    ///
    /// # Errors
    /// If a vector is zero: it has no direction.
    pub fn normalised(mut self) -> Result<Self, Error> {
        for (row, vector) in self.data.chunks_exact_mut(self.dim).enumerate() {
            if !normalise(vector) {
                return Err(Error::ZeroVector { row });
            }
        }
        Ok(self)
    }

    /// Rows `range` as a matrix view.
    pub(crate) fn view(&self, range: std::ops::Range<usize>) -> ArrayView2<'_, f32> {
        let data = &self.data[range.start * self.dim..range.end * self.dim];
        ArrayView2::from_shape((range.len(), self.dim), data).expect("a slice of whole rows")
    }
}

/// Scales `vector` to unit length in place; false, and unchanged, if that is not possible.
pub(crate) fn normalise(vector: &mut [f32]) -> bool {
    // In f64: the square of an f32 may overflow or vanish.
    let norm = vector
        .iter()
        .map(|&x| f64::from(x) * f64::from(x))
        .sum::<f64>()
        .sqrt();
    if norm == 0.0 || !norm.is_finite() {
        return false;
    }
    for x in vector {
        *x = narrow(f64::from(*x) / norm);
    }
    true
}

/// The inner product of two vectors of equal length.
pub(crate) fn dot(a: &[f32], b: &[f32]) -> f32 {
    // Sixteen partial sums, so that the loop becomes vector instructions.
    let (a16, a_rest) = a.as_chunks::<16>();
    let (b16, b_rest) = b.as_chunks::<16>();
    let mut sums = [0.0f32; 16];
    for (a, b) in a16.iter().zip(b16) {
        for lane in 0..16 {
            sums[lane] += a[lane] * b[lane];
        }
    }
    sums.iter().sum::<f32>() + a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum::<f32>()
}

/// Rounds to the nearest f32.
#[expect(
    clippy::cast_possible_truncation,
    reason = "rounding is what it is for"
)]
pub(crate) fn narrow(x: f64) -> f32 {
    x as f32
}

/// A whole file.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, Error> {
    std::fs::read(path).map_err(|source| Error::File {
        path: path.to_owned(),
        source,
    })
}

/// A path's extension, empty if there is none.
pub(crate) fn extension(path: &Path) -> &str {
    path.extension()
        .and_then(|extension| extension.to_str())
        .unwrap_or("")
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

    #[test]
    fn extreme_vectors_normalise_too() {
        for scale in [1e-30f32, 1.0, 1e30] {
            let mut vector = [3.0 * scale, 4.0 * scale];
            assert!(normalise(&mut vector));
            assert!((vector[0] - 0.6).abs() < 1e-6 && (vector[1] - 0.8).abs() < 1e-6);
        }
        assert!(!normalise(&mut [0.0, 0.0]));
    }

    #[test]
    fn dot_is_the_sum_of_products_at_every_length() {
        for len in 0..70usize {
            let a: Vec<f32> = (0..len).map(|i| narrow(i as f64) - 7.0).collect();
            let expected: f32 = a.iter().map(|x| x * 2.0).sum();
            assert_eq!(dot(&a, &vec![2.0; len]), expected, "length {len}");
        }
    }
}
