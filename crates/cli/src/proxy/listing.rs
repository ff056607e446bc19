//! Pages of records. The stored records of an index can only be read together, so one reading serves several pages.

use crate::owned_index::OwnedIndex;
use sordino_proxy::{Listed, Page, RecordsError};
use sordino_search::{Bytes, Id, IdKind, Stored};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound::{Excluded, Unbounded};

/// The largest number of payload bytes in a page, not counting its first record.
const PAGE_BYTES: usize = 16 << 20;

/// The largest number of records that are read at a time, unless a page has more.
const AHEAD: usize = 1 << 14;

/// The largest number of payload bytes that are kept for the next pages, not counting the first
/// record.
const AHEAD_BYTES: usize = 2 * PAGE_BYTES;

/// The records that were read in advance, after a page's records, if there are any.
#[derive(Default)]
pub(super) struct Ahead(Option<Window>);

/// The records of a page and those after it, which serve the next pages of the same version.
struct Window {
    /// The content of the file that names the version, if it could be read. While it is the same, a page does not need to
    /// open the index.
    current: Option<Bytes>,
    version: u64,
    kind: IdKind,
    /// The id before the records. `None` if they are the first ones.
    after: Option<Id>,
    /// Consecutive records, each with the bytes of its payload.
    records: BTreeMap<Id, (Listed, usize)>,
    /// True if no record follows these.
    is_last: bool,
}

impl Ahead {
    /// At most this number of records after the id with this text. The records must have been read before, from the
    /// version that `current` names.
    pub(super) fn page(
        &self,
        current: Option<&Bytes>,
        (after, limit): (Option<&str>, usize),
    ) -> Option<Page> {
        let window = self.0.as_ref()?;
        if current.is_none() || current != window.current.as_ref() {
            return None;
        }
        let after = after.map(|after| window.kind.parse(after)).transpose();
        window.page((after.ok()?.as_ref(), limit), false)
    }

    /// At most this number of records after an id. `read` returns the stored contents of records.
    pub(super) fn read(
        &mut self,
        (index, current): (&OwnedIndex, Option<Bytes>),
        (after, limit): (Option<Id>, usize),
        read: impl FnOnce(&[Id]) -> Result<Vec<Stored>, RecordsError>,
    ) -> Result<Page, RecordsError> {
        let mut ids: BTreeSet<Id> = index.ids().collect();
        if let Some(after) = &after {
            ids = ids.split_off(after);
            ids.remove(after);
        }
        let wanted: Vec<Id> = ids.iter().take(limit.max(AHEAD)).cloned().collect();
        let records = first(read(&wanted)?);
        let window = Window {
            current,
            version: index.version(),
            kind: index.manifest().ids,
            is_last: records.last_key_value().map(|(id, _)| id) == ids.last(),
            after: after.clone(),
            records,
        };
        let page = window.page((after.as_ref(), limit), true);
        self.0 = Some(window);
        page.ok_or_else(|| RecordsError::Failed("no records were read".to_owned()))
    }
}

impl Window {
    /// The records of a page after an id. The page may end at the end of the window only if `may_end` is true.
    fn page(&self, (after, limit): (Option<&Id>, usize), may_end: bool) -> Option<Page> {
        let last = self.records.last_key_value().map(|(id, _)| id);
        if after < self.after.as_ref() || (after > last && !self.is_last) {
            return None;
        }
        let rest = (after.map_or(Unbounded, Excluded), Unbounded);
        let mut rest = self.records.range::<Id, _>(rest).peekable();
        let (mut records, mut bytes) = (Vec::new(), 0);
        while let Some((_, (record, len))) = rest.peek() {
            let is_long = bytes + len > PAGE_BYTES && !records.is_empty();
            if records.len() == limit || is_long {
                break;
            }
            bytes += len;
            records.push(record.clone());
            rest.next();
        }
        let is_whole = rest.peek().is_some() || records.len() == limit;
        let ends_here = may_end && !records.is_empty();
        if !(is_whole || self.is_last || ends_here) {
            return None;
        }
        let more = rest.peek().is_some() || !self.is_last;
        let last = records.last().map(|record| record.id.clone());
        Some(Page {
            version: self.version,
            next: last.filter(|_| more),
            records,
        })
    }
}

/// The first of the read records, in the order of their ids.
fn first(read: Vec<Stored>) -> BTreeMap<Id, (Listed, usize)> {
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
    all
}

/// Converts a record for a page of the listing. Also returns the length of its payload in bytes.
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
