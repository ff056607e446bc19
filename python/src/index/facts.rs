//! Facts about an index from its signed manifest.

use std::path::Path;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use sordino_search::manifest::SignedManifest;
use sordino_search::{Error, Id, OwnerPublicKey, Server, Verified};

use super::Key;
use crate::compute::computing;
use crate::errors;
use crate::ids;
use crate::vectors::metric_name;

/// Facts about a version, as a dict, including the time until which a writer may add to it.
pub(super) fn of<'py>(
    py: Python<'py>,
    manifest: &SignedManifest,
    key: &Key,
) -> PyResult<Bound<'py, PyDict>> {
    let info = PyDict::new(py);
    info.set_item("index", hex::encode(manifest.index))?;
    info.set_item("version", manifest.version)?;
    info.set_item("mode", manifest.mode.kind().name())?;
    info.set_item("metric", metric_name(manifest.metric))?;
    info.set_item("stored", manifest.n)?;
    info.set_item("dim", manifest.dim)?;
    info.set_item("k", manifest.k)?;
    info.set_item("id_kind", ids::kind_name(manifest.ids))?;
    info.set_item("segments", manifest.segments().len())?;
    info.set_item("writers", manifest.writers.len())?;
    info.set_item("additions", manifest.additions().len())?;
    let owners = manifest.shown().next().map(|shown| shown.version);
    info.set_item("owner_version", owners.unwrap_or(manifest.version))?;
    if let Key::Writer(keys) = key {
        let public = keys.secret().public().signing.to_bytes();
        let right = manifest.writers.iter().find(|it| it.public == public);
        info.set_item("writes_until", right.map(|right| right.until))?;
    }
    info.set_item("payloads", manifest.has_payloads())?;
    let segments = manifest.segments();
    let filtered = segments.iter().any(|it| it.attributes.is_some());
    info.set_item("attributes", filtered)?;
    let look = manifest.second_look().map(|look| look.candidates);
    info.set_item("second_look", look)?;
    info.set_item("bytes", stored(py, manifest)?)?;
    info.set_item("manifest", hex::encode(manifest.digest()))?;
    info.set_item("previous", hex::encode(manifest.previous))?;
    Ok(info)
}

/// The bytes of an index's files.
pub(super) fn stored(py: Python<'_>, manifest: &SignedManifest) -> PyResult<u64> {
    let parts = manifest.parts();
    let parts = parts.map_err(|error| errors::search(py, &error))?;
    let stored = parts.iter().filter(|part| part.holder.is_stored());
    Ok(stored.map(|part| part.len).sum())
}

/// Facts about a version that was checked completely.
pub(super) fn verified(py: Python<'_>, verified: Verified) -> PyResult<Bound<'_, PyDict>> {
    let found = PyDict::new(py);
    found.set_item("version", verified.version)?;
    found.set_item("versions", verified.versions)?;
    found.set_item("records", verified.records)?;
    found.set_item("deleted", verified.deleted)?;
    found.set_item("bytes", verified.bytes)?;
    found.set_item("full", true)?;
    Ok(found)
}

/// The facts about a version that was checked without a secret key.
pub(super) fn seen<'py>(
    py: Python<'py>,
    path: &Path,
    owner: &OwnerPublicKey,
) -> PyResult<Bound<'py, PyDict>> {
    let found = PyDict::new(py);
    let opened = computing(py, || {
        let index = sordino_search::Index::open_dir(path, owner)?;
        let manifest = index.manifest().clone();
        Server::new(index)?;
        Ok::<_, Error>(manifest)
    })?;
    let manifest = opened.map_err(|error| errors::search(py, &error))?;
    found.set_item("version", manifest.version)?;
    found.set_item("bytes", stored(py, &manifest)?)?;
    found.set_item("full", false)?;
    Ok(found)
}

/// Payloads by record.
pub(super) fn payloads(
    py: Python<'_>,
    read: impl IntoIterator<Item = (Id, Vec<u8>)>,
) -> PyResult<Bound<'_, PyDict>> {
    let payloads = PyDict::new(py);
    for (id, payload) in read {
        payloads.set_item(ids::one(py, &id)?, PyBytes::new(py, &payload))?;
    }
    Ok(payloads)
}
