//! Payloads of a store's records and, for a second look, their exact vectors.
//!
//! The payloads of all records are written together. What changes add is written separately, as long as that is
//! little: [`recent_payloads`](super::recent_payloads).

use std::collections::{BTreeMap, HashMap};

use rand_core::CryptoRng;
use sordino_index::folder::Folder;
use sordino_index::look::{self, SecondLook};
use sordino_index::manifest::Manifest;
use sordino_index::payload::{Carried as Record, PageForm, Payloads};
use sordino_index::{Disk, Error, Id};
use sordino_vault::contents::ContentKeys;
use sordino_vault::frame::Frame;
use sordino_vault::numbers::Numbers;

use super::Store;
use super::draft::Draft;
use super::stored_part::StoredPart;
use crate::build_context::Build;
use crate::encoded_group::Group;
use crate::laying::Laying;
use crate::payload::Contents;
use crate::plan::Conditions;
use crate::room;
use crate::rows::Rows;

/// Bytes for each record, by its id.
type ById = BTreeMap<Id, Vec<u8>>;

/// Payloads and exact vectors of all records, or of the records of a change.
#[derive(Clone, Debug, Default)]
pub(super) struct Carried {
    /// Payloads, if records have any.
    pub(super) payloads: Option<ById>,
    /// The codes of exact vectors, if searches have a second look.
    pub(super) exact: Option<ById>,
    /// The parts that are written again though nothing in them changes.
    pub(super) rewrite: Rewrite,
}

/// Parts that are written again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Rewrite {
    /// No part. The change writes only the records that it affects.
    #[default]
    None,
    /// Everything that changes have added. It is written as one part.
    Recent,
    /// All parts.
    All,
}

impl Carried {
    /// An empty list, for an index with or without a second look.
    pub(super) fn new(look: Option<SecondLook>) -> Self {
        Self {
            payloads: None,
            exact: look.map(|_| ById::new()),
            rewrite: Rewrite::None,
        }
    }

    /// No change, but parts to be written again.
    pub(super) fn rewritten(rewrite: Rewrite) -> Self {
        Self {
            rewrite,
            ..Self::default()
        }
    }

    /// The same payloads in another frame.
    fn reframed(mut self, old: &Frame, new: &Frame) -> Result<Self, Error> {
        for code in self.exact.iter_mut().flat_map(BTreeMap::values_mut) {
            let (base, residual) = look::residual(code).ok_or(Error::BadReply)?;
            let y = new.centred(&old.restored(&old.whole(base, &residual)));
            let base = new.nearest_base(&y);
            *code = look::code(base, &new.residual(base, &y));
        }
        Ok(self)
    }

    /// Adds the exact vectors of rows in the index's frame, if searches have a second look.
    pub(super) fn look_at(&mut self, rows: &Rows) {
        if let Some(exact) = &mut self.exact {
            let residuals = rows.marks.iter().zip(rows.vectors.rows());
            let codes = residuals.map(|(mark, residual)| look::code(mark.base, residual));
            exact.extend(rows.ids.iter().zip(codes));
        }
    }

    /// True if records carry something.
    fn is_some(&self) -> bool {
        self.payloads.is_some() || self.exact.is_some()
    }

    /// The size in bytes of all payloads and exact vectors in it.
    pub(super) fn bytes(&self) -> u64 {
        let all = [&self.payloads, &self.exact].into_iter().flatten();
        let bytes: usize = all.flat_map(BTreeMap::values).map(Vec::len).sum();
        bytes as u64
    }

    /// The ids of records in it.
    pub(super) fn ids(&self) -> impl Iterator<Item = &Id> {
        let all = [&self.payloads, &self.exact];
        all.into_iter().flatten().flat_map(BTreeMap::keys)
    }

    /// A record after this change: its new values, and its earlier ones if the change has none.
    pub(super) fn over(&self, id: &Id, before: Option<Record>) -> Record {
        let own = |all: &Option<ById>| all.as_ref().and_then(|all| all.get(id)).cloned();
        let before = before.unwrap_or_default();
        Record {
            exact: own(&self.exact).unwrap_or(before.exact),
            payload: own(&self.payloads).unwrap_or(before.payload),
            truncated: false,
        }
    }

    /// True if it has everything that a record carries.
    pub(super) fn is_whole(&self, id: &Id, form: &PageForm) -> bool {
        let has = |all: &Option<ById>| all.as_ref().is_some_and(|all| all.contains_key(id));
        (!form.payloads || has(&self.payloads)) && (form.look.is_none() || has(&self.exact))
    }

    /// Adds the payloads and exact vectors of a change.
    fn extend(&mut self, new: Self) {
        let both = [
            (&mut self.payloads, new.payloads),
            (&mut self.exact, new.exact),
        ];
        for (own, new) in both {
            if let Some(new) = new {
                own.get_or_insert_default().extend(new);
            }
        }
    }

    /// Removes and returns what a record carries, when it is used for the last time.
    fn take(&mut self, id: &Id) -> Record {
        let exact = self.exact.as_mut().map(|all| all.remove(id));
        let exact = exact.map(|code| code.expect("an exact vector of every record"));
        let payload = self.payloads.as_mut().and_then(|all| all.remove(id));
        Record {
            exact: exact.unwrap_or_default(),
            payload: payload.unwrap_or_default(),
            truncated: false,
        }
    }
}

/// Reads what all records carry, with their places, in order, or `None` if they carry nothing. It may include
/// deleted or replaced records.
pub(super) fn read<D: Disk>(
    folder: &Folder<D>,
    manifest: &Manifest,
    keys: &ContentKeys,
) -> Result<Option<Vec<(u64, Record)>>, Error> {
    let mut parts = manifest.all_payloads();
    let all = |payloads| StoredPart::open(folder, manifest, payloads, keys)?.all(folder);
    let Some(main) = parts.next().map(all).transpose()? else {
        return Ok(None);
    };
    if manifest.recent.is_empty() {
        return Ok(Some(main));
    }
    let mut read: BTreeMap<u64, Record> = main.into_iter().collect();
    for payloads in parts {
        read.extend(all(payloads)?);
    }
    Ok(Some(read.into_iter().collect()))
}

impl Draft {
    /// Writes what the present records carry, with an empty payload for every record that has none.
    pub(super) fn write_payloads<D: Disk, R: CryptoRng + ?Sized>(
        &mut self,
        build: &mut Build<'_, D, R>,
        mut carried: Carried,
        conditions: Conditions,
    ) -> Result<(), Error> {
        if !carried.is_some() {
            return Ok(());
        }
        // Compressed payloads take no more memory than payloads.
        room::check_bytes(carried.bytes())?;
        let payloads = carried.payloads.is_some();
        let groups = self.by_label(build.writer).into_iter();
        let groups = groups.map(|(number, key, segments)| {
            let places = segments.iter().flat_map(|&at| self.records.places_of(at));
            let ids = segments.iter().flat_map(|&at| {
                let ids = &self.records.sets[at];
                self.records.rows(at).map(|row| ids.id(row))
            });
            Group {
                number,
                key,
                places: Numbers::from_ascending(places).expect("segments follow one another"),
                carried: ids.map(|id| carried.take(&id)).collect(),
            }
        });
        let groups: Vec<Group> = groups.filter(|group| !group.carried.is_empty()).collect();
        drop(carried);
        let laying = Laying::All(conditions);
        self.payloads = Some(self.write_groups(build, groups, payloads, laying)?);
        self.recent.clear();
        Ok(())
    }

    /// Writes a part with what records carry.
    pub(super) fn write_groups<D: Disk, R: CryptoRng + ?Sized>(
        &self,
        build: &mut Build<'_, D, R>,
        groups: Vec<Group>,
        payloads: bool,
        laying: Laying,
    ) -> Result<Payloads, Error> {
        let contents = Contents {
            groups,
            own: self.access.is_some(),
            payloads,
            look: self.look,
            k: self.k,
            laying,
        };
        let written = build.writer.payloads(build.rng, contents)?;
        build.folder.put(&written.content)?;
        build.folder.put(&written.places)?;
        if let Some(hint) = &written.hint {
            build.folder.put(hint)?;
        }
        Ok(written.payloads)
    }
}

impl<D: Disk> Store<D> {
    /// All payloads by record id, if records have any.
    ///
    /// # Errors
    /// [`Error`] if a file cannot be read or is damaged.
    pub fn payloads(&self) -> Result<Option<BTreeMap<Id, Vec<u8>>>, Error> {
        if !self.manifest.has_payloads() {
            return Ok(None);
        }
        Ok(self.carried()?.payloads)
    }

    /// All payloads and exact vectors.
    fn carried(&self) -> Result<Carried, Error> {
        let mut carried = Carried::new(self.manifest.second_look());
        if self.manifest.has_payloads() {
            carried.payloads = Some(ById::new());
        }
        let read = read(&self.folder, &self.manifest, &self.contents())?;
        let mut read: HashMap<u64, Record> = read.into_iter().flatten().collect();
        for (id, place) in self.ids().zip(self.records.places().iter()) {
            let record = read.remove(&place).unwrap_or_default();
            if let Some(exact) = &mut carried.exact {
                exact.insert(id.clone(), record.exact);
            }
            if let Some(payloads) = &mut carried.payloads {
                payloads.insert(id, record.payload);
            }
        }
        Ok(carried)
    }

    /// The codes of all exact vectors.
    #[cfg(test)]
    pub(super) fn exact(&self) -> Result<ById, Error> {
        Ok(self.carried()?.exact.unwrap_or_default())
    }

    /// Updates what the draft's records carry, starting from what this store's records carry, by these changes.
    pub(super) fn change_payloads<R: CryptoRng + ?Sized>(
        &self,
        build: &mut Build<'_, D, R>,
        draft: &mut Draft,
        changes: Carried,
    ) -> Result<(), Error> {
        // A clustered index writes its frame again at every compaction, even if the frame is the same.
        let look = self.manifest.second_look().is_some();
        let reframed = look && !draft.frame.shares_residuals(&self.frame);
        let first = changes.payloads.is_some() && !self.manifest.has_payloads();
        let all = reframed || first || changes.rewrite == Rewrite::All;
        if !all && self.change_recent(build, draft, &changes)? {
            return Ok(());
        }
        let mut all = self.carried()?;
        if reframed {
            all = all.reframed(&self.frame, &draft.frame)?;
        }
        all.extend(changes);
        let conditions = match &self.manifest.payloads {
            Some(payloads) => Conditions::default().keep(payloads.fetch.kind()),
            None => Conditions::default(),
        };
        draft.write_payloads(build, all, conditions)
    }
}
