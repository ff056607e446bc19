//! Reads the records of a store's segments back.

use std::sync::Arc;

use sordino_index::code::Codec;
use sordino_index::folder::Folder;
use sordino_index::manifest::{Manifest, Mode, Part, PartKind, Segment};
use sordino_index::{Disk, Error, Id, columns};
use sordino_vault::attributes::Attributes;
use sordino_vault::bucket_codec::BucketCodec;
use sordino_vault::content_key::ContentKey;
use sordino_vault::contents::{ContentKeys, bury_repeated};
use sordino_vault::frame::Frame;
use sordino_vault::ids::Ids;
use sordino_vault::numbers::Numbers;
use sordino_vault::purpose::Purpose;
use sordino_vault::residue;
use sordino_vectors::{Vectors, to_f32, u32_of};

use crate::room;
use crate::rows::Mark;

/// The records of a version by their ids: the ids of each segment, and its deleted or replaced rows. A record or row
/// that is neither deleted nor replaced is *live*.
#[derive(Clone, Debug, Default)]
pub(super) struct Records {
    /// The ids of each segment, empty for a segment whose key is not known.
    pub(super) sets: Vec<Arc<Ids>>,
    pub(super) dead: Vec<Numbers>,
    /// The number of records of each segment, even if its key is not known.
    stored: Vec<u32>,
}

impl Records {
    /// The records of a version in a folder.
    pub(super) fn read<D: Disk>(
        folder: &Folder<D>,
        manifest: &Manifest,
        keys: &ContentKeys,
    ) -> Result<Self, Error> {
        let segments = manifest.segments();
        let parts = manifest.parts()?;
        let mut sets = Vec::with_capacity(segments.len());
        for part in parts.iter().filter(|part| part.kind == PartKind::Ids) {
            let segment = segments[sets.len()];
            let ids = match keys.of(segment) {
                Some(key) => {
                    let ids = key.open_ids(segment, manifest.ids, &folder.part(part)?);
                    ids.map_err(|fault| manifest.blamed(segment.version, fault))?
                }
                None => Ids::from_ascending(manifest.ids, [])?,
            };
            sets.push(Arc::new(ids));
        }
        let sealed = folder.part(&manifest.part(PartKind::Deleted, None)?)?;
        let mut dead = keys.open_deleted(manifest, &sealed)?;
        let ids = |at: usize| sets.get(at).map(|ids: &Arc<Ids>| &**ids);
        bury_repeated(manifest, ids, &mut dead);
        let stored = segments.iter().map(|segment| segment.n).collect();
        Ok(Self { sets, dead, stored })
    }

    /// The number of records, without deleted and replaced ones.
    pub(super) fn len(&self) -> usize {
        let stored: usize = self.sets.iter().map(|ids| ids.len()).sum();
        stored - self.dead()
    }

    /// The number of deleted and replaced records.
    pub(super) fn dead(&self) -> usize {
        self.dead.iter().map(Numbers::len).sum()
    }

    /// Adds a segment with these ids.
    pub(super) fn push(&mut self, ids: Ids) {
        self.stored.push(u32_of(ids.len()));
        self.sets.push(Arc::new(ids));
        self.dead.push(Numbers::default());
    }

    /// Removes all segments behind the first `kept`.
    pub(super) fn truncate(&mut self, kept: usize) {
        self.sets.truncate(kept);
        self.dead.truncate(kept);
        self.stored.truncate(kept);
    }

    /// The segment and the row of the live record with this id.
    pub(super) fn find(&self, id: &Id) -> Option<(usize, u32)> {
        let segments = self.sets.iter().zip(&self.dead).enumerate().rev();
        let mut found = segments.filter_map(|(at, (ids, dead))| {
            let row = ids.row(id)?;
            (!dead.contains(row)).then_some((at, row))
        });
        found.next()
    }

    /// Marks these records as deleted wherever the first `segments` segments have them. Returns the number of marked
    /// rows.
    pub(super) fn bury(&mut self, segments: usize, ids: &Ids) -> usize {
        let before = self.dead();
        for (own, dead) in self.sets.iter().zip(&mut self.dead).take(segments) {
            let rows = own.common(ids);
            if !rows.is_empty() {
                dead.insert(rows.into_iter().map(u64::from).collect());
            }
        }
        self.dead() - before
    }

    /// The live rows of a segment.
    pub(super) fn rows(&self, segment: usize) -> impl Iterator<Item = u32> {
        let rows = 0..u32_of(self.sets[segment].len());
        rows.filter(move |&row| !self.dead[segment].contains(row))
    }

    /// The ids of the live records, segment by segment.
    pub(super) fn ids(&self) -> impl Iterator<Item = Id> {
        let segments = 0..self.sets.len();
        segments.flat_map(move |at| self.rows(at).map(move |row| self.sets[at].id(row)))
    }

    /// The places of the live records. A place is a record's row, after the rows of all segments before its
    /// own.
    pub(super) fn places(&self) -> Numbers {
        let segments = 0..self.sets.len();
        let places = segments.flat_map(|at| self.places_of(at));
        Numbers::from_ascending(places).expect("rows ascend, and segments follow one another")
    }
}

impl Records {
    /// The place of a segment's first row.
    pub(super) fn first(&self, segment: usize) -> u64 {
        self.stored[..segment].iter().map(|&n| u64::from(n)).sum()
    }

    /// The segment that has a place, if there is one.
    pub(super) fn segment(&self, place: u64) -> Option<usize> {
        let mut segments = 0..self.stored.len();
        segments.find(|&at| place < self.first(at) + u64::from(self.stored[at]))
    }

    /// `other` is a later state of these records. Returns how many places at the start have the same records in both.
    pub(super) fn shared(&self, other: &Self) -> u64 {
        let both = self.sets.iter().zip(&other.sets);
        let same = both.take_while(|(own, other)| Arc::ptr_eq(own, other));
        let (mut segments, mut places) = (0, 0);
        for (ids, _) in same {
            (segments, places) = (segments + 1, places + ids.len() as u64);
        }
        // Joined segments have the same records in the same places if their ids ascend from one to the next. A row
        // that is not live is a different record from a live row of the same id.
        let same = self.rows_from(segments).zip(other.rows_from(segments));
        let same = same.take_while(|((at, row, own), (.., other))| {
            own == other && !self.dead[*at].contains(*row)
        });
        places + same.count() as u64
    }

    /// The rows from a segment on, including rows that are not live: segment, row and id.
    fn rows_from(&self, segment: usize) -> impl Iterator<Item = (usize, u32, Id)> {
        let sets = (segment..).zip(&self.sets[segment..]);
        sets.flat_map(|(at, ids)| (0..).zip(ids.iter()).map(move |(row, id)| (at, row, id)))
    }

    /// The place after each segment's last row.
    pub(super) fn ends(&self) -> Vec<u64> {
        let mut end = 0;
        let ends = self.stored.iter().map(|&n| {
            end += u64::from(n);
            end
        });
        ends.collect()
    }

    /// A function that returns true if a place has a live record.
    pub(super) fn there(&self) -> impl Fn(u64) -> bool {
        let ends = self.ends();
        move |place| {
            let at = ends.partition_point(|&end| end <= place);
            let Some(&end) = ends.get(at) else {
                return false;
            };
            let row = place + u64::from(self.stored[at]) - end;
            !self.dead[at].contains(row)
        }
    }

    /// The place of the live record with this id.
    pub(super) fn place(&self, id: &Id) -> Option<u64> {
        let (at, row) = self.find(id)?;
        Some(self.first(at) + u64::from(row))
    }

    /// The places of a segment's live records.
    pub(super) fn places_of(&self, segment: usize) -> impl Iterator<Item = u64> {
        let first = self.first(segment);
        self.rows(segment).map(move |row| first + u64::from(row))
    }
}

/// The part of this kind of a segment.
fn part<D: Disk>(
    folder: &Folder<D>,
    manifest: &Manifest,
    kind: PartKind,
    at: usize,
) -> Result<sordino_index::Bytes, Error> {
    let part: Part = manifest.part(kind, Some(at))?;
    folder.part(&part)
}

/// The attributes of a segment in the order of its ids.
pub(super) fn attributes<D: Disk>(
    folder: &Folder<D>,
    manifest: &Manifest,
    keys: &ContentKeys,
    at: usize,
) -> Result<Attributes, Error> {
    let segment = manifest.segments()[at];
    let key = keys.need(segment)?;
    if segment.attributes.is_none() {
        return Ok(Attributes::none(segment.n as usize));
    }
    key.open_attributes(segment, &part(folder, manifest, PartKind::Attributes, at)?)
}

/// The frame of a version's vectors.
pub(super) fn frame<D: Disk>(
    folder: &Folder<D>,
    manifest: &Manifest,
    keys: &ContentKeys,
) -> Result<Frame, Error> {
    let sealed = folder.part(&manifest.part(PartKind::Frame, None)?)?;
    keys.open_frame(manifest, &sealed)
}

/// The residuals of a segment in the order of their ids, with their values in the frame. Storing them again in the
/// same frame gives the same stored form, except for the last bit of single precision in open mode. So moving records
/// from segment to segment loses nothing.
pub(super) fn residuals<D: Disk>(
    folder: &Folder<D>,
    manifest: &Manifest,
    keys: &ContentKeys,
    frame: &Frame,
    at: usize,
) -> Result<(Vec<Mark>, Vectors), Error> {
    let segment = manifest.segments()[at];
    let key = keys.need(segment)?;
    let width = manifest.stored_dim() as usize;
    // Memory for the codes, and for the coordinates computed from them.
    room::check(segment.n as usize * width, 2 * size_of::<f32>())?;
    let rounding = residue::coordinate(1);
    let (units, step) = match &manifest.mode {
        Mode::Open(_) => {
            let rows = part(folder, manifest, PartKind::Rows, at)?;
            (columns::open_vectors(&rows), 0.0)
        }
        Mode::Masked(_) => (unmasked(folder, manifest, key, at)?, rounding),
        Mode::Routed(_) if at > 0 => (unmasked(folder, manifest, key, at)?, rounding),
        Mode::Local(_) | Mode::Sealed(_) | Mode::Routed(_) => {
            let chunks = part(folder, manifest, PartKind::Chunks, at)?;
            let (marks, residuals) = decode(segment, frame, manifest.chunk_codec(), key, &chunks)?;
            return Ok((marks, Vectors::new(width, residuals)?));
        }
    };
    let sealed = part(folder, manifest, PartKind::Scales, at)?;
    let scales = key.open_scales(manifest.metric, segment, &sealed)?;
    let mut residuals = units;
    for (row, scale) in residuals.chunks_exact_mut(width).zip(&scales) {
        for x in row {
            *x = to_f32(f64::from(*x) * f64::from(scale.scale));
        }
    }
    let marks = scales.into_iter().map(|row| Mark {
        base: row.base,
        scale: row.scale,
        constant: row.constant,
        step: to_f32(f64::from(row.scale) * f64::from(step)),
    });
    Ok((marks.collect(), Vectors::new(width, residuals)?))
}

/// The vectors of a segment whose rows are under pads.
fn unmasked<D: Disk>(
    folder: &Folder<D>,
    manifest: &Manifest,
    key: &ContentKey,
    at: usize,
) -> Result<Vec<f32>, Error> {
    let rows = part(folder, manifest, PartKind::Rows, at)?;
    let width = manifest.stored_dim() as usize;
    let codes = key.unmask(manifest.segments()[at], width, &rows);
    Ok(codes.into_iter().map(residue::coordinate).collect())
}

fn decode(
    segment: &Segment,
    frame: &Frame,
    codec: Codec,
    key: &ContentKey,
    chunks: &[u8],
) -> Result<(Vec<Mark>, Vec<f32>), Error> {
    let width = frame.stored_dim();
    let layout = segment.layout(u32_of(width), codec);
    let seal = key.seal(Purpose::Chunk, &segment.id, segment.version);
    let mut marks = Vec::with_capacity(segment.n as usize);
    let mut residuals = Vec::with_capacity(segment.n as usize * width);
    for (chunk, sealed) in (0..).zip(chunks.chunks_exact(layout.sealed_len())) {
        let codec = BucketCodec(layout);
        codec.open_residuals(&seal, chunk, sealed, frame, &mut marks, &mut residuals)?;
    }
    // A writer may have sealed fewer rows than it claims.
    if marks.len() != segment.n as usize {
        return Err(Error::BadReply);
    }
    let steps = ((1u32 << (codec.bits() - 1)) - 1) as f32;
    let marks = marks.into_iter().map(|(base, scale)| Mark {
        base,
        scale,
        constant: 0.0,
        step: scale / steps,
    });
    Ok((marks.collect(), residuals))
}
