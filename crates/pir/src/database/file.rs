//! Databases in files: 4096 bytes of header, then the matrix as it is scanned.

use std::fs::File;
use std::io::{BufWriter, Read, Write};
use std::path::Path;

use sordino_lattice::matrix::stride;

use super::{Database, Matrix};
use crate::params::HEADER_LEN;
use crate::wire::Kind;
use crate::{Error, Params};

/// Where the matrix starts: on a page, whatever the page's size is on common systems.
pub(super) const OFFSET: usize = 4096;

pub(super) fn check_len(file: &File, expected: usize) -> Result<(), Error> {
    let found = usize::try_from(file.metadata()?.len()).unwrap_or(usize::MAX);
    if found == expected {
        return Ok(());
    }
    Err(Error::Length { found, expected })
}

/// The layout that a file's header gives, once the file is as long as that layout asks for.
pub(super) fn open(path: &Path) -> Result<(File, Params), Error> {
    let mut file = File::open(path)?;
    let mut header = [0; OFFSET];
    file.read_exact(&mut header)?;
    let params = Params::from_header(Kind::Database, &header[..HEADER_LEN])?;
    let len = params.rows() * stride(params.columns());
    check_len(&file, OFFSET + len)?;
    Ok((file, params))
}

impl Database {
    /// Writes the database to a new file, for [`Self::read_file`] and `map_file`, which there is with the feature
    /// `mmap`.
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
}
