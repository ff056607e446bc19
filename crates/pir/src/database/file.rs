//! Databases in files: 4096 bytes of header, then the matrix as it is scanned.

#![expect(unsafe_code, reason = "mapping a file that others might change")]

use std::fs::File;
use std::io::{BufWriter, Read, Write};
use std::path::Path;

use memmap2::Mmap;
use sordino_lattice::matrix::stride;

use super::{Database, Matrix, Store};
use crate::params::HEADER_LEN;
use crate::wire::Kind;
use crate::{Error, Params};

/// Where the matrix starts: on a page, whatever the page's size is on common systems.
const OFFSET: usize = 4096;

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

fn check_len(file: &File, expected: usize) -> Result<(), Error> {
    let found = usize::try_from(file.metadata()?.len()).unwrap_or(usize::MAX);
    if found == expected {
        return Ok(());
    }
    Err(Error::Length { found, expected })
}

/// The layout that a file's header gives, once the file is as long as that layout asks for.
fn open(path: &Path) -> Result<(File, Params), Error> {
    let mut file = File::open(path)?;
    let mut header = [0; OFFSET];
    file.read_exact(&mut header)?;
    let params = Params::from_header(Kind::Database, &header[..HEADER_LEN])?;
    let len = params.rows() * stride(params.columns());
    check_len(&file, OFFSET + len)?;
    Ok((file, params))
}

impl Database {
    /// Writes the database to a new file, for [`Self::read_file`] and [`Self::map_file`].
    ///
    /// # Errors
    /// [`Error::Io`], also if the file exists.
    pub fn write_file(&self, path: &Path) -> Result<(), Error> {
        let mut file = BufWriter::new(File::create_new(path)?);
        let mut header = self.params.to_header(Kind::Database);
        header.resize(OFFSET, 0);
        file.write_all(&header)?;
        file.write_all(self.matrix.bytes())?;
        file.into_inner()
            .map_err(std::io::IntoInnerError::into_error)?
            .sync_all()?;
        Ok(())
    }

    /// Reads a database into memory.
    ///
    /// # Errors
    /// [`Error::Io`], or the errors of a header and length that no writer produces.
    pub fn read_file(path: &Path) -> Result<Self, Error> {
        let (mut file, params) = open(path)?;
        let mut matrix = Matrix::zeroed(params.rows(), params.columns());
        file.read_exact(matrix.bytes_mut())?;
        Ok(Self { params, matrix })
    }

    /// A database that is scanned where it lies in the file: nothing is read before it is needed, and
    /// processes share one copy in memory.
    ///
    /// # Errors
    /// As [`Self::read_file`]. If the file's length has changed, every later scan is refused with
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
