//! Builds a new index from segments that several processes or machines of the owner make. They work in tasks that may fail and be
//! repeated.
//!
//! The facts that all segments share are fixed first, in a [`Blueprint`]. Each task makes a segment, writes its parts where the
//! index will be, and reports a [`Piece`]. At the end one manifest names one piece of each task and is signed. Other parts, of
//! tasks that were repeated or killed, are not named by it and are removed.
//!
//! Two contents never share a pad or a nonce, even if a task is repeated. They are under keys of the segment's id, which is a
//! keyed digest of fresh randomness and of its whole content.

use std::collections::BTreeMap;
use std::path::Path;

use rand_core::CryptoRng;
use sordino_index::digest::Coded;
use sordino_index::disk::Lock;
use sordino_index::folder::Folder;
use sordino_index::manifest::{
    Checking, ColumnSegment, FramePart, MAX_DIM, MAX_K, MAX_SEGMENTS, Manifest, Mode, PartKind,
    SHARED, SignedManifest,
};
use sordino_index::{Disk, Error, Files, IdKind, Pin};
use sordino_vault::attributes::Attributes;
use sordino_vault::frame::Frame;
use sordino_vault::ids::Ids;
use sordino_vault::keys::OwnerKeys;
use sordino_vectors::Vectors;
use sordino_vectors::u32_of;

use super::draft::Draft;
use super::owner_tag::malformed;
use super::records::Records;
use super::stream::{SEGMENT, Stream};
use super::{Blueprint, Piece};
use crate::build_context::Build;
use crate::column::measure;
use crate::frame::{self, SAMPLE};
use crate::random::{build_name, random};
use crate::recall::Recall;
use crate::spec::{Batch, Form, Spec};

/// A new index whose segments are made by tasks. While it exists, its lock keeps other programs from creating an index in its
/// folder. If it is dropped before it is [finished](Self::finish), it leaves parts that the next attempt removes.
pub struct Assembly<D = Files> {
    folder: Folder<D>,
    keys: OwnerKeys,
    blueprint: Blueprint,
    k: usize,
    pieces: BTreeMap<u64, (ColumnSegment, Ids)>,
    /// The columns of attributes of all segments, without rows.
    columns: Attributes,
    /// The manifest of these pieces, after it is signed.
    signed: Option<SignedManifest>,
    /// True once the manifest may have been written.
    ending: bool,
    /// True if the index of these pieces is the newest version.
    finished: bool,
    _lock: Lock,
}

impl Assembly {
    /// Begins a new index in a directory, which is created if it does not exist. `sample` holds some of its vectors. They
    /// determine the centre and the bases, relative to which all vectors are stored.
    ///
    /// # Errors
    /// The errors of [`Store::create`](crate::Store::create) about the directory and the spec. [`Error::Mode`] for a
    /// mode other than masked and open, for a second look, for readers of its own and for exact checks.
    pub fn begin<R: CryptoRng + ?Sized>(
        dir: impl AsRef<Path>,
        rng: &mut R,
        keys: &OwnerKeys,
        spec: &Spec,
        sample: &Vectors,
    ) -> Result<Self, Error> {
        Self::begin_on(Files, dir, rng, keys, spec, sample)
    }
}

impl<D: Disk> Assembly<D> {
    /// Like [`begin`](Assembly::begin), on another disk.
    ///
    /// # Errors
    /// The errors of `begin`.
    pub fn begin_on<R: CryptoRng + ?Sized>(
        disk: D,
        dir: impl AsRef<Path>,
        rng: &mut R,
        keys: &OwnerKeys,
        spec: &Spec,
        sample: &Vectors,
    ) -> Result<Self, Error> {
        let (masked, packing) = match spec.form {
            Form::Masked(packing) => (true, packing),
            Form::Open(packing) => (false, packing),
            form => return Err(other(form.name())),
        };
        if spec.second_look.is_some() {
            return Err(other("masked or open, with a second look"));
        }
        if spec.own_readers {
            return Err(other("masked or open, with readers of its own"));
        }
        spec.check_questions(sample.dim())?;
        spec.check_checking()?;
        if spec.checking == Checking::Exact {
            return Err(other("masked or open, with exact checks"));
        }
        spec.metric.check(sample, 0)?;
        let (dim, n) = (sample.dim(), sample.len());
        if dim > MAX_DIM as usize {
            return Err(Error::TooLarge { n, dim });
        }
        if !(1..=MAX_K as usize).contains(&spec.k) {
            let n = MAX_K as usize;
            return Err(Error::K { k: spec.k, n });
        }
        let folder = Folder::new(dir.as_ref(), disk);
        folder.check_free()?;
        folder.create_root()?;
        let lock = folder.lock()?;
        // The lock keeps other programs out from here on. Remains of an earlier attempt are removed now.
        folder.check_free()?;
        folder.create()?;
        folder.collect(&[])?;
        let (rotation, version) = (random(rng), folder.highest()? + 1);
        let frame = frame::trained(spec.metric, rotation, sample, SAMPLE, random(rng), false)?;
        let mut blueprint = Blueprint {
            build: build_name(rng),
            version,
            masked,
            packing,
            checking: spec.checking,
            ids: spec.ids,
            metric: spec.metric,
            dim,
            rotation,
            frame: FramePart::new([0; 16], version, SHARED, Coded::default()),
            seed: random(rng),
        };
        // The recall is measured on the index's own sample.
        let mut stream = Stream::new(frame.clone(), IdKind::Number, None);
        stream.take_in(Batch::from(sample.clone()))?;
        let rows = stream.rows(usize::MAX, SEGMENT, &mut |_| ())?;
        let mut recall = Recall::new(spec.k, spec.k);
        measure(&mut recall, &frame, &rows, blueprint.scheme());
        let frame = frame.with_recall(recall.share());
        let (part, sealed) = blueprint.writer(keys).frame(rng, &frame);
        folder.put(&sealed)?;
        blueprint.frame = part;
        Ok(Self {
            folder,
            keys: keys.clone(),
            blueprint,
            k: spec.k,
            pieces: BTreeMap::new(),
            columns: Attributes::default(),
            signed: None,
            ending: false,
            finished: false,
            _lock: lock,
        })
    }

    /// The facts that tasks need.
    #[must_use]
    pub fn blueprint(&self) -> &Blueprint {
        &self.blueprint
    }

    /// The folder. Tasks write into it, too.
    #[must_use]
    pub fn folder(&self) -> &Folder<D> {
        &self.folder
    }

    /// Takes the segment of a task. If a task was repeated, the first one is taken; the result is false for the others.
    ///
    /// Its parts must exist with the right lengths, and its ids are read. [`Store::verify`](crate::Store::verify) reads
    /// everything.
    ///
    /// # Errors
    /// [`Error::Malformed`] for a piece of another build. [`Error::RepeatedId`] if another task also has a record of
    /// this piece. [`Error::Segments`] if an index cannot have one segment more. [`Error::Attribute`] if a column has
    /// another type in earlier pieces, or there are too many. [`Error::Digest`] and [`Error::File`] for missing parts.
    /// After an error the index is unchanged, and the task may be repeated.
    pub fn take(&mut self, piece: Piece) -> Result<bool, Error> {
        if piece.build != self.blueprint.build
            || piece.column.segment.version != self.blueprint.version
        {
            return Err(malformed("of another build"));
        }
        if self.pieces.contains_key(&piece.task) {
            return Ok(false);
        }
        if self.ending {
            return Err(malformed("of a task more than the index was finished with"));
        }
        let most = MAX_SEGMENTS;
        if self.pieces.len() >= most {
            let found = self.pieces.len();
            return Err(Error::Segments { found, most });
        }
        let frame = self.frame(vec![piece.column.clone()]);
        let (mut ids, mut attributes) = (None, None);
        for part in frame.parts()? {
            if part.segment != Some(0) || !part.holder.is_stored() {
                continue;
            }
            match part.kind {
                PartKind::Ids => ids = Some(self.folder.part(&part)?),
                PartKind::Attributes => attributes = Some(self.folder.part(&part)?),
                _ => (),
            }
            if !self.folder.holds(&part) {
                let what = part.kind.name();
                return Err(Error::Digest { what });
            }
        }
        let ids = ids.ok_or_else(|| malformed("without ids"))?;
        let segment = &piece.column.segment;
        let ids = self
            .keys
            .shared()
            .open_ids(segment, self.blueprint.ids, &ids)?;
        for (_, other) in self.pieces.values() {
            if let Some(&row) = other.common(&ids).first() {
                return Err(Error::RepeatedId { id: other.id(row) });
            }
        }
        if let Some(attributes) = attributes {
            let read = self.keys.shared().open_attributes(segment, &attributes)?;
            self.columns.append(read.select(&[]))?;
        }
        self.pieces.insert(piece.task, (piece.column, ids));
        self.signed = None;
        Ok(true)
    }

    /// A manifest of these segments.
    fn frame(&self, segments: Vec<ColumnSegment>) -> Manifest {
        let blueprint = &self.blueprint;
        let mut mode = blueprint.mode();
        if let Mode::Masked(columns) | Mode::Open(columns) = &mut mode {
            columns.segments = segments;
        }
        Manifest::new(
            u32_of(blueprint.dim),
            u32_of(self.k),
            blueprint.ids,
            blueprint.metric,
            blueprint.rotation,
            blueprint.frame.clone(),
            mode,
        )
    }

    /// Signs the index of tasks 0 to `tasks - 1`, makes it the newest version, and returns its pin. The folder may get newer
    /// versions afterwards. Drop the assembly, which holds the lock, before you open the store.
    ///
    /// # Errors
    /// [`Error::Malformed`] if the segment of a task is missing, or if there are segments of other tasks.
    /// [`Error::TooLarge`] if there are more vectors than an index can hold. [`Error::Digest`] or [`Error::File`] if a part
    /// is missing or a file cannot be written. No piece is lost: after an error of a disk or a store, call `finish` again.
    pub fn finish<R: CryptoRng + ?Sized>(&mut self, rng: &mut R, tasks: u64) -> Result<Pin, Error> {
        if self.finished {
            return Err(malformed("none is left to do: the index is finished"));
        }
        let there = || self.pieces.keys().copied();
        if tasks == 0 || !there().eq(0..tasks) {
            let missing = (0..tasks).find(|task| !self.pieces.contains_key(task));
            let why = match missing {
                Some(task) => format!("no segment of task {task}"),
                None => format!("segments of {} tasks, expected {tasks}", there().count()),
            };
            return Err(malformed(&why));
        }
        let manifest = match self.signed.take() {
            Some(manifest) => manifest,
            None => self.sign(rng)?,
        };
        let manifest = self.signed.insert(manifest);
        // Some pieces were taken long ago, so their parts are checked again.
        let parts = manifest.parts()?;
        let mut made = parts.iter().filter(|part| part.holder.is_stored());
        if let Some(gone) = made.find(|part| !self.folder.holds(part)) {
            let what = gone.kind.name();
            return Err(Error::Digest { what });
        }
        self.ending = true;
        self.folder.put_manifest(manifest)?;
        self.folder.prepare(manifest)?;
        self.folder.keep();
        self.folder.switch()?;
        self.finished = true;
        drop(self.folder.collect(&parts));
        Ok(Pin::of(manifest))
    }

    /// The manifest of all taken segments, after their lists were written. After a failure the same manifest is written again,
    /// since a version has only one.
    fn sign<R: CryptoRng + ?Sized>(&self, rng: &mut R) -> Result<SignedManifest, Error> {
        let (mut segments, mut records) = (Vec::new(), Records::default());
        for (column, ids) in self.pieces.values() {
            segments.push(column.clone());
            records.push(ids.clone());
        }
        let frame = self.frame(segments);
        let blueprint = &self.blueprint;
        let origin = Frame::origin(blueprint.metric, blueprint.rotation, blueprint.dim);
        let mut draft = Draft {
            records,
            framed: Some(blueprint.frame.clone()),
            ..Draft::new(self.k, frame.mode.clone(), origin)
        };
        let mut build = Build {
            rng,
            folder: &self.folder,
            writer: &blueprint.writer(&self.keys),
            progress: &mut |_| (),
        };
        draft.finish(&mut build, frame, None)
    }
}

fn other(found: &'static str) -> Error {
    let expected = "masked or open, whose segments can be made apart";
    Error::Mode { found, expected }
}

impl<D> std::fmt::Debug for Assembly<D> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Assembly")
            .field("blueprint", &self.blueprint)
            .field("tasks", &self.pieces.len())
            .finish_non_exhaustive()
    }
}
