//! Keys of issuers of tokens.

use pyo3::prelude::*;
use sordino_net::{ClientPublicKey, KeyFile, KeyKind};

use super::{Place, digest, number, parse, pickled, read, short, write};
use crate::errors;

/// The public key of an issuer of tokens, which a server trusts. It is not secret.
///
/// The key that issues is used on the command line alone: `sordino keys new issuer`, `sordino token issue`.
#[pyclass(module = "sordino", frozen)]
pub(crate) struct IssuerPublicKey(
    /// Clients have keys of the same kind, and this crate has no other name for it.
    pub(crate) ClientPublicKey,
);

#[pymethods]
impl IssuerPublicKey {
    /// Writes the key to a new file.
    ///
    /// Raises `KeyFileError` if the file exists.
    fn save(&self, py: Python<'_>, path: Place) -> PyResult<()> {
        write(py, &self.file(py)?, &path.0)
    }

    /// Reads an issuer's public key.
    ///
    /// Raises `KeyFileError` for a wrong or damaged file, `KeyKindError` for a key of a different kind. The issuer's
    /// secret key is also refused: it lets anybody in, and must not be on a server's machine.
    #[staticmethod]
    fn load(py: Python<'_>, path: Place) -> PyResult<Self> {
        Self::of(py, &read(py, &path.0)?)
    }

    /// Return the line of the key's file.
    fn to_text(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self.file(py)?.text().to_string())
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
        Self::of(text.py(), &parse(text)?)
    }

    fn __reduce__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyAny>,))> {
        pickled::<Self>(py, &self.file(py)?)
    }

    /// The BLAKE3 digest of the key, in hexadecimal, by which a server's operator checks whose it is.
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
        format!("<IssuerPublicKey {}>", short(self.0.to_bytes()))
    }
}

impl IssuerPublicKey {
    fn file(&self, py: Python<'_>) -> PyResult<KeyFile> {
        let file = KeyFile::of_issuer_public(&self.0.for_tokens());
        file.map_err(|error| errors::net(py, &error))
    }

    fn of(py: Python<'_>, file: &KeyFile) -> PyResult<Self> {
        if file.kind() == KeyKind::Issuer {
            let text = "the issuer's key; expected its public key, since a server must have no secret: `sordino keys new \
                        issuer-public issuer.pub --from issuer.key` makes it";
            return Err(errors::raise(py, "KeyKindError", text));
        }
        let key = file.issuer_public();
        let key = key.and_then(|key| ClientPublicKey::from_bytes(key.as_bytes()));
        Ok(Self(key.map_err(|error| errors::net(py, &error))?))
    }
}
