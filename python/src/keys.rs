//! Keys and their files.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pyo3::exceptions::PyUserWarning;
use pyo3::prelude::*;
use sordino_net::KeyFile;
use sordino_search::{OwnerKeys, OwnerPublicKey, Pins, ReaderKeys, ReaderSecret};

use crate::compute::random;
use crate::errors;

mod client; // keys of clients
mod issuer; // keys of token issuers
mod writer; // keys of writers

pub(crate) use client::{ClientKey, ClientPublicKey, client_keygen};
pub(crate) use issuer::IssuerPublicKey;
pub(crate) use writer::{WriterKey, WriterPublicKey, writer_keygen};

/// A new owner's key, from the system's generator.
///
/// Keep it, with an offline copy. Without it nobody can change the owner's indexes.
#[pyfunction]
pub(crate) fn keygen() -> PyResult<OwnerKey> {
    let keys = OwnerKeys::generate(&mut random()?);
    Ok(OwnerKey(keys, Arc::new(Pins::in_memory())))
}

/// A new pair of keys for one reader, for indexes of the owner of this public key.
///
/// The reader makes and keeps the pair, and gives the owner its public half, `ReaderKey.reader_public()`.
#[pyfunction]
pub(crate) fn reader_keygen(owner: &Bound<'_, PublicKey>) -> PyResult<ReaderKey> {
    let secret = ReaderSecret::generate(&mut random()?);
    let owner = owner.get().0.clone();
    Ok(ReaderKey(ReaderKeys::from_secret(secret, owner)))
}

/// The key of an owner, which builds, changes, signs and reads indexes: 32 secret bytes.
///
/// `sordino.keygen()` and `OwnerKey.load(path)` return it. It is never printed.
///
/// The key remembers the versions of its indexes, in a file next to the key's file, or in this object while the key
/// has no file. It refuses an index that is older or of another history with `RollbackError`, `ForkError`,
/// `OtherIndexError` or `GapError`. So the host of a folder cannot take back a revocation or a deletion.
#[pyclass(module = "sordino", frozen)]
pub(crate) struct OwnerKey(pub(crate) OwnerKeys, pub(crate) Arc<Pins>);

/// The key of a reader, which searches and reads the owner's indexes, and cannot sign.
///
/// `OwnerKey.reader()` returns the key that readers share, `sordino.reader_keygen(public_key)` the pair of one
/// reader, and `ReaderKey.load(path)` either of them. It is never printed.
#[pyclass(module = "sordino", frozen)]
pub(crate) struct ReaderKey(pub(crate) ReaderKeys);

/// The owner's public key, by which a server checks that an index is the owner's. It is not secret.
#[pyclass(module = "sordino", frozen)]
pub(crate) struct PublicKey(pub(crate) OwnerPublicKey);

/// The public half of a reader's own pair, to which the owner grants access. It is not secret.
#[pyclass(module = "sordino", frozen)]
pub(crate) struct ReaderPublicKey(pub(crate) sordino_search::ReaderPublicKey);

/// The path of a key file. A value that is not a path raises this package's own error.
pub(crate) struct Place(PathBuf);

impl<'a, 'py> FromPyObject<'a, 'py> for Place {
    type Error = PyErr;

    fn extract(given: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        let found = given.extract::<PathBuf>();
        found.map(Self).map_err(|_| {
            let kind = given.get_type();
            let kind = kind
                .name()
                .map_or_else(|_| "?".to_owned(), |name| name.to_string());
            let text = format!("path is a {kind}: expected a str or a path");
            errors::raise(given.py(), "InputError", text)
        })
    }
}

/// Reads a key file, and warns if other users can read a secret in it.
fn read(py: Python<'_>, path: &Path) -> PyResult<KeyFile> {
    let file = KeyFile::read(path).map_err(|error| errors::net(py, &error))?;
    if file.is_exposed() {
        let path = path.display();
        let text = format!("others can read the secret in {path}: chmod 600 {path}\0");
        if let Ok(text) = std::ffi::CStr::from_bytes_with_nul(text.as_bytes()) {
            PyErr::warn(py, &py.get_type::<PyUserWarning>(), text, 1)?;
        }
    }
    Ok(file)
}

fn write(py: Python<'_>, file: &KeyFile, path: &Path) -> PyResult<()> {
    file.write(path).map_err(|error| errors::net(py, &error))
}

/// The first digits of the BLAKE3 digest of a public key, by which people distinguish keys.
fn short(public: &[u8]) -> String {
    hex::encode(&blake3::hash(public).as_bytes()[..8])
}

/// The whole digest, in hexadecimal.
fn digest(public: &[u8]) -> String {
    hex::encode(blake3::hash(public).as_bytes())
}

/// A hash for Python's sets, from the beginning of the digest.
fn number(public: &[u8]) -> u64 {
    let digest = blake3::hash(public);
    let first = digest.as_bytes()[..8].iter();
    first.fold(0, |number, &byte| number << 8 | u64::from(byte))
}

#[pymethods]
impl OwnerKey {
    /// Write the key to a new file that you alone can read. The known versions of indexes go to a file next to it,
    /// whose name ends in `.pins`.
    ///
    /// Raises `KeyFileError` if the file exists: keys are never overwritten.
    fn save(&self, py: Python<'_>, path: Place) -> PyResult<()> {
        write(py, &KeyFile::of_owner(&self.0), &path.0)?;
        let moved = self.1.move_to(&Pins::beside(&path.0));
        moved.map_err(|error| errors::search(py, &error))
    }

    /// Read a key that `save` or `sordino keys new owner` wrote.
    ///
    /// pins: the file of known versions, if it is not next to the key, for instance because the key's disk cannot
    ///     be written.
    ///
    /// Raises `KeyFileError` for a wrong or damaged file, `KeyKindError` for a key of a different kind.
    #[staticmethod]
    #[pyo3(signature = (path, pins=None))]
    fn load(py: Python<'_>, path: Place, pins: Option<PathBuf>) -> PyResult<Self> {
        let keys = read(py, &path.0)?.owner();
        let pins = match pins {
            Some(file) => Pins::at(&file),
            None => Pins::beside(&path.0),
        };
        let keys = keys.map_err(|error| errors::net(py, &error))?;
        Ok(Self(keys, Arc::new(pins)))
    }

    /// The key for readers, who search and read the indexes.
    fn reader(&self) -> ReaderKey {
        ReaderKey(self.0.reader())
    }

    /// The key for servers, which is not secret.
    fn public(&self) -> PublicKey {
        PublicKey(self.0.public())
    }

    fn __repr__(&self) -> String {
        format!("<OwnerKey {}>", short(&self.0.public().to_bytes()))
    }
}

#[pymethods]
impl ReaderKey {
    /// Write the key to a new file that you alone can read.
    ///
    /// Raises `KeyFileError` if the file exists.
    fn save(&self, py: Python<'_>, path: Place) -> PyResult<()> {
        write(py, &KeyFile::of_reader(&self.0), &path.0)
    }

    /// Read a reader's key, from its own file or the owner's.
    ///
    /// Raises `KeyFileError` for a wrong or damaged file, `KeyKindError` for a key of a different kind.
    #[staticmethod]
    fn load(py: Python<'_>, path: Place) -> PyResult<Self> {
        let keys = read(py, &path.0)?.reader();
        Ok(Self(keys.map_err(|error| errors::net(py, &error))?))
    }

    /// The owner's public key.
    fn public(&self) -> PublicKey {
        PublicKey(self.0.owner().clone())
    }

    /// The public half of a reader's own pair, for the owner.
    ///
    /// Raises `KeyKindError` for a key that readers share, which has no public half.
    fn reader_public(&self, py: Python<'_>) -> PyResult<ReaderPublicKey> {
        let Some(secret) = self.0.secret() else {
            let text = "a key that readers share; expected a reader's own pair: sordino.reader_keygen(public_key) makes one";
            return Err(errors::raise(py, "KeyKindError", text));
        };
        Ok(ReaderPublicKey(secret.public()))
    }

    /// The owner, and of a pair of the reader's own whose it is.
    fn __repr__(&self) -> String {
        let owner = short(&self.0.owner().to_bytes());
        match self.0.secret() {
            Some(secret) => format!(
                "<ReaderKey {} of {owner}>",
                short(secret.public().as_bytes())
            ),
            None => format!("<ReaderKey {owner}>"),
        }
    }
}

#[pymethods]
impl PublicKey {
    /// Write the key to a new file.
    ///
    /// Raises `KeyFileError` if the file exists.
    fn save(&self, py: Python<'_>, path: Place) -> PyResult<()> {
        write(py, &KeyFile::of_public(&self.0), &path.0)
    }

    /// Read an owner's public key, from its own file, a reader's or the owner's.
    ///
    /// Raises `KeyFileError` for a wrong or damaged file, `KeyKindError` for a key of a different kind.
    #[staticmethod]
    fn load(py: Python<'_>, path: Place) -> PyResult<Self> {
        let key = read(py, &path.0)?.public();
        Ok(Self(key.map_err(|error| errors::net(py, &error))?))
    }

    /// The BLAKE3 digest of the key, in hexadecimal: the same for all keys of one owner.
    fn digest(&self) -> String {
        digest(&self.0.to_bytes())
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.0 == other.0
    }

    fn __hash__(&self) -> u64 {
        number(&self.0.to_bytes())
    }

    fn __repr__(&self) -> String {
        format!("<PublicKey {}>", short(&self.0.to_bytes()))
    }
}

#[pymethods]
impl ReaderPublicKey {
    /// Write the key to a new file.
    ///
    /// Raises `KeyFileError` if the file exists.
    fn save(&self, py: Python<'_>, path: Place) -> PyResult<()> {
        write(py, &KeyFile::of_reader_public(&self.0), &path.0)
    }

    /// Read a reader's public key, from its own file or the pair's.
    ///
    /// Raises `KeyFileError` for a wrong or damaged file, `KeyKindError` for a key of a different kind, or one that
    /// protects nothing.
    #[staticmethod]
    fn load(py: Python<'_>, path: Place) -> PyResult<Self> {
        let key = read(py, &path.0)?.reader_public();
        Ok(Self(key.map_err(|error| errors::net(py, &error))?))
    }

    /// The BLAKE3 digest of the key, in hexadecimal, which the owner compares with the reader.
    fn digest(&self) -> String {
        digest(self.0.as_bytes())
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.0 == other.0
    }

    fn __hash__(&self) -> u64 {
        number(self.0.as_bytes())
    }

    fn __repr__(&self) -> String {
        format!("<ReaderPublicKey {}>", short(self.0.as_bytes()))
    }
}

/// The reader's key within an owner's, a reader's or a writer's key.
pub(crate) fn reader_of(key: &Bound<'_, PyAny>) -> PyResult<ReaderKeys> {
    if let Ok(key) = key.cast::<OwnerKey>() {
        return Ok(key.get().0.reader());
    }
    if let Ok(key) = key.cast::<ReaderKey>() {
        return Ok(key.get().0.clone());
    }
    if let Ok(key) = key.cast::<WriterKey>() {
        return Ok(key.get().0.reader());
    }
    Err(wrong(key, "an OwnerKey, a ReaderKey or a WriterKey"))
}

/// The exception for a key of another kind.
pub(crate) fn wrong(key: &Bound<'_, PyAny>, expected: &str) -> PyErr {
    let found = key.get_type();
    let found = found
        .name()
        .map_or_else(|_| "?".to_owned(), |name| name.to_string());
    errors::raise(
        key.py(),
        "KeyKindError",
        format!("{found}; expected {expected}"),
    )
}
