//! Keys of clients, which servers may ask for.

use std::sync::Arc;

use pyo3::prelude::*;
use sordino_net::KeyFile;

use super::{Place, digest, number, parse, pickled, read, short, unpickled, write};
use crate::compute::random;
use crate::errors;

/// A new client's key, with which it logs in to servers.
#[pyfunction]
pub(crate) fn client_keygen() -> PyResult<ClientKey> {
    let key = sordino_net::ClientKey::generate(&mut random()?);
    Ok(ClientKey(Arc::new(key)))
}

/// The key that a client logs in with, to servers that list its public key. 32 secret bytes.
///
/// Made by `sordino.client_keygen()` or `ClientKey.load(path)`. All requests of one key can be linked.
#[pyclass(module = "sordino", frozen)]
pub(crate) struct ClientKey(pub(crate) Arc<sordino_net::ClientKey>);

/// The public half of a client's key, which a server lists.
#[pyclass(module = "sordino", frozen)]
pub(crate) struct ClientPublicKey(pub(crate) sordino_net::ClientPublicKey);

#[pymethods]
impl ClientKey {
    /// Writes the key to a new file that you alone can read.
    ///
    /// Raises `KeyFileError` if the file exists.
    fn save(&self, py: Python<'_>, path: Place) -> PyResult<()> {
        write(py, &KeyFile::of_client(&self.0), &path.0)
    }

    /// Reads a client's key.
    ///
    /// Raises `KeyFileError` for a wrong or damaged file, `KeyKindError` for a key of a different kind.
    #[staticmethod]
    fn load(py: Python<'_>, path: Place) -> PyResult<Self> {
        let key = read(py, &path.0)?.client();
        let key = key.map_err(|error| errors::net(py, &error))?;
        Ok(Self(Arc::new(key)))
    }

    /// Return the line of the key's file, which is the secret: for an environment variable or a store of secrets.
    fn to_text(&self) -> String {
        KeyFile::of_client(&self.0).text().to_string()
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
        let key = parse(text)?.client();
        Ok(Self(Arc::new(
            key.map_err(|error| errors::net(py, &error))?,
        )))
    }

    fn __reduce__(&self, py: Python<'_>) -> PyResult<()> {
        Err(unpickled(py, "ClientKey"))
    }

    /// The public half, which a server lists.
    fn public(&self) -> ClientPublicKey {
        ClientPublicKey(self.0.public().clone())
    }

    fn __repr__(&self) -> String {
        format!("<ClientKey {}>", short(self.0.public().to_bytes()))
    }
}

#[pymethods]
impl ClientPublicKey {
    /// Writes the key to a new file.
    ///
    /// Raises `KeyFileError` if the file exists.
    fn save(&self, py: Python<'_>, path: Place) -> PyResult<()> {
        write(py, &KeyFile::of_client_public(&self.0), &path.0)
    }

    /// Reads a client's public key, from its own file or the client's.
    ///
    /// Raises `KeyFileError` for a wrong or damaged file, `KeyKindError` for a key of a different kind.
    #[staticmethod]
    fn load(py: Python<'_>, path: Place) -> PyResult<Self> {
        let key = read(py, &path.0)?.client_public();
        Ok(Self(key.map_err(|error| errors::net(py, &error))?))
    }

    /// Return the line of the key's file.
    fn to_text(&self) -> String {
        KeyFile::of_client_public(&self.0).text().to_string()
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
        let key = parse(text)?.client_public();
        Ok(Self(key.map_err(|error| errors::net(py, &error))?))
    }

    fn __reduce__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyAny>,))> {
        pickled::<Self>(py, &KeyFile::of_client_public(&self.0))
    }

    /// The BLAKE3 digest of the key, in hexadecimal, by which a policy names the client.
    fn digest(&self) -> String {
        digest(self.0.to_bytes())
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.0 == other.0
    }

    fn __hash__(&self) -> u64 {
        number(self.0.to_bytes())
    }

    fn __repr__(&self) -> String {
        format!("<ClientPublicKey {}>", short(self.0.to_bytes()))
    }
}
