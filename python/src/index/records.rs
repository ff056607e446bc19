//! The records of an index: how many there are, their ids and labels.

use pyo3::prelude::*;
use sordino_search::{Attributes, Error, Files, Store, WriterStore};

use super::{Index, Key};
use crate::attributes;
use crate::compute::{computing, random};
use crate::errors;
use crate::ids::{self, Given};

/// The number of records.
pub(super) fn len(index: &Index, py: Python<'_>) -> PyResult<usize> {
    let keys = index.key.reader().ok_or_else(|| {
        let expected = "an owner's, a reader's or a writer's key";
        index.needs(py, "the number of records", expected)
    })?;
    let len = computing(py, || Store::count_dir(&index.path, &keys))?;
    len.map_err(|error| errors::search(py, &error))
}

/// The ids of all records, in their order: an array of numbers, or a list of texts.
pub(super) fn ids<'py>(index: &Index, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
    if !matches!(index.key, Key::Owner(..)) {
        return Err(index.needs(py, "a list of all ids", "the owner's key"));
    }
    let read = computing(py, || {
        index.changed(|store| Ok(store.ids().collect::<Vec<_>>()))
    })?;
    let mut ids = read.map_err(|error| errors::search(py, &error))?;
    ids.sort_unstable();
    ids::all(py, &ids)
}

/// True if there are records with these ids.
pub(super) fn contains(index: &Index, py: Python<'_>, ids: &Given<'_>) -> PyResult<bool> {
    if !matches!(index.key, Key::Owner(..)) {
        return Err(index.needs(py, "a look for an id", "the owner's key"));
    }
    let ids = ids.of(py, index.manifest(py)?.ids)?;
    let found = computing(py, || {
        index.changed(|store| Ok(ids.iter().all(|id| store.contains(id.clone()))))
    })?;
    found.map_err(|error| errors::search(py, &error))
}

/// The labels of records; None for a record without a label, or one that does not exist.
pub(super) fn labels(
    index: &Index,
    py: Python<'_>,
    ids: &Given<'_>,
) -> PyResult<Vec<Option<String>>> {
    index.owner(py)?;
    let ids = ids.of(py, index.manifest(py)?.ids)?;
    let read = computing(py, || {
        index.changed(|store| {
            let labels = ids.iter().map(|id| store.label(id).map(str::to_owned));
            Ok(labels.collect())
        })
    })?;
    read.map_err(|error| errors::search(py, &error))
}

/// True if a writer's key may add under this label, or without one.
pub(super) fn may_add(index: &Index, py: Python<'_>, label: Option<&str>) -> PyResult<bool> {
    let Key::Writer(keys) = &index.key else {
        return Err(index.needs(py, "this", "a writer's key"));
    };
    let pin = index.pin.as_ref();
    let opened = computing(py, || WriterStore::open_on(Files, &index.path, keys, pin))?;
    let store = opened.map_err(|error| errors::search(py, &error))?;
    Ok(store.may_add(label))
}

/// Gives records new payloads or attributes, and clears other attributes. Returns the new version.
pub(super) fn update(
    index: &Index,
    py: Python<'_>,
    (ids, payloads, given): (
        &Given<'_>,
        Option<Vec<Vec<u8>>>,
        Option<attributes::Given<'_>>,
    ),
    cleared: &[String],
) -> PyResult<u64> {
    index.owner(py)?;
    let ids = ids.of(py, index.manifest(py)?.ids)?;
    let (edit, given) = attributes::edit(py, ids, payloads, given)?;
    let mut rng = random()?;
    let updated = computing(py, || {
        index.changed(|store| {
            let emptied = match cleared.is_empty() {
                true => Attributes::none(edit.len()),
                false => store.attributes()?.emptied(cleared, edit.len()),
            };
            let edit = edit.with_attributes(emptied.overlaid(given)?)?;
            store.update(&mut rng, edit)
        })
    })?;
    updated.map_err(|error| errors::search(py, &error))
}

/// Refuses records with ids if not all attributes that the index has are named: a replaced record would lose the others, and a
/// misspelt name would make a column of its own.
pub(super) fn keep_attributes(store: &Store, named: &[String]) -> Result<(), Error> {
    let known = store.attributes()?;
    let lost = known.columns().map(|(name, _)| name);
    let lost: Vec<&str> = lost
        .filter(|name| !named.iter().any(|it| it == name))
        .collect();
    if lost.is_empty() {
        return Ok(());
    }
    Err(Error::Attribute {
        name: lost.join(", "),
        why: format!(
            "the index has it, and a record that is replaced would lose its own; named were {}. Name it too, or pass leave_empty=True",
            match named {
                [] => "none".to_owned(),
                named => named.join(", "),
            }
        ),
    })
}
