//! A stored part of what records carry. It was written with all records, or by later changes.

use sordino_index::folder::Folder;
use sordino_index::manifest::Manifest;
use sordino_index::payload::{Carried, Payloads};
use sordino_index::{Disk, Error};
use sordino_vault::contents::ContentKeys;
use sordino_vault::opener::Opener;

/// A part, and the positions of its records.
pub(super) struct StoredPart<'a> {
    pub(super) payloads: &'a Payloads,
    opener: Opener,
}

impl<'a> StoredPart<'a> {
    /// Reads the positions of a part's records.
    pub(super) fn open<D: Disk>(
        folder: &Folder<D>,
        manifest: &Manifest,
        payloads: &'a Payloads,
        keys: &ContentKeys,
    ) -> Result<Self, Error> {
        let places = folder.part(&payloads.places_part())?;
        let opener = Opener::new(manifest, payloads, keys, &places)?;
        Ok(Self { payloads, opener })
    }

    /// The bytes of this part that clients download, if they download everything.
    pub(super) fn bytes(&self) -> u64 {
        self.payloads.content_part().len + self.payloads.places.len
    }

    /// The places of its records.
    pub(super) fn places(&self) -> impl Iterator<Item = u64> {
        self.opener.places()
    }

    /// The place after the part's last record.
    pub(super) fn end(&self) -> u64 {
        self.places().max().map_or(0, |last| last + 1)
    }

    /// For each of these places, whether the part has it.
    pub(super) fn has(&self, places: &[u64]) -> Vec<bool> {
        let extents = self.opener.extents(&numbers(places));
        extents.iter().map(Option::is_some).collect()
    }

    /// Reads the records in these places. The part has all of them.
    pub(super) fn read<D: Disk>(
        &self,
        folder: &Folder<D>,
        places: &[u64],
    ) -> Result<Vec<Carried>, Error> {
        if places.is_empty() {
            return Ok(Vec::new());
        }
        let content = folder.part(&self.payloads.content_part())?;
        let extents = self.opener.extents(&numbers(places)).into_iter();
        let records = extents.map(|extent| {
            let read = extent.and_then(|extent| self.opener.read(&content, &extent));
            read.ok_or_else(|| Error::Malformed {
                what: "payloads",
                why: "not sealed with this index's key".to_owned(),
            })
        });
        records.collect()
    }

    /// Reads all records of a writer's part. Returns `None` if this store lacks the part's key.
    pub(super) fn added<D: Disk>(
        &self,
        folder: &Folder<D>,
        manifest: &Manifest,
    ) -> Result<Option<Vec<(u64, Carried)>>, Error> {
        if !self.opener.has_key() {
            return Ok(None);
        }
        let content = folder.part(&self.payloads.content_part())?;
        let added = self.opener.open_added(manifest, self.payloads, &content);
        added.map(Some)
    }

    /// Reads all of its records, with their places, in order.
    pub(super) fn all<D: Disk>(&self, folder: &Folder<D>) -> Result<Vec<(u64, Carried)>, Error> {
        let content = folder.part(&self.payloads.content_part())?;
        self.opener.open_all(&content)
    }
}

/// Places in the type that openers take: all rows of an index have numbers of 32 bits.
fn numbers(places: &[u64]) -> Vec<Option<u32>> {
    let numbers = places.iter().map(|&place| u32::try_from(place).ok());
    numbers.collect()
}
