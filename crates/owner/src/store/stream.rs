//! A stream of records that is being written into segments.

use rand_core::CryptoRng;
use sordino_index::code::Codec;
use sordino_index::look::SecondLook;
use sordino_index::manifest::{Columns, Local, Mode, Packing};
use sordino_index::{Disk, Error, Id, IdKind};
use sordino_vault::attributes::Attributes;
use sordino_vault::directory::Directory;
use sordino_vault::frame::Frame;
use sordino_vectors::Vectors;

use super::draft::Draft;
use super::payloads::Carried;
use super::row_buffer::RowBuffer;
use crate::build_context::Build;
use crate::frame;
use crate::measurement::Measurement;
use crate::random::random;
use crate::recall::Recall;
use crate::room;
use crate::rows::Rows;
use crate::spec::{Batch, Form, Spec};
use crate::step::Step;
use crate::trained_centroids::Assignment;

/// The number of records of a batch that join the waiting records at once.
const PART: usize = 1 << 16;

/// The bytes of memory that a segment needs for each coordinate, in addition to the vector.
pub(super) const SEGMENT: usize = room::SEGMENT - size_of::<f32>();

/// A stream of records that is being written into segments.
pub(super) struct Stream {
    frame: Frame,
    ids: IdKind,
    /// The number of the next record, for batches without ids, or `None` if no number is left.
    next: Option<u64>,
    /// The number of records so far.
    read: u64,
    waiting: RowBuffer,
    look: Option<SecondLook>,
    /// The rights of readers of a new index, if it has readers of its own.
    access: Option<Directory>,
    /// The clusters of all records of the stream, if they are known in advance.
    assigned: Option<Assignment>,
    /// The rotation and the seed of a frame that is trained after all records have arrived. The last value is true
    /// if some records may be hidden from readers.
    training: Option<([u8; 32], [u8; 32], bool)>,
    pub(super) carried: Carried,
}

impl Stream {
    pub(super) fn new(frame: Frame, ids: IdKind, look: Option<SecondLook>) -> Self {
        let dim = frame.dim();
        Self {
            frame,
            ids,
            next: Some(0),
            read: 0,
            waiting: RowBuffer::new(ids, dim),
            carried: Carried::new(look),
            look,
            access: None,
            assigned: None,
            training: None,
        }
    }

    /// The same stream, into a new index with these rights.
    pub(super) fn read_by(self, access: Option<Directory>) -> Self {
        Self { access, ..self }
    }

    /// The same stream, for records whose clusters may be known in advance.
    pub(super) fn assigned(self, assigned: Option<Assignment>) -> Self {
        Self { assigned, ..self }
    }

    /// The same stream, whose frame may have to be trained on all its records.
    pub(super) fn trained(self, training: Option<([u8; 32], [u8; 32], bool)>) -> Self {
        Self { training, ..self }
    }

    /// The same stream, which numbers records without ids from `next` on.
    pub(super) fn numbered_from(self, next: Option<u64>) -> Self {
        Self { next, ..self }
    }

    /// Writes all records of a new index, and what they carry.
    pub(super) fn write<D: Disk, R: CryptoRng + ?Sized>(
        mut self,
        build: &mut Build<'_, D, R>,
        spec: &Spec,
        batches: impl Iterator<Item = Result<Batch, Error>>,
    ) -> Result<(Draft, Option<Measurement>), Error> {
        let mode = match spec.form {
            Form::Sealed { .. } | Form::Routed { .. } => {
                return self.whole(build, spec, batches);
            }
            Form::Local => Mode::Local(Local::new(Codec::of_downloads(self.frame.metric()))),
            Form::Open(packing) => Mode::Open(columns(build.rng, packing, spec)),
            Form::Masked(packing) => Mode::Masked(columns(build.rng, packing, spec)),
        };
        let mut draft = Draft {
            look: self.look,
            recall: Some(recall(spec)),
            access: self.access.take(),
            ..Draft::new(spec.k, mode, self.frame.clone())
        };
        self.segments(build, &mut draft, batches)?;
        draft.write_payloads(build, self.carried, spec.conditions)?;
        Ok((draft, None))
    }

    /// Writes all records of a new index that are needed together.
    fn whole<D: Disk, R: CryptoRng + ?Sized>(
        mut self,
        build: &mut Build<'_, D, R>,
        spec: &Spec,
        batches: impl Iterator<Item = Result<Batch, Error>>,
    ) -> Result<(Draft, Option<Measurement>), Error> {
        for batch in batches {
            self.take_in(batch?)?;
        }
        if let Some((rotation, seed, hidden)) = self.training.take() {
            let sample = self.waiting.sample(frame::SAMPLE)?;
            let (metric, n) = (self.frame.metric(), self.waiting.len());
            self.frame = frame::trained(metric, rotation, &sample, n, seed, hidden)?;
        }
        let given = self.assigned.take();
        let given = match self.waiting.order() {
            Some(order) => given.map(|given| given.in_order(&order)),
            None => given,
        };
        // Vectors are copied once if they are out of order, or if their residuals are wider.
        let rows = self.rows(usize::MAX, size_of::<f32>(), build.progress)?;
        let (wish, questions, frame) = (spec.wish(), spec.questions.as_ref(), self.frame.clone());
        let (mut draft, measured) = match spec.form {
            Form::Routed { .. } => Draft::routed(build, rows, given, wish, questions, frame)?,
            Form::Sealed { .. } => Draft::sealed(build, rows, given, wish, questions, frame)?,
            Form::Masked(_) | Form::Open(_) | Form::Local => {
                unreachable!("these are written segment by segment")
            }
        };
        draft.access = self.access;
        draft.write_payloads(build, self.carried, spec.conditions)?;
        Ok((draft, Some(measured)))
    }

    /// Writes a segment whenever enough records have arrived, and one with the rest. Returns the number of records.
    pub(super) fn segments<D: Disk, R: CryptoRng + ?Sized>(
        &mut self,
        build: &mut Build<'_, D, R>,
        draft: &mut Draft,
        batches: impl Iterator<Item = Result<Batch, Error>>,
    ) -> Result<u64, Error> {
        let before = draft.records.sets.len();
        for batch in batches {
            let (ids, vectors, mut all) = self.checked(batch?)?;
            let (mut ids, mut from) = (ids.into_iter(), 0);
            // Only a part of a batch waits at a time, because a batch may have all records of an index.
            for rows in vectors.as_slice().chunks(PART * vectors.dim()) {
                let range = from..from + rows.len() / vectors.dim();
                from = range.end;
                let attributes = match range.len() == vectors.len() {
                    true => std::mem::take(&mut all),
                    false => all.select(&range.clone().collect::<Vec<_>>()),
                };
                self.waiting
                    .push(ids.by_ref().take(range.len()), rows, attributes)?;
                while self.waiting.len() > draft.capacity() {
                    let rows = self.rows(draft.capacity(), SEGMENT, build.progress)?;
                    draft.add(build, rows, before)?;
                }
            }
        }
        if self.waiting.len() > 0 {
            let rows = self.rows(usize::MAX, SEGMENT, build.progress)?;
            draft.add(build, rows, before)?;
        }
        Ok(self.read)
    }

    /// Adds a batch to the waiting records.
    pub(super) fn take_in(&mut self, batch: Batch) -> Result<(), Error> {
        let (ids, vectors, attributes) = self.checked(batch)?;
        self.waiting.push_all(ids, vectors, attributes)
    }

    /// Checks the next batch and keeps its payloads. Records without ids get the next numbers.
    fn checked(&mut self, batch: Batch) -> Result<(Vec<Id>, Vectors, Attributes), Error> {
        let Batch {
            ids,
            vectors,
            payloads,
            attributes,
        } = batch;
        let dim = self.frame.dim();
        if vectors.dim() != dim {
            return Err(Error::Dimension {
                found: vectors.dim(),
                expected: dim,
            });
        }
        // At this point rows are in the order in which they were given.
        let first = usize::try_from(self.read).unwrap_or(usize::MAX);
        self.frame.metric().check(&vectors, first)?;
        self.read += vectors.len() as u64;
        if u32::try_from(self.read).is_err() {
            let n = usize::try_from(self.read).unwrap_or(usize::MAX);
            return Err(Error::TooLarge { n, dim });
        }
        let ids = match ids {
            Some(ids) => ids,
            None => self.numbers(vectors.len() as u64)?,
        };
        if let Some(id) = ids.iter().find(|id| id.kind() != self.ids) {
            let (id, expected) = (id.clone(), self.ids);
            return Err(Error::IdKind { id, expected });
        }
        if let Some(payloads) = payloads {
            let all = self.carried.payloads.get_or_insert_default();
            all.extend(ids.iter().cloned().zip(payloads));
        }
        Ok((ids, vectors, attributes))
    }

    /// The numbers of the next records.
    fn numbers(&mut self, count: u64) -> Result<Vec<Id>, Error> {
        if self.ids != IdKind::Number {
            let expected = self.ids;
            return Err(Error::NoIds(expected));
        }
        let none = Error::NoNextId { highest: u64::MAX };
        let next = self.next.ok_or(none)?;
        let Some(last) = next.checked_add(count - 1) else {
            return Err(Error::NoNextId { highest: next - 1 });
        };
        self.next = last.checked_add(1);
        Ok((next..=last).map(Id::Number).collect())
    }

    /// The next records in their stored form. It first checks that there are `each` bytes of memory for each coordinate.
    pub(super) fn rows(
        &mut self,
        count: usize,
        each: usize,
        progress: &mut dyn FnMut(Step),
    ) -> Result<Rows, Error> {
        progress(Step::Rotate);
        let waiting = count.min(self.waiting.len());
        let coordinates = waiting.saturating_mul(self.frame.stored_dim());
        let exact = match self.look {
            Some(_) => size_of::<i16>(),
            None => 0,
        };
        room::check(coordinates, each + exact)?;
        let rows = self.waiting.take(count)?.framed(&self.frame)?;
        self.carried.look_at(&rows);
        Ok(rows)
    }
}

/// The measurement for an index whose rows are all scored.
fn recall(spec: &Spec) -> Recall {
    let kept = spec
        .second_look
        .map_or(spec.k, |candidates| candidates as usize);
    Recall::new(spec.k, kept)
}

/// Columns without segments yet.
fn columns<R: CryptoRng + ?Sized>(rng: &mut R, packing: Packing, spec: &Spec) -> Columns {
    let mut columns = Columns::new(packing, random(rng));
    columns.checking = spec.checking;
    columns
}
