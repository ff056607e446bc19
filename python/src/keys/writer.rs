//! Keys of writers, who add records to an owner's index.

use pyo3::prelude::*;
use sordino_net::KeyFile;
use sordino_search::{WriterKeys, WriterSecret};

use super::{
    Place, PublicKey, ReaderKey, ReaderPublicKey, digest, number, parse, pickled, read, short,
    unpickled, write,
};
use crate::compute::random;
use crate::errors;

/// A new key for one writer, for indexes of the owner of this public key.
///
/// The writer makes and keeps it, and gives the owner its public half, `WriterKey.writer_public()`.
#[pyfunction]
pub(crate) fn writer_keygen(owner: &Bound<'_, PublicKey>) -> PyResult<WriterKey> {
    let secret = WriterSecret::generate(&mut random()?);
    Ok(WriterKey(WriterKeys::new(secret, owner.get().0.clone())))
}

/// The key of a writer, who reads what the owner granted, and adds records under the labels that the owner named. 32 secret bytes.
///
/// Made by `sordino.writer_keygen()` or `WriterKey.load(path)`. It is never printed.
#[pyclass(module = "sordino", frozen)]
pub(crate) struct WriterKey(pub(crate) WriterKeys);

/// The public half of a writer's key, to which the owner grants access. It is not secret.
#[pyclass(module = "sordino", frozen)]
pub(crate) struct WriterPublicKey(pub(crate) sordino_search::WriterPublicKey);

#[pymethods]
impl WriterKey {
    /// Write the key to a new file that you alone can read.
    ///
    /// Raises `KeyFileError` if the file exists.
    fn save(&self, py: Python<'_>, path: Place) -> PyResult<()> {
        write(py, &KeyFile::of_writer(&self.0), &path.0)
    }

    /// Read a writer's key.
    ///
    /// Raises `KeyFileError` for a wrong or damaged file, `KeyKindError` for a key of a different kind.
    #[staticmethod]
    fn load(py: Python<'_>, path: Place) -> PyResult<Self> {
        let keys = read(py, &path.0)?.writer();
        Ok(Self(keys.map_err(|error| errors::net(py, &error))?))
    }

    /// Return the line of the key's file, which is the secret: for an environment variable or a store of secrets.
    fn to_text(&self) -> String {
        KeyFile::of_writer(&self.0).text().to_string()
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
        let key = parse(text)?.writer();
        Ok(Self(key.map_err(|error| errors::net(py, &error))?))
    }

    fn __reduce__(&self, py: Python<'_>) -> PyResult<()> {
        Err(unpickled(py, "WriterKey"))
    }

    /// The owner's public key.
    fn public(&self) -> PublicKey {
        PublicKey(self.0.owner().clone())
    }

    /// The key by which this writer reads.
    fn reader(&self) -> ReaderKey {
        ReaderKey(self.0.reader())
    }

    /// The public half, for the owner.
    fn writer_public(&self) -> WriterPublicKey {
        WriterPublicKey(self.0.secret().public())
    }

    fn __repr__(&self) -> String {
        let owner = short(&self.0.owner().to_bytes());
        let public = self.0.secret().public().to_bytes();
        format!("<WriterKey {} of {owner}>", short(&public))
    }
}

#[pymethods]
impl WriterPublicKey {
    /// Write the key to a new file.
    ///
    /// Raises `KeyFileError` if the file exists.
    fn save(&self, py: Python<'_>, path: Place) -> PyResult<()> {
        write(py, &KeyFile::of_writer_public(&self.0), &path.0)
    }

    /// Read a writer's public key, from its own file or the writer's.
    ///
    /// Raises `KeyFileError` for a wrong or damaged file, `KeyKindError` for a key of a different kind, or one that
    /// protects nothing.
    #[staticmethod]
    fn load(py: Python<'_>, path: Place) -> PyResult<Self> {
        let key = read(py, &path.0)?.writer_public();
        Ok(Self(key.map_err(|error| errors::net(py, &error))?))
    }

    /// Return the line of the key's file.
    fn to_text(&self) -> String {
        KeyFile::of_writer_public(&self.0).text().to_string()
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
        let key = parse(text)?.writer_public();
        Ok(Self(key.map_err(|error| errors::net(py, &error))?))
    }

    fn __reduce__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyAny>,))> {
        pickled::<Self>(py, &KeyFile::of_writer_public(&self.0))
    }

    /// The half that a reader has, to which the owner may grant reading alone.
    fn reader_public(&self) -> ReaderPublicKey {
        ReaderPublicKey(self.0.reader.clone())
    }

    /// The BLAKE3 digest of the key, in hexadecimal, which the owner compares with the writer.
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
        format!("<WriterPublicKey {}>", short(&self.0.to_bytes()))
    }
}
