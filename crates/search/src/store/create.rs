//! A new store, from a stream of records.

use std::path::Path;

use rand_core::CryptoRng;

use super::commit::Draft;
use super::payloads::Changes;
use super::{Disk, Files, Folder, Measured, Store, lock};
use crate::base::Base;
use crate::build::{Step, column, form, random, units};
use crate::code::Codec;
use crate::columns::Rows;
use crate::ids::IdSet;
use crate::keys::OwnerKeys;
use crate::manifest::{
    Columns, Deleted, Local, MAX_DIM, MAX_K, Manifest, Mode, Packing, Segment, SignedManifest,
};
use crate::metric::{AsQuery, Metric, Space};
use crate::plan::{Plan, Wish};
use crate::recall::number;
use crate::segment::Scribe;
use crate::sketch::Sketch;
use crate::spec::{Batch, Form, Spec};
use crate::{Error, Vectors};

/// Records of a segment, as long as there are few.
pub(super) const SEGMENT: usize = 1 << 17;

/// Segments of the first size; from there on eight of each size, each twice the one before.
const FIRST: usize = 16;
const NEXT: usize = 8;

/// Records that segment number `at` of a stream gets.
fn capacity(at: usize) -> usize {
    let doublings = at.checked_sub(FIRST).map_or(0, |more| 1 + more / NEXT);
    SEGMENT << doublings
}

/// Records in the order of their ids.
pub(super) fn sorted(ids: &[u32], vectors: Vectors) -> Result<(IdSet, Vectors), Error> {
    if let Ok(set) = IdSet::from_ascending(ids.iter().copied()) {
        return Ok((set, vectors));
    }
    let mut order: Vec<usize> = (0..ids.len()).collect();
    order.sort_unstable_by_key(|&at| ids[at]);
    let set = IdSet::from_ascending(order.iter().map(|&at| ids[at]));
    let set = set.map_err(|id| Error::RepeatedId { id })?;
    let rows = order.iter().flat_map(|&at| vectors.row(at)).copied();
    let vectors = Vectors::new(vectors.dim(), rows.collect())?;
    Ok((set, vectors))
}

/// Records that wait until they fill a segment.
pub(super) struct Waiting {
    pub(super) ids: Vec<u32>,
    pub(super) data: Vec<f32>,
    pub(super) dim: usize,
}

impl Waiting {
    pub(super) fn new(dim: usize) -> Self {
        Self {
            ids: Vec::new(),
            data: Vec::new(),
            dim,
        }
    }

    /// The first `count` records, or all of them if there are fewer, in the order of their ids.
    pub(super) fn take(&mut self, count: usize) -> Result<(IdSet, Vectors), Error> {
        let count = count.min(self.ids.len());
        let rest = (
            self.ids.split_off(count),
            self.data.split_off(count * self.dim),
        );
        let (ids, data) = (
            std::mem::replace(&mut self.ids, rest.0),
            std::mem::replace(&mut self.data, rest.1),
        );
        sorted(&ids, Vectors::new(self.dim, data)?)
    }
}

/// A segment in sealed chunks, written.
fn chunks<D: Disk, R: CryptoRng + ?Sized>(
    rng: &mut R,
    folder: &Folder<D>,
    scribe: &Scribe<'_>,
    (ids, units): (&IdSet, &Vectors),
    codec: Codec,
) -> Result<Segment, Error> {
    let written = scribe.chunks(rng, ids, units, codec);
    folder.put(&written.rows)?;
    folder.put(&written.ids)?;
    Ok(written.segment)
}

impl Draft {
    /// Records that the next segment may have.
    pub(super) fn capacity(&self) -> usize {
        capacity(self.sets.len())
    }

    /// Writes a segment of rotated unit vectors and adds it.
    pub(super) fn add<D: Disk, R: CryptoRng + ?Sized>(
        &mut self,
        rng: &mut R,
        folder: &Folder<D>,
        scribe: &Scribe<'_>,
        (ids, units): (IdSet, &Vectors),
        progress: &mut dyn FnMut(Step),
    ) -> Result<(), Error> {
        self.check_room()?;
        let mut columns = |rng: &mut R, form, mode: &mut Columns| {
            let how = (form, mode.packing, mode.seed);
            let (column, rows, sealed) = column(rng, scribe, &ids, units, how, progress)?;
            folder.put(&rows)?;
            folder.put(&sealed)?;
            mode.segments.push(column);
            Ok::<(), Error>(())
        };
        match &mut self.mode {
            Mode::Open(mode) => columns(rng, Rows::Open, mode)?,
            Mode::Masked(mode) => columns(rng, Rows::Masked, mode)?,
            Mode::Local(Local {
                codec,
                segments,
                sketch,
            }) => {
                progress(Step::Seal);
                let segment = chunks(rng, folder, scribe, (&ids, units), *codec)?;
                // Measured on the first segment, which is as large as any but those after many.
                if segments.is_empty() {
                    progress(Step::Sketch);
                    let seed = scribe.reader().sketch_seed(&segment.id);
                    *sketch = Sketch::of_units(units, &self.as_query, seed, self.k);
                }
                segments.push(segment);
            }
            Mode::Sealed(mode) => {
                progress(Step::Seal);
                let codec = Codec::Int8;
                mode.tail
                    .push(chunks(rng, folder, scribe, (&ids, units), codec)?);
            }
        }
        self.sets.push(ids);
        self.dead.push(IdSet::default());
        Ok(())
    }

    /// A sealed index of these records, as planned; its buckets are written.
    pub(super) fn sealed<D: Disk, R: CryptoRng + ?Sized>(
        rng: &mut R,
        folder: &Folder<D>,
        scribe: &Scribe<'_>,
        (ids, units): (IdSet, &Vectors),
        (wish, as_query): (Wish, AsQuery),
        progress: &mut dyn FnMut(Step),
    ) -> Result<(Self, Measured), Error> {
        let plan = Plan::for_metric(units.len(), units.dim(), as_query.metric(), wish)?;
        let base = Base::new(rng, scribe, &ids, units, &plan, &as_query, progress)?;
        let Base {
            mode,
            buckets,
            digests,
            centroids,
            hint,
            chunks,
            ids: sealed,
            expected_recall,
            reached,
        } = base;
        for part in [buckets, digests, centroids, hint, chunks, sealed] {
            folder.put(&part)?;
        }
        let draft = Self {
            k: plan.wish().k,
            mode: Mode::Sealed(mode),
            sets: vec![ids],
            dead: vec![IdSet::default()],
            payloads: None,
            as_query,
        };
        let measured = Measured {
            expected_recall,
            reached,
        };
        Ok((draft, measured))
    }
}

impl Store {
    /// Makes a new index in a directory, which is created if need be, of a stream of records:
    /// [`Batch`]es of any size, each [`Vectors`] or vectors with ids. It is read once and, except in
    /// sealed mode, never held as a whole. `progress` is told of each step of each segment.
    ///
    /// # Errors
    /// [`Error::Exists`] if there is an index, [`Error::Occupied`] if there is anything else than what the
    /// making of an index left that was interrupted; then nothing is touched. [`Error::K`],
    /// [`Error::Dimension`], [`Error::RepeatedId`], [`Error::Vectors`] for no vectors, for a zero vector
    /// under the cosine and for one beyond the bound of another metric, [`Error::Segments`] for a stream of
    /// more than 160 million records, and the stream's own. The directory then has no index.
    pub fn create<R: CryptoRng + ?Sized>(
        dir: impl AsRef<Path>,
        rng: &mut R,
        keys: &OwnerKeys,
        spec: &Spec,
        batches: impl IntoIterator<Item = Result<Batch, Error>>,
        progress: &mut dyn FnMut(Step),
    ) -> Result<Self, Error> {
        Self::create_on(Files, dir, rng, keys, spec, batches, progress)
    }
}

impl<D: Disk> Store<D> {
    /// [`create`](Store::create) on another disk.
    ///
    /// # Errors
    /// As there.
    pub fn create_on<R: CryptoRng + ?Sized>(
        disk: D,
        dir: impl AsRef<Path>,
        rng: &mut R,
        keys: &OwnerKeys,
        spec: &Spec,
        batches: impl IntoIterator<Item = Result<Batch, Error>>,
        progress: &mut dyn FnMut(Step),
    ) -> Result<Self, Error> {
        let folder = Folder::new(dir.as_ref(), disk);
        folder.check_free()?;
        folder.create_root()?;
        let lock = lock(folder.root())?;
        // Only now does nobody else make one.
        folder.check_free()?;
        folder.create()?;
        let made = First::write(rng, &folder, keys, spec, batches.into_iter(), progress);
        let First {
            manifest,
            draft,
            measured,
        } = made.inspect_err(|_| folder.discard())?;
        // From here on it may be the newest version, whatever fails.
        folder.keep();
        folder.switch()?;
        drop(folder.collect(&manifest.parts()?));
        Ok(Self {
            highest: manifest.version,
            folder,
            keys: keys.clone(),
            manifest,
            sets: draft.sets,
            dead: draft.dead,
            unsure: false,
            measured,
            _lock: lock,
        })
    }
}

/// The first version of an index, written and prepared but not made the newest.
struct First {
    manifest: SignedManifest,
    draft: Draft,
    measured: Option<Measured>,
}

impl First {
    fn write<D: Disk, R: CryptoRng + ?Sized>(
        rng: &mut R,
        folder: &Folder<D>,
        keys: &OwnerKeys,
        spec: &Spec,
        mut batches: impl Iterator<Item = Result<Batch, Error>>,
        progress: &mut dyn FnMut(Step),
    ) -> Result<Self, Error> {
        let version = folder.highest()? + 1;
        let first = batches.next().ok_or(sordino_vectors::Error::NoVectors)??;
        let dim = first.vectors.dim();
        if dim > MAX_DIM as usize {
            let n = first.vectors.len();
            return Err(Error::TooLarge { n, dim });
        }
        let rotation = random(rng);
        let space = Space::new(spec.metric, spec.norm, &first.vectors);
        let scribe = Scribe::new(
            keys,
            version,
            form(spec.form.name(), &space, &rotation, dim),
        );
        let batches = std::iter::once(Ok(first)).chain(batches);
        let stream = Stream {
            dim,
            space,
            rotation,
            seen: IdSet::default(),
            payloads: None,
        };
        let (draft, measured) = stream.write(rng, folder, &scribe, spec, batches, progress)?;

        let n: usize = draft.sets.iter().map(IdSet::len).sum();
        if !(1..=n.min(MAX_K as usize)).contains(&spec.k) {
            return Err(Error::K { k: spec.k, n });
        }
        let frame = Manifest {
            index: [0; 16],
            version,
            previous: [0; 32],
            n: 0,
            dim: number(dim),
            k: number(spec.k),
            metric: space.metric,
            bound: space.bound,
            rotation,
            deleted: Deleted::none(),
            payloads: None,
            mode: draft.mode.clone(),
        };
        let manifest = draft.finish(rng, folder, keys, &scribe, frame)?;
        folder.prepare(&manifest)?;
        Ok(Self {
            manifest,
            draft,
            measured,
        })
    }
}

/// A stream of records on its way into segments.
struct Stream {
    dim: usize,
    space: Space,
    rotation: [u8; 32],
    seen: IdSet,
    payloads: Option<Changes>,
}

impl Stream {
    fn write<D: Disk, R: CryptoRng + ?Sized>(
        mut self,
        rng: &mut R,
        folder: &Folder<D>,
        scribe: &Scribe<'_>,
        spec: &Spec,
        batches: impl Iterator<Item = Result<Batch, Error>>,
        progress: &mut dyn FnMut(Step),
    ) -> Result<(Draft, Option<Measured>), Error> {
        let mut draft = Draft {
            k: spec.k,
            mode: spec.form.mode(rng, self.space.metric),
            sets: Vec::new(),
            dead: Vec::new(),
            payloads: None,
            as_query: self.as_query(),
        };
        let sealed = matches!(spec.form, Form::Sealed { .. });
        let mut waiting = Waiting::new(self.dim);
        let mut next = 0u64;
        for batch in batches {
            let Batch {
                ids,
                vectors,
                payloads,
            } = batch?;
            if vectors.dim() != self.dim {
                return Err(Error::Dimension {
                    found: vectors.dim(),
                    expected: self.dim,
                });
            }
            let after = next + vectors.len() as u64;
            if u32::try_from(after).is_err() {
                let n = usize::try_from(after).unwrap_or(usize::MAX);
                return Err(Error::TooLarge { n, dim: self.dim });
            }
            match ids {
                Some(ids) => waiting.ids.extend(ids),
                None => waiting.ids.extend((next..after).map(narrow)),
            }
            next = after;
            if let Some(payloads) = payloads {
                let ids = waiting.ids.iter().rev().take(vectors.len()).rev().copied();
                let all = self.payloads.get_or_insert_default();
                all.extend(ids.zip(payloads));
            }
            waiting.data.extend_from_slice(vectors.as_slice());
            drop(vectors);
            while !sealed && waiting.ids.len() > draft.capacity() {
                let (ids, units) = self.units(&mut waiting, draft.capacity(), progress)?;
                draft.add(rng, folder, scribe, (ids, &units), progress)?;
            }
        }
        let (ids, units) = self.units(&mut waiting, usize::MAX, progress)?;
        if let Form::Sealed {
            recall,
            queries,
            routing,
        } = spec.form
        {
            let wish = Wish {
                k: spec.k,
                recall,
                queries,
                routing,
            };
            let how = (wish, self.as_query());
            let made = Draft::sealed(rng, folder, scribe, (ids, &units), how, progress)?;
            let (mut draft, measured) = made;
            draft.write_payloads(rng, folder, scribe, self.payloads)?;
            return Ok((draft, Some(measured)));
        }
        draft.add(rng, folder, scribe, (ids, &units), progress)?;
        draft.write_payloads(rng, folder, scribe, self.payloads)?;
        Ok((draft, None))
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

fn narrow(id: u64) -> u32 {
    u32::try_from(id).expect("checked before")
}

impl Form {
    fn name(&self) -> &'static str {
        match self {
            Self::Masked(_) => "masked",
            Self::Open(_) => "open",
            Self::Local => "local",
            Self::Sealed { .. } => "sealed",
        }
    }

    /// The mode without segments; sealed mode's is made from all records later.
    fn mode<R: CryptoRng + ?Sized>(&self, rng: &mut R, metric: Metric) -> Mode {
        let mut columns = |packing: Packing| Columns {
            packing,
            seed: random(rng),
            segments: Vec::new(),
        };
        match *self {
            Self::Masked(packing) => Mode::Masked(columns(packing)),
            Self::Open(packing) => Mode::Open(columns(packing)),
            Self::Local | Self::Sealed { .. } => Mode::Local(Local {
                codec: Codec::of_downloads(metric),
                segments: Vec::new(),
                sketch: None,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_grow_with_the_stream() {
        let mut before = 0;
        for at in 0..60 {
            assert!(capacity(at) <= SEGMENT.max(before / 8), "segment {at}");
            before += capacity(at);
        }
        assert_eq!(capacity(15), SEGMENT);
        assert_eq!(capacity(16), 2 * SEGMENT);
    }

    #[test]
    fn records_come_into_order_and_repeats_are_named() {
        let vectors = Vectors::new(1, vec![3.0, 1.0, 2.0]).unwrap();
        let (ids, rows) = sorted(&[30, 10, 20], vectors.clone()).unwrap();
        assert!(ids.iter().eq([10, 20, 30]));
        assert_eq!(rows.as_slice(), [1.0, 2.0, 3.0]);
        assert!(matches!(
            sorted(&[5, 4, 5], vectors),
            Err(Error::RepeatedId { id: 5 })
        ));
    }
}
