//! Keys of readers, who search and read an owner's indexes.

use pyo3::prelude::*;
use sordino_net::KeyFile;
use sordino_search::{ReaderKeys, ReaderSecret};

use super::{Place, PublicKey, digest, number, parse, pickled, read, short, unpickled, write};
use crate::compute::random;
use crate::errors;

/// A new pair of keys for one reader, for indexes of the owner of this public key.
///
/// The reader makes and keeps the pair, and gives the owner its public half, `ReaderKey.reader_public()`.
#[pyfunction]
pub(crate) fn reader_keygen(owner: &Bound<'_, PublicKey>) -> PyResult<ReaderKey> {
    let secret = ReaderSecret::generate(&mut random()?);
    let owner = owner.get().0.clone();
    Ok(ReaderKey(ReaderKeys::from_secret(secret, owner)))
}

/// The key of a reader, which searches and reads the owner's indexes, and cannot sign.
///
/// `OwnerKey.reader()` returns the key that readers share, `sordino.reader_keygen(public_key)` the pair of one
/// reader, and `ReaderKey.load(path)` either of them. It is never printed.
#[pyclass(module = "sordino", frozen)]
pub(crate) struct ReaderKey(pub(crate) ReaderKeys);

/// The public half of a reader's own pair, to which the owner grants access. It is not secret.
#[pyclass(module = "sordino", frozen)]
pub(crate) struct ReaderPublicKey(pub(crate) sordino_search::ReaderPublicKey);

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

    /// Return the line of the key's file, which is the secret: for an environment variable or a store of secrets.
    fn to_text(&self) -> String {
        KeyFile::of_reader(&self.0).text().to_string()
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
        let key = parse(text)?.reader();
        Ok(Self(key.map_err(|error| errors::net(py, &error))?))
    }

    fn __reduce__(&self, py: Python<'_>) -> PyResult<()> {
        Err(unpickled(py, "ReaderKey"))
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

    /// The owner and, for a reader's own pair, its public key, both shortened.
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

    /// Return the line of the key's file.
    fn to_text(&self) -> String {
        KeyFile::of_reader_public(&self.0).text().to_string()
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
        let key = parse(text)?.reader_public();
        Ok(Self(key.map_err(|error| errors::net(py, &error))?))
    }

    fn __reduce__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyAny>,))> {
        pickled::<Self>(py, &KeyFile::of_reader_public(&self.0))
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
