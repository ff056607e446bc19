//! A segment that another process or machine of the same owner makes, apart from its index.

use rand_core::CryptoRng;
use sordino_index::columns::{Rows, Scheme};
use sordino_index::folder::Folder;
use sordino_index::manifest::{
    Checking, Columns, FramePart, Manifest, Mode, Packing, PartKind, SHARED,
};
use sordino_index::{Disk, Error, IdKind};
use sordino_vault::contents::ContentKeys;
use sordino_vault::frame::Frame;
use sordino_vault::keys::OwnerKeys;
use sordino_vectors::metric::Metric;
use sordino_vectors::u32_of;

use super::Piece;
use super::owner_tag::{Fields, Kind, number, opened, put_coded, tagged};
use super::stream::{SEGMENT, Stream};
use crate::binding::{Binding, Variant};
use crate::build_context::Build;
use crate::column::column;
use crate::segment::SegmentWriter;
use crate::spec::Batch;
use crate::step::Step;

/// The name and the form number of a blueprint.
const KIND: Kind = (b"blueprint", 2);

/// The facts that all segments of an index share. They are fixed before the first segment is made, for the processes that make
/// them.
///
/// They are public. The bytes end with a tag under the owner's key, so that no one between two of the owner's processes can
/// change them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blueprint {
    /// A random value, so that a segment of another build is not accepted.
    pub(super) build: [u8; 16],
    pub(super) version: u64,
    pub(super) masked: bool,
    pub(super) packing: Packing,
    /// The check of scores. It is never exact, because exact checks need one part for all segments.
    pub(super) checking: Checking,
    pub(super) ids: IdKind,
    pub(super) metric: Metric,
    pub(super) dim: usize,
    pub(super) rotation: [u8; 32],
    /// The sealed frame, which is stored where the index will be.
    pub(super) frame: FramePart,
    /// The seed of the columns.
    pub(super) seed: [u8; 32],
}

const CHECKS: [Checking; 2] = [Checking::None, Checking::Sums];
const KINDS: [IdKind; 3] = [IdKind::Number, IdKind::Text, IdKind::Uuid];

impl Blueprint {
    /// The bytes, for processes that have the owner's keys.
    #[must_use]
    pub fn to_bytes(&self, keys: &OwnerKeys) -> Vec<u8> {
        tagged(keys, KIND, |bytes| {
            bytes.extend(self.build);
            bytes.extend(self.version.to_le_bytes());
            bytes.push(self.masked.into());
            bytes.push(number(&Packing::ALL, &self.packing));
            bytes.push(number(&CHECKS, &self.checking));
            bytes.push(number(&KINDS, &self.ids));
            bytes.push(number(&Metric::ALL, &self.metric));
            bytes.extend(u32_of(self.dim).to_le_bytes());
            bytes.extend(self.rotation);
            bytes.extend(self.frame.id);
            put_coded(bytes, &self.frame.part);
            bytes.extend(self.seed);
        })
    }

    /// Reads what [`to_bytes`](Self::to_bytes) has written under the same keys.
    ///
    /// # Errors
    /// [`Error::Malformed`] if the form is wrong or these keys did not make the bytes.
    pub fn from_bytes(bytes: &[u8], keys: &OwnerKeys) -> Result<Self, Error> {
        opened(keys, KIND, bytes, Self::read)
    }

    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let (build, version) = (fields.array()?, fields.u64()?);
        Some(Self {
            build,
            version,
            masked: fields.flag()?,
            packing: *Packing::ALL.get(usize::from(fields.u8()?))?,
            checking: *CHECKS.get(usize::from(fields.u8()?))?,
            ids: *KINDS.get(usize::from(fields.u8()?))?,
            metric: *Metric::ALL.get(usize::from(fields.u8()?))?,
            dim: fields.u32()? as usize,
            rotation: fields.array()?,
            frame: FramePart::new(fields.array()?, version, SHARED, fields.coded()?),
            seed: fields.array()?,
        })
    }

    /// The kind of record ids.
    #[must_use]
    pub fn ids(&self) -> IdKind {
        self.ids
    }

    /// The measure of nearness.
    #[must_use]
    pub fn metric(&self) -> Metric {
        self.metric
    }

    /// The frame, from the folder where the index will be.
    fn open_frame<D: Disk>(&self, keys: &OwnerKeys, folder: &Folder<D>) -> Result<Frame, Error> {
        let part = self.empty_manifest().part(PartKind::Frame, None)?;
        let keys = ContentKeys::shared(keys.shared());
        keys.open_frame(&self.empty_manifest(), &folder.part(&part)?)
    }

    /// A manifest without a segment.
    pub(super) fn empty_manifest(&self) -> Manifest {
        Manifest::new(
            u32_of(self.dim),
            1,
            self.ids,
            self.metric,
            self.rotation,
            self.frame.clone(),
            self.mode(),
        )
    }

    /// The mode, without a segment.
    pub(super) fn mode(&self) -> Mode {
        let mut columns = Columns::new(self.packing, self.seed);
        columns.checking = self.checking;
        match self.masked {
            true => Mode::Masked(columns),
            false => Mode::Open(columns),
        }
    }

    pub(super) fn scheme(&self) -> Scheme {
        Scheme {
            rows: match self.masked {
                true => Rows::Masked,
                false => Rows::Open,
            },
            packing: self.packing,
            checking: self.checking,
        }
    }

    pub(super) fn writer<'a>(&self, keys: &'a OwnerKeys) -> SegmentWriter<'a> {
        let variant = match self.masked {
            true => Variant::Masked(self.packing, self.checking),
            false => Variant::Open(self.packing, self.checking),
        };
        let index = Binding::of_index(variant, self.ids, self.metric, self.dim, &self.rotation);
        SegmentWriter::new(keys, self.version, index)
    }

    /// Makes the segment of task number `task` from all these records, and writes its parts where the index will be. Records
    /// without ids are numbered from `first` on.
    ///
    /// It may be repeated, here or elsewhere, after a failure or if its outcome is unknown. Its keys are bound to fresh
    /// randomness and to its whole content. So another attempt either writes the same bytes or has other keys.
    /// [`Assembly::take`](super::Assembly::take) takes one of the attempts.
    ///
    /// # Errors
    /// The errors of [`Store::create`](super::Store::create) about records, and [`Error::Mode`] for records with payloads.
    pub fn make<D: Disk, R: CryptoRng + ?Sized>(
        &self,
        rng: &mut R,
        keys: &OwnerKeys,
        folder: &Folder<D>,
        (task, first): (u64, Option<u64>),
        batches: impl IntoIterator<Item = Result<Batch, Error>>,
        progress: &mut dyn FnMut(Step),
    ) -> Result<Piece, Error> {
        let frame = self.open_frame(keys, folder)?;
        let mut stream = Stream::new(frame.clone(), self.ids, None).numbered_from(first);
        for batch in batches {
            let batch = batch?;
            if batch.payloads.is_some() {
                return Err(Error::Mode {
                    found: self.mode().kind().name(),
                    expected: "no payloads where segments are made apart",
                });
            }
            stream.take_in(batch)?;
        }
        let rows = stream.rows(usize::MAX, SEGMENT, progress)?;
        let mut build = Build {
            rng,
            folder,
            writer: &self.writer(keys),
            progress,
        };
        let column = column(&mut build, &frame, &rows, self.scheme(), self.seed, None)?;
        folder.keep();
        folder.sync_parts()?;
        Ok(Piece {
            build: self.build,
            task,
            column,
        })
    }
}
