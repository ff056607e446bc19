//! Databases in files: a page of header, then the matrix as it is scanned.

use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;

use sordino_lattice::matrix::stride;
#[cfg(feature = "mmap")]
use sordino_lattice::store::Mapped;
use sordino_lattice::store::{self, OFFSET};

use super::{Database, Matrix};
use crate::params::HEADER_LEN;
use crate::wire::Kind;
use crate::{Error, Params, Protocol};

/// Reads the layout from a file's header, and checks that the file has the length that this layout fixes.
fn open<P: Protocol>(path: &Path) -> Result<(File, Params<P>), Error> {
    let mut file = File::open(path)?;
    let mut header = [0; OFFSET];
    file.read_exact(&mut header)?;
    let params = Params::from_header(Kind::Database, &header[..HEADER_LEN])?;
    let found = usize::try_from(file.metadata()?.len()).unwrap_or(usize::MAX);
    let expected = file_len(&params);
    if found == expected {
        return Ok((file, params));
    }
    Err(Error::Length { found, expected })
}

/// The length in bytes of a database's file.
fn file_len<P: Protocol>(params: &Params<P>) -> usize {
    OFFSET + params.rows() * stride(params.columns())
}

impl<P: Protocol> Database<P> {
    /// Writes the database to a new file. [`Self::read_file`] reads it, and so does `map_file`, which needs the feature
    /// `mmap`.
    ///
    /// # Errors
    /// [`Error::Io`] if the file exists already or the system refuses to write it.
    pub fn write_file(&self, path: &Path) -> Result<(), Error> {
        let mut header = self.params.to_header(Kind::Database);
        header.resize(OFFSET, 0);
        store::write_new(path, |file| {
            file.write_all(&header)?;
            file.write_all(self.matrix.bytes())
        })?;
        Ok(())
    }

    /// Reads a database into memory.
    ///
    /// # Errors
    /// - [`Error::Io`] if the system cannot read the file
    /// - [`Error::SchemeMismatch`] for a database of the other scheme
    /// - [`Error::Header`] or [`Error::Length`] for a file that this crate did not write
    pub fn read_file(path: &Path) -> Result<Self, Error> {
        let (mut file, params) = open(path)?;
        let mut matrix = Matrix::zeroed(params.rows(), params.columns());
        file.read_exact(matrix.bytes_mut())?;
        Ok(Self { params, matrix })
    }

    /// Maps a database's file into memory and scans it there. The system reads a page when a scan first needs it, and
    /// processes share one copy in memory.
    ///
    /// # Errors
    /// The errors of [`Self::read_file`]. If the file's length has changed, every later scan is refused with
    /// [`Error::Length`].
    ///
    /// # Safety
    /// No process may write to the file or shorten it while the database is in use. Each scan checks the length first,
    /// but cannot see a change that happens during the scan.
    #[cfg(feature = "mmap")]
    #[expect(unsafe_code, reason = "the caller's promise is passed on")]
    pub unsafe fn map_file(path: &Path) -> Result<Self, Error> {
        let (file, params) = open(path)?;
        // SAFETY: the caller keeps the file as it is.
        let mapped = unsafe { Mapped::new(file)? };
        let (found, expected) = (mapped.bytes().len(), file_len(&params));
        if found != expected {
            return Err(Error::Length { found, expected });
        }
        let matrix = Matrix {
            rows: params.rows(),
            columns: params.columns(),
            store: mapped.into(),
        };
        Ok(Self { params, matrix })
    }
}
