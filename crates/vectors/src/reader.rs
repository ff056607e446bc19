//! Files of vectors, a chunk at a time.

use std::fmt;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use crate::column::Column;
use crate::element::Element;
use crate::id::Id;
use crate::input::{Input, Rest};
use crate::rounding::Loss;
use crate::rows::Rows;
use crate::{ColumnNames, Error, Format, Vectors};
use crate::{bin, npy, texmex};

mod whole;

/// Some of a file's vectors.
#[derive(Clone, Debug, PartialEq)]
pub struct Chunk {
    /// The first vector's row in the file.
    pub first: u64,
    /// The vectors.
    pub vectors: Vectors,
    /// An id for each vector, if a column of them was asked for.
    pub ids: Option<Vec<Id>>,
    /// The other columns that were asked for, in that order.
    pub values: Vec<Column>,
    /// The line of the file that each record begins in, from 1, if the file is one of text.
    pub lines: Option<Vec<u64>>,
}

/// A file of vectors that is read in order, in chunks of about 4 MiB, so that it may be larger
/// than memory.
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
/// Files may be hostile: whatever they promise, a reader allocates in proportion to what they hold,
/// and one chunk at a time. Exceptions are the table formats, which compress: a batch of an Arrow
/// file may take 2 GiB, and so may a page of a Parquet file.
pub struct Reader {
    source: Source,
    dim: usize,
    len: Option<u64>,
    read: u64,
    /// The fault of a row, before which there were others.
    fault: Option<Error>,
    failed: bool,
}

enum Source {
    Rows(Rows),
    #[cfg(feature = "arrow")]
    Table(crate::table::Table),
    #[cfg(feature = "text")]
    Text(crate::text::Text),
}

impl Reader {
    /// Opens a file by its extension; of a table, the only column of lists of numbers.
    ///
    /// # Errors
    /// If it cannot be read, its format is not one of [`Format`], its header is damaged or
    /// contradicts its length, or it holds no vector.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::open_columns(path, &ColumnNames::default())
    }

    /// Opens a file by its extension; of a table, these columns.
    ///
    /// # Errors
    /// Those of [`open`](Self::open), and if there are no such columns.
    pub fn open_columns(path: impl AsRef<Path>, columns: &ColumnNames) -> Result<Self, Error> {
        let path = path.as_ref();
        let format = Format::of(path)?;
        let at = |source| Error::File {
            path: path.to_owned(),
            source,
        };
        let file = File::open(path).map_err(at)?;
        let metadata = file.metadata().map_err(at)?;
        if metadata.is_dir() {
            return Err(at(std::io::ErrorKind::IsADirectory.into()));
        }
        #[cfg(feature = "arrow")]
        if format == Format::Parquet {
            return Self::table(crate::table::Table::parquet(file, columns)?);
        }
        // The length of a pipe is not known.
        let len = metadata.is_file().then_some(metadata.len());
        let bytes = Box::new(BufReader::with_capacity(1 << 16, file));
        Self::new(format, Input { bytes, len }, columns)
    }

    /// The names of all columns of a Parquet file, in their order.
    ///
    /// # Errors
    /// If the file cannot be read or is damaged.
    #[cfg(feature = "arrow")]
    pub fn parquet_columns(path: impl AsRef<Path>) -> Result<Vec<String>, Error> {
        let path = path.as_ref();
        let at = |source| Error::File {
            path: path.to_owned(),
            source,
        };
        let file = File::open(path).map_err(at)?;
        if file.metadata().map_err(at)?.is_dir() {
            return Err(at(std::io::ErrorKind::IsADirectory.into()));
        }
        crate::table::parquet_columns(file)
    }

    /// Reads a file's bytes.
    ///
    /// # Errors
    /// Those of [`open`](Self::open).
    pub fn from_bytes(format: Format, bytes: Vec<u8>) -> Result<Self, Error> {
        Self::from_bytes_columns(format, bytes, &ColumnNames::default())
    }

    /// Reads these columns of a file's bytes.
    ///
    /// # Errors
    /// Those of [`open_columns`](Self::open_columns).
    pub fn from_bytes_columns(
        format: Format,
        bytes: Vec<u8>,
        columns: &ColumnNames,
    ) -> Result<Self, Error> {
        #[cfg(feature = "arrow")]
        if format == Format::Parquet {
            let bytes = bytes::Bytes::from(bytes);
            return Self::table(crate::table::Table::parquet(bytes, columns)?);
        }
        Self::new(format, Input::whole(bytes), columns)
    }

    fn new(format: Format, input: Input, columns: &ColumnNames) -> Result<Self, Error> {
        let named = [&columns.vectors, &columns.ids];
        let named = named.into_iter().flatten().chain(&columns.values).next();
        let (rows, len) = match format {
            #[cfg(feature = "arrow")]
            Format::Parquet | Format::Arrow => {
                return Self::table(crate::table::Table::ipc(input.bytes, columns)?);
            }
            #[cfg(feature = "text")]
            Format::Jsonl => {
                return Ok(Self::text(crate::text::Text::jsonl(input.bytes, columns)?));
            }
            #[cfg(feature = "text")]
            Format::Csv => return Ok(Self::text(crate::text::Text::csv(input.bytes, columns)?)),
            _ if named.is_some() => {
                return Err(Error::NoColumn {
                    wanted: named.cloned().unwrap_or_default(),
                    found: "none, as it is no table".to_owned(),
                });
            }
            Format::Npy => npy::rows(input).map(|(rows, len)| (rows, Some(len)))?,
            Format::Fvecs => texmex::rows(input, Element::F32)?,
            Format::Bvecs => texmex::rows(input, Element::U8)?,
            Format::Fbin => bin::rows(input, Element::F32).map(|(rows, len)| (rows, Some(len)))?,
            Format::U8bin => bin::rows(input, Element::U8).map(|(rows, len)| (rows, Some(len)))?,
            Format::I8bin => bin::rows(input, Element::I8).map(|(rows, len)| (rows, Some(len)))?,
        };
        Ok(Self {
            dim: rows.dim(),
            source: Source::Rows(rows),
            len,
            read: 0,
            fault: None,
            failed: false,
        })
    }

    #[cfg(feature = "arrow")]
    fn table(table: crate::table::Table) -> Result<Self, Error> {
        Ok(Self {
            dim: table.dim(),
            len: table.len_hint(),
            source: Source::Table(table),
            read: 0,
            fault: None,
            failed: false,
        })
    }

    #[cfg(feature = "text")]
    fn text(text: crate::text::Text) -> Self {
        Self {
            dim: text.dim(),
            len: None,
            source: Source::Text(text),
            read: 0,
            fault: None,
            failed: false,
        }
    }

    /// The number of coordinates of each vector.
    #[must_use]
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// The number of vectors that the file says it holds, if it says so. Do not allocate by it.
    #[must_use]
    pub fn len_hint(&self) -> Option<u64> {
        self.len
    }

    /// The names of all columns of a table, of lines of JSON those of the first record's members; otherwise none.
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

    /// The loss of the rows that were read, if rounding to 32 bits moves many of them by much.
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

    fn chunk(&mut self) -> Result<Option<Chunk>, Error> {
        let Rest {
            mut data,
            ids,
            values,
            lines,
        } = match &mut self.source {
            Source::Rows(rows) => Rest {
                data: rows.next()?,
                ..Rest::default()
            },
            #[cfg(feature = "arrow")]
            Source::Table(table) => table.next()?,
            #[cfg(feature = "text")]
            Source::Text(text) => text.next()?,
        };
        if data.is_empty() {
            return Ok(None);
        }
        let first = self.read;
        // The rows before one that is wrong are good, and come first.
        if ids.is_none()
            && values.is_empty()
            && let Some(at) = data.iter().position(|x| !x.is_finite())
            && at >= self.dim
        {
            let (row, column) = (at / self.dim, at % self.dim);
            data.truncate(row * self.dim);
            let row = usize::try_from(first).map_or(row, |first| first + row);
            self.fault = Some(Error::NotFinite { row, column });
        }
        let vectors = Vectors::new(self.dim, data).map_err(|error| match error {
            Error::NotFinite { row, column } => Error::NotFinite {
                row: usize::try_from(first).map_or(row, |first| first + row),
                column,
            },
            other => other,
        })?;
        self.read += vectors.len() as u64;
        Ok(Some(Chunk {
            first,
            vectors,
            ids,
            values,
            lines,
        }))
    }
}

impl Iterator for Reader {
    type Item = Result<Chunk, Error>;

    /// The next vectors; after an error, nothing.
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
