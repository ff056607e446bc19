//! Changes payloads and attributes of existing records, whose vectors stay unchanged.

use std::collections::{BTreeMap, BTreeSet};

use rand_core::CryptoRng;
use sordino_index::payload::MOST_PAYLOAD;
use sordino_index::{Disk, Error, Id, IdKind};
use sordino_vault::attributes::Attributes;

use super::Store;
use super::attribute_columns::AttributeColumns;
use super::draft::Draft;
use super::payloads::Carried;
use crate::build_context::Build;
use crate::segment::SegmentWriter;
use crate::spec::Batch;

/// New payloads or attributes, or both, for existing records.
///
/// ```
/// use sordino_owner::Edit;
///
/// let edit = Edit::new([7u64, 9]).with_payloads(vec![b"seven".to_vec(), b"nine".to_vec()])?;
/// assert_eq!(edit.len(), 2);
/// # Ok::<(), sordino_index::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Edit {
    ids: Vec<Id>,
    payloads: Option<Vec<Vec<u8>>>,
    attributes: Attributes,
}

impl Edit {
    /// An edit of these records, which changes nothing yet.
    pub fn new(ids: impl IntoIterator<Item = impl Into<Id>>) -> Self {
        let ids: Vec<Id> = ids.into_iter().map(Into::into).collect();
        Self {
            attributes: Attributes::none(ids.len()),
            ids,
            payloads: None,
        }
    }

    /// An edit with the payloads and attributes of these records. Their vectors are ignored.
    ///
    /// # Errors
    /// [`Error::NoIds`] if the records have no ids. [`Error::Attribute`] if an attribute has two types. The errors of the
    /// batches.
    pub fn of(batches: impl IntoIterator<Item = Result<Batch, Error>>) -> Result<Self, Error> {
        let mut edit = Self::default();
        for batch in batches {
            let batch = batch?;
            let ids = batch.ids.ok_or(Error::NoIds(IdKind::Number))?;
            edit.ids.extend(ids);
            if let Some(payloads) = batch.payloads {
                edit.payloads.get_or_insert_default().extend(payloads);
            }
            edit.attributes.append(batch.attributes)?;
        }
        let Some(payloads) = edit.payloads.take() else {
            return Ok(edit);
        };
        edit.with_payloads(payloads)
    }

    /// The same edit with new payloads, one for each record.
    ///
    /// # Errors
    /// [`Error::PayloadCount`] if the numbers of payloads and records differ.
    pub fn with_payloads(self, payloads: Vec<Vec<u8>>) -> Result<Self, Error> {
        let (found, expected) = (payloads.len(), self.ids.len());
        if found != expected {
            return Err(Error::PayloadCount { found, expected });
        }
        let payloads = Some(payloads);
        Ok(Self { payloads, ..self })
    }

    /// The same edit with new attributes, a row for each record. Attributes of other names stay unchanged. A row without a
    /// value removes the record's value.
    ///
    /// # Errors
    /// [`Error::AttributeCount`] if the numbers of rows and records differ.
    pub fn with_attributes(self, attributes: Attributes) -> Result<Self, Error> {
        let (found, expected) = (attributes.rows(), self.ids.len());
        if found != expected {
            return Err(Error::AttributeCount { found, expected });
        }
        Ok(Self { attributes, ..self })
    }

    /// The number of records.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// True if it has no record.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }
}

impl<D: Disk> Store<D> {
    /// Gives records other payloads or attributes, and returns the new version. Labels stay unchanged.
    ///
    /// If only payloads change, clients download a small part. Records with other attributes are written to a new segment, as
    /// if they were replaced. The old content stays in the directory, sealed, until the store is [compacted](Self::compact).
    ///
    /// # Errors
    /// With these errors nothing is changed: [`Error::UnknownId`] if there is no record with an id,
    /// [`Error::RepeatedId`] if an id occurs twice, [`Error::Payload`] if a payload is too long, [`Error::Attribute`]
    /// for a wrong type, [`Error::Segments`] if the index must be compacted first. [`Error::File`] as for
    /// [`add`](Self::add).
    pub fn update<R: CryptoRng + ?Sized>(
        &mut self,
        rng: &mut R,
        mut edit: Edit,
    ) -> Result<u64, Error> {
        self.check_base()?;
        self.check_edit(&mut edit)?;
        if edit.payloads.is_none() && edit.attributes.is_none() {
            return Ok(self.version());
        }
        let made = self.edited(rng, edit);
        let version = self.settle(made)?;
        self.tidied(rng, version)
    }

    fn check_edit(&self, edit: &mut Edit) -> Result<(), Error> {
        let mut set = BTreeSet::new();
        for id in &edit.ids {
            if !set.insert(id) {
                return Err(Error::RepeatedId { id: id.clone() });
            }
            if self.records.find(id).is_none() {
                return Err(Error::UnknownId { id: id.clone() });
            }
        }
        let lens = edit.payloads.iter().flatten().map(Vec::len);
        let (found, most) = (lens.max().unwrap_or(0), MOST_PAYLOAD);
        if found > most {
            return Err(Error::Payload { found, most });
        }
        let contents = self.contents();
        AttributeColumns::new(&self.folder, &self.manifest, &contents).check(&mut edit.attributes)
    }

    fn edited<R: CryptoRng + ?Sized>(&mut self, rng: &mut R, edit: Edit) -> Result<u64, Error> {
        let keys = self.keys.clone();
        let writer = self.writer(&keys);
        let mut draft = self.draft();
        if !edit.attributes.is_none() {
            self.rewrite_rows(rng, &writer, &mut draft, &edit)?;
        }
        let payloads = edit.payloads.map(|payloads| {
            let all = edit.ids.into_iter().zip(payloads);
            all.collect::<BTreeMap<_, _>>()
        });
        let changes = Carried {
            payloads,
            ..Carried::default()
        };
        self.commit(rng, &writer, draft, changes)
    }

    /// Writes the rows of records with other attributes to new segments, and marks the old rows as deleted.
    fn rewrite_rows<R: CryptoRng + ?Sized>(
        &self,
        rng: &mut R,
        writer: &SegmentWriter<'_>,
        draft: &mut Draft,
        edit: &Edit,
    ) -> Result<(), Error> {
        // For each segment, the rows that the edit affects. Each row comes with the edit's row that replaces it.
        let mut rows: BTreeMap<usize, Vec<(u32, usize)>> = BTreeMap::new();
        for (at, id) in edit.ids.iter().enumerate() {
            if let Some((segment, row)) = self.records.find(id) {
                rows.entry(segment).or_default().push((row, at));
            }
        }
        let before = draft.records.sets.len();
        for (label, segments) in self.by_label(0) {
            let writer = writer.of_label(draft.access.as_ref(), &label);
            let mut build = Build {
                rng: &mut *rng,
                folder: &self.folder,
                writer: &writer,
                progress: &mut |_| (),
            };
            let mut waiting = self.waiting();
            for at in segments {
                let Some(rows) = rows.get(&at) else {
                    continue;
                };
                let (rows, places): (Vec<u32>, Vec<usize>) = rows.iter().copied().unzip();
                let attributes = Some(edit.attributes.select(&places));
                // Clusters of a routed index do not have the same kind of scales as additions.
                let scaled = at > 0 || !self.is_routed();
                self.read_rows(at, (&rows, scaled), attributes, &mut waiting)?;
            }
            while waiting.len() > 0 {
                let rows = waiting.take(draft.capacity())?;
                draft.add(&mut build, rows, before)?;
            }
        }
        for ids in draft.records.sets.split_off(before) {
            draft.records.bury(before, &ids);
            draft.records.sets.push(ids);
        }
        Ok(())
    }
}
