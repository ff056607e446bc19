//! Building an index: what the data's owner does, offline.

use std::borrow::Cow;

use rand_core::CryptoRng;
use rayon::prelude::*;
use sordino_lsh::Seed;
use sordino_pir::{Database, simple};

use crate::bucket::Opened;
use crate::code;
use crate::index::{self, Content, Index};
use crate::keys::OwnerKeys;
use crate::manifest::{
    Columns, Local, Manifest, Masked, Mode, Packing, Routing, Sealed, SignedManifest,
};
use crate::plan::{self, Plan};
use crate::probe::Sample;
use crate::recall::number;
use crate::rotation::Rotation;
use crate::router::{self, Mean};
use crate::sketch::Sketch;
use crate::{Error, Vectors, cluster, columns, residue};

/// Vectors that serve as queries to measure how many probes are needed.
const SAMPLE: usize = 500;

/// What is added to the wanted recall when the number of probes is chosen. The standard error of
/// a sample of 500 is about .004, and vectors of the set itself are answered up to .007 better
/// than new ones (measured on image descriptors).
const MARGIN: f64 = 0.0075;

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

/// Builds a sealed index as planned. `progress` is told of each step as it begins.
///
/// # Errors
/// If the vectors are not those that were planned for, or one of them is zero.
#[expect(
    clippy::missing_panics_doc,
    reason = "a bucket just written reads back"
)]
pub fn sealed<R: CryptoRng + ?Sized>(
    rng: &mut R,
    keys: &OwnerKeys,
    vectors: &Vectors,
    plan: &Plan,
    progress: &mut dyn FnMut(Step),
) -> Result<Built, Error> {
    plan.check(vectors)?;
    let start = Start::new(rng, keys, vectors, &format!("sealed {:?}", plan.chosen()));
    let chosen = plan.chosen();
    let (layout, routing) = (chosen.layout, chosen.routing);
    let reader = keys.reader();

    progress(Step::Rotate);
    let data = start.rotated(vectors)?;

    progress(Step::Cluster);
    let router = match routing {
        Routing::Hashed => {
            Router::hashed(&data, reader.router_seed(&start.index), chosen.clusters)?
        }
        _ => Router::trained(&data, random(rng), chosen.clusters)?,
    };

    progress(Step::Assign);
    let routed = router.routed(&data)?;
    let buckets = cluster::buckets(&routed, &router.centres, layout.slots as usize);
    let ids = reader.ids(&start.index);
    let plain: Vec<Vec<u8>> = buckets
        .par_iter()
        .enumerate()
        .map(|(bucket, rows)| {
            let entries = rows.iter().map(|&row| (row, data.row(row as usize)));
            layout.write(router.centres.row(bucket), &entries.collect::<Vec<_>>())
        })
        .collect();

    progress(Step::Probe);
    let (probes, expected_recall) = {
        let opened: Vec<Opened> = plain
            .par_iter()
            .map(|plain| {
                let mut opened = Opened::default();
                assert!(
                    layout.read(plain, &mut opened),
                    "a bucket just written reads back"
                );
                opened
            })
            .collect();
        let sample = Sample::new(&data, SAMPLE, plan.wish().k);
        let queries = router.routed(sample.queries())?;
        let curve = sample.curve(&queries, &router.centres, &opened, plan.most_probes());
        let enough = curve
            .iter()
            .position(|recall| *recall >= plan.wish().recall + MARGIN);
        let probes = enough.map_or(curve.len(), |at| at + 1);
        (probes, curve[probes - 1])
    };

    progress(Step::Seal);
    let seal = reader.seal("bucket", &start.index, start.version);
    let sealed: Vec<u8> = plain
        .into_par_iter()
        .enumerate()
        .flat_map_iter(|(bucket, mut plain)| {
            layout.map_ids(&mut plain, |row| ids.hide(row));
            layout.seal(&seal, number(bucket), &plain)
        })
        .collect();
    let digests = index::bucket_digests(&sealed, layout.sealed_len());
    let sealed_route = |kind, plain: &[u8]| {
        let seal = reader.seal(kind, &start.index, start.version);
        seal.seal(0, &[], plain)
    };
    let centroids = match routing {
        Routing::Downloaded => sealed_route("centroids", &router.encoding),
        Routing::Encrypted => router.encoding,
        Routing::Hashed => sealed_route("mean", &router.encoding),
    };

    progress(Step::Hint);
    let mut mode = Sealed {
        clusters: number(chosen.clusters),
        probes: number(probes),
        layout,
        routing,
        pir_seed: random(rng),
        buckets: digest(&digests),
        hint: [0; 32],
        centroids: digest(&centroids),
    };
    let params = index::pir_params(&mode)?;
    let database = Database::from_slice(&params, &sealed)?;
    let (_, hint) = simple::Server::setup(database, &params, &sordino_pir::Seed(mode.pir_seed))?;
    let hint = hint.to_bytes();
    mode.hint = digest(&hint);

    let manifest = start.manifest(&data, plan.wish().k, Mode::Sealed(mode));
    let content = Content::Sealed {
        buckets: sealed,
        digests,
        centroids,
        hint,
    };
    let index = Index {
        manifest: SignedManifest::sign(manifest, keys),
        content,
    };
    let reached = expected_recall >= plan.wish().recall + MARGIN;
    Ok(Built {
        index,
        expected_recall,
        reached,
    })
}

/// How vectors are given to buckets.
struct Router {
    /// A unit vector for each bucket: vectors go where the inner product is largest.
    centres: Vectors,
    /// What vectors are compared relative to, if not as they are.
    mean: Option<Mean>,
    /// What clients route with, before it is sealed.
    encoding: Vec<u8>,
}

impl Router {
    /// Centroids of k-means, as clients will decode them.
    fn trained(data: &Vectors, seed: [u8; 32], clusters: usize) -> Result<Self, Error> {
        let trained = cluster::centroids(data, clusters, seed);
        let mut encoding = Vec::new();
        trained
            .rows()
            .for_each(|row| code::int8(row, &mut encoding));
        let decoded = encoding
            .chunks_exact(data.dim())
            .flat_map(code::unit_from_int8);
        Ok(Self {
            centres: Vectors::new(data.dim(), decoded.collect())?,
            mean: None,
            encoding,
        })
    }

    /// The vertices of a keyed hash.
    fn hashed(data: &Vectors, seed: Seed, clusters: usize) -> Result<Self, Error> {
        let mean = Mean::of(data);
        Ok(Self {
            centres: router::vertices(seed, data.dim(), clusters)?,
            encoding: mean.to_bytes(),
            mean: Some(mean),
        })
    }

    /// Vectors as they are compared with the centres.
    fn routed<'a>(&self, data: &'a Vectors) -> Result<Cow<'a, Vectors>, Error> {
        Ok(match &self.mean {
            None => Cow::Borrowed(data),
            Some(mean) => Cow::Owned(mean.centred_all(data)?),
        })
    }
}

/// Builds a local index: everything, in sealed chunks.
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
    plan::check(vectors.len(), vectors.dim(), k)?;
    let start = Start::new(rng, keys, vectors, "local");
    let layout = plan::chunk_layout(vectors.len(), vectors.dim());
    let reader = keys.reader();

    progress(Step::Rotate);
    let data = start.rotated(vectors)?;

    progress(Step::Seal);
    let seal = reader.seal("chunk", &start.index, start.version);
    let ids = reader.ids(&start.index);
    let rows: Vec<u32> = (0..number(data.len())).collect();
    let chunks: Vec<u8> = rows
        .par_chunks(layout.slots as usize)
        .enumerate()
        .flat_map_iter(|(chunk, rows)| {
            let entries = rows
                .iter()
                .map(|&row| (ids.hide(row), data.row(row as usize)));
            let plain = layout.write(&[], &entries.collect::<Vec<_>>());
            layout.seal(&seal, number(chunk), &plain)
        })
        .collect();

    progress(Step::Sketch);
    // The vectors as clients will decode them.
    let mut opened = Opened::default();
    for (chunk, sealed) in (0..).zip(chunks.chunks_exact(layout.sealed_len())) {
        layout.open(&seal, chunk, sealed, &mut opened)?;
    }
    let sketch = Sketch::choose(&opened, data.dim(), reader.sketch_seed(&start.index), k);
    let mode = Mode::Local(Local {
        layout,
        chunks: digest(&chunks),
        sketch,
    });
    let manifest = SignedManifest::sign(start.manifest(&data, k, mode), keys);
    Ok(Index {
        manifest,
        content: Content::Local { chunks },
    })
}

/// Builds an open index: the server holds the vectors, and learns nothing of the queries.
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
    plan::check(vectors.len(), vectors.dim(), k)?;
    let start = Start::new(rng, keys, vectors, &format!("open {packing:?}"));

    progress(Step::Rotate);
    let data = start.rotated(vectors)?;
    let rows = columns::open_rows(data.as_slice());

    progress(Step::Hint);
    let seed = random(rng);
    let (_, hint) = columns::encode_open(packing, seed, data.dim(), &rows)?;
    let mode = Mode::Open(Columns {
        packing,
        seed,
        rows: digest(&rows),
        hint: digest(&hint.to_bytes()),
    });
    let manifest = SignedManifest::sign(start.manifest(&data, k, mode), keys);
    Ok(Index {
        manifest,
        content: Content::Columns { rows },
    })
}

/// Builds a masked index: the server holds every vector under a pad, and learns nothing of the
/// vectors or the queries.
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
    plan::check(vectors.len(), vectors.dim(), k)?;
    let start = Start::new(rng, keys, vectors, &format!("masked {packing:?}"));
    let reader = keys.reader();

    progress(Step::Rotate);
    let data = start.rotated(vectors)?;

    progress(Step::Mask);
    let order = reader.row_order(&start.index, number(data.len()));
    let pad = reader.pad(&start.index, start.version);
    let rows: Vec<u8> = (0..number(data.len()))
        .into_par_iter()
        .flat_map_iter(|position| {
            let row = data.row(order.row(position) as usize);
            let mut codes: Vec<i32> = residue::codes(row).collect();
            pad.mask(position, &mut codes);
            columns::masked_rows(&codes)
        })
        .collect();

    progress(Step::Hint);
    let seed = random(rng);
    let (_, hint) = columns::encode_masked(packing, seed, data.dim(), &rows)?;
    let mode = Mode::Masked(Masked {
        columns: Columns {
            packing,
            seed,
            rows: digest(&rows),
            hint: digest(&hint.to_bytes()),
        },
        row_version: start.version,
    });
    let manifest = SignedManifest::sign(start.manifest(&data, k, mode), keys);
    Ok(Index {
        manifest,
        content: Content::Columns { rows },
    })
}

/// What every build begins with.
struct Start {
    index: [u8; 16],
    version: u64,
    rotation: [u8; 32],
}

impl Start {
    /// The index id is new, so its keys are, and version 1 of it has never been sealed before.
    ///
    /// Nonces and pads must not meet two contents, so the id does not rest on `rng` alone: it is a
    /// keyed digest of randomness, rotation, vectors and the form they are put in. A generator that
    /// repeats itself, as that of a restored machine may, repeats an id only for the same content.
    fn new<R: CryptoRng + ?Sized>(
        rng: &mut R,
        keys: &OwnerKeys,
        vectors: &Vectors,
        form: &str,
    ) -> Self {
        let (fresh, rotation) = (random(rng), random(rng));
        Self {
            index: keys.index_id(&fresh, &rotation, vectors, form),
            version: 1,
            rotation,
        }
    }

    fn rotated(&self, vectors: &Vectors) -> Result<Vectors, Error> {
        let data = vectors.clone().normalised()?;
        Ok(Rotation::new(data.dim(), self.rotation).apply_all(&data))
    }

    fn manifest(&self, data: &Vectors, k: usize, mode: Mode) -> Manifest {
        Manifest {
            index: self.index,
            version: self.version,
            previous: [0; 32],
            n: number(data.len()),
            dim: number(data.dim()),
            k: number(k),
            rotation: self.rotation,
            mode,
        }
    }
}

fn digest(bytes: &[u8]) -> crate::manifest::Digest {
    *blake3::Hasher::new()
        .update_rayon(bytes)
        .finalize()
        .as_bytes()
}

fn random<const LEN: usize, R: CryptoRng + ?Sized>(rng: &mut R) -> [u8; LEN] {
    let mut bytes = [0; LEN];
    rng.fill_bytes(&mut bytes);
    bytes
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
        let (manifest, Content::Columns { rows }) = (&index.manifest, &index.content) else {
            unreachable!("a masked index");
        };
        let data = Rotation::new(DIM, manifest.rotation).apply_all(vectors);
        let order = keys.reader().row_order(&manifest.index, number(N));
        let stored = rows.as_chunks().0.chunks_exact(DIM);
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
