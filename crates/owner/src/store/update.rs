//! Adds, replaces and deletes records.

use std::collections::BTreeSet;

use rand_core::CryptoRng;
use sordino_index::payload::MOST_PAYLOAD;
use sordino_index::{AccessFault, Disk, Error, Id, IdKind};
use sordino_vault::attributes::Attributes;
use sordino_vault::directory::UNLABELLED;
use sordino_vault::ids::Ids;
use sordino_vectors::Vectors;

use super::Store;
use super::access::{check_mode, label_of};
use super::attribute_columns::AttributeColumns;
use super::draft::Draft;
use super::payloads::Carried;
use super::stream::Stream;
use crate::build_context::Build;
use crate::recall::Recall;
use crate::spec::Batch;
use crate::step::Step;

/// The result of adding records.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Added {
    /// The version that the change made.
    pub version: u64,
    /// The number of added records.
    pub records: usize,
    /// The number of added records whose ids existed before.
    pub replaced: usize,
    /// The number of added records that had another label before, or had none and have one now. Readers of the old
    /// label can read these records' old rows until the store is [compacted](Store::compact). So this number is 0 if
    /// the store was compacted at once.
    pub relabelled: usize,
    /// Recall of some of these records among themselves, in their stored form. `None` if they are fewer than four times
    /// the results of a search. It is low if the added records lie far from the records from which the index was built.
    /// It does not change the recall that the index reports.
    pub recall: Option<f64>,
}

impl Added {
    /// No change, at a version.
    #[must_use]
    pub fn none(version: u64) -> Self {
        Self {
            version,
            records: 0,
            replaced: 0,
            relabelled: 0,
            recall: None,
        }
    }

    /// Adds the numbers of another change.
    pub fn and(&mut self, other: &Self) {
        self.version = other.version;
        self.records += other.records;
        self.replaced += other.replaced;
        self.relabelled += other.relabelled;
        self.recall = match (self.recall, other.recall) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
    }
}

impl<D: Disk> Store<D> {
    /// Adds records, or replaces records whose ids exist. Returns the new version.
    ///
    /// # Errors
    /// [`Error::Ids`] if the numbers of ids and vectors differ, and the errors of [`add`](Self::add).
    pub fn upsert<R: CryptoRng + ?Sized, I: Clone + Into<Id>>(
        &mut self,
        rng: &mut R,
        ids: &[I],
        vectors: &Vectors,
    ) -> Result<u64, Error> {
        let batch = Batch::new(ids.iter().cloned(), vectors.clone())?;
        let added = self.add(rng, [Ok(batch)], &mut |_| ())?;
        Ok(added.version)
    }

    /// Adds a stream of records, or replaces records whose ids exist, as one change. Records without ids get the
    /// numbers after the highest. If other records have payloads or attributes, records without them get empty ones.
    /// These may be the index's first payloads or attributes.
    ///
    /// # Errors
    /// With these errors nothing is changed: [`Error::RepeatedId`] for an id that occurs twice. [`Error::IdKind`] and
    /// [`Error::NoIds`] for ids whose kind is not the index's. [`Error::NoNextId`] if no number is left for records
    /// without ids. [`Error::Dimension`] if vectors have another dimension. [`Error::Vectors`] for no vectors, for a
    /// zero vector under the cosine, or for a vector beyond the bound of another metric. [`Error::Payload`] if a
    /// payload is too long. [`Error::Attribute`] if a column cannot be stored. [`Error::Segments`] if the index must be
    /// compacted first. The stream's own errors.
    ///
    /// [`Error::File`] if a file cannot be written. The old version stays, unless the next change fails with
    /// [`Error::Unsure`]. [`OwnerFault::Compaction`](sordino_index::OwnerFault::Compaction) if the change was made but
    /// the [compaction](Self::compact_after) after it failed.
    pub fn add<R: CryptoRng + ?Sized>(
        &mut self,
        rng: &mut R,
        batches: impl IntoIterator<Item = Result<Batch, Error>>,
        progress: &mut dyn FnMut(Step),
    ) -> Result<Added, Error> {
        self.add_labelled(rng, None, batches, progress)
    }

    /// Like [`add`](Self::add), under a label: only readers who were granted it, or a group that has it, can read these
    /// records. A new label is created, and no reader may read it yet. All readers of the index can read records
    /// without a label. A replaced record gets the label with which it is added now.
    ///
    /// # Errors
    /// The errors of [`add`](Self::add). [`Error::Mode`] if the index is neither masked nor local. [`Error::Access`] if
    /// it has no readers of its own, or if a record that has a label would be replaced by one without.
    pub fn add_labelled<R: CryptoRng + ?Sized>(
        &mut self,
        rng: &mut R,
        label: Option<&str>,
        batches: impl IntoIterator<Item = Result<Batch, Error>>,
        progress: &mut dyn FnMut(Step),
    ) -> Result<Added, Error> {
        self.check_base()?;
        let made = self.added(rng, label, batches.into_iter(), progress);
        let mut added = self.settle(made)?;
        let version = self.tidied(rng, added.version)?;
        if version != added.version {
            added.relabelled = 0;
        }
        added.version = version;
        Ok(added)
    }

    /// Creates this label in a draft if it does not exist.
    fn labelled<R: CryptoRng + ?Sized>(
        &self,
        rng: &mut R,
        draft: &mut Draft,
        label: &str,
    ) -> Result<(), Error> {
        check_mode(&self.manifest.mode)?;
        let why = "the index has no readers of its own: grant a reader first";
        let none = AccessFault::new("label", label, why);
        let salt = self.salt(rng);
        draft.access.as_mut().ok_or(none)?.label_for(label, salt)?;
        Ok(())
    }

    /// Refuses to replace a record that has a label by one without, which all readers could read.
    fn check_labels(&self, ids: &Ids) -> Result<(), Error> {
        let segments = self.manifest.segments().into_iter().enumerate();
        let labelled = segments.filter(|(_, it)| label_of(self.access.as_ref(), it.key).is_some());
        for (at, _) in labelled {
            let (own, dead) = (&self.records.sets[at], &self.records.dead[at]);
            if let Some(row) = own.common(ids).into_iter().find(|row| !dead.contains(*row)) {
                let why =
                    "it has a label, and would have none: add it with one, or delete it first";
                return Err(AccessFault::new("record", &own.id(row).to_string(), why).into());
            }
        }
        Ok(())
    }

    fn added<R: CryptoRng + ?Sized>(
        &mut self,
        rng: &mut R,
        label: Option<&str>,
        batches: impl Iterator<Item = Result<Batch, Error>>,
        progress: &mut dyn FnMut(Step),
    ) -> Result<Added, Error> {
        let keys = self.keys.clone();
        let writer = self.writer(&keys);
        let mut draft = self.draft();
        draft.check_room()?;
        draft.recall = Some(self.measurement());
        if let Some(label) = label {
            self.labelled(rng, &mut draft, label)?;
        }
        let writer = match label {
            Some(label) => writer.of_label(draft.access.as_ref(), label),
            None => writer,
        };
        let contents = self.contents();
        let mut known = AttributeColumns::new(&self.folder, &self.manifest, &contents);
        let batches = batches.map(|batch| {
            let mut batch = batch?;
            known.check(&mut batch.attributes)?;
            for payload in batch.payloads.iter().flatten() {
                let (found, most) = (payload.len(), MOST_PAYLOAD);
                if found > most {
                    return Err(Error::Payload { found, most });
                }
            }
            Ok(batch)
        });
        let (frame, ids) = (self.frame.clone(), self.manifest.ids);
        let stream = Stream::new(frame, ids, self.manifest.second_look());
        let mut stream = stream.numbered_from(self.next_number());
        let before = draft.records.sets.len();
        let mut build = Build {
            rng: &mut *rng,
            folder: &self.folder,
            writer: &writer,
            progress,
        };
        let read = stream.segments(&mut build, &mut draft, batches)?;
        if read == 0 {
            return Err(sordino_vectors::Error::NoVectors.into());
        }
        // The frame keeps the recall of the build, because a new value would change the frame.
        let recall = draft.recall.take().and_then(|it| it.share_of_many());
        let (mut replaced, mut relabelled) = (0, 0);
        for ids in draft.records.sets.split_off(before) {
            if label.is_none() {
                self.check_labels(&ids)?;
            }
            relabelled += self.labelled_otherwise(&ids, label.unwrap_or(UNLABELLED));
            replaced += draft.records.bury(before, &ids);
            draft.records.sets.push(ids);
        }
        // A record is replaced as a whole.
        let fresh = &draft.records.sets[before..];
        let mut changes = std::mem::take(&mut stream.carried);
        if changes.payloads.is_some() || self.manifest.has_payloads() {
            let payloads = changes.payloads.get_or_insert_default();
            for id in fresh.iter().flat_map(|ids| ids.iter()) {
                payloads.entry(id).or_default();
            }
        }
        let version = self.commit(rng, &writer, draft, changes)?;
        Ok(Added {
            version,
            records: usize::try_from(read).unwrap_or(usize::MAX),
            replaced,
            relabelled,
            recall,
        })
    }

    /// The attributes that records have, as columns without rows.
    ///
    /// # Errors
    /// [`Error`] if a part cannot be read or is damaged. [`Error::Attribute`] for an attribute of two types.
    pub fn attributes(&self) -> Result<Attributes, Error> {
        AttributeColumns::new(&self.folder, &self.manifest, &self.contents()).all()
    }

    /// The number for the next record without an id: the highest number plus one, if ids are numbers and one is left.
    #[must_use]
    pub fn next_number(&self) -> Option<u64> {
        let last = |ids: &Ids| match ids {
            Ids::Numbers(numbers) => numbers.last(),
            Ids::Texts(_) | Ids::Uuids(_) => None,
        };
        if self.manifest.ids != IdKind::Number {
            return None;
        }
        let highest = self.records.sets.iter().filter_map(|ids| last(ids)).max();
        highest.map_or(Some(0), |highest| highest.checked_add(1))
    }

    /// Deletes records, and returns the new version. Their vectors stay in the directory until the store is compacted,
    /// and on servers, masked or sealed. No search finds them.
    ///
    /// # Errors
    /// With these errors nothing is changed: [`Error::UnknownId`] if there is no record with an id,
    /// [`Error::RepeatedId`] if an id occurs twice, [`Error::NothingLeft`] if no record would be left. [`Error::File`]
    /// as for [`add`](Self::add).
    pub fn delete<R: CryptoRng + ?Sized, I: Clone + Into<Id>>(
        &mut self,
        rng: &mut R,
        ids: &[I],
    ) -> Result<u64, Error> {
        self.check_base()?;
        let mut set = BTreeSet::new();
        for id in ids {
            if let Some(id) = set.replace(id.clone().into()) {
                return Err(Error::RepeatedId { id });
            }
        }
        if let Some(id) = set.iter().find(|id| self.records.find(id).is_none()) {
            return Err(Error::UnknownId { id: id.clone() });
        }
        if set.len() == self.len() {
            return Err(Error::NothingLeft { n: set.len() });
        }
        let mut draft = self.draft();
        let ids = Ids::from_ascending(self.manifest.ids, &set)?;
        draft.records.bury(usize::MAX, &ids);
        let keys = self.keys.clone();
        let writer = self.writer(&keys);
        let made = self.commit(rng, &writer, draft, Carried::default());
        let version = self.settle(made)?;
        self.tidied(rng, version)
    }

    /// A measurement of the records that are being written.
    pub(super) fn measurement(&self) -> Recall {
        let k = self.manifest.k as usize;
        let look = self.manifest.second_look();
        Recall::new(k, look.map_or(k, |look| look.candidates as usize))
    }

    /// The present version, as the start of a change.
    pub(super) fn draft(&self) -> Draft {
        let manifest = &self.manifest;
        Draft {
            records: self.records.clone(),
            payloads: manifest.payloads.clone(),
            recent: manifest.recent.clone(),
            look: manifest.second_look(),
            framed: Some(manifest.frame.clone()),
            access: self.access.clone(),
            ..Draft::new(
                manifest.k as usize,
                manifest.mode.clone(),
                self.frame.clone(),
            )
        }
    }
}
