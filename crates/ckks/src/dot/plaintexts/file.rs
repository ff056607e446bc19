//! Encoded vectors as bytes and in files: words in little-endian order, as they are scored.

#[cfg(feature = "mmap")]
use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::path::Path;

#[cfg(feature = "mmap")]
use sordino_lattice::store::Mapped;
use sordino_lattice::store::{OFFSET, Store, write_new};

use super::{N, Params, Plaintexts, Shape, words};
use crate::Error;
use crate::dot::params::Q;
use crate::file;
use crate::wire::{Head, Kind};

impl Plaintexts {
    /// Writes the encoded vectors.
    ///
    /// # Errors
    /// The errors of the writer. [`ErrorKind::Unsupported`] on big-endian processors.
    pub fn write_to(&self, out: impl Write) -> io::Result<()> {
        if cfg!(target_endian = "big") {
            return Err(ErrorKind::Unsupported.into());
        }
        let (dim, count) = (self.shape.dim, self.shape.count);
        let head = Head::new(Kind::Plaintexts, self.params.id(), dim, count);
        file::write(&head, &[], self.polys.bytes(), out)
    }

    /// Writes the encoded vectors to a new file.
    ///
    /// # Errors
    /// [`Error::Io`] if the file exists already or the system refuses to write it.
    pub fn write_file(&self, path: &Path) -> Result<(), Error> {
        write_new(path, |file| self.write_to(file))?;
        Ok(())
    }

    /// Reads encoded vectors into memory.
    ///
    /// # Errors
    /// [`Error`] if the bytes are not encoded vectors of this version, or the set is unknown. The call also fails if
    /// the length does not fit the shape, or a value is not below `q`.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let (params, shape) = check(bytes)?;
        let values = &bytes[OFFSET..];
        let polys = Store::copied(values, values.len());
        Self::with(params, shape, polys)
    }

    /// Maps encoded vectors into memory. Scoring reads them in the file: nothing is copied, and processes share one
    /// copy in memory. The first change of a vector copies them into memory and leaves the file unchanged.
    ///
    /// # Errors
    /// [`Error::Io`] if the system cannot open or map the file, and the errors of [`from_bytes`](Self::from_bytes).
    /// After a change of the file's length, scoring gives [`Error::Changed`].
    ///
    /// # Safety
    /// No process may write to the file or shorten it while the vectors are in use. Each pass checks the length first,
    /// but cannot see a change that happens during the pass.
    #[cfg(feature = "mmap")]
    #[expect(unsafe_code, reason = "the caller's promise is passed on")]
    pub unsafe fn map_file(path: &Path) -> Result<Self, Error> {
        // SAFETY: the caller keeps the file as it is.
        let mapped = unsafe { Mapped::new(File::open(path)?)? };
        let (params, shape) = check(mapped.bytes())?;
        Self::with(params, shape, mapped.into())
    }

    /// The vectors, after a check that all values are residues.
    fn with(params: Params, shape: Shape, polys: Store) -> Result<Self, Error> {
        if let Some(index) = words(&polys).iter().position(|&x| x >= Q) {
            return Err(Error::Coefficient { index });
        }
        Ok(Self {
            params,
            shape,
            polys,
        })
    }
}

fn check(bytes: &[u8]) -> Result<(Params, Shape), Error> {
    if cfg!(target_endian = "big") {
        return Err(Error::Io(ErrorKind::Unsupported));
    }
    let (head, [], values) = file::split::<0>(Kind::Plaintexts, bytes)?;
    let params = Params::from_id(head.set)?;
    let shape = Shape::new(head.dim(), head.count());
    let len = (shape.packs * shape.parts).checked_mul(N * size_of::<u64>());
    file::check_values(values, len)?;
    Ok((params, shape))
}
