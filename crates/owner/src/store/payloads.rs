//! Payloads of a store's records and, for a second look, their exact vectors: rewritten with every version that
//! changes them.

use std::collections::BTreeMap;

use rand_core::CryptoRng;
use sordino_index::folder::Folder;
use sordino_index::look::{self, SecondLook};
use sordino_index::manifest::{Manifest, PartKind};
use sordino_index::payload::Carried as Record;
use sordino_index::{Disk, Error, Id};
use sordino_vault::contents::ContentKeys;
use sordino_vault::frame::Frame;
use sordino_vault::numbers::Numbers;
use sordino_vault::opener::Opener;

use super::Store;
use super::draft::Draft;
use crate::build_context::Build;
use crate::payload::{Contents, Group};
use crate::plan::Conditions;
use crate::rows::Rows;

/// Bytes of each record.
type ById = BTreeMap<Id, Vec<u8>>;

/// Payloads and exact vectors of records: of all, or those that a change brings.
#[derive(Clone, Debug, Default)]
pub(super) struct Carried {
    /// Payloads, if records have any.
    pub(super) payloads: Option<ById>,
    /// The codes of exact vectors, if searches have a second look.
    pub(super) exact: Option<ById>,
    /// True if slots are to be rewritten though nothing in them changes.
    pub(super) rewrite: bool,
}

impl Carried {
    /// Nothing yet, of an index with a second look or without.
    pub(super) fn new(look: Option<SecondLook>) -> Self {
        Self {
            payloads: None,
            exact: look.map(|_| ById::new()),
            rewrite: false,
        }
    }

    /// The same in another frame.
    fn reframed(mut self, old: &Frame, new: &Frame) -> Result<Self, Error> {
        for code in self.exact.iter_mut().flat_map(BTreeMap::values_mut) {
            let (base, residual) = look::residual(code).ok_or(Error::BadReply)?;
            let y = new.centred(&old.restored(&old.whole(base, &residual)));
            let base = new.nearest_base(&y);
            *code = look::code(base, &new.residual(base, &y));
        }
        Ok(self)
    }

    /// Takes the exact vectors of rows in the index's frame, if they are wanted.
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

    /// True if nothing changes by what comes.
    fn has(&self, new: &Self) -> bool {
        let same = |old: &Option<ById>, new: &Option<ById>| match (old, new) {
            (_, None) => true,
            (None, Some(_)) => false,
            (Some(old), Some(new)) => new.iter().all(|(id, new)| old.get(id) == Some(new)),
        };
        same(&self.payloads, &new.payloads) && same(&self.exact, &new.exact)
    }

    /// Takes in what a change brings.
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

    /// Takes out what a record carries, which is its last use.
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

/// Reads what all records carry, with their places, in order; none where they carry nothing.
pub(super) fn read<D: Disk>(
    folder: &Folder<D>,
    manifest: &Manifest,
    keys: &ContentKeys,
) -> Result<Option<Vec<(u64, Record)>>, Error> {
    let Some(payloads) = &manifest.payloads else {
        return Ok(None);
    };
    let places = folder.part(&manifest.part(PartKind::PayloadPlaces, None)?)?;
    let records = folder.part(&manifest.part(PartKind::Payloads, None)?)?;
    let opener = Opener::new(manifest, payloads, keys, &places)?;
    opener.open_all(&records).map(Some)
}

impl Draft {
    /// Writes what the records that are there carry, an empty payload for every one that has none.
    pub(super) fn write_payloads<D: Disk, R: CryptoRng + ?Sized>(
        &mut self,
        build: &mut Build<'_, D, R>,
        mut carried: Carried,
        conditions: Conditions,
    ) -> Result<(), Error> {
        let (folder, writer) = (build.folder, build.writer);
        if !carried.is_some() {
            return Ok(());
        }
        let payloads = carried.payloads.is_some();
        let groups = self.by_label(writer).into_iter();
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
        let contents = Contents {
            groups,
            own: self.access.is_some(),
            payloads,
            look: self.look,
            k: self.k,
            conditions,
        };
        let written = writer.payloads(build.rng, contents)?;
        folder.put(&written.content)?;
        folder.put(&written.places)?;
        if let Some(hint) = &written.hint {
            folder.put(hint)?;
        }
        self.payloads = Some(written.payloads);
        Ok(())
    }
}

impl<D: Disk> Store<D> {
    /// All payloads by record id, if the records have any.
    ///
    /// # Errors
    /// If a file cannot be read or is damaged.
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
        // Places and ids are in one order.
        for (id, (_, record)) in self.ids().zip(read.into_iter().flatten()) {
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

    /// Brings what the draft's records carry up to these and to what a change brings.
    pub(super) fn change_payloads<R: CryptoRng + ?Sized>(
        &self,
        build: &mut Build<'_, D, R>,
        draft: &mut Draft,
        changes: Carried,
    ) -> Result<(), Error> {
        let mut all = self.carried()?;
        // A clustered index writes its frame again at every compaction, also if it is the same.
        let reframed = all.exact.is_some() && !draft.frame.shares_residuals(&self.frame);
        if reframed {
            all = all.reframed(&self.frame, &draft.frame)?;
        }
        if all.is_some()
            && !reframed
            && !changes.rewrite
            && draft.records.places() == self.records.places()
            && draft.records.ids().eq(self.ids())
            && all.has(&changes)
        {
            // The same records in the same places: clients that have these payloads keep them.
            draft.payloads.clone_from(&self.manifest.payloads);
            return Ok(());
        }
        all.extend(changes);
        let conditions = match &self.manifest.payloads {
            Some(payloads) => Conditions::default().keep(payloads.fetch.kind()),
            None => Conditions::default(),
        };
        draft.write_payloads(build, all, conditions)
    }
}
