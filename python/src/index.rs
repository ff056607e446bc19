//! An index in a directory.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use numpy::PyReadonlyArray2;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sordino_search::OwnerPublicKey;
use sordino_search::manifest::SignedManifest;
use sordino_search::{Change, Error, Files, OwnerKeys, Pin, Pins, Store, WriterStore};

use crate::access;
use crate::attributes;
use crate::build::Stop;
use crate::compute::{computing, now, random};
use crate::errors;
use crate::ids::Given;
use crate::keys::{ReaderPublicKey, WriterPublicKey};
use crate::vectors::{batch, check_directions, matrix, warn_of_far};

mod exchange; // versions sent to a server and received from it
mod facts; // facts from the manifest
mod key;
mod records; // how many, their ids and labels

pub(crate) use exchange::pull;
use exchange::{Door, PinParts};
use key::Key;

/// An index in a directory, with the key to use it. Each call opens the directory again, so it sees the changes of
/// others. A call locks the directory only while it changes something.
#[pyclass(module = "sordino._sordino", frozen)]
pub(crate) struct Index {
    #[pyo3(get)]
    path: PathBuf,
    key: Key,
    /// A version from which the directory's must follow when a writer adds to it.
    pin: Option<Pin>,
    /// Changes hold this lock, so that the changes of one program wait for one another.
    changing: Mutex<()>,
}

#[pymethods]
impl Index {
    #[new]
    #[pyo3(signature = (path, key=None, restored=false, pin=None))]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        key: Option<&Bound<'_, PyAny>>,
        restored: bool,
        pin: Option<PinParts>,
    ) -> PyResult<Self> {
        let index = Self {
            path,
            key: Key::of(key)?,
            pin: pin.map(exchange::pin_of),
            changing: Mutex::new(()),
        };
        if index.pin.is_some() && !matches!(index.key, Key::Writer(_)) {
            return Err(index.needs(py, "a pin", "a writer's key"));
        }
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
        records::len(self, py)
    }

    /// The ids of all records, in their order: an array of numbers, or a list of texts.
    fn ids<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        records::ids(self, py)
    }

    /// True if there is a record with this id.
    fn contains(&self, py: Python<'_>, ids: Given<'_>) -> PyResult<bool> {
        records::contains(self, py, &ids)
    }

    /// Adds records, or replaces the records whose ids exist. Returns the new version. If `named` is given, records with ids
    /// must name all attributes.
    #[pyo3(signature = (rows, ids=None, payloads=None, attributes=None, label=None, named=None))]
    #[expect(clippy::too_many_arguments, reason = "they are Python's")]
    fn add(
        &self,
        py: Python<'_>,
        rows: PyReadonlyArray2<'_, f32>,
        ids: Option<Given<'_>>,
        payloads: Option<Vec<Vec<u8>>>,
        attributes: Option<attributes::Given<'_>>,
        label: Option<&str>,
        named: Option<Vec<String>>,
    ) -> PyResult<u64> {
        if !matches!(self.key, Key::Owner(..) | Key::Writer(_)) {
            return Err(self.needs(py, "a change", "the owner's key, or a writer's"));
        }
        let vectors = matrix(py, &rows, 0)?;
        let mut rng = random()?;
        let manifest = self.manifest(py)?;
        check_directions(py, manifest.metric, &vectors, 0)?;
        let ids = ids.map(|ids| ids.of(py, manifest.ids)).transpose()?;
        let named = named.filter(|_| ids.is_some());
        let batch = batch(py, vectors, ids, payloads, attributes)?;
        let added = Stop::default().heeding(py, None, |told| match &self.key {
            Key::Writer(keys) => {
                let _changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
                let mut store = WriterStore::open_on(Files, &self.path, keys, self.pin.as_ref())?;
                store.add(&mut rng, now(), label, [Ok(batch)], told)
            }
            _ => self.changed(|store| {
                if let Some(named) = &named {
                    records::keep_attributes(store, named)?;
                }
                store.add_labelled(&mut rng, label, [Ok(batch)], told)
            }),
        })?;
        warn_of_far(py, added.recall)?;
        Ok(added.version)
    }

    /// True if a writer's key may add under this label, or without one, while its right lasts.
    #[pyo3(signature = (label=None))]
    fn may_add(&self, py: Python<'_>, label: Option<&str>) -> PyResult<bool> {
        records::may_add(self, py, label)
    }

    /// Gives records new payloads or attributes. Returns the new version.
    fn update(
        &self,
        py: Python<'_>,
        ids: Given<'_>,
        payloads: Option<Vec<Vec<u8>>>,
        attributes: Option<attributes::Given<'_>>,
        cleared: Vec<String>,
    ) -> PyResult<u64> {
        records::update(self, py, (&ids, payloads, attributes), &cleared)
    }

    /// Deletes records. Returns the new version.
    fn delete(&self, py: Python<'_>, ids: Given<'_>) -> PyResult<u64> {
        self.owner(py)?;
        let ids = ids.of(py, self.manifest(py)?.ids)?;
        let mut rng = random()?;
        let deleted = computing(py, || self.changed(|store| store.delete(&mut rng, &ids)))?;
        deleted.map_err(|error| errors::search(py, &error))
    }

    /// Rewrites the records in as few segments as possible, and forgets old versions. Returns the new version.
    #[pyo3(signature = (keep=None))]
    fn compact(&self, py: Python<'_>, keep: Option<usize>) -> PyResult<u64> {
        self.owner(py)?;
        let mut rng = random()?;
        Stop::default().heeding(py, None, |told| {
            self.changed(|store| {
                let version = store.compact(&mut rng, told)?;
                keep.map_or(Ok(0), |keep| store.forget_versions(keep))?;
                Ok(version)
            })
        })
    }

    /// Gives a reader labels and groups; a new reader needs its public key. Returns the new version.
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

    /// Lets a writer, who may be new, add records under labels until a time in seconds since 1970. Returns the new version.
    fn grant_writer(
        &self,
        py: Python<'_>,
        writer: &str,
        public: Option<&Bound<'_, WriterPublicKey>>,
        labels: Vec<String>,
        until: u64,
    ) -> PyResult<u64> {
        let public = public.map(|public| &public.get().0);
        self.change(py, Change::grant_writer(writer, public, &labels, until))
    }

    /// Takes the right to add records from a writer. Returns the new version.
    fn stop_writing(&self, py: Python<'_>, writer: &str) -> PyResult<u64> {
        self.change(py, Change::stop_writing(writer))
    }

    /// Makes a version without writers' additions after a version, and can revoke a writer. Returns the new version.
    #[pyo3(signature = (after, revoke))]
    fn take_back(&self, py: Python<'_>, after: u64, revoke: Option<&str>) -> PyResult<u64> {
        let (keys, pins) = self.owner(py)?;
        let mut rng = random()?;
        let taken = computing(py, || {
            let _changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
            let place = Pins::place(&self.path);
            let what = (after, revoke);
            let store = pins.take_back(&mut rng, Files, (&self.path, &place), keys, what)?;
            Ok(store.version())
        })?;
        taken.map_err(|error: Error| errors::search(py, &error))
    }

    /// Takes labels and groups from a reader. Returns the new version.
    fn withdraw(
        &self,
        py: Python<'_>,
        reader: &str,
        labels: Vec<String>,
        groups: Vec<String>,
    ) -> PyResult<u64> {
        self.change(py, Change::withdraw(reader, &labels, &groups))
    }

    /// Removes a reader from the list. Returns the new version.
    fn revoke(&self, py: Python<'_>, reader: &str) -> PyResult<u64> {
        self.change(py, Change::revoke(reader))
    }

    /// Sets the labels that a group may read. Returns the new version.
    fn group(&self, py: Python<'_>, group: &str, labels: Vec<String>) -> PyResult<u64> {
        self.change(py, Change::group(group, &labels))
    }

    /// Takes a group from all readers. Returns the new version.
    fn ungroup(&self, py: Python<'_>, group: &str) -> PyResult<u64> {
        self.change(py, Change::ungroup(group))
    }

    /// What each reader can read; None if all readers share a key.
    fn access<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        self.owner(py)?;
        let read = computing(py, || self.changed(|store| Ok(store.access())))?;
        let read = read.map_err(|error| errors::search(py, &error))?;
        read.map(|report| access::report(py, &report)).transpose()
    }

    /// The labels of records; None for a record without a label, or one that does not exist.
    fn labels(&self, py: Python<'_>, ids: Given<'_>) -> PyResult<Vec<Option<String>>> {
        records::labels(self, py, &ids)
    }

    /// Sends this version to a server's index. Returns the server's version.
    fn push(&self, py: Python<'_>, door: Door) -> PyResult<u64> {
        match &self.key {
            Key::Owner(keys, _) => exchange::push(py, &self.path, keys.clone(), &door),
            Key::Writer(keys) => exchange::push(py, &self.path, keys.clone(), &door),
            _ => Err(self.needs(py, "a push", "the owner's key, or a writer's")),
        }
    }

    /// All payloads by record; None if the index has no payloads.
    fn payloads<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        self.owner(py)?;
        let read = computing(py, || self.changed(|store| store.payloads()))?;
        let read = read.map_err(|error| errors::search(py, &error))?;
        read.map(|read| facts::payloads(py, read)).transpose()
    }

    /// Checks all bytes that the key can check. Returns a dict of what was checked.
    fn verify<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        if let Key::Owner(keys, _) = &self.key {
            let verified = computing(py, || Store::verify_dir(&self.path, &keys.reader()))?;
            return facts::verified(py, verified.map_err(|error| errors::search(py, &error))?);
        }
        facts::seen(py, &self.path, &self.public(py)?)
    }

    /// The newest version that the owner's key knows of this index, as a client's pin; None if it knows none.
    fn pin(&self, py: Python<'_>) -> PyResult<Option<PinParts>> {
        let (_, pins) = self.owner(py)?;
        let found = self.manifest(py)?;
        let known = pins.expected(&self.path, &found);
        let known = known.map_err(|error| errors::search(py, &error))?;
        Ok(known.first().map(exchange::parts_of))
    }

    /// Facts about the index from its signed manifest, as a dict.
    fn info<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let manifest = self.manifest(py)?;
        facts::of(py, &manifest, &self.key)
    }
}

impl Index {
    /// The exception for a call that needs another key.
    fn needs(&self, py: Python<'_>, what: &str, expected: &str) -> PyErr {
        let found = self.key.name();
        let text = format!("{what} needs {expected}, and this index was opened with {found}");
        errors::raise(py, "KeyKindError", text)
    }

    /// Changes the readers. Returns the new version.
    fn change(&self, py: Python<'_>, change: Change<'_>) -> PyResult<u64> {
        self.owner(py)?;
        let mut rng = random()?;
        let changed = computing(py, || {
            self.changed(|store| store.change_access(&mut rng, change))
        })?;
        changed.map_err(|error| errors::search(py, &error))
    }

    /// Opens the index for its owner, and remembers its version after `work`, which may change it.
    fn changed<T>(&self, work: impl FnOnce(&mut Store) -> Result<T, Error>) -> Result<T, Error> {
        // The callers have already refused other keys.
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
        // The manifest must be signed by the owner.
        let none = || self.needs(py, "this", "a key to check signatures with");
        self.key.public().ok_or_else(none)
    }

    /// The manifest of the newest version.
    fn manifest(&self, py: Python<'_>) -> PyResult<SignedManifest> {
        let owner = self.public(py)?;
        let opened = computing(py, || {
            sordino_search::Index::manifest_of_dir(&self.path, &owner)
        })?;
        opened.map_err(|error| errors::search(py, &error))
    }
}
