//! The encoded database as bytes and in files: seed and version after the head, then the blocks at 5 or
//! 7 bytes a coefficient.

#[cfg(feature = "mmap")]
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

#[cfg(feature = "mmap")]
use sordino_lattice::store::Mapped;
use sordino_lattice::store::{OFFSET, Store, write_new};

use super::Database;
use crate::Error;
use crate::column::hint::Hint;
use crate::column::mac::SLACK;
use crate::column::params::Params;
use crate::column::shape::Shape;
use crate::dot::N;
use crate::file;
use crate::wire::{Head, Kind};

/// The size in bytes of the seed and of the version.
const SEED_LEN: usize = 32;
const FIELDS_LEN: usize = SEED_LEN + 8;

/// The fields at the head of a file that describe its blocks.
struct Contents {
    params: Params,
    shape: Shape,
    seed: [u8; SEED_LEN],
    version: u64,
}

impl Database {
    /// Writes the database.
    ///
    /// # Errors
    /// The errors of the writer.
    pub fn write_to(&self, out: impl Write) -> io::Result<()> {
        let head = Head::new(
            Kind::Database,
            self.params.id(),
            self.shape.dim,
            self.shape.count,
        );
        let mut fields = [0; FIELDS_LEN];
        fields[..SEED_LEN].copy_from_slice(&self.seed);
        fields[SEED_LEN..].copy_from_slice(&self.version.to_le_bytes());
        let values = &self.blocks.bytes()[..self.encoded_len() + SLACK];
        file::write(&head, &fields, values, out)
    }

    /// Writes the database to a new file.
    ///
    /// # Errors
    /// [`Error::Io`] if the file exists already or the system refuses to write it.
    pub fn write_file(&self, path: &Path) -> Result<(), Error> {
        write_new(path, |file| self.write_to(file))?;
        Ok(())
    }

    /// Reads a database into memory, and returns its hint, which it computes while it checks the values.
    ///
    /// # Errors
    /// [`Error`] if the bytes are not a database of this version, or the set is unknown. The call also fails if the
    /// length does not fit the shape, or a value is not below `q`.
    pub fn from_bytes(bytes: &[u8]) -> Result<(Self, Hint), Error> {
        let contents = Contents::check(bytes)?;
        let values = &bytes[OFFSET..];
        contents.with(Store::copied(values, values.len()))
    }

    /// Maps a database's file into memory, and returns the database with its hint. Scoring reads the values in the
    /// file: nothing is copied, and processes share one copy in memory. The first change of a vector copies the
    /// database into memory and leaves the file unchanged.
    ///
    /// # Errors
    /// [`Error::Io`] if the system cannot open or map the file, and the errors of [`from_bytes`](Self::from_bytes).
    /// After a change of the file's length, scoring gives [`Error::Changed`].
    ///
    /// # Safety
    /// No process may write to the file or shorten it while the database is in use. Each pass checks the length
    /// first, but cannot see a change that happens during the pass.
    #[cfg(feature = "mmap")]
    #[expect(unsafe_code, reason = "the caller's promise is passed on")]
    pub unsafe fn map_file(path: &Path) -> Result<(Self, Hint), Error> {
        // SAFETY: the caller keeps the file as it is.
        let mapped = unsafe { Mapped::new(File::open(path)?)? };
        let contents = Contents::check(mapped.bytes())?;
        contents.with(mapped.into())
    }
}

impl Contents {
    fn check(bytes: &[u8]) -> Result<Self, Error> {
        let (head, fields, values) = file::split::<FIELDS_LEN>(Kind::Database, bytes)?;
        let params = Params::from_id(head.set)?;
        let shape = params.shape(head.dim(), head.count())?;
        let block_len = shape.polys * N * params.coefficient_len();
        let expected = block_len
            .checked_mul(shape.blocks)
            .and_then(|len| len.checked_add(SLACK));
        file::check_values(values, expected)?;
        if values[values.len() - SLACK..].iter().any(|&byte| byte != 0) {
            return Err(Error::Kind);
        }
        let (seed, version) = fields.split_first_chunk().ok_or(Error::Kind)?;
        let version = version.first_chunk().ok_or(Error::Kind)?;
        Ok(Self {
            params,
            shape,
            seed: *seed,
            version: u64::from_le_bytes(*version),
        })
    }

    fn with(self, blocks: Store) -> Result<(Database, Hint), Error> {
        let database = Database {
            params: self.params,
            shape: self.shape,
            seed: self.seed,
            version: self.version,
            a: Arc::new(Database::public(&self.params, self.shape, &self.seed)),
            blocks,
        };
        let hint = database.checked_hint()?;
        Ok((database, hint))
    }
}
