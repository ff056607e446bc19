//! BLAKE3 over many messages at once.

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use sordino_hash::BatchHasher;

use super::borrowed;
use crate::compute::computing;

/// The digest of each message: plain, keyed, or a key derived for a context.
#[pyfunction]
#[pyo3(signature = (messages, key=None, context=None))]
pub(crate) fn hash_each<'py>(
    py: Python<'py>,
    messages: Vec<Bound<'py, PyBytes>>,
    key: Option<[u8; 32]>,
    context: Option<String>,
) -> PyResult<Vec<Bound<'py, PyBytes>>> {
    let slices = borrowed(&messages);
    let digests = computing(py, || {
        let hasher = match (key, context) {
            (Some(key), _) => BatchHasher::new_keyed(&key),
            (None, Some(context)) => BatchHasher::new_derive_key(&context),
            (None, None) => BatchHasher::new(),
        };
        hasher.par_hash(&slices)
    })?;
    Ok(digests
        .iter()
        .map(|digest| PyBytes::new(py, digest.as_bytes()))
        .collect())
}
