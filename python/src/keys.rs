//! Keys and their files.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pyo3::exceptions::PyUserWarning;
use pyo3::prelude::*;
use pyo3::types::PyString;
use sordino_net::KeyFile;
use sordino_search::{OwnerKeys, OwnerPublicKey, Pins, ReaderKeys};

use crate::compute::random;
use crate::errors;

mod client; // keys of clients
mod issuer; // keys of issuers
mod reader; // keys of readers
mod writer; // keys of writers

pub(crate) use client::{ClientKey, ClientPublicKey, client_keygen};
pub(crate) use issuer::IssuerPublicKey;
pub(crate) use reader::{ReaderKey, ReaderPublicKey, reader_keygen};
pub(crate) use writer::{WriterKey, WriterPublicKey, writer_keygen};

/// A new owner's key, from the system's generator.
///
/// Keep it, with an offline copy. Without it nobody can change the owner's indexes.
#[pyfunction]
pub(crate) fn keygen() -> PyResult<OwnerKey> {
    let keys = OwnerKeys::generate(&mut random()?);
    Ok(OwnerKey(keys, Arc::new(Pins::in_memory())))
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

/// The owner's public key, by which a server checks that an index is the owner's. It is not secret.
#[pyclass(module = "sordino", frozen)]
pub(crate) struct PublicKey(pub(crate) OwnerPublicKey);

/// The path of a key file. Other values are refused by this package's own error.
pub(crate) struct Place(PathBuf);

impl<'a, 'py> FromPyObject<'a, 'py> for Place {
    type Error = PyErr;

    fn extract(given: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        let found = given.extract::<PathBuf>();
        let line = found.as_ref().ok().and_then(|path| path.to_str());
        if line.is_some_and(|line| KeyFile::parse(line.as_bytes()).is_ok()) {
            // The error for a missing file would show the secret.
            let text = "path is the text of a key: expected the path of its file; from_text(text) reads the text itself";
            return Err(errors::raise(given.py(), "InputError", text));
        }
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

/// The key file that a text is the content of.
fn parse(text: &Bound<'_, PyAny>) -> PyResult<KeyFile> {
    let py = text.py();
    let Ok(line) = text.cast::<PyString>() else {
        let kind = text.get_type().name()?;
        let why = format!("text is a {kind}: expected a str, the line of a key file");
        return Err(errors::raise(py, "InputError", why));
    };
    let found = line.to_str().map_err(|_| "this is no text of a key file");
    let found = found.and_then(|line| KeyFile::parse(line.as_bytes()));
    found.map_err(|why| {
        let why = format!(
            "text: {why}; expected the line that to_text() gives and that is in a key's file"
        );
        errors::raise(py, "KeyFileError", why)
    })
}

/// The exception if a program copies or pickles a secret.
fn unpickled(py: Python<'_>, kind: &str) -> PyErr {
    let text = format!(
        "{kind} is secret, and is not copied or pickled: give the path of its file and {kind}.load(path) there, or the \
         text of to_text() in an environment variable and {kind}.from_text(text)"
    );
    errors::raise(py, "KeyKindError", text)
}

/// The pickled form of a key that is not secret.
fn pickled<'py, T: pyo3::PyTypeInfo>(
    py: Python<'py>,
    file: &KeyFile,
) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyAny>,))> {
    let caller = py.import("operator")?.getattr("methodcaller")?;
    let again = caller.call1(("from_text", file.text().as_str()))?;
    Ok((again, (py.get_type::<T>().into_any(),)))
}

/// The first digits of a public key's BLAKE3 digest, by which people tell keys apart.
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

    /// Return the line of the key's file, which is the secret: for an environment variable or a store of secrets.
    fn to_text(&self) -> String {
        KeyFile::of_owner(&self.0).text().to_string()
    }

    /// Return the key whose file has this line. It remembers versions of indexes in the file `pins`, or in this
    /// object alone.
    ///
    /// Parameters
    /// ----------
    /// text : str
    ///     The line.
    /// pins : path, optional
    ///     The file of known versions.
    ///
    /// Raises
    /// ------
    /// KeyFileError, KeyKindError
    ///     If the text is not a key's line, or is the line of a different kind of key.
    #[staticmethod]
    #[pyo3(signature = (text, pins=None))]
    fn from_text(text: &Bound<'_, PyAny>, pins: Option<PathBuf>) -> PyResult<Self> {
        let py = text.py();
        let key = parse(text)?.owner();
        Ok(Self(
            key.map_err(|error| errors::net(py, &error))?,
            Arc::new(pins.map_or_else(Pins::in_memory, |file| Pins::at(&file))),
        ))
    }

    fn __reduce__(&self, py: Python<'_>) -> PyResult<()> {
        Err(unpickled(py, "OwnerKey"))
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

    /// Return the line of the key's file.
    fn to_text(&self) -> String {
        KeyFile::of_public(&self.0).text().to_string()
    }

    /// Return the key whose file has this line.
    ///
    /// Parameters
    /// ----------
    /// text : str
    ///     The line.
    ///
    /// Raises
    /// ------
    /// KeyFileError, KeyKindError
    ///     If the text is not a key's line, or is the line of a different kind of key.
    #[staticmethod]
    fn from_text(text: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = text.py();
        let key = parse(text)?.public();
        Ok(Self(key.map_err(|error| errors::net(py, &error))?))
    }

    fn __reduce__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyAny>,))> {
        pickled::<Self>(py, &KeyFile::of_public(&self.0))
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

/// The reader's half of an owner's, a reader's or a writer's key.
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
