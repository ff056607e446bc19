//! Databases that are scanned where they lie in a file.

#![expect(unsafe_code, reason = "mapping a file that others might change")]

use std::fs::File;
use std::path::Path;

use memmap2::Mmap;
use sordino_lattice::matrix::stride;

use super::file::{OFFSET, check_len, open};
use super::{Database, Matrix, Store};
use crate::Error;

/// A file that is read where it lies.
pub(super) struct Mapped {
    map: Mmap,
    file: File,
}

impl Mapped {
    pub(super) fn bytes(&self) -> &[u8] {
        &self.map[OFFSET..]
    }

    /// The file is as long as it was when it was mapped.
    pub(super) fn check(&self) -> Result<(), Error> {
        check_len(&self.file, self.map.len())
    }
}

impl Database {
    /// A database that is scanned where it lies in the file: nothing is read before it is needed, and
    /// processes share one copy in memory.
    ///
    /// # Errors
    /// Those of [`Self::read_file`]. If the file's length has changed, every later scan is refused with
    /// [`Error::Length`].
    ///
    /// # Safety
    /// Nobody may write to the file or shorten it while the database is in use. The length is
    /// checked before every scan, which cannot see a change in the middle of one.
    pub unsafe fn map_file(path: &Path) -> Result<Self, Error> {
        let (file, params) = open(path)?;
        // SAFETY: the caller keeps the file as it is.
        let map = unsafe { Mmap::map(&file)? };
        let (rows, columns) = (params.rows(), params.columns());
        let expected = OFFSET + rows * stride(columns);
        if map.len() != expected {
            return Err(Error::Length {
                found: map.len(),
                expected,
            });
        }
        let store = Store::File(Mapped { map, file });
        let matrix = Matrix {
            rows,
            columns,
            store,
        };
        Ok(Self { params, matrix })
    }
}
