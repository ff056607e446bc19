//! A stream of records on its way into segments.

use rand_core::CryptoRng;
use sordino_index::code::Codec;
use sordino_index::folder::Folder;
use sordino_index::ids::IdSet;
use sordino_index::manifest::{Columns, Local, Mode, Packing};
use sordino_index::{Disk, Error};
use sordino_vectors::Vectors;
use sordino_vectors::metric::{AsQuery, Space};

use super::Measured;
use super::draft::Draft;
use super::payloads::Changes;
use super::waiting::Waiting;
use crate::plan::Wish;
use crate::random::random;
use crate::segment::SegmentWriter;
use crate::spec::{Batch, Form, Spec};
use crate::step::Step;
use crate::units::units;

/// A stream of records on its way into segments.
pub(super) struct Stream {
    dim: usize,
    space: Space,
    rotation: [u8; 32],
    seen: IdSet,
    /// The number of the next record, for batches without ids.
    next: u64,
    payloads: Option<Changes>,
}

impl Stream {
    pub(super) fn new(dim: usize, space: Space, rotation: [u8; 32]) -> Self {
        Self {
            dim,
            space,
            rotation,
            seen: IdSet::default(),
            next: 0,
            payloads: None,
        }
    }

    /// Writes all records, and what they carry.
    pub(super) fn write<D: Disk, R: CryptoRng + ?Sized>(
        mut self,
        rng: &mut R,
        folder: &Folder<D>,
        writer: &SegmentWriter<'_>,
        spec: &Spec,
        batches: impl Iterator<Item = Result<Batch, Error>>,
        progress: &mut dyn FnMut(Step),
    ) -> Result<(Draft, Option<Measured>), Error> {
        let (mut draft, measured) = match spec.form {
            Form::Sealed {
                recall,
                queries,
                routing,
            } => {
                let wish = Wish {
                    k: spec.k,
                    recall,
                    queries,
                    routing,
                };
                self.write_clustered(rng, folder, writer, wish, batches, progress)?
            }
            Form::Local => {
                let local = Mode::Local(Local::new(Codec::of_downloads(self.space.metric)));
                let draft = self.draft(spec.k, local);
                self.write_segments(rng, folder, writer, draft, batches, progress)?
            }
            Form::Open(packing) => {
                let draft = self.draft(spec.k, Mode::Open(columns(rng, packing)));
                self.write_segments(rng, folder, writer, draft, batches, progress)?
            }
            Form::Masked(packing) => {
                let draft = self.draft(spec.k, Mode::Masked(columns(rng, packing)));
                self.write_segments(rng, folder, writer, draft, batches, progress)?
            }
        };
        draft.write_payloads(rng, folder, writer, self.payloads)?;
        Ok((draft, measured))
    }

    /// A version without segments.
    fn draft(&self, k: usize, mode: Mode) -> Draft {
        Draft {
            k,
            mode,
            sets: Vec::new(),
            dead: Vec::new(),
            payloads: None,
            as_query: self.as_query(),
        }
    }

    /// Writes a segment whenever there are records for one.
    fn write_segments<D: Disk, R: CryptoRng + ?Sized>(
        &mut self,
        rng: &mut R,
        folder: &Folder<D>,
        writer: &SegmentWriter<'_>,
        mut draft: Draft,
        batches: impl Iterator<Item = Result<Batch, Error>>,
        progress: &mut dyn FnMut(Step),
    ) -> Result<(Draft, Option<Measured>), Error> {
        let mut waiting = Waiting::new(self.dim);
        for batch in batches {
            self.take_in(batch?, &mut waiting)?;
            while waiting.ids.len() > draft.capacity() {
                let (ids, units) = self.units(&mut waiting, draft.capacity(), progress)?;
                draft.add(rng, folder, writer, (ids, &units), progress)?;
            }
        }
        let (ids, units) = self.units(&mut waiting, usize::MAX, progress)?;
        draft.add(rng, folder, writer, (ids, &units), progress)?;
        Ok((draft, None))
    }

    /// Writes all records together, clustered.
    fn write_clustered<D: Disk, R: CryptoRng + ?Sized>(
        &mut self,
        rng: &mut R,
        folder: &Folder<D>,
        writer: &SegmentWriter<'_>,
        wish: Wish,
        batches: impl Iterator<Item = Result<Batch, Error>>,
        progress: &mut dyn FnMut(Step),
    ) -> Result<(Draft, Option<Measured>), Error> {
        let mut waiting = Waiting::new(self.dim);
        for batch in batches {
            self.take_in(batch?, &mut waiting)?;
        }
        let (ids, units) = self.units(&mut waiting, usize::MAX, progress)?;
        let how = (wish, self.as_query());
        let (draft, measured) = Draft::sealed(rng, folder, writer, (ids, &units), how, progress)?;
        Ok((draft, Some(measured)))
    }

    /// Adds a batch to the records that wait. Records without ids are numbered on.
    fn take_in(&mut self, batch: Batch, waiting: &mut Waiting) -> Result<(), Error> {
        let Batch {
            ids,
            vectors,
            payloads,
        } = batch;
        if vectors.dim() != self.dim {
            return Err(Error::Dimension {
                found: vectors.dim(),
                expected: self.dim,
            });
        }
        // Here rows are in the order in which they were given.
        let first = usize::try_from(self.next).unwrap_or(usize::MAX);
        self.space.check(&vectors, first)?;
        let after = self.next + vectors.len() as u64;
        if u32::try_from(after).is_err() {
            let n = usize::try_from(after).unwrap_or(usize::MAX);
            return Err(Error::TooLarge { n, dim: self.dim });
        }
        match ids {
            Some(ids) => waiting.ids.extend(ids),
            None => waiting.ids.extend((self.next..after).map(row_id)),
        }
        self.next = after;
        if let Some(payloads) = payloads {
            let ids = waiting.ids.iter().rev().take(vectors.len()).rev().copied();
            let all = self.payloads.get_or_insert_default();
            all.extend(ids.zip(payloads));
        }
        waiting.data.extend_from_slice(vectors.as_slice());
        Ok(())
    }

    fn as_query(&self) -> AsQuery {
        let width = self.dim + self.space.metric.added() as usize;
        AsQuery::new(self.space, self.rotation, width)
    }

    /// The next records, as they are stored.
    fn units(
        &mut self,
        waiting: &mut Waiting,
        count: usize,
        progress: &mut dyn FnMut(Step),
    ) -> Result<(IdSet, Vectors), Error> {
        progress(Step::Rotate);
        let (ids, vectors) = waiting.take(count)?;
        if let Some(id) = ids.iter().find(|&id| self.seen.contains(id)) {
            return Err(Error::RepeatedId { id });
        }
        self.seen.insert(ids.iter().collect());
        Ok((ids, units(self.space, self.rotation, vectors)?))
    }
}

fn row_id(id: u64) -> u32 {
    u32::try_from(id).expect("checked before")
}

/// The constants of an index that is scored whole, without segments.
fn columns<R: CryptoRng + ?Sized>(rng: &mut R, packing: Packing) -> Columns {
    Columns::new(packing, random(rng))
}
