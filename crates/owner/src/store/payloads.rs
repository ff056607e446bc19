//! The payloads of a store's records: written anew with every version that changes them.

use std::collections::BTreeMap;

use rand_core::CryptoRng;
use sordino_index::folder::Folder;
use sordino_index::keys::ReaderKeys;
use sordino_index::manifest::{Manifest, PartKind};
use sordino_index::opener::Opener;
use sordino_index::payload::{Class, Fetch};
use sordino_index::{Disk, Error, Id};

use super::Store;
use super::draft::Draft;
use crate::segment::SegmentWriter;
use crate::spec::Spec;

/// Payloads by record id.
pub(super) type Changes = BTreeMap<Id, Vec<u8>>;

/// Payloads with the places of their records, in order.
type Placed = Vec<(u64, Vec<u8>)>;

/// All payloads, if the records have any.
pub(super) fn read<D: Disk>(
    folder: &Folder<D>,
    manifest: &Manifest,
    reader: &ReaderKeys,
) -> Result<Option<Placed>, Error> {
    let Some(payloads) = &manifest.payloads else {
        return Ok(None);
    };
    let places = folder.part(&manifest.part(PartKind::PayloadPlaces, None)?)?;
    let records = folder.part(&manifest.part(PartKind::Payloads, None)?)?;
    let opener = Opener::new(payloads, reader, &places)?;
    opener.open_all(&records).map(Some)
}

impl Draft {
    /// Writes these payloads of the records that are there, an empty one for every other record, for clients that make
    /// so many searches.
    pub(super) fn write_payloads<D: Disk, R: CryptoRng + ?Sized>(
        &mut self,
        rng: &mut R,
        folder: &Folder<D>,
        writer: &SegmentWriter<'_>,
        payloads: Option<Changes>,
        searches: u64,
    ) -> Result<(), Error> {
        let Some(payloads) = payloads else {
            return Ok(());
        };
        let each = |id| payloads.get(&id).map_or(&[][..], Vec::as_slice);
        let records: Vec<&[u8]> = self.records.ids().map(each).collect();
        let longest = records.iter().map(|payload| payload.len()).max();
        let class = Class::of(longest.unwrap_or(0))?;
        let places = self.records.places();
        let written = writer.payloads(rng, &places, &records, class, (self.k, searches))?;
        folder.put(&written.records)?;
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
        let read = read(&self.folder, &self.manifest, &self.keys.reader())?;
        // Places and ids are in one order.
        let named = |read: Placed| {
            let payloads = read.into_iter().map(|(_, payload)| payload);
            self.ids().zip(payloads).collect()
        };
        Ok(read.map(named))
    }

    /// Brings the draft's payloads up to its records and to these changes.
    pub(super) fn change_payloads<R: CryptoRng + ?Sized>(
        &self,
        rng: &mut R,
        writer: &SegmentWriter<'_>,
        draft: &mut Draft,
        changes: Option<Changes>,
    ) -> Result<(), Error> {
        let before = self.payloads()?;
        if before.is_none() && changes.is_none() {
            return Ok(());
        }
        let changes = changes.unwrap_or_default();
        if let Some(before) = &before
            && draft.records.places() == self.records.places()
            && draft.records.ids().eq(self.ids())
            && changes.iter().all(|(id, new)| before.get(id) == Some(new))
        {
            // The same records in the same places: clients that have these payloads keep them.
            draft.payloads.clone_from(&self.manifest.payloads);
            return Ok(());
        }
        let mut all = before.unwrap_or_default();
        all.extend(changes);
        // An index whose payloads are fetched without a hint is for clients that come once.
        let searches = match self.manifest.payloads.as_ref().map(|it| &it.fetch) {
            Some(Fetch::Hintless { .. }) => 1,
            _ => Spec::default().searches,
        };
        draft.write_payloads(rng, &self.folder, writer, Some(all), searches)
    }
}
