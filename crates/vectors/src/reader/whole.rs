//! Reads files of vectors as a whole.

use std::path::Path;

use super::Reader;
use crate::{ColumnNames, Error, Format, Vectors};

/// Methods that read whole files.
impl Vectors {
    /// Reads a whole file in the format of its extension: see [`Format`].
    ///
    /// # Errors
    /// Fails if the file cannot be read, its format is unknown, or its length contradicts its header. It also fails if
    /// there are no vectors, or a value is not finite.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::open_columns(path, &ColumnNames::default())
    }

    /// Reads a whole file, and takes the vectors of a table from these columns.
    ///
    /// # Errors
    /// The errors of [`open`](Self::open). Fails if there are no such columns.
    pub fn open_columns(path: impl AsRef<Path>, columns: &ColumnNames) -> Result<Self, Error> {
        let path = path.as_ref();
        Self::collect(Reader::open_columns(path, columns)?).map_err(|error| error.in_file(path))
    }

    /// Reads the bytes of a whole file.
    ///
    /// # Errors
    /// The errors of [`open`](Self::open).
    pub fn from_bytes(format: Format, bytes: Vec<u8>) -> Result<Self, Error> {
        Self::collect(Reader::from_bytes(format, bytes)?)
    }

    /// Reads the rest of a file.
    ///
    /// # Errors
    /// The errors of the reader. Fails if there are no more vectors.
    pub fn collect(reader: Reader) -> Result<Self, Error> {
        let dim = reader.dim();
        let mut data = Vec::new();
        for chunk in reader {
            data.extend_from_slice(chunk?.vectors.as_slice());
        }
        Self::new(dim, data)
    }
}
