//! The bytes of a file that is read in order, and the bounds of what they may hold.

use std::fs::File;
use std::io::{Cursor, Read};

use crate::column::Column;
use crate::id::Id;
use crate::{Error, MAX_DIM};

/// Coordinates of one chunk, at most: 4 MiB of f32.
pub(super) const MAX_VALUES: usize = 1 << 20;

/// Bytes of other values of one chunk, without its last record: they may be much longer than its vectors.
#[cfg(any(feature = "arrow", feature = "text"))]
pub(super) const MAX_BYTES: usize = 1 << 24;

/// Bytes to read, and how many there are if that is known.
pub(super) struct Input {
    pub(super) bytes: Box<dyn Read + Send>,
    pub(super) len: Option<u64>,
    /// The same file, if it is one in which any place can be read.
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

    /// Refuses a header that promises a length that is not the file's.
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

/// Refuses a header that promises other bytes of values than were found.
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

/// The next rows of a file; no coordinates at its end.
#[derive(Default)]
pub(super) struct Rest {
    pub(super) data: Vec<f32>,
    pub(super) ids: Option<Vec<Id>>,
    pub(super) values: Vec<Column>,
    /// The line that each record begins in, of a file of text.
    pub(super) lines: Option<Vec<u64>>,
    /// The fault of the row after these, which is left out.
    pub(super) fault: Option<Error>,
}

/// Vectors at the start of a file that tell its dimension, where some may be left out.
#[cfg(any(feature = "arrow", feature = "text"))]
pub(super) const FIRST: usize = 128;

/// The dimension that most of these vectors have, and the first of several. `None` if none of them is one of an index.
#[cfg(any(feature = "arrow", feature = "text"))]
pub(super) fn usual_dim(dims: &[usize]) -> Option<usize> {
    let count = |dim: &usize| dims.iter().filter(|it| *it == dim).count();
    let fit = dims.iter().filter(|&&dim| check_dim(dim as u64).is_ok());
    // The last of several is the first before it was turned round.
    fit.rev().max_by_key(|dim| count(dim)).copied()
}

/// A dimension that an index may have.
pub(super) fn check_dim(dim: u64) -> Result<usize, Error> {
    match dim {
        0 => Err(Error::NoVectors),
        _ if dim > u64::from(MAX_DIM) => Err(Error::WideVectors { dim }),
        _ => usize::try_from(dim).map_err(|_| Error::WideVectors { dim }),
    }
}
