//! Reads files of vectors, a chunk at a time.

use std::fmt;

use crate::column::Column;
use crate::id::Id;
use crate::input::Rest;
use crate::rounding::Loss;
use crate::rows::Rows;
use crate::{Error, Vectors};

mod open;
mod skip;
mod whole;

/// Some of a file's vectors.
#[derive(Clone, Debug, PartialEq)]
pub struct Chunk {
    /// The row of the first vector in the file. The others have the following row numbers.
    pub first: u64,
    /// The vectors.
    pub vectors: Vectors,
    /// An id for each vector, if a column of ids was requested.
    pub ids: Option<Vec<Id>>,
    /// The other requested columns, in the requested order.
    pub values: Vec<Column>,
    /// For a text file, the line at which each record begins, from 1.
    pub lines: Option<Vec<u64>>,
}

/// Reads a file of vectors in order, in chunks of about 4 MiB, so that the file may be larger than memory.
///
/// ```
/// use sordino_vectors::{Format, Reader};
///
/// let fbin = [2u32.to_le_bytes(), 1u32.to_le_bytes(), 0.5f32.to_le_bytes(), 2f32.to_le_bytes()];
/// let reader = Reader::from_bytes(Format::Fbin, fbin.concat())?;
/// assert_eq!((reader.dim(), reader.len_hint()), (1, Some(2)));
/// for chunk in reader {
///     assert_eq!(chunk?.vectors.as_slice(), [0.5, 2.0]);
/// }
/// # Ok::<(), sordino_vectors::Error>(())
/// ```
///
/// # Security
/// Files may be hostile. Whatever they announce, a reader allocates in proportion to their content, one chunk at a time. Table
/// formats compress their content, and are exceptions. A batch of an Arrow file may take 2 GiB, and so may a page of a Parquet
/// file. Lists of Parquet may have 2^25 values that take no bytes, and 256 values for each byte.
pub struct Reader {
    source: Source,
    dim: usize,
    len: Option<u64>,
    read: u64,
    /// The fault of a row that follows rows without faults.
    fault: Option<Error>,
    failed: bool,
    /// True if rows that cannot be read are left out.
    skip: bool,
    /// The faults of the rows that were left out.
    faults: Vec<Error>,
    /// The rows that were read. Some of the first rows were returned already.
    waiting: Option<Rest>,
}

enum Source {
    Rows(Rows),
    #[cfg(feature = "arrow")]
    Table(Box<crate::table::Table>),
    #[cfg(feature = "text")]
    Text(crate::text::Text),
}

impl Reader {
    /// The number of coordinates of each vector.
    #[must_use]
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// The number of vectors that the file announces, if it does. A file may announce any number, so do not allocate
    /// memory for it.
    #[must_use]
    pub fn len_hint(&self) -> Option<u64> {
        self.len
    }

    /// The names of all columns of a table, or of the first record's members in JSON formats. Empty for other formats.
    #[must_use]
    pub fn columns(&self) -> &[String] {
        match &self.source {
            Source::Rows(_) => &[],
            #[cfg(feature = "arrow")]
            Source::Table(table) => table.columns(),
            #[cfg(feature = "text")]
            Source::Text(text) => text.columns(),
        }
    }

    /// True if vectors are read from a column of bytes. Such a column does not tell its number type, so the bytes are read as
    /// 32-bit floats.
    #[must_use]
    pub fn reads_bytes(&self) -> bool {
        match &self.source {
            #[cfg(feature = "arrow")]
            Source::Table(table) => table.has_blobs(),
            _ => false,
        }
    }

    /// The column that pandas marked as the table's index, if there is exactly one.
    #[must_use]
    pub fn index_column(&self) -> Option<&str> {
        match &self.source {
            #[cfg(feature = "arrow")]
            Source::Table(table) => table.index_column(),
            _ => None,
        }
    }

    /// The loss of precision in the rows that were read, if rounding to 32 bits moves many of them by much.
    #[must_use]
    pub fn loss(&self) -> Option<Loss> {
        let rounding = match &self.source {
            Source::Rows(rows) => rows.rounding(),
            #[cfg(feature = "arrow")]
            Source::Table(table) => table.rounding(),
            #[cfg(feature = "text")]
            Source::Text(text) => text.rounding(),
        };
        rounding.loss()
    }

    /// The number of the next row after the rows that were read or left out.
    #[must_use]
    pub fn position(&self) -> u64 {
        self.read
    }

    /// The faults of rows that were left out since the last call: see [`FileOptions::skip`](crate::FileOptions::skip).
    pub fn take_faults(&mut self) -> Vec<Error> {
        std::mem::take(&mut self.faults)
    }

    fn rest(&mut self) -> Result<Rest, Error> {
        match &mut self.source {
            Source::Rows(rows) => Ok(Rest {
                data: rows.next()?,
                ..Rest::default()
            }),
            #[cfg(feature = "arrow")]
            Source::Table(table) => table.next(),
            #[cfg(feature = "text")]
            Source::Text(text) => text.next(),
        }
    }

    fn chunk(&mut self) -> Result<Option<Chunk>, Error> {
        let mut rest = match self.skip {
            true => self.good_rest()?,
            false => self.rest()?,
        };
        if rest.data.is_empty() {
            return Ok(None);
        }
        let first = self.read;
        // The rows before a wrong row are good, and are returned first.
        if rest.ids.is_none()
            && rest.values.is_empty()
            && let Some(at) = rest.data.iter().position(|x| !x.is_finite())
            && at >= self.dim
        {
            let (row, column) = (at / self.dim, at % self.dim);
            rest.data.truncate(row * self.dim);
            let row = usize::try_from(first).map_or(row, |first| first + row);
            self.fault = Some(Error::NotFinite { row, column });
        }
        let vectors = Vectors::new(self.dim, rest.data).map_err(|error| match error {
            Error::NotFinite { row, column } => Error::NotFinite {
                row: usize::try_from(first).map_or(row, |first| first + row),
                column,
            },
            other => other,
        })?;
        self.read += vectors.len() as u64;
        if let Some(fault) = rest.fault {
            self.leave_out(fault);
        }
        Ok(Some(Chunk {
            first,
            vectors,
            ids: rest.ids,
            values: rest.values,
            lines: rest.lines,
        }))
    }
}

impl Iterator for Reader {
    type Item = Result<Chunk, Error>;

    /// The next vectors. After an error there are no more.
    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let chunk = match self.fault.take() {
            Some(fault) => Err(fault),
            None => self.chunk(),
        };
        self.failed = !matches!(chunk, Ok(Some(_)));
        chunk.transpose()
    }
}

impl fmt::Debug for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader")
            .field("dim", &self.dim)
            .field("len", &self.len)
            .field("read", &self.read)
            .finish_non_exhaustive()
    }
}
