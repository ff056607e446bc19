//! An index in a directory.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use numpy::PyReadonlyArray2;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use sordino_search::OwnerPublicKey;
use sordino_search::manifest::SignedManifest;
use sordino_search::{
    Attributes, Change, Error, Files, OwnerKeys, Pins, ReaderKeys, Server, Store,
};

use crate::access;
use crate::attributes;
use crate::build::Stop;
use crate::compute::{computing, random};
use crate::errors;
use crate::ids::{self, Given};
use crate::keys::{self, OwnerKey, PublicKey, ReaderKey, ReaderPublicKey};
use crate::vectors::{batch, check_directions, matrix, metric_name, warn_of_far};

/// An index in a directory, with the key to use it. Each call opens the directory again, so it sees the changes of
/// others. It locks the directory only while it changes something.
#[pyclass(module = "sordino._sordino", frozen)]
pub(crate) struct Index {
    #[pyo3(get)]
    path: PathBuf,
    key: Key,
    /// Taken by changes, so that the changes of one program wait for one another.
    changing: Mutex<()>,
}

enum Key {
    Owner(OwnerKeys, Arc<Pins>),
    Reader(ReaderKeys),
    Public(OwnerPublicKey),
    None,
}

#[pymethods]
impl Index {
    #[new]
    #[pyo3(signature = (path, key=None, restored=false))]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        key: Option<&Bound<'_, PyAny>>,
        restored: bool,
    ) -> PyResult<Self> {
        let key = match key {
            None => Key::None,
            Some(key) => {
                if let Ok(key) = key.cast::<OwnerKey>() {
                    Key::Owner(key.get().0.clone(), Arc::clone(&key.get().1))
                } else if let Ok(key) = key.cast::<ReaderKey>() {
                    Key::Reader(key.get().0.clone())
                } else if let Ok(key) = key.cast::<PublicKey>() {
                    Key::Public(key.get().0.clone())
                } else {
                    return Err(keys::wrong(key, "an OwnerKey, a ReaderKey or a PublicKey"));
                }
            }
        };
        let index = Self {
            path,
            key,
            changing: Mutex::new(()),
        };
        if restored {
            let (keys, pins) = index.owner(py)?;
            let (path, place) = (&index.path, Pins::place(&index.path));
            let taken = computing(py, || {
                pins.open_restored(Files, path, &place, keys).map(drop)
            })?;
            taken.map_err(|error| errors::search(py, &error))?;
        }
        Ok(index)
    }

    /// The number of records.
    fn len(&self, py: Python<'_>) -> PyResult<usize> {
        let keys = match &self.key {
            Key::Owner(keys, _) => keys.reader(),
            Key::Reader(keys) => keys.clone(),
            _ => {
                return Err(self.needs(
                    py,
                    "the number of records",
                    "an owner's or a reader's key",
                ));
            }
        };
        let len = computing(py, || Store::count_dir(&self.path, &keys))?;
        len.map_err(|error| errors::search(py, &error))
    }

    /// Adds records, or replaces those whose ids are there; the new version.
    #[pyo3(signature = (rows, ids=None, payloads=None, attributes=None, label=None))]
    fn add(
        &self,
        py: Python<'_>,
        rows: PyReadonlyArray2<'_, f32>,
        ids: Option<Given<'_>>,
        payloads: Option<Vec<Vec<u8>>>,
        attributes: Option<attributes::Given<'_>>,
        label: Option<&str>,
    ) -> PyResult<u64> {
        self.owner(py)?;
        let vectors = matrix(py, &rows, 0)?;
        let mut rng = random()?;
        let manifest = self.manifest(py)?;
        check_directions(py, manifest.metric, &vectors, 0)?;
        let ids = ids.map(|ids| ids.of(py, manifest.ids)).transpose()?;
        let batch = batch(py, vectors, ids, payloads, attributes)?;
        let added = Stop::default().heeding(py, None, |told| {
            self.changed(|store| store.add_labelled(&mut rng, label, [Ok(batch)], told))
        })?;
        warn_of_far(py, added.recall)?;
        Ok(added.version)
    }

    /// Gives records other payloads or attributes; the new version.
    fn update(
        &self,
        py: Python<'_>,
        ids: Given<'_>,
        payloads: Option<Vec<Vec<u8>>>,
        attributes: Option<attributes::Given<'_>>,
        cleared: Vec<String>,
    ) -> PyResult<u64> {
        self.owner(py)?;
        let ids = ids.of(py, self.manifest(py)?.ids)?;
        let (edit, attributes) = attributes::edit(py, ids, payloads, attributes)?;
        let mut rng = random()?;
        let updated = computing(py, || {
            self.changed(|store| {
                let emptied = match cleared.is_empty() {
                    true => Attributes::none(edit.len()),
                    false => store.attributes()?.emptied(&cleared, edit.len()),
                };
                let edit = edit.with_attributes(emptied.overlaid(attributes)?)?;
                store.update(&mut rng, edit)
            })
        })?;
        updated.map_err(|error| errors::search(py, &error))
    }

    /// Deletes records; the new version.
    fn delete(&self, py: Python<'_>, ids: Given<'_>) -> PyResult<u64> {
        self.owner(py)?;
        let ids = ids.of(py, self.manifest(py)?.ids)?;
        let mut rng = random()?;
        let deleted = computing(py, || self.changed(|store| store.delete(&mut rng, &ids)))?;
        deleted.map_err(|error| errors::search(py, &error))
    }

    /// Rewrites the records in as few segments as possible. Returns the new version.
    fn compact(&self, py: Python<'_>) -> PyResult<u64> {
        self.owner(py)?;
        let mut rng = random()?;
        Stop::default().heeding(py, None, |told| {
            self.changed(|store| store.compact(&mut rng, told))
        })
    }

    /// Gives a reader labels and groups, with its public key if it is new; the new version.
    fn grant(
        &self,
        py: Python<'_>,
        reader: &str,
        public: Option<&Bound<'_, ReaderPublicKey>>,
        labels: Vec<String>,
        groups: Vec<String>,
    ) -> PyResult<u64> {
        let public = public.map(|public| &public.get().0);
        self.change(py, Change::grant(reader, public, &labels, &groups))
    }

    /// Takes labels and groups from a reader; the new version.
    fn withdraw(
        &self,
        py: Python<'_>,
        reader: &str,
        labels: Vec<String>,
        groups: Vec<String>,
    ) -> PyResult<u64> {
        self.change(py, Change::withdraw(reader, &labels, &groups))
    }

    /// Takes a reader off the list; the new version.
    fn revoke(&self, py: Python<'_>, reader: &str) -> PyResult<u64> {
        self.change(py, Change::revoke(reader))
    }

    /// Says which labels a group may read; the new version.
    fn group(&self, py: Python<'_>, group: &str, labels: Vec<String>) -> PyResult<u64> {
        self.change(py, Change::group(group, &labels))
    }

    /// Takes a group from all readers; the new version.
    fn ungroup(&self, py: Python<'_>, group: &str) -> PyResult<u64> {
        self.change(py, Change::ungroup(group))
    }

    /// Who can read what; None where all readers share a key.
    fn access<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        self.owner(py)?;
        let read = computing(py, || self.changed(|store| Ok(store.access())))?;
        let read = read.map_err(|error| errors::search(py, &error))?;
        read.map(|report| access::report(py, &report)).transpose()
    }

    /// All payloads, by record; None where the index has none.
    fn payloads<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        self.owner(py)?;
        let read = computing(py, || self.changed(|store| store.payloads()))?;
        let Some(read) = read.map_err(|error| errors::search(py, &error))? else {
            return Ok(None);
        };
        let payloads = PyDict::new(py);
        for (id, payload) in read {
            payloads.set_item(ids::one(py, &id)?, PyBytes::new(py, &payload))?;
        }
        Ok(Some(payloads))
    }

    /// Checks every byte that the key allows to check; a dict of what was found.
    fn verify<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let found = PyDict::new(py);
        if let Key::Owner(keys, _) = &self.key {
            let verified = computing(py, || Store::verify_dir(&self.path, &keys.reader()))?;
            let verified = verified.map_err(|error| errors::search(py, &error))?;
            found.set_item("version", verified.version)?;
            found.set_item("versions", verified.versions)?;
            found.set_item("records", verified.records)?;
            found.set_item("deleted", verified.deleted)?;
            found.set_item("bytes", verified.bytes)?;
            found.set_item("full", true)?;
            return Ok(found);
        }
        let owner = self.public(py)?;
        let opened = computing(py, || {
            let index = sordino_search::Index::open_dir(&self.path, &owner)?;
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

    /// The signed manifest's account of the index; a dict.
    fn info<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let manifest = self.manifest(py)?;
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
        info.set_item("payloads", manifest.has_payloads())?;
        let look = manifest.second_look().map(|look| look.candidates);
        info.set_item("second_look", look)?;
        info.set_item("bytes", stored(py, &manifest)?)?;
        info.set_item("manifest", hex::encode(manifest.digest()))?;
        info.set_item("previous", hex::encode(manifest.previous))?;
        Ok(info)
    }
}

impl Index {
    /// The exception for a call that needs another key.
    fn needs(&self, py: Python<'_>, what: &str, expected: &str) -> PyErr {
        let found = match &self.key {
            Key::Owner(..) => "an owner's key",
            Key::Reader(_) => "a reader's key",
            Key::Public(_) => "a public key",
            Key::None => "no key",
        };
        let text = format!("{what} needs {expected}, and this index was opened with {found}");
        errors::raise(py, "KeyKindError", text)
    }

    /// Makes a change of readers; the new version.
    fn change(&self, py: Python<'_>, change: Change<'_>) -> PyResult<u64> {
        self.owner(py)?;
        let mut rng = random()?;
        let changed = computing(py, || {
            self.changed(|store| store.change_access(&mut rng, change))
        })?;
        changed.map_err(|error| errors::search(py, &error))
    }

    /// Opens the index for its owner, and remembers the version that it has after `work`, which may change it.
    fn changed<T>(&self, work: impl FnOnce(&mut Store) -> Result<T, Error>) -> Result<T, Error> {
        // Callers have refused other keys.
        let Key::Owner(keys, pins) = &self.key else {
            return Err(Error::Signature);
        };
        let _changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let place = Pins::place(&self.path);
        let mut store = pins.open(Files, &self.path, &place, keys)?;
        pins.change(&place, &mut store, work)
    }

    fn owner(&self, py: Python<'_>) -> PyResult<(&OwnerKeys, &Pins)> {
        match &self.key {
            Key::Owner(keys, pins) => Ok((keys, pins)),
            _ => Err(self.needs(py, "a change", "the owner's key")),
        }
    }

    fn public(&self, py: Python<'_>) -> PyResult<OwnerPublicKey> {
        match &self.key {
            Key::Owner(keys, _) => Ok(keys.public()),
            Key::Reader(keys) => Ok(keys.owner().clone()),
            Key::Public(key) => Ok(key.clone()),
            // Nothing is believed that the owner did not sign.
            Key::None => Err(self.needs(py, "this", "a key to check signatures with")),
        }
    }

    /// The newest version's manifest.
    fn manifest(&self, py: Python<'_>) -> PyResult<SignedManifest> {
        let owner = self.public(py)?;
        let opened = computing(py, || {
            sordino_search::Index::manifest_of_dir(&self.path, &owner)
        })?;
        opened.map_err(|error| errors::search(py, &error))
    }
}

/// Bytes of an index's files.
fn stored(py: Python<'_>, manifest: &SignedManifest) -> PyResult<u64> {
    let parts = manifest.parts();
    let parts = parts.map_err(|error| errors::search(py, &error))?;
    let stored = parts.iter().filter(|part| part.holder.is_stored());
    Ok(stored.map(|part| part.len).sum())
}
