//! Building an index: what the data's owner does, offline.

use rand_core::CryptoRng;
use rayon::prelude::*;
use sordino_pir::{Database, Seed, simple};

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
    /// Training the centroids.
    Cluster,
    /// Assigning vectors to buckets, copies to the places left.
    Assign,
    /// Measuring how many probes are needed.
    Probe,
    /// Encrypting buckets.
    Seal,
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
    let trained = cluster::centroids(&data, chosen.clusters, random(rng));
    let mut centroid_codes = Vec::new();
    trained
        .rows()
        .for_each(|row| code::int8(row, &mut centroid_codes));
    // From here on the centroids are what clients will decode.
    let decoded = centroid_codes
        .chunks_exact(data.dim())
        .flat_map(code::unit_from_int8)
        .collect();
    let centroids = Vectors::new(data.dim(), decoded)?;

    progress(Step::Assign);
    let buckets = cluster::buckets(&data, &centroids, layout.slots as usize);
    let ids = reader.ids(&start.index);
    let plain: Vec<Vec<u8>> = buckets
        .par_iter()
        .enumerate()
        .map(|(bucket, rows)| {
            let entries = rows.iter().map(|&row| (row, data.row(row as usize)));
            layout.write(centroids.row(bucket), &entries.collect::<Vec<_>>())
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
        let curve = sample.curve(&centroids, &opened, plan.most_probes());
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
    let centroids = match routing {
        Routing::Downloaded => {
            reader
                .seal("centroids", &start.index, start.version)
                .seal(0, &[], &centroid_codes)
        }
        Routing::Encrypted => centroid_codes,
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
    let (_, hint) = simple::Server::setup(database, &params, &Seed(mode.pir_seed))?;
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
    let mode = Mode::Local(Local {
        layout,
        chunks: digest(&chunks),
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
