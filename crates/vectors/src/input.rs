//! Reads the bytes of a file in order, and bounds their amount.

use std::fs::File;
use std::io::{Cursor, Read};

use crate::column::Column;
use crate::id::Id;
use crate::{Error, MAX_DIM};

/// The largest number of coordinates of one chunk: 4 MiB of f32.
pub(super) const MAX_VALUES: usize = 1 << 20;

/// The largest number of bytes of other values of one chunk, excluding its last record. Such values may be much longer
/// than vectors.
#[cfg(any(feature = "arrow", feature = "text"))]
pub(super) const MAX_BYTES: usize = 1 << 24;

/// The fault of vectors as Spark stores sparse ones.
#[cfg(any(feature = "arrow", feature = "text"))]
pub(super) const SPARSE: &str = "Spark's sparse vectors, which lack the coordinates that are 0: expected dense ones, as \
    pyspark.ml.functions.vector_to_array(column) makes them";

/// The bytes to read, and their number if it is known.
pub(super) struct Input {
    pub(super) bytes: Box<dyn Read + Send>,
    pub(super) len: Option<u64>,
    /// The same file, if any position in it can be read.
    pub(super) file: Option<File>,
}

impl Input {
    pub(super) fn whole(bytes: Vec<u8>) -> Self {
        let len = Some(bytes.len() as u64);
        let bytes = Box::new(Cursor::new(bytes));
        Self {
            bytes,
            len,
            file: None,
        }
    }

    /// Checks that the length in a header is the file's length.
    pub(super) fn check_len(
        &self,
        head: usize,
        rows: u64,
        columns: u64,
        size: usize,
    ) -> Result<(), Error> {
        let found = self.len.map(|len| len.saturating_sub(head as u64));
        found.map_or(Ok(()), |found| check_len(found, rows, columns, size))
    }
}

/// Checks that the bytes of values in a header are the bytes that were found.
pub(super) fn check_len(found: u64, rows: u64, columns: u64, size: usize) -> Result<(), Error> {
    let expected = rows
        .checked_mul(columns)
        .and_then(|values| values.checked_mul(size as u64));
    if expected == Some(found) {
        return Ok(());
    }
    Err(Error::ShapeLength {
        expected: expected.unwrap_or(u64::MAX),
        rows,
        columns,
        found,
    })
}

/// The next rows of a file; there are no coordinates at its end.
#[derive(Default)]
pub(super) struct Rest {
    pub(super) data: Vec<f32>,
    pub(super) ids: Option<Vec<Id>>,
    pub(super) values: Vec<Column>,
    /// For a text file, the line at which each record begins.
    pub(super) lines: Option<Vec<u64>>,
    /// The fault of the row after these rows, which is left out.
    pub(super) fault: Option<Error>,
}

/// The number of vectors at the start that determine the dimension, if rows may be left out.
#[cfg(any(feature = "arrow", feature = "text"))]
pub(super) const FIRST: usize = 128;

/// The most frequent dimension of these vectors, or the first of several. `None` if no vector has a dimension that an
/// index supports.
#[cfg(any(feature = "arrow", feature = "text"))]
pub(super) fn usual_dim(dims: &[usize]) -> Option<usize> {
    let count = |dim: &usize| dims.iter().filter(|it| *it == dim).count();
    let fit = dims.iter().filter(|&&dim| check_dim(dim as u64).is_ok());
    // `max_by_key` returns the last of several, which is the first because the order is reversed.
    fit.rev().max_by_key(|dim| count(dim)).copied()
}

/// Checks that an index supports a dimension.
pub(super) fn check_dim(dim: u64) -> Result<usize, Error> {
    match dim {
        0 => Err(Error::NoVectors),
        _ if dim > u64::from(MAX_DIM) => Err(Error::WideVectors { dim }),
        _ => usize::try_from(dim).map_err(|_| Error::WideVectors { dim }),
    }
}
