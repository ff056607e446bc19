//! Building an index in memory: what the data's owner does, offline. A [`Store`](crate::Store) does
//! the same in a directory and can change it afterwards.

use rand_core::CryptoRng;
use sordino_pir::Seed;

use crate::base::Base;
use crate::code::Codec;
use crate::columns::Rows;
use crate::ids::IdSet;
use crate::index::{self, Index};
use crate::keys::OwnerKeys;
use crate::manifest::{ColumnSegment, Columns, Local, Manifest, Mode, Packing, SignedManifest};
use crate::metric::{AsQuery, Metric, Space};
use crate::plan::{self, Plan};
use crate::recall::number;
use crate::rotation::Rotation;
use crate::segment::{Scribe, Written};
use crate::sketch::Sketch;
use crate::store::Bytes;
use crate::{Error, Vectors, residue};

/// A built index and what was measured on the way.
#[derive(Debug)]
pub struct Built {
    /// The index, for the server.
    pub index: Index,
    /// Recall of held-out vectors with the probes chosen.
    pub expected_recall: f64,
    /// Whether the probes chosen reach the recall wished for. If not, no affordable number does:
    /// the data has too little structure to be searched in parts.
    pub reached: bool,
}

/// Where a build is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Normalising and rotating.
    Rotate,
    /// Training the centroids, or deriving the vertices of a hash.
    Cluster,
    /// Assigning vectors to buckets, copies to the places left.
    Assign,
    /// Measuring how many probes are needed.
    Probe,
    /// Encrypting buckets.
    Seal,
    /// Choosing clients' codes; local mode only.
    Sketch,
    /// Adding the pads; masked mode only.
    Mask,
    /// Computing the hint.
    Hint,
}

impl Step {
    /// The steps of a sealed index, in order.
    pub const ALL: [Self; 6] = [
        Self::Rotate,
        Self::Cluster,
        Self::Assign,
        Self::Probe,
        Self::Seal,
        Self::Hint,
    ];

    /// What is being done, for a progress bar.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Rotate => "rotating",
            Self::Cluster => "clustering",
            Self::Assign => "filling buckets",
            Self::Probe => "measuring probes",
            Self::Seal => "sealing",
            Self::Sketch => "measuring codes",
            Self::Mask => "masking",
            Self::Hint => "computing the hint",
        }
    }
}

/// Builds a sealed index as planned, for the cosine. `progress` is told of each step as it begins.
///
/// # Errors
/// If the vectors are not those that were planned for, or one of them is zero.
pub fn sealed<R: CryptoRng + ?Sized>(
    rng: &mut R,
    keys: &OwnerKeys,
    vectors: &Vectors,
    plan: &Plan,
    progress: &mut dyn FnMut(Step),
) -> Result<Built, Error> {
    plan.check(vectors)?;
    let start = Start::new(rng, keys, vectors, plan.wish().k, "sealed")?;
    let units = start.units(vectors, progress)?;
    let as_query = start.as_query();
    let base = Base::new(
        rng,
        &start.scribe,
        &start.ids,
        &units,
        plan,
        &as_query,
        progress,
    )?;
    let mut parts = vec![base.buckets, base.digests, base.centroids, base.hint];
    let index = start.index(rng, Mode::Sealed(base.mode), &mut parts);
    Ok(Built {
        index,
        expected_recall: base.expected_recall,
        reached: base.reached,
    })
}

/// Builds a local index: everything, in sealed chunks, for the cosine.
///
/// # Errors
/// If `k` is 0 or above the number of vectors, there are too many, or one of them is zero.
pub fn local<R: CryptoRng + ?Sized>(
    rng: &mut R,
    keys: &OwnerKeys,
    vectors: &Vectors,
    k: usize,
    progress: &mut dyn FnMut(Step),
) -> Result<Index, Error> {
    let start = Start::new(rng, keys, vectors, k, "local")?;
    let units = start.units(vectors, progress)?;
    progress(Step::Seal);
    let codec = Codec::of_downloads(start.space.metric);
    let Written { segment, rows, .. } = start.scribe.chunks(rng, &start.ids, &units, codec);
    progress(Step::Sketch);
    let seed = start.scribe.reader().sketch_seed(&segment.id);
    let sketch = Sketch::of_units(&units, &start.as_query(), seed, k);
    let mode = Mode::Local(Local {
        codec,
        segments: vec![segment],
        sketch,
    });
    Ok(start.index(rng, mode, &mut vec![rows]))
}

/// Builds an open index: the server holds the vectors, and learns nothing of the queries. For the
/// cosine.
///
/// # Errors
/// If `k` is 0 or above the number of vectors, there are too many, or one of them is zero.
pub fn open<R: CryptoRng + ?Sized>(
    rng: &mut R,
    keys: &OwnerKeys,
    vectors: &Vectors,
    k: usize,
    packing: Packing,
    progress: &mut dyn FnMut(Step),
) -> Result<Index, Error> {
    columns(rng, keys, vectors, k, packing, Rows::Open, progress)
}

/// Builds a masked index: the server holds every vector under a pad, and learns nothing of the
/// vectors or the queries. For the cosine.
///
/// # Errors
/// If `k` is 0 or above the number of vectors, there are too many, or one of them is zero.
pub fn masked<R: CryptoRng + ?Sized>(
    rng: &mut R,
    keys: &OwnerKeys,
    vectors: &Vectors,
    k: usize,
    packing: Packing,
    progress: &mut dyn FnMut(Step),
) -> Result<Index, Error> {
    columns(rng, keys, vectors, k, packing, Rows::Masked, progress)
}

fn columns<R: CryptoRng + ?Sized>(
    rng: &mut R,
    keys: &OwnerKeys,
    vectors: &Vectors,
    k: usize,
    packing: Packing,
    form: Rows,
    progress: &mut dyn FnMut(Step),
) -> Result<Index, Error> {
    let start = Start::new(rng, keys, vectors, k, &format!("{packing:?}"))?;
    let units = start.units(vectors, progress)?;
    let seed = random(rng);
    let (column, rows, ids) = column(
        rng,
        &start.scribe,
        &start.ids,
        &units,
        (form, packing, seed),
        progress,
    )?;
    let columns = Columns {
        packing,
        seed,
        segments: vec![column],
    };
    let mode = match form {
        Rows::Open => Mode::Open(columns),
        Rows::Masked => Mode::Masked(columns),
    };
    Ok(start.index(rng, mode, &mut vec![rows, ids]))
}

/// A segment that is scored whole, its rows and its sealed ids.
pub(crate) fn column<R: CryptoRng + ?Sized>(
    rng: &mut R,
    scribe: &Scribe<'_>,
    ids: &IdSet,
    units: &Vectors,
    (form, packing, seed): (Rows, Packing, [u8; 32]),
    progress: &mut dyn FnMut(Step),
) -> Result<(ColumnSegment, Vec<u8>, Vec<u8>), Error> {
    let written = match form {
        Rows::Open => scribe.open(rng, ids, units.as_slice()),
        Rows::Masked => {
            progress(Step::Mask);
            let codes: Vec<i32> = residue::codes(units.as_slice()).collect();
            scribe.masked(rng, ids, &codes, units.dim())
        }
    };
    progress(Step::Hint);
    hinted(written, units.dim(), (form, packing, seed))
}

/// A written segment with its hint's digest.
pub(crate) fn hinted(
    written: Written,
    width: usize,
    (form, packing, seed): (Rows, Packing, [u8; 32]),
) -> Result<(ColumnSegment, Vec<u8>, Vec<u8>), Error> {
    let Written { segment, rows, ids } = written;
    let hint = form.hint(packing, seed, width, &rows)?;
    let hint = index::digest(&hint.to_bytes());
    Ok((ColumnSegment { segment, hint }, rows, ids))
}

/// What every build begins with.
struct Start<'a> {
    keys: &'a OwnerKeys,
    scribe: Scribe<'a>,
    rotation: [u8; 32],
    space: Space,
    ids: IdSet,
    dim: usize,
    k: usize,
}

impl<'a> Start<'a> {
    fn new<R: CryptoRng + ?Sized>(
        rng: &mut R,
        keys: &'a OwnerKeys,
        vectors: &Vectors,
        k: usize,
        mode: &str,
    ) -> Result<Self, Error> {
        plan::check(vectors.len(), vectors.dim(), k)?;
        let rotation = random(rng);
        let space = Space::new(Metric::Cosine, None, vectors);
        let ids = IdSet::from_ascending(0..number(vectors.len()));
        Ok(Self {
            keys,
            scribe: Scribe::new(keys, 1, form(mode, &space, &rotation, vectors.dim())),
            rotation,
            space,
            ids: ids.expect("a range ascends"),
            dim: vectors.dim(),
            k,
        })
    }

    fn units(&self, vectors: &Vectors, progress: &mut dyn FnMut(Step)) -> Result<Vectors, Error> {
        progress(Step::Rotate);
        units(self.space, self.rotation, vectors.clone())
    }

    /// For the cosine, which adds no coordinates.
    fn as_query(&self) -> AsQuery {
        AsQuery::new(self.space, self.rotation, self.dim)
    }

    /// The index of this mode, whose parts after the deletions are these.
    fn index<R: CryptoRng + ?Sized>(
        self,
        rng: &mut R,
        mode: Mode,
        parts: &mut Vec<Vec<u8>>,
    ) -> Index {
        let (deleted, list) = self.scribe.deleted(rng, &[IdSet::default()]);
        let mut manifest = Manifest {
            index: [0; 16],
            version: self.scribe.version(),
            previous: [0; 32],
            n: number(self.ids.len()),
            dim: number(self.dim),
            k: number(self.k),
            metric: self.space.metric,
            bound: self.space.bound,
            rotation: self.rotation,
            deleted,
            payloads: None,
            mode,
        };
        manifest.index = index_id(self.keys, &manifest);
        let parts = std::iter::once(list).chain(parts.drain(..));
        Index::new(
            SignedManifest::sign(manifest, self.keys),
            parts.map(Bytes::from).collect(),
        )
    }
}

/// The unit vectors that are stored for `vectors`.
pub(crate) fn units(space: Space, rotation: [u8; 32], vectors: Vectors) -> Result<Vectors, Error> {
    let units = space.stored(vectors)?;
    Ok(Rotation::new(units.dim(), rotation).apply_all(&units))
}

/// What is public about an index and shapes its segments.
pub(crate) fn form(mode: &str, space: &Space, rotation: &[u8; 32], dim: usize) -> String {
    format!("{mode} {space:?} {dim} {rotation:?}")
}

/// An index's id: that of its first segment, under another name.
pub(crate) fn index_id(keys: &OwnerKeys, manifest: &Manifest) -> [u8; 16] {
    let first = manifest.segments()[0].id;
    keys.content_id(&[0; 32], "index", &first, std::iter::empty())
}

/// A random seed, to be shown to everyone.
pub(crate) fn random<R: CryptoRng + ?Sized>(rng: &mut R) -> [u8; 32] {
    Seed::random(rng).0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic;
    use rand::SeedableRng;
    use rand::rngs::StdRng;

    const N: usize = 300;
    const DIM: usize = 24;

    /// The pads that a build added, by position: what is stored minus the codes.
    fn pads(seed: u64, vectors: &Vectors, packing: Packing) -> Vec<Vec<i32>> {
        let keys = OwnerKeys::from_master([2; 32]);
        let rng = &mut StdRng::seed_from_u64(seed);
        let index = masked(rng, &keys, vectors, 3, packing, &mut |_| ()).expect("an index");
        let (manifest, parts) = index.into_parts();
        let data = Rotation::new(DIM, manifest.rotation).apply_all(vectors);
        let segment = manifest.segments()[0];
        let order = keys.reader().row_order(&segment.id, number(N));
        let stored = parts[1].as_chunks().0.chunks_exact(DIM);
        let pads = (0..).zip(stored).map(|(position, stored)| {
            let codes = residue::codes(data.row(order.row(position) as usize));
            let stored = stored.iter().copied().map(i32::from_le_bytes);
            stored
                .zip(codes)
                .map(|(w, code)| residue::centred(w - code))
                .collect()
        });
        pads.collect()
    }

    /// A pair (row, version) stands for one pad only under one key, and every build has its own.
    #[test]
    fn no_pad_serves_two_contents() {
        let vectors = synthetic::uniform(N, DIM, 1);
        let mut changed = vectors.as_slice().to_vec();
        changed[0] = -changed[0];
        let changed = Vectors::new(DIM, changed).expect("a matrix");
        let mut all = Vec::new();
        for seed in [1, 2] {
            // The same randomness again, as from a restored snapshot, for other vectors.
            for vectors in [&vectors, &changed] {
                all.extend(pads(seed, vectors, Packing::T4));
            }
        }
        // And for the same vectors in another form.
        all.extend(pads(1, &vectors, Packing::T8));
        assert_eq!(all.len(), 5 * N);
        all.sort();
        all.dedup();
        assert_eq!(all.len(), 5 * N);
        // The same pads for the same content show nothing that was not shown before.
        let again = || pads(1, &vectors, Packing::T4);
        assert_eq!(again(), again());
    }
}
