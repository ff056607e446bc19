//! Records that a writer cannot add, and what to do about each.

use sordino_index::manifest::{MAX_ADDED, MOST_ADDED_RECORDS, Manifest, Writer};
use sordino_index::payload::MOST_PAYLOAD;
use sordino_index::{AccessFault, Disk, Error, digest};
use sordino_vault::WriterKeys;
use sordino_vault::content_key::ContentKey;
use sordino_vault::directory::UNLABELLED;
use sordino_vectors::u32_of;

use super::WriterStore;
use crate::spec::Batch;
use crate::store::draft::Draft;

impl<D: Disk> WriterStore<D> {
    /// The number and the content key of the label, if the writer may add under it now.
    pub(super) fn check_right(&self, now: u64, label: &str) -> Result<(u32, ContentKey), Error> {
        let writer = &self.manifest.writers[usize::from(self.number)];
        if now >= writer.until {
            let why = "your right to add records has ended: ask the owner to grant it again";
            return Err(AccessFault::new("writer", &named(&writer.public), why).into());
        }
        if self.additions_left() == 0 {
            let why = "64 additions came since the owner's last change, the most that there may be: the owner's next change, such as \
                       `sordino index compact`, takes them in";
            return Err(AccessFault::new("additions", "to this version", why).into());
        }
        self.granted(label).ok_or_else(|| {
            let why = match label {
                UNLABELLED => {
                    "you may not add records without a label: name one that the owner granted you to write under"
                }
                _ => "the owner did not grant you the right to write under it",
            };
            let label = if label == UNLABELLED { "none" } else { label };
            AccessFault::new("label", label, why).into()
        })
    }

    /// The number and the content key of the label, if the owner granted the writer to add under it.
    pub(super) fn granted(&self, label: &str) -> Option<(u32, ContentKey)> {
        let writer = &self.manifest.writers[usize::from(self.number)];
        writer.labels.iter().find_map(|it| {
            let key = self.contents.get(it.key)?;
            // A holder of the key who knows the label's name can compute the tag.
            (key.label_tag(label) == it.tag).then(|| (it.key, key.clone()))
        })
    }

    /// Refuses records that do not have the index's form.
    pub(super) fn check_batch(&self, batch: &Batch) -> Result<(), Error> {
        if batch.ids.is_none() {
            let why = "a writer names the id of each: numbers that follow could belong to records that it cannot read";
            return Err(AccessFault::new("records", "without ids", why).into());
        }
        let payloads = batch.payloads.iter().flatten();
        for found in payloads.map(Vec::len) {
            if found > MOST_PAYLOAD {
                let most = MOST_PAYLOAD;
                return Err(Error::Payload { found, most });
            }
        }
        if batch.payloads.is_some() && !self.manifest.has_payloads() {
            let why = "records of the index have none: the owner adds the first that has one";
            return Err(AccessFault::new("payloads", "of new records", why).into());
        }
        Ok(())
    }

    /// Refuses an addition that is too large, and records that exist already.
    pub(super) fn check_added(&self, draft: &Draft, before: usize) -> Result<(), Error> {
        let (there, fresh) = draft.records.sets.split_at(before);
        let records: usize = fresh.iter().map(|ids| ids.len()).sum();
        if fresh.len() > MAX_ADDED || records as u64 > MOST_ADDED_RECORDS {
            let why = "they are more than 2^20, or make more than 8 segments: add them in several additions";
            return Err(AccessFault::new("records", "of one addition", why).into());
        }
        for ids in fresh {
            for (own, dead) in there.iter().zip(&draft.records.dead) {
                let mut common = own.common(ids).into_iter();
                if let Some(row) = common.find(|row| !dead.contains(*row)) {
                    let why = "it is there already, and a writer does not replace records: ask the owner to";
                    let id = own.id(row).to_string();
                    return Err(AccessFault::new("record", &id, why).into());
                }
            }
        }
        Ok(())
    }

    pub(super) fn other_mode(&self) -> Error {
        let found = self.manifest.mode.kind().name();
        let expected = "masked or local for writers";
        Error::Mode { found, expected }
    }
}

pub(super) fn number_of(manifest: &Manifest, keys: &WriterKeys) -> Result<u16, Error> {
    let public = keys.secret().public().signing.to_bytes();
    let own = |writer: &Writer| writer.public == public;
    let number = manifest.writers.iter().position(own);
    let why = "this key is none of the index's writers, or not any longer: ask the owner, who grants with `sordino keys grant --write`";
    let none = AccessFault::new("writer", &named(&public), why);
    Ok(u16::try_from(u32_of(number.ok_or(none)?)).unwrap_or(u16::MAX))
}

/// A name for a writer that anyone can compute: the short digest of its public key.
fn named(public: &[u8]) -> String {
    digest::short(&digest::of(public))
}
