//! Pages of records. What is stored of an index is read as a whole, so it is read for many pages at a time.

use crate::owned_index::OwnedIndex;
use sordino_proxy::{Listed, Page, RecordsError};
use sordino_search::{Id, Stored};
use std::collections::{BTreeMap, BTreeSet};

/// Bytes of the payloads of a page, but for its first record.
const PAGE_BYTES: usize = 16 << 20;

/// Records that are read at a time, at most, unless a page has more.
const AHEAD: usize = 1 << 14;

/// Bytes of the payloads that are kept for the next pages, but for the first record.
const AHEAD_BYTES: usize = 2 * PAGE_BYTES;

/// Records that were read for a page, and those after them, for the next pages of the same version.
#[derive(Default)]
pub(super) struct Ahead {
    /// The digest of the version's manifest.
    version: Option<[u8; 32]>,
    /// Each with the bytes of its payload.
    records: BTreeMap<Id, (Listed, usize)>,
}

impl Ahead {
    /// The first records after an id, this number or fewer, where `read` gives what is stored of some.
    pub(super) fn page(
        &mut self,
        index: &OwnedIndex,
        (after, limit): (Option<&Id>, usize),
        read: impl FnOnce(&[Id]) -> Result<Vec<Stored>, RecordsError>,
    ) -> Result<Page, RecordsError> {
        let mut ids: BTreeSet<Id> = index.ids().collect();
        if let Some(after) = after {
            ids = ids.split_off(after);
            ids.remove(after);
        }
        let (version, digest) = (index.version(), index.manifest().digest());
        let whole = match self.version == Some(digest) {
            true => self.records_of(&ids, limit),
            false => None,
        };
        let records = match whole {
            Some(records) => records,
            None => {
                let wanted: Vec<Id> = ids.iter().take(limit.max(AHEAD)).cloned().collect();
                self.keep(read(&wanted)?);
                self.version = Some(digest);
                let there = |id: &&Id| self.records.contains_key(*id);
                let there: BTreeSet<Id> = wanted.iter().filter(there).cloned().collect();
                self.records_of(&there, limit).unwrap_or_default()
            }
        };
        let last = records.last().map(|record| record.id.clone());
        let more = ids.last() != last.as_ref();
        Ok(Page {
            version,
            next: last.filter(|_| more),
            records,
        })
    }

    /// The first of these records that fill a page, if all of them were read.
    fn records_of(&self, ids: &BTreeSet<Id>, limit: usize) -> Option<Vec<Listed>> {
        let (mut records, mut bytes) = (Vec::new(), 0);
        for id in ids.iter().take(limit) {
            let (record, len) = self.records.get(id)?;
            if bytes + len > PAGE_BYTES && !records.is_empty() {
                break;
            }
            bytes += len;
            records.push(record.clone());
        }
        Some(records)
    }

    /// Keeps the first of what was read, in the order of ids, instead of what was kept before.
    fn keep(&mut self, read: Vec<Stored>) {
        let some = read.iter();
        let all = some.flat_map(|some| (0..some.ids.len()).map(|at| listed(some, at)));
        let mut all: BTreeMap<Id, (Listed, usize)> = all
            .map(|(record, len)| (record.id.clone(), (record, len)))
            .collect();
        let mut bytes = 0;
        let end = all.iter().enumerate().find_map(|(at, (id, (_, len)))| {
            bytes += len;
            (at > 0 && bytes > AHEAD_BYTES).then(|| id.clone())
        });
        if let Some(end) = end {
            drop(all.split_off(&end));
        }
        self.records = all;
    }
}

/// A record of a page, and the bytes of its payload.
fn listed(stored: &Stored, at: usize) -> (Listed, usize) {
    let payload = stored
        .payloads
        .as_ref()
        .map(|payloads| payloads[at].clone());
    let len = payload.as_ref().map_or(0, Vec::len);
    let columns = stored.attributes.columns();
    let attributes = columns.map(|(name, column)| (name.to_owned(), column.json(at)));
    let listed = Listed::new(stored.ids[at].clone(), payload, attributes.collect());
    (listed, len)
}
