//! Checks everything in a store, without changing anything.

use std::path::Path;

use sordino_index::columns::{self, Rows, Scheme};
use sordino_index::folder::Folder;
use sordino_index::look;
use sordino_index::manifest::{
    ColumnSegment, Columns, Mode, PartKind, Routed, Sealed, Segment, SignedManifest,
};
use sordino_index::payload::Carried;
use sordino_index::{Disk, Error, Files, Id, OwnerPublicKey, digest, table};
use sordino_vault::ReaderKeys;
use sordino_vault::bucket_codec::BucketCodec;
use sordino_vault::content_key::ContentKey;
use sordino_vault::contents::ContentKeys;
use sordino_vault::decoded_rows::DecodedRows;
use sordino_vault::frame::Frame;
use sordino_vault::purpose::Purpose;
use sordino_vectors::Vectors;
use sordino_vectors::metric::length;
use sordino_vectors::u32_of;
use zeroize::Zeroizing;

use super::access::contents_of;
use super::records::{self, Records};
use super::{Store, payloads};
use crate::combinations;
use crate::rows::Mark;

/// The largest error of a stored residual in any mode, as a part of the residual's length. Codes of 12 bits are off by
/// 0.5 % of it in 8,192 dimensions.
const NEAR: f64 = 0.045;

/// The results of [`Store::verify`] and [`Store::verify_dir`], if they found no error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verified {
    /// The checked version, which is the newest.
    pub version: u64,
    /// The number of manifests, from the newest back to the first.
    pub versions: usize,
    /// The number of records that searches can find.
    pub records: usize,
    /// The number of records that are deleted or replaced and still stored.
    pub deleted: usize,
    /// The size in bytes of the newest version's parts.
    pub bytes: u64,
}

impl Store {
    /// Checks an index like [`verify`](Self::verify), but only needs to read its files. It takes no lock. It works on a
    /// read-only copy, and while an owner changes the index. A reader may call it. For an index with readers of its own,
    /// it checks the records that the reader may read, and only digests of the rest.
    ///
    /// # Errors
    /// [`Error::NoIndex`] if the directory has no index. Otherwise the first fault that the check finds.
    pub fn verify_dir(dir: impl AsRef<Path>, keys: &ReaderKeys) -> Result<Verified, Error> {
        Self::verify_on(Files, dir, keys)
    }
}

impl<D: Disk> Store<D> {
    /// Like [`verify_dir`](Store::verify_dir), on another disk.
    ///
    /// # Errors
    /// The errors of `verify_dir`.
    pub fn verify_on(disk: D, dir: impl AsRef<Path>, keys: &ReaderKeys) -> Result<Verified, Error> {
        let folder = Folder::new(dir.as_ref(), disk);
        folder.newest(keys.owner(), |manifest| {
            let contents = contents_of(&folder, &manifest, keys)?;
            Check::new(&folder, keys.owner(), &contents, &manifest).run()
        })
    }
}

impl Store {
    /// The number of records in an index, without deleted ones. A reader may call it. It locks nothing.
    ///
    /// # Errors
    /// [`Error::NoIndex`] if the directory has no index. The errors of reading the manifest and the sealed lists of ids.
    pub fn count_dir(dir: impl AsRef<Path>, keys: &ReaderKeys) -> Result<usize, Error> {
        let folder = Folder::new(dir.as_ref(), Files);
        folder.newest(keys.owner(), |manifest| {
            let keys = contents_of(&folder, &manifest, keys)?;
            Records::read(&folder, &manifest, &keys).map(|records| records.len())
        })
    }
}

impl<D: Disk> Store<D> {
    /// Reads every file of the newest version and every manifest before it, and checks all that can be checked. It
    /// checks digests, signatures and the chain of versions. It checks that every sealed part opens, that hints belong
    /// to their rows, and that record ids and deletions agree. It changes nothing.
    ///
    /// # Errors
    /// The first fault that the check finds.
    pub fn verify(&self) -> Result<Verified, Error> {
        self.check_sure()?;
        let current = self.folder.current()?;
        let manifest = self.folder.manifest(&current, &self.keys.public())?;
        let version = manifest.version;
        if manifest != self.manifest {
            return Err(Error::Fork { version });
        }
        let (owner, keys) = (&self.keys.public(), &self.contents());
        Check::new(&self.folder, owner, keys, &manifest).run()
    }
}

/// The version that this check reads.
pub(super) struct Check<'a, D> {
    pub(super) folder: &'a Folder<D>,
    owner: &'a OwnerPublicKey,
    pub(super) keys: &'a ContentKeys,
    pub(super) manifest: &'a SignedManifest,
}

impl<'a, D: Disk> Check<'a, D> {
    pub(super) fn new(
        folder: &'a Folder<D>,
        owner: &'a OwnerPublicKey,
        keys: &'a ContentKeys,
        manifest: &'a SignedManifest,
    ) -> Self {
        Self {
            folder,
            owner,
            keys,
            manifest,
        }
    }

    fn run(&self) -> Result<Verified, Error> {
        let Self {
            folder,
            owner,
            keys,
            manifest,
        } = *self;
        let mut before = Vec::new();
        folder.history(manifest, usize::MAX, owner, &mut before)?;
        self.additions()?;
        let mut bytes = 0;
        for part in manifest
            .parts()?
            .iter()
            .filter(|part| part.holder.is_stored())
        {
            bytes += folder.part(part)?.len() as u64;
        }
        let records = Records::read(folder, manifest, keys)?;
        let frame = records::frame(folder, manifest, keys)?;
        check_unique(&records)?;
        let mut carried = self.carried(&records)?.into_iter();
        // Content of other readers does not open, so it is skipped.
        for at in (0..records.sets.len()).filter(|at| self.reads(*at)) {
            let (marks, residuals) = self.segment(&records, &frame, at)?;
            if manifest.second_look().is_some() {
                for (row, carried) in records.rows(at).zip(&mut carried) {
                    let row = row as usize;
                    check_exact(&frame, marks[row].base, residuals.row(row), &carried)?;
                }
            }
        }
        match &manifest.mode {
            Mode::Open(mode) => self.check_hints(0, Rows::Open, mode)?,
            Mode::Masked(mode) => self.check_hints(0, Rows::Masked, mode)?,
            Mode::Routed(mode) => self.check_table(mode)?,
            Mode::Sealed(mode) => self.check_buckets(mode, &frame)?,
            Mode::Local(_) => {}
        }
        Ok(Verified {
            version: manifest.version,
            versions: 1 + before.len(),
            records: records.len(),
            deleted: records.dead(),
            bytes,
        })
    }

    /// Reads what the present records carry, in their order. Empty if they carry nothing.
    fn carried(&self, records: &Records) -> Result<Vec<Carried>, Error> {
        let read = payloads::read(self.folder, self.manifest, self.keys)?;
        let Some(mut all) = read else {
            return Ok(Vec::new());
        };
        // Pages may be under a key of a reader that lacks their records.
        let readable = |place: u64| records.segment(place).is_some_and(|at| self.reads(at));
        // Until a compaction, pages also hold deleted and replaced payloads.
        let there = records.there();
        all.retain(|(place, _)| readable(*place) && there(*place));
        let places = all.iter().map(|(place, _)| *place);
        if places.eq(records.places().iter()) {
            return Ok(all.into_iter().map(|(_, it)| it).collect());
        }
        Err(Error::Malformed {
            what: "payloads",
            why: "of other records than there are".to_owned(),
        })
    }

    /// The residuals of a segment, with their values in the frame. Residuals and attributes must have a row for each id.
    pub(super) fn segment(
        &self,
        records: &Records,
        frame: &Frame,
        at: usize,
    ) -> Result<(Vec<Mark>, Vectors), Error> {
        let (folder, manifest, keys) = (self.folder, self.manifest, self.keys);
        records::attributes(folder, manifest, keys, at)?;
        let (marks, residuals) = records::residuals(folder, manifest, keys, frame, at)?;
        let ids = records.sets[at].len();
        if residuals.len() != ids {
            return Err(Error::Ids {
                found: ids,
                expected: residuals.len(),
            });
        }
        Ok((marks, residuals))
    }

    /// True if the key of this segment is known.
    pub(super) fn reads(&self, at: usize) -> bool {
        self.keys.of(self.manifest.segments()[at]).is_some()
    }

    fn check_table(&self, mode: &Routed) -> Result<(), Error> {
        let width = self.manifest.stored_dim() as usize;
        let part = |kind| self.folder.part(&self.manifest.part(kind, Some(0))?);
        let stored = mode.table_part(width);
        let all = (0..stored.len).into();
        let read = |take: &mut dyn FnMut(&[u8])| self.folder.part_pieces(&stored, &all, take);
        let hint = table::downloaded(mode, width, read, || Ok(()))?;
        digest::check("hint", &hint, &mode.hint)?;
        let key = self.keys.need(&mode.base)?;
        key.open_route(mode, width, &part(PartKind::Centroids)?)?;
        key.open_members(mode, &part(PartKind::Members)?)?;
        self.check_hints(1, Rows::Masked, &mode.tail)
    }

    /// Checks the hints of segments from number `first` on.
    fn check_hints(&self, first: usize, rows: Rows, mode: &Columns) -> Result<(), Error> {
        let scheme = Scheme::new(rows, mode);
        for (at, column) in (first..).zip(&mode.segments) {
            self.column(at, scheme, mode, column)?;
        }
        combinations::check(self.folder, self.keys, self.manifest)
    }

    /// Checks the hint and the sums of a segment.
    pub(super) fn column(
        &self,
        at: usize,
        scheme: Scheme,
        mode: &Columns,
        column: &ColumnSegment,
    ) -> Result<(), Error> {
        let width = self.manifest.stored_dim() as usize;
        let rows = (self.folder).part(&self.manifest.part(PartKind::Rows, Some(at))?)?;
        let hint = scheme.hint(mode.seed, width, &rows)?;
        digest::check(PartKind::RowsHint.name(), &hint.to_bytes(), &column.hint)?;
        // Contents of other readers do not open.
        let key = self.keys.of(&column.segment);
        if let (Some(key), true) = (key, column.sums.is_some()) {
            self.check_sums(at, scheme, &column.segment, key, &rows)?;
        }
        Ok(())
    }

    /// Checks that sums belong to a segment's rows.
    fn check_sums(
        &self,
        at: usize,
        scheme: Scheme,
        segment: &Segment,
        key: &ContentKey,
        rows: &[u8],
    ) -> Result<(), Error> {
        let (width, kind) = (self.manifest.stored_dim() as usize, PartKind::Sums);
        let sealed = self.folder.part(&self.manifest.part(kind, Some(at))?)?;
        let seal = key.seal(Purpose::Sums, &segment.id, segment.version);
        let codes = scheme
            .params()
            .real_codes(&columns::open_vectors(rows), width)?;
        let sums = key.signs(&segment.id).sums(&codes, width);
        let held = seal.open(0, &[], &sealed).map(Zeroizing::new);
        let same = held.is_some_and(|held| *held == *sums);
        same.then_some(()).ok_or_else(|| Error::Malformed {
            what: kind.name(),
            why: "not of the rows that are stored".to_owned(),
        })
    }

    fn check_buckets(&self, mode: &Sealed, frame: &Frame) -> Result<(), Error> {
        let buckets = self
            .folder
            .part(&self.manifest.part(PartKind::Buckets, Some(0))?)?;
        let digests = self
            .folder
            .part(&self.manifest.part(PartKind::BucketDigests, Some(0))?)?;
        let len = mode.layout.sealed_len();
        if digest::of_buckets(&buckets, len) != digests[..] {
            let what = PartKind::Buckets.name();
            return Err(Error::Digest { what });
        }
        let key = self.keys.need(&mode.base)?;
        let seal = key.seal(Purpose::Bucket, &mode.base.id, mode.base.version);
        for (bucket, sealed) in buckets.chunks_exact(len).enumerate() {
            let mut opened = DecodedRows::default();
            let codec = BucketCodec(mode.layout);
            codec.open(&seal, u32_of(bucket), sealed, frame, &mut opened)?;
        }
        Ok(())
    }
}

/// Checks that an exact vector equals the scored one, up to its precision.
pub(super) fn check_exact(
    frame: &Frame,
    base: u8,
    residual: &[f32],
    carried: &Carried,
) -> Result<(), Error> {
    let near = look::residual(&carried.exact).is_some_and(|(own, exact)| {
        let (a, b) = (frame.whole(base, residual), frame.whole(own, &exact));
        let apart: Vec<f32> = a.iter().zip(&b).map(|(a, b)| a - b).collect();
        // The bases differ. Sums with them are rounded, so a part of the error is relative to the whole vector.
        let most = NEAR * length(residual) + 1e-6 * length(&a);
        a.len() == b.len() && length(&apart) <= most
    });
    if near {
        return Ok(());
    }
    Err(Error::Malformed {
        what: "payloads",
        why: "an exact vector that is not its record's".to_owned(),
    })
}

/// Checks that no two segments have the same record.
fn check_unique(records: &Records) -> Result<(), Error> {
    let mut ids: Vec<Id> = records.ids().collect();
    ids.sort_unstable();
    match ids.windows(2).find(|pair| pair[0] == pair[1]) {
        None => Ok(()),
        Some(pair) => Err(Error::RepeatedId {
            id: pair[0].clone(),
        }),
    }
}
