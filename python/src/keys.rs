//! Keys and their files.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pyo3::exceptions::PyUserWarning;
use pyo3::prelude::*;
use sordino_net::KeyFile;
use sordino_search::{OwnerKeys, OwnerPublicKey, Pins, ReaderKeys, ReaderSecret};

use crate::compute::random;
use crate::errors;

mod client; // of those who ask a server
mod issuer; // of those who issue tokens

pub(crate) use client::{ClientKey, ClientPublicKey, client_keygen};
pub(crate) use issuer::IssuerPublicKey;

/// A new owner's key, from the system's generator.
///
/// Keep it, and a copy of it offline: without it an index can be neither changed nor read.
#[pyfunction]
pub(crate) fn keygen() -> PyResult<OwnerKey> {
    let keys = OwnerKeys::generate(&mut random()?);
    Ok(OwnerKey(keys, Arc::new(Pins::in_memory())))
}

/// A new pair of keys of a reader of its own, for indexes of the owner of this public key.
///
/// The reader makes it, keeps it, and gives the owner the public half, `ReaderKey.reader_public()`.
#[pyfunction]
pub(crate) fn reader_keygen(owner: &Bound<'_, PublicKey>) -> PyResult<ReaderKey> {
    let secret = ReaderSecret::generate(&mut random()?);
    let owner = owner.get().0.clone();
    Ok(ReaderKey(ReaderKeys::from_secret(secret, owner)))
}

/// The key of an owner: it builds, changes, signs and reads indexes. 32 secret bytes.
///
/// Made by `sordino.keygen()` or `OwnerKey.load(path)`. It is never printed.
///
/// With it goes the memory of the versions of its indexes: in a file beside the key's, or, of a key that has no file yet, in this object.
/// An index that is older than what is known of it, or of another history, is refused with `RollbackError`, `ForkError`,
/// `OtherIndexError` or `GapError`: the keeper of its folder cannot take back a revocation or a deletion.
#[pyclass(module = "sordino", frozen)]
pub(crate) struct OwnerKey(pub(crate) OwnerKeys, pub(crate) Arc<Pins>);

/// The key of a reader: it searches, and reads what the owner's indexes hold; it cannot sign.
///
/// Made by `OwnerKey.reader()`, `sordino.reader_keygen(public_key)` for a reader of its own, or `ReaderKey.load(path)`. It is
/// never printed.
#[pyclass(module = "sordino", frozen)]
pub(crate) struct ReaderKey(pub(crate) ReaderKeys);

/// The owner's public key, which a server has: it checks that an index is the owner's. No secret.
#[pyclass(module = "sordino", frozen)]
pub(crate) struct PublicKey(pub(crate) OwnerPublicKey);

/// The public half of a reader's own pair, which the owner grants what the reader may read. No secret.
#[pyclass(module = "sordino", frozen)]
pub(crate) struct ReaderPublicKey(pub(crate) sordino_search::ReaderPublicKey);

/// The path of a key file. What is none is refused by this package's own error.
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

/// A key file; a warning if others can read a secret in it.
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

/// The first digits of a public key's BLAKE3 digest, by which people tell keys apart.
fn short(public: &[u8]) -> String {
    hex::encode(&blake3::hash(public).as_bytes()[..8])
}

/// The whole of that digest, in hexadecimal.
fn digest(public: &[u8]) -> String {
    hex::encode(blake3::hash(public).as_bytes())
}

/// A number for Python's sets: the beginning of that digest.
fn number(public: &[u8]) -> u64 {
    let digest = blake3::hash(public);
    let first = digest.as_bytes()[..8].iter();
    first.fold(0, |number, &byte| number << 8 | u64::from(byte))
}

#[pymethods]
impl OwnerKey {
    /// Writes the key to a new file that you alone can read. The versions of indexes that this object knows go to a file beside it, whose
    /// name ends in `.pins`.
    ///
    /// Raises `KeyFileError` if the file exists: no key is written over.
    fn save(&self, py: Python<'_>, path: Place) -> PyResult<()> {
        write(py, &KeyFile::of_owner(&self.0), &path.0)?;
        let moved = self.1.move_to(&Pins::beside(&path.0));
        moved.map_err(|error| errors::search(py, &error))
    }

    /// Reads a key that `save`, or `sordino keys new owner`, has written.
    ///
    /// pins: the file of the versions that are known, where it is not the one beside the key, as of a key on a disk that cannot be
    ///     written.
    ///
    /// Raises `KeyFileError` for another or a damaged file, `KeyKindError` for another key.
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

    /// The key for those who may search, and read what is in the indexes.
    fn reader(&self) -> ReaderKey {
        ReaderKey(self.0.reader())
    }

    /// The key for servers, which is no secret.
    fn public(&self) -> PublicKey {
        PublicKey(self.0.public())
    }

    fn __repr__(&self) -> String {
        format!("<OwnerKey {}>", short(&self.0.public().to_bytes()))
    }
}

#[pymethods]
impl ReaderKey {
    /// Writes the key to a new file that you alone can read.
    ///
    /// Raises `KeyFileError` if the file exists.
    fn save(&self, py: Python<'_>, path: Place) -> PyResult<()> {
        write(py, &KeyFile::of_reader(&self.0), &path.0)
    }

    /// Reads a reader's key, of its own or the owner's file.
    ///
    /// Raises `KeyFileError` for another or a damaged file, `KeyKindError` for another key.
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
    /// Raises `KeyKindError` for a key that readers share, which has none.
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
    /// Writes the key to a new file.
    ///
    /// Raises `KeyFileError` if the file exists.
    fn save(&self, py: Python<'_>, path: Place) -> PyResult<()> {
        write(py, &KeyFile::of_public(&self.0), &path.0)
    }

    /// Reads an owner's public key, of its own, a reader's or the owner's file.
    ///
    /// Raises `KeyFileError` for another or a damaged file, `KeyKindError` for another key.
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
    /// Writes the key to a new file.
    ///
    /// Raises `KeyFileError` if the file exists.
    fn save(&self, py: Python<'_>, path: Place) -> PyResult<()> {
        write(py, &KeyFile::of_reader_public(&self.0), &path.0)
    }

    /// Reads a reader's public key, of its own or the pair's file.
    ///
    /// Raises `KeyFileError` for another or a damaged file, `KeyKindError` for another key, or one that protects nothing.
    #[staticmethod]
    fn load(py: Python<'_>, path: Place) -> PyResult<Self> {
        let key = read(py, &path.0)?.reader_public();
        Ok(Self(key.map_err(|error| errors::net(py, &error))?))
    }

    /// The BLAKE3 digest of the key, in hexadecimal, by which the owner checks whose it is.
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

/// The reader's half of an owner's or a reader's key.
pub(crate) fn reader_of(key: &Bound<'_, PyAny>) -> PyResult<ReaderKeys> {
    if let Ok(key) = key.cast::<OwnerKey>() {
        return Ok(key.get().0.reader());
    }
    if let Ok(key) = key.cast::<ReaderKey>() {
        return Ok(key.get().0.clone());
    }
    Err(wrong(key, "an OwnerKey or a ReaderKey"))
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
