//! BLAKE3 over many messages at once.

use pyo3::prelude::*;
use pyo3::types::PyBytes;

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
    let digests = computing(py, || match (key, context) {
        (Some(key), _) => plain(sordino_hash::par_keyed_hash_each(&key, &slices)),
        (None, Some(context)) => sordino_hash::par_derive_key_each(&context, &slices),
        (None, None) => plain(sordino_hash::par_hash_each(&slices)),
    })?;
    Ok(digests
        .iter()
        .map(|digest| PyBytes::new(py, digest))
        .collect())
}

fn plain(digests: Vec<sordino_hash::Hash>) -> Vec<[u8; 32]> {
    digests.into_iter().map(Into::into).collect()
}
