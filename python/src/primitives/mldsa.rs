//! ML-DSA signatures in batches.

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use sordino_mldsa::{BatchVerifier, Error, Item, MlDsa44, MlDsa65, MlDsa87, Params};

use super::{borrowed, wrong};
use crate::compute::computing;

/// True for each valid signature. All signatures have the same public key.
#[pyfunction]
pub(crate) fn verify_batch<'py>(
    py: Python<'py>,
    level: u8,
    public_keys: Vec<Bound<'py, PyBytes>>,
    messages: Vec<Bound<'py, PyBytes>>,
    signatures: Vec<Bound<'py, PyBytes>>,
    context: Vec<u8>,
) -> PyResult<Vec<bool>> {
    let (keys, messages) = (borrowed(&public_keys), borrowed(&messages));
    let signatures = borrowed(&signatures);
    let verdicts = computing(py, || match level {
        44 => verdicts::<MlDsa44>(&keys, &messages, &signatures, &context),
        65 => verdicts::<MlDsa65>(&keys, &messages, &signatures, &context),
        _ => verdicts::<MlDsa87>(&keys, &messages, &signatures, &context),
    })?;
    // A key or context of an impossible length is the caller's mistake, and not a forgery.
    let verdicts = verdicts.into_iter().map(|verdict| match verdict {
        Ok(()) => Ok(true),
        Err(error @ (Error::PublicKeyLength { .. } | Error::ContextLength { .. })) => {
            Err(wrong(py, &error))
        }
        Err(_) => Ok(false),
    });
    verdicts.collect()
}

fn verdicts<P: Params>(
    keys: &[&[u8]],
    messages: &[&[u8]],
    signatures: &[&[u8]],
    context: &[u8],
) -> Vec<Result<(), Error>> {
    let pairs = messages.iter().zip(signatures).enumerate();
    let items: Vec<Item<'_, P>> = pairs
        .map(|(at, (message, signature))| {
            let key = keys[at.min(keys.len() - 1)];
            Item::new(key, message, context, signature)
        })
        .collect();
    BatchVerifier::<P>::new().par_verify_each(&items)
}
