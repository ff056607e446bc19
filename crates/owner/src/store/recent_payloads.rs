//! Payloads that changes add, in separate parts that clients download as a whole.
//!
//! A change writes its payloads together with the newest parts that are not much larger. So each record is written only a few
//! times, there are few parts, and a client downloads little after a change. Once these parts are a large share of what all
//! records carry, everything is written together.

use std::collections::BTreeMap;

use rand_core::CryptoRng;
use sordino_index::manifest::MAX_KEYS;
use sordino_index::payload::{Carried as Record, FetchKind, MOST_RECENT};
use sordino_index::{Disk, Error, Id};
use sordino_vault::numbers::Numbers;

use super::Store;
use super::draft::Draft;
use super::payloads::{Carried, Rewrite};
use super::stored_part::StoredPart;
use crate::build_context::Build;
use crate::encoded_group::Group;
use crate::laying::Laying;

/// Total bytes of these parts that are always acceptable.
const FEW: u64 = 1 << 18;

/// These parts may have one byte for this number of bytes of the fetched parts.
const SHARE: u64 = 32;

/// If clients download all payloads, these parts may have half of their bytes.
const DOWNLOADED_SHARE: u64 = 2;

/// A part that has at most this many times the bytes of the new part is written together with it.
const NEAR: u64 = 2;

/// The smallest number of bytes with which a part counts, because it has a list and whole pages.
const LEAST: u64 = 1 << 12;

/// Approximate bytes of a record in addition to what it carries: its head, and its entries in the list.
const RECORD: u64 = 8;

/// The records to write, by their places. Each has its id, if the change affects it, and its former place.
#[derive(Default)]
struct Fresh(BTreeMap<u64, (Option<Id>, Option<u64>)>);

impl<D: Disk> Store<D> {
    /// Updates what the draft's records carry by adding a part with the new content. Returns false if everything must be written
    /// together, because records have moved or the part would be too large.
    pub(super) fn change_recent<R: CryptoRng + ?Sized>(
        &self,
        build: &mut Build<'_, D, R>,
        draft: &mut Draft,
        changes: &Carried,
    ) -> Result<bool, Error> {
        let (manifest, keys) = (&self.manifest, self.contents());
        let open = |payloads| StoredPart::open(&self.folder, manifest, payloads, &keys);
        let parts: Vec<StoredPart<'_>> = manifest
            .all_payloads()
            .map(open)
            .collect::<Result<_, _>>()?;
        let Some((main, recent)) = parts.split_first() else {
            return Ok(!changes.ids().any(|_| true));
        };
        let shared = self.records.shared(&draft.records);
        if main.end() > shared {
            return Ok(false);
        }
        let share = match main.payloads.fetch.kind() {
            FetchKind::Download => DOWNLOADED_SHARE,
            _ => SHARE,
        };
        let most = FEW.max(main.bytes() / share);
        if changes.bytes() > most {
            return Ok(false);
        }
        let mut fresh = self.fresh(draft, changes, shared);
        let kept = match changes.rewrite {
            // Writers may have added more parts than versions of the owner may have.
            Rewrite::None if fresh.0.is_empty() && recent.len() <= MOST_RECENT => {
                unmoved(recent, shared)
            }
            Rewrite::None => kept(recent, shared, changes.bytes()),
            Rewrite::Recent | Rewrite::All => 0,
        };
        if fresh.0.is_empty() && kept == recent.len() {
            return Ok(true);
        }
        let there = draft.records.there();
        for part in recent[kept..].iter().rev() {
            let places = part.places().filter(|&place| place < shared);
            for place in places.filter(|&place| there(place)) {
                fresh.0.entry(place).or_insert((None, Some(place)));
            }
        }
        let written = self.gathered(&parts, changes, fresh)?;
        let bytes: u64 = recent[..kept].iter().map(StoredPart::bytes).sum();
        let new = written.values();
        let new = new.map(|it| (it.exact.len() + it.payload.len()) as u64 + RECORD);
        if bytes + new.sum::<u64>() > most {
            return Ok(false);
        }
        draft.recent.truncate(kept);
        if !written.is_empty() {
            let groups = draft.grouped(build, written);
            let payloads = manifest.has_payloads();
            let part = draft.write_groups(build, groups, payloads, Laying::Recent)?;
            draft.recent.push(part);
        }
        Ok(true)
    }

    /// True if changes have added something for a record that was written with all others and still has its old content there.
    pub(super) fn is_overridden(&self) -> Result<bool, Error> {
        let (manifest, keys) = (&self.manifest, self.contents());
        let open = |payloads| StoredPart::open(&self.folder, manifest, payloads, &keys);
        if manifest.recent.is_empty() {
            return Ok(false);
        }
        let recent: Vec<StoredPart<'_>> =
            manifest.recent.iter().map(open).collect::<Result<_, _>>()?;
        let places: Vec<u64> = recent.iter().flat_map(StoredPart::places).collect();
        let main = manifest.payloads.as_ref().map(open).transpose()?;
        Ok(main.is_some_and(|main| main.has(&places).contains(&true)))
    }

    /// The records of a draft that have moved, and the records that the change affects.
    fn fresh(&self, draft: &Draft, changes: &Carried, shared: u64) -> Fresh {
        let mut fresh = Fresh::default();
        let ends = draft.records.ends();
        let behind = ends.partition_point(|&end| end <= shared);
        for at in behind..draft.records.sets.len() {
            let ids = &draft.records.sets[at];
            let rows = draft.records.rows(at).zip(draft.records.places_of(at));
            for (row, place) in rows.filter(|(_, place)| *place >= shared) {
                let id = ids.id(row);
                let before = self.records.place(&id);
                fresh.0.insert(place, (Some(id), before));
            }
        }
        for id in changes.ids() {
            if let Some(place) = draft.records.place(id).filter(|&place| place < shared) {
                fresh.0.insert(place, (Some(id.clone()), Some(place)));
            }
        }
        fresh
    }

    /// The fresh records, from the change or from the newest part that has them.
    fn gathered(
        &self,
        parts: &[StoredPart<'_>],
        changes: &Carried,
        fresh: Fresh,
    ) -> Result<BTreeMap<u64, Record>, Error> {
        let form = parts[0].payloads.form;
        let whole = |id: &Option<Id>| id.as_ref().is_some_and(|id| changes.is_whole(id, &form));
        let wanted = fresh.0.values().filter(|(id, _)| !whole(id));
        let mut left: Vec<u64> = wanted.filter_map(|(_, before)| *before).collect();
        let mut before: BTreeMap<u64, Record> = BTreeMap::new();
        for part in parts.iter().rev() {
            let has = part.has(&left);
            let own = left.iter().zip(&has).filter(|(_, has)| **has);
            let own: Vec<u64> = own.map(|(place, _)| *place).collect();
            before.extend(own.iter().copied().zip(part.read(&self.folder, &own)?));
            left.retain(|place| !before.contains_key(place));
        }
        let records = fresh.0.into_iter().map(|(place, (id, old))| {
            let old = old.and_then(|old| before.remove(&old));
            let record = match id {
                Some(id) => changes.over(&id, old),
                None => old.unwrap_or_default(),
            };
            (place, record)
        });
        Ok(records.collect())
    }
}

impl Draft {
    /// Records by the content keys of their labels.
    fn grouped<D: Disk, R: CryptoRng + ?Sized>(
        &self,
        build: &Build<'_, D, R>,
        records: BTreeMap<u64, Record>,
    ) -> Vec<Group> {
        let labels = self.by_label(build.writer);
        let mut label_of = vec![0; self.records.sets.len()];
        for (label, (.., segments)) in labels.iter().enumerate() {
            segments.iter().for_each(|&at| label_of[at] = label);
        }
        let mut parted: Vec<Vec<(u64, Record)>> = labels.iter().map(|_| Vec::new()).collect();
        let ends = self.records.ends();
        for (place, record) in records {
            let segment = ends.partition_point(|&end| end <= place);
            parted[label_of[segment]].push((place, record));
        }
        let groups = labels.into_iter().zip(parted);
        let groups = groups.filter(|(_, records)| !records.is_empty());
        let groups = groups.map(|((number, key, _), records)| {
            let (places, carried): (Vec<u64>, Vec<Record>) = records.into_iter().unzip();
            Group {
                number,
                key,
                places: Numbers::from_ascending(places).expect("places ascend"),
                carried,
            }
        });
        groups.collect()
    }
}

/// The number of parts, from the oldest on, before the first that has a moved record.
fn unmoved(recent: &[StoredPart<'_>], shared: u64) -> usize {
    let moved = recent.iter().position(|part| part.end() > shared);
    moved.unwrap_or(recent.len())
}

/// The number of parts, from the oldest on, that stay unchanged if a change adds `bytes` bytes. Later parts are written
/// together with the change.
fn kept(recent: &[StoredPart<'_>], shared: u64, bytes: u64) -> usize {
    let mut kept = unmoved(recent, shared);
    let mut written: u64 = recent[kept..].iter().map(StoredPart::bytes).sum();
    written += bytes.max(LEAST);
    let keys = |parts: &[StoredPart<'_>]| -> usize {
        let groups = parts.iter().map(|part| part.payloads.groups.len());
        groups.sum()
    };
    while let Some(last) = kept.checked_sub(1) {
        // The manifest has space for this number of parts and groups of pages.
        let room = kept < MOST_RECENT && keys(&recent[..kept]) < MAX_KEYS / 2;
        if room && recent[last].bytes() > NEAR * written {
            break;
        }
        written += recent[last].bytes();
        kept = last;
    }
    kept
}
