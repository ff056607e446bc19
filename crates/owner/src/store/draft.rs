//! A version that is being made: first its parts, then its manifest.

use rand_core::CryptoRng;
use sordino_index::code::Codec;
use sordino_index::columns::{self, Scheme};
use sordino_index::look::SecondLook;
use sordino_index::manifest::{
    Columns, FramePart, Local, Manifest, Mode, ModeKind, Segment, SignedManifest,
};
use sordino_index::payload::Payloads;
use sordino_index::{Disk, Error, manifest};
use sordino_vault::directory::{Directory, UNLABELLED};
use sordino_vault::frame::Frame;
use sordino_vault::keys::OwnerKeys;
use sordino_vectors::Vectors;

use super::now;
use super::records::Records;
use crate::base::Base;
use crate::build_context::Build;
use crate::column::column;
use crate::combinations::combined;
use crate::measurement::Measurement;
use crate::plan::{Grouping, Plan, Wish, capacity, clustering_bytes, second_look};
use crate::recall::Recall;
use crate::room;
use crate::routed;
use crate::rows::Rows;
use crate::sketch;
use crate::step::Step;
use crate::trained_centroids::Assignment;

/// A version that is being made. Its parts are written as records arrive.
pub(super) struct Draft {
    /// The number of results of a search.
    pub(super) k: usize,
    pub(super) mode: Mode,
    pub(super) records: Records,
    pub(super) payloads: Option<Payloads>,
    /// The parts that changes have added since all payloads were written together.
    pub(super) recent: Vec<Payloads>,
    /// The second look, if searches have one.
    pub(super) look: Option<SecondLook>,
    /// The frame of all vectors, and its part, if that is already written.
    pub(super) frame: Frame,
    pub(super) framed: Option<FramePart>,
    /// The recall of the written records, if it is measured.
    pub(super) recall: Option<Recall>,
    /// The rights of readers, if the index has readers of its own.
    pub(super) access: Option<Directory>,
}

impl Draft {
    /// A draft without records, in a frame that is not written yet.
    pub(super) fn new(k: usize, mode: Mode, frame: Frame) -> Self {
        Self {
            k,
            mode,
            records: Records::default(),
            payloads: None,
            recent: Vec::new(),
            look: None,
            frame,
            framed: None,
            recall: None,
            access: None,
        }
    }

    /// Checks that the index may have one more segment, before anything of it is written.
    pub(super) fn check_room(&self) -> Result<(), Error> {
        let found = self.records.sets.len();
        if found < manifest::MAX_SEGMENTS {
            return Ok(());
        }
        Err(Error::Segments {
            found,
            most: manifest::MAX_SEGMENTS,
        })
    }

    /// Writes the lists, and signs the manifest without writing it. Everything but the mode, the version and what
    /// follows from them is taken from `frame`. `before` has the rights of readers in the version before.
    pub(super) fn finish<D: Disk, R: CryptoRng + ?Sized>(
        &mut self,
        build: &mut Build<'_, D, R>,
        frame: Manifest,
        before: Option<&Directory>,
    ) -> Result<SignedManifest, Error> {
        let writer = build.writer;
        let keys = writer.keys();
        let sets = self.records.sets.iter();
        let n: u64 = sets.map(|ids| ids.len() as u64).sum();
        let n = u32::try_from(n).map_err(|_| Error::TooLarge {
            n: usize::try_from(n).unwrap_or(usize::MAX),
            dim: frame.dim as usize,
        })?;
        let part = self.frame(build)?;
        let before = before.zip(frame.readers.as_ref());
        let readers = self.readers(build, before)?;
        let lists = self.by_label(writer).into_iter();
        let lists = lists.map(|(number, key, segments)| {
            let dead = segments.iter().map(|&at| &self.records.dead[at]);
            (number, key, dead.collect())
        });
        let lists: Vec<_> = lists.collect();
        let (deleted, list) = writer.deleted(build.rng, &lists, self.access.is_some());
        build.folder.put(&list)?;
        let old = frame.clone();
        let mut manifest = frame;
        manifest.version = writer.version();
        manifest.n = n;
        manifest.deleted = deleted;
        manifest.frame = part;
        manifest.payloads = self.payloads.clone();
        manifest.recent = self.recent.clone();
        manifest.mode = self.mode.clone();
        let combined = combined(build, &manifest, &old)?;
        if let Mode::Open(mode) | Mode::Masked(mode) = &mut manifest.mode {
            mode.combined = combined;
        }
        manifest.readers = readers;
        let access = self.access.as_ref();
        let writers = access.map(|access| access.writers(&keys.contents(), now()));
        manifest.writers = writers.unwrap_or_default();
        if manifest.is_first() {
            manifest.index = index_id(keys, &manifest);
        }
        let signed = SignedManifest::sign(manifest, keys);
        // A manifest that cannot be read must not become the newest version.
        let signed = SignedManifest::from_bytes(signed.to_bytes(), &keys.public())?;
        Ok(signed)
    }
}

impl Draft {
    /// The frame's part: the present one, if it is under the newest key that all readers have, or a new one.
    fn frame<D: Disk, R: CryptoRng + ?Sized>(
        &mut self,
        build: &mut Build<'_, D, R>,
    ) -> Result<FramePart, Error> {
        let writer = build.writer.of_label(self.access.as_ref(), UNLABELLED);
        if let Some(part) = self.framed.as_ref().filter(|it| it.key == writer.number()) {
            return Ok(part.clone());
        }
        if let Some(recall) = self.recall.take().and_then(|recall| recall.share()) {
            self.frame = self.frame.clone().with_recall(Some(recall));
        }
        let (part, sealed) = writer.frame(build.rng, &self.frame);
        build.folder.put(&sealed)?;
        self.framed = Some(part.clone());
        Ok(part)
    }
}

/// Writes a segment in sealed chunks.
fn chunks<D: Disk, R: CryptoRng + ?Sized>(
    build: &mut Build<'_, D, R>,
    rows: &Rows,
    codec: Codec,
) -> Result<Segment, Error> {
    let written = build.writer.chunks(build.rng, rows, codec);
    build.put(&written)?;
    Ok(written.segment)
}

impl Draft {
    /// The number of records that the next segment may have.
    pub(super) fn capacity(&self) -> usize {
        capacity(self.records.sets.len())
    }

    /// Writes a segment of rows in the index's frame and adds it. The first `before` segments are older than this
    /// change: records in them are replaced, and no other record may come twice.
    pub(super) fn add<D: Disk, R: CryptoRng + ?Sized>(
        &mut self,
        build: &mut Build<'_, D, R>,
        rows: Rows,
        before: usize,
    ) -> Result<(), Error> {
        self.check_room()?;
        for ids in &self.records.sets[before..] {
            if let Some(&row) = ids.common(&rows.ids).first() {
                return Err(Error::RepeatedId { id: ids.id(row) });
            }
        }
        let (frame, recall) = (&self.frame, &mut self.recall);
        let mut scored = |build: &mut Build<'_, D, R>, rows_of, mode: &mut Columns| {
            let scheme = Scheme::new(rows_of, mode);
            let column = column(build, frame, &rows, scheme, mode.seed, recall.as_mut())?;
            mode.segments.push(column);
            Ok::<(), Error>(())
        };
        match &mut self.mode {
            Mode::Open(mode) => scored(build, columns::Rows::Open, mode)?,
            Mode::Masked(mode) => scored(build, columns::Rows::Masked, mode)?,
            Mode::Routed(mode) => scored(build, columns::Rows::Masked, &mut mode.tail)?,
            Mode::Local(Local {
                codec,
                segments,
                sketch,
                ..
            }) => {
                build.tell(Step::Seal);
                if let (true, Some(recall)) = (segments.is_empty(), &self.recall) {
                    *codec = recall.coarsest(&self.frame, &rows, *codec)?;
                }
                let segment = chunks(build, &rows, *codec)?;
                if segments.is_empty() || self.recall.is_some() {
                    let vectors = rows.decoded(&self.frame, *codec)?;
                    if let Some(recall) = &mut self.recall {
                        build.tell(Step::Probe);
                        recall.add(&self.frame, &rows, |asked, _| vectors.keys(asked));
                    }
                    // The size is measured on the first segment. Only later segments, after many others, are larger.
                    if segments.is_empty() {
                        build.tell(Step::Sketch);
                        let seed = build.writer.key().sketch_seed(&segment.id);
                        *sketch = sketch::of(&vectors, &self.frame, seed, self.k);
                    }
                }
                segments.push(segment);
            }
            Mode::Sealed(mode) => {
                build.tell(Step::Seal);
                let codec = Codec::Int8;
                if let Some(recall) = &mut self.recall {
                    let vectors = rows.decoded(&self.frame, codec)?;
                    recall.add(&self.frame, &rows, |asked, _| vectors.keys(asked));
                }
                mode.tail.push(chunks(build, &rows, codec)?);
            }
        }
        self.records.push(rows.ids);
        Ok(())
    }

    /// A sealed index of these records, as planned. It takes the given clusters or trains some, and writes its
    /// buckets.
    pub(super) fn sealed<D: Disk, R: CryptoRng + ?Sized>(
        build: &mut Build<'_, D, R>,
        rows: Rows,
        given: Option<Assignment>,
        wish: Wish,
        questions: Option<&Vectors>,
        frame: Frame,
    ) -> Result<(Self, Measurement), Error> {
        let (n, width) = (rows.vectors.len(), rows.vectors.dim());
        room::check_bytes(clustering_bytes(ModeKind::Sealed, n, width))?;
        let plan = Plan::of_build(n, width, frame.metric(), wish, questions.is_some())?;
        let base = Base::new(build, &rows, given, &plan, questions, &frame)?;
        let Base {
            mode,
            buckets,
            digests,
            centroids,
            hint,
            base,
            measured,
        } = base;
        for part in [buckets, digests, centroids].iter().chain(&hint) {
            build.folder.put(part)?;
        }
        build.put(&base)?;
        let frame = frame.with_recall(Some(measured.expected_recall));
        let mut draft = Self::new(plan.wish().k, Mode::Sealed(mode), frame);
        draft.records.push(rows.ids);
        Ok((draft, measured))
    }
}

impl Draft {
    /// A routed index of these records, in the given clusters or in trained ones. It writes the table.
    pub(super) fn routed<D: Disk, R: CryptoRng + ?Sized>(
        build: &mut Build<'_, D, R>,
        rows: Rows,
        given: Option<Assignment>,
        wish: Wish,
        questions: Option<&Vectors>,
        frame: Frame,
    ) -> Result<(Self, Measurement), Error> {
        let (n, dim) = (rows.vectors.len(), rows.vectors.dim());
        room::check_bytes(clustering_bytes(ModeKind::Routed, n, dim))?;
        let (far, frame) = far(&rows, frame, wish.k);
        let (rows, given, far) = match far.is_empty() {
            true => (rows, given, None),
            false => {
                let near: Vec<usize> = (0..rows.vectors.len())
                    .filter(|row| far.binary_search(row).is_err())
                    .collect();
                let given = given.map(|given| given.in_order(&near));
                (
                    rows.select(&near)?,
                    given,
                    Some(rows.select(&far)?.unscaled()),
                )
            }
        };
        let (n, dim) = (rows.vectors.len(), rows.vectors.dim());
        wish.check_recall()?;
        let look = wish.second_look.map(|most| second_look(most, wish.k, dim));
        let look = look.transpose()?;
        let planned = Grouping::cheapest(n, dim, &wish.planned_for(questions.is_some()));
        let planned = planned.ok_or(Error::TooLarge { n, dim })?;
        let base = routed::Base::new(build, rows, given, &planned, &wish, questions, &frame)?;
        let frame = frame.with_recall(Some(base.measured.expected_recall));
        let mut draft = Self::new(wish.k, Mode::Routed(base.mode), frame);
        draft.look = look;
        draft.records.push(base.ids);
        // Rows that are far longer than the others would reduce the precision of all, so they are stored where all
        // rows are scored.
        if let Some(far) = far {
            draft.add(build, far, 1)?;
        }
        Ok((draft, base.measured))
    }
}

/// The rows that are far longer than the others, and the frame for the other rows. The others must be enough for `k`
/// results.
fn far(rows: &Rows, frame: Frame, k: usize) -> (Vec<usize>, Frame) {
    let far = rows.beyond(&frame);
    if far.is_empty() || rows.vectors.len() - far.len() >= k {
        return (far, frame);
    }
    let longest = rows.lengths(&frame).into_iter().fold(0.0, f64::max);
    (Vec::new(), frame.with_bound(longest))
}

/// A new index's id: a keyed digest of its first segment's id, so that it is equally fresh.
fn index_id(keys: &OwnerKeys, manifest: &Manifest) -> [u8; 16] {
    let first = manifest.segments()[0].id;
    keys.ids()
        .id(&[0; 32], b"index", &first, std::iter::empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use sordino_index::Id;
    use sordino_vault::ids::Ids;
    use sordino_vectors::metric::Metric;

    #[test]
    fn an_index_has_room_for_a_limited_number_of_segments() {
        let mode = Mode::Local(Local::new(Codec::Int8));
        let mut draft = Draft::new(1, mode, Frame::origin(Metric::Cosine, [0; 32], 1));
        for _ in 0..manifest::MAX_SEGMENTS {
            assert!(draft.check_room().is_ok());
            let one = Ids::from_ascending(sordino_index::IdKind::Number, &[Id::Number(1)]);
            draft.records.push(one.unwrap());
        }
        let full = draft.check_room();
        assert!(matches!(
            full,
            Err(Error::Segments {
                found: 1024,
                most: 1024
            })
        ));
    }
}
