//! The bytes of a file that is read in order, and the bounds of what they may hold.

use std::io::{Cursor, Read};

use crate::column::Column;
use crate::id::Id;
use crate::{Error, MAX_DIM};

/// Coordinates of one chunk, at most: 4 MiB of f32.
pub(super) const MAX_VALUES: usize = 1 << 20;

/// Bytes of other values of one chunk, but for its last record: they may be longer than its vectors by far.
#[cfg(any(feature = "arrow", feature = "text"))]
pub(super) const MAX_BYTES: usize = 1 << 24;

/// Bytes to read, and how many there are if that is known.
pub(super) struct Input {
    pub(super) bytes: Box<dyn Read + Send>,
    pub(super) len: Option<u64>,
}

impl Input {
    pub(super) fn whole(bytes: Vec<u8>) -> Self {
        let len = Some(bytes.len() as u64);
        let bytes = Box::new(Cursor::new(bytes));
        Self { bytes, len }
    }

    /// Refuses a header that promises another length than the file has.
    pub(super) fn check_len(
        &self,
        head: usize,
        rows: u64,
        columns: u64,
        size: usize,
    ) -> Result<(), Error> {
        let expected = rows
            .checked_mul(columns)
            .and_then(|values| values.checked_mul(size as u64));
        let found = self.len.map(|len| len.saturating_sub(head as u64));
        if found.is_none() || expected == found {
            return Ok(());
        }
        let expected = expected.unwrap_or(u64::MAX);
        Err(Error::ShapeLength {
            expected,
            rows,
            columns,
            found: found.unwrap_or(0),
        })
    }
}

/// The next rows of a file; no coordinates at its end.
#[derive(Default)]
pub(super) struct Rest {
    pub(super) data: Vec<f32>,
    pub(super) ids: Option<Vec<Id>>,
    pub(super) values: Vec<Column>,
    /// The line that each record begins in, of a file of text.
    pub(super) lines: Option<Vec<u64>>,
}

/// A dimension that an index may have.
pub(super) fn check_dim(dim: u64) -> Result<usize, Error> {
    match dim {
        0 => Err(Error::NoVectors),
        _ if dim > u64::from(MAX_DIM) => Err(Error::WideVectors { dim }),
        _ => usize::try_from(dim).map_err(|_| Error::WideVectors { dim }),
    }
}
