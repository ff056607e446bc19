//! Records that programs write over HTTP: the owner's index on this machine.

use super::attribute_columns;
use super::listing::Ahead;
use super::served_index::ServedIndex;
use crate::owned_index::{OwnedArgs, OwnedIndex};
use crate::place::Place;
use crate::{Error, Output, random};
use sordino_net::{Connection, Endpoint};
use sordino_proxy::{Counted, Deleted, Page, Record, Records, RecordsError, Written};
use sordino_search::{
    AnyDisk, Batch, Compaction, Edit, Error as Search, Id, IdKind, OwnerKeys, Store, Stored,
    Vectors, vectors::Error as Vector,
};
use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The policy of compaction. Programs write a few records at a time, so segments are merged before
/// there are many.
const COMPACTION: Compaction = Compaction {
    segments: Some(32),
    deleted: Some(0.3),
};

/// An index on this machine. It is open only while a request needs it, so that other commands can change it between
/// requests.
pub(super) struct OwnedRecords {
    pub(super) key: PathBuf,
    pub(super) keys: OwnerKeys,
    pub(super) index: PathBuf,
    pub(super) owned: OwnedArgs,
    pub(super) place: Place,
    /// The server to which changes are pushed.
    pub(super) server: Option<Endpoint>,
    pub(super) output: Output,
    /// True if the server has all changes that were made here. At the start this is unknown, so it
    /// is false.
    pub(super) pushed: AtomicBool,
    pub(super) served: ServedIndex,
    /// Held by one request at a time. It contains the records that were read in advance for pages.
    pub(super) turn: Mutex<Ahead>,
}

impl fmt::Debug for OwnedRecords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnedRecords")
            .field("index", &self.index)
            .finish_non_exhaustive()
    }
}

/// The error for a fault of the request.
fn wrong(why: impl Into<String>) -> RecordsError {
    RecordsError::Request(why.into())
}

/// The error for a fault of the request, of the index, or for another program that is changing the
/// index.
fn fault(error: &Search) -> RecordsError {
    let words = error.to_string();
    match error {
        Search::Locked { .. } => RecordsError::Busy(words),
        Search::Vectors(_)
        | Search::RepeatedId { .. }
        | Search::IdKind { .. }
        | Search::UnknownId { .. }
        | Search::Attribute { .. }
        | Search::Payload { .. }
        | Search::Dimension { .. }
        | Search::NothingLeft { .. }
        | Search::Access(_) => RecordsError::Request(words),
        _ => RecordsError::Failed(words),
    }
}

/// The row of a vector that the index cannot contain.
fn row_of(error: &Search) -> Option<usize> {
    match error {
        Search::Vectors(
            Vector::ZeroVector { row } | Vector::NotFinite { row, .. } | Vector::Norm { row, .. },
        ) => Some(*row),
        _ => None,
    }
}

impl OwnedRecords {
    fn turn(&self) -> MutexGuard<'_, Ahead> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn open(&self) -> Result<OwnedIndex, Error> {
        self.owned
            .open(&self.index, (&self.key, &self.keys), self.output)
    }

    /// The existing records with these ids.
    fn read(&self, ids: &[Id]) -> Result<Vec<Stored>, Search> {
        self.place
            .read(&self.keys.reader(), |contents| contents.get(ids).collect())
    }

    /// Remembers which index the server serves. Refuses to start if that is not the index on this machine.
    pub(super) fn stand_before(&self, served: [u8; 16]) -> Result<(), Error> {
        self.served.put(served);
        match self.served.check(&self.index, &self.open()?) {
            Ok(()) => Ok(()),
            Err(
                RecordsError::Failed(why) | RecordsError::Busy(why) | RecordsError::Request(why),
            ) => Err(Error::Arguments(why)),
        }
    }

    /// Opens and locks the index, and checks that the server serves it.
    fn opened(&self) -> Result<OwnedIndex, RecordsError> {
        let index = self.open().map_err(|error| match error {
            Error::Search(source) | Error::Index { source, .. } => fault(&source),
            error => RecordsError::Failed(error.to_string()),
        })?;
        self.served.check(&self.index, &index).map(|()| index)
    }

    /// Changes the index, and pushes the change.
    fn change<T>(
        &self,
        mut index: OwnedIndex,
        change: impl FnOnce(&mut Store<AnyDisk>) -> Result<T, Search>,
    ) -> Result<T, RecordsError> {
        let done = index.change(|store| {
            store.compact_after(COMPACTION);
            change(store)
        });
        let done = done.map_err(|error| fault(&error))?;
        drop(index);
        self.pushed.store(false, Ordering::Relaxed);
        self.push()?;
        Ok(done)
    }

    /// Sends the changes that the server lacks, if there is a server.
    fn push(&self) -> Result<(), RecordsError> {
        let Some(server) = &self.server else {
            return Ok(());
        };
        if self.pushed.load(Ordering::Relaxed) {
            return Ok(());
        }
        let pushed = Connection::open(server.clone())
            .map_err(Search::from)
            .and_then(|mut connection| {
                connection.push_watched(self.place.root(), &self.keys, &mut |_| ())
            });
        pushed.map_err(|error| {
            let why = format!("the change is stored here, and not at the server yet: {error}; repeat the request, or \
                run `sordino index push`");
            RecordsError::Failed(why)
        })?;
        self.pushed.store(true, Ordering::Relaxed);
        Ok(())
    }

    fn added(
        &self,
        index: OwnedIndex,
        ids: Vec<Id>,
        records: Vec<Record>,
    ) -> Result<Written, RecordsError> {
        let dim = index.manifest().dim as usize;
        let mut rows = Vec::with_capacity(records.len() * dim);
        for record in &records {
            let vector = record.vector.as_deref().unwrap_or_default();
            let id = &record.id;
            if vector.len() != dim {
                let found = vector.len();
                return Err(wrong(format!(
                    "record {id}: \"vector\" has {found} numbers: expected {dim}"
                )));
            }
            if let Some(column) = vector.iter().position(|x| !x.is_finite()) {
                return Err(wrong(format!(
                    "record {id}: \"vector\" has a number at {column} that is too large"
                )));
            }
            rows.extend_from_slice(vector);
        }
        let known = index.attributes().map_err(|error| fault(&error))?;
        let attributes = attribute_columns::of(&records, &known).map_err(wrong)?;
        let has_payloads = index.manifest().has_payloads();
        let has_payloads = has_payloads || records.iter().any(|record| record.payload.is_some());
        let names = ids.clone();
        let make = || {
            let batch = Batch::new(ids, Vectors::new(dim, rows)?)?.with_attributes(attributes)?;
            let payloads = records
                .into_iter()
                .map(|record| record.payload.unwrap_or_default().into_bytes());
            match has_payloads {
                true => batch.with_payloads(payloads.collect()),
                false => Ok(batch),
            }
        };
        let batch = make().map_err(|error: Search| fault(&error))?;
        let mut rng = random().map_err(|error| RecordsError::Failed(error.to_string()))?;
        let mut row = None;
        let added = self.change(index, |store| {
            let added = store.add(&mut rng, [Ok(batch)], &mut |_| ());
            added.inspect_err(|error| row = row_of(error))
        });
        let added = added.map_err(|error| match (row.and_then(|row| names.get(row)), error) {
            (Some(id), RecordsError::Request(why)) => {
                let found = format!("row {}", row.unwrap_or_default());
                wrong(format!(
                    "record {id}: {}",
                    why.replacen(&found, "\"vector\"", 1)
                ))
            }
            (_, error) => error,
        })?;
        Ok(Written {
            version: added.version,
            records: added.records,
            replaced: added.replaced,
        })
    }

    fn updated(
        &self,
        index: OwnedIndex,
        ids: Vec<Id>,
        records: Vec<Record>,
    ) -> Result<Written, RecordsError> {
        let len = records.len();
        let names = |record: &Record| record.attributes.keys().cloned().collect::<Vec<_>>();
        let payloads = records
            .iter()
            .filter(|record| record.payload.is_some())
            .count();
        if !(payloads == 0 || payloads == len)
            || records.iter().any(|it| names(it) != names(&records[0]))
        {
            return Err(wrong(
                "records without vectors: expected a payload in all or in none, and the same attributes in all; send \
                 the others in a separate request",
            ));
        }
        let known = index.attributes().map_err(|error| fault(&error))?;
        let attributes = attribute_columns::of(&records, &known).map_err(wrong)?;
        let edit = Edit::new(ids).with_attributes(attributes);
        let mut edit = edit.map_err(|error| fault(&error))?;
        if payloads > 0 {
            let payloads = records.into_iter().filter_map(|record| record.payload);
            let payloads = payloads.map(String::into_bytes).collect();
            edit = edit
                .with_payloads(payloads)
                .map_err(|error| fault(&error))?;
        }
        let mut rng = random().map_err(|error| RecordsError::Failed(error.to_string()))?;
        let version = self.change(index, |store| store.update(&mut rng, edit))?;
        Ok(Written {
            version,
            records: len,
            replaced: len,
        })
    }
}

/// The ids that these texts name.
fn parsed<'a>(kind: IdKind, texts: impl Iterator<Item = &'a str>) -> Result<Vec<Id>, RecordsError> {
    let ids = texts.map(|text| kind.parse(text).map_err(|error| wrong(error.to_string())));
    ids.collect()
}

impl Records for OwnedRecords {
    fn put(&self, records: Vec<Record>) -> Result<Written, RecordsError> {
        let _turn = self.turn();
        let index = self.opened()?;
        let texts = records.iter().map(|record| record.id.as_str());
        let ids = parsed(index.manifest().ids, texts)?;
        let vectors = records
            .iter()
            .filter(|record| record.vector.is_some())
            .count();
        match vectors {
            0 => self.updated(index, ids, records),
            all if all == records.len() => self.added(index, ids, records),
            some => Err(wrong(format!(
                "{some} of {} records have vectors: expected all, to add or replace them, or none, to change payloads and attributes \
                 of records that are there",
                records.len()
            ))),
        }
    }

    fn delete(&self, ids: &[String]) -> Result<Deleted, RecordsError> {
        let _turn = self.turn();
        let index = self.opened()?;
        let ids = parsed(index.manifest().ids, ids.iter().map(String::as_str))?;
        let named: BTreeSet<Id> = ids.into_iter().collect();
        let there = named.iter().filter(|id| index.contains((*id).clone()));
        let ids: Vec<Id> = there.cloned().collect();
        let mut rng = random().map_err(|error| RecordsError::Failed(error.to_string()))?;
        let version = match ids.len() {
            0 => {
                let version = index.version();
                drop(index);
                // A request whose push failed may have deleted them.
                self.push()?;
                version
            }
            _ => self.change(index, |store| store.delete(&mut rng, &ids))?,
        };
        Ok(Deleted {
            version,
            deleted: ids.len(),
            missing: named.len() - ids.len(),
        })
    }

    fn scroll(&self, after: Option<&str>, limit: usize) -> Result<Page, RecordsError> {
        let mut ahead = self.turn();
        if let Some(page) = ahead.page(self.place.current().as_ref(), (after, limit)) {
            return Ok(page);
        }
        let index = self.opened()?;
        let mut after = parsed(index.manifest().ids, after.into_iter())?;
        // The index is locked while it is open, so `CURRENT` names the version of `index`.
        let current = self.place.current();
        let read = |ids: &[Id]| self.read(ids).map_err(|error| fault(&error));
        ahead.read((&index, current), (after.pop(), limit), read)
    }

    fn count(&self) -> Result<Counted, RecordsError> {
        let _turn = self.turn();
        let index = self.opened()?;
        Ok(Counted {
            version: index.version(),
            count: index.len(),
        })
    }
}
