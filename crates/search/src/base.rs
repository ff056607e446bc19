//! The base of a sealed index: clustered, cut into buckets, sealed, with its PIR hint.

use std::borrow::Cow;

use rand_core::CryptoRng;
use rayon::prelude::*;
use sordino_pir::{Database, Seed, simple};

use crate::bucket::Opened;
use crate::build::{Step, random};
use crate::code::Codec;
use crate::ids::IdSet;
use crate::index::{self, digest};
use crate::manifest::{Routing, Sealed, router_salt};
use crate::metric::AsQuery;
use crate::plan::Plan;
use crate::probe::Sample;
use crate::recall::number;
use crate::router::{self, Mean};
use crate::segment::Scribe;
use crate::{Error, Vectors, cluster, code};

/// Vectors that serve as queries to measure how many probes are needed.
const SAMPLE: usize = 500;

/// What is added to the wanted recall when the number of probes is chosen. The standard error of
/// a sample of 500 is about .004, and vectors of the set itself are answered up to .007 better
/// than new ones (measured on image descriptors).
const MARGIN: f64 = 0.0075;

/// A sealed index without a tail, and its parts.
pub(crate) struct Base {
    pub(crate) mode: Sealed,
    pub(crate) buckets: Vec<u8>,
    pub(crate) digests: Vec<u8>,
    pub(crate) centroids: Vec<u8>,
    pub(crate) hint: Vec<u8>,
    pub(crate) chunks: Vec<u8>,
    pub(crate) ids: Vec<u8>,
    /// Recall of held-out vectors with the probes chosen.
    pub(crate) expected_recall: f64,
    /// Whether that reaches the recall wished for.
    pub(crate) reached: bool,
}

/// The recall wished for, as the manifest keeps it.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a share in millionths"
)]
fn millionths(recall: f64) -> u32 {
    ((recall * 1e6).round() as u32).clamp(1, 999_999)
}

impl Base {
    /// Clusters and seals `units`, rotated unit vectors in the order of their ids, as planned, and
    /// measures it with some of them as queries.
    pub(crate) fn new<R: CryptoRng + ?Sized>(
        rng: &mut R,
        scribe: &Scribe<'_>,
        ids: &IdSet,
        units: &Vectors,
        plan: &Plan,
        as_query: &AsQuery,
        progress: &mut dyn FnMut(Step),
    ) -> Result<Self, Error> {
        let chosen = plan.chosen();
        let (layout, routing) = (chosen.layout, chosen.routing);
        let reader = scribe.reader();

        progress(Step::Cluster);
        let pir_seed = random(rng);
        let router = match routing {
            Routing::Hashed => {
                let seed = reader.router_seed(&router_salt(&pir_seed));
                Router::hashed(units, seed, chosen.clusters)?
            }
            _ => Router::trained(units, random(rng), chosen.clusters)?,
        };

        progress(Step::Assign);
        let routed = router.routed(units)?;
        let buckets = cluster::buckets(&routed, &router.centres, layout.slots as usize);
        let plain: Vec<Vec<u8>> = buckets
            .par_iter()
            .enumerate()
            .map(|(bucket, rows)| {
                let entries = rows.iter().map(|&row| (row, units.row(row as usize)));
                layout.write(router.centres.row(bucket), &entries.collect::<Vec<_>>())
            })
            .collect();

        progress(Step::Probe);
        let curve = {
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
            let sample = Sample::new(units, as_query, SAMPLE, plan.wish().k);
            let queries = router.routed(sample.queries())?;
            sample.curve(&queries, &router.centres, &opened, plan.most_probes())
        };
        let wanted = plan.wish().recall + MARGIN;
        let enough = curve.iter().position(|recall| *recall >= wanted);
        let probes = enough.map_or(curve.len(), |at| at + 1);
        let expected_recall = curve[probes - 1];

        progress(Step::Seal);
        // The clusters are drawn at random. Which bucket a vector is in follows from them only up to the
        // rounding of sums, which may differ between processors, so buckets are content of their own.
        let drawn = router.centres.as_slice().iter().chain(units.as_slice());
        let drawn = drawn.map(|x| x.to_bits());
        let id = scribe.base_id(
            rng,
            ids,
            plan,
            drawn.chain(plain.iter().flat_map(|plain| words(plain))),
        );
        let seal = reader.seal("bucket", &id, scribe.version());
        let records = reader.ids(&id);
        let sealed: Vec<u8> = plain
            .into_par_iter()
            .enumerate()
            .flat_map_iter(|(bucket, mut plain)| {
                layout.map_ids(&mut plain, |row| records.hide(ids.id(row)));
                layout.seal(&seal, number(bucket), &plain)
            })
            .collect();
        let digests = index::bucket_digests(&sealed, layout.sealed_len());
        let sealed_route = |kind, plain: &[u8]| {
            let seal = reader.seal(kind, &id, scribe.version());
            seal.seal(0, &[], plain)
        };
        let centroids = match routing {
            Routing::Downloaded => sealed_route("centroids", &router.encoding),
            Routing::Encrypted => router.encoding,
            Routing::Hashed => sealed_route("mean", &router.encoding),
        };
        let base = scribe.written(id, ids, scribe.chunk_bytes(&id, ids, units, Codec::Int8));

        progress(Step::Hint);
        let mut mode = Sealed {
            base: base.segment,
            tail: Vec::new(),
            clusters: number(chosen.clusters),
            probes: number(probes),
            layout,
            routing,
            recall: millionths(plan.wish().recall),
            queries: plan.wish().queries,
            pir_seed,
            buckets: digest(&sealed),
            digests: digest(&digests),
            hint: [0; 32],
            centroids: digest(&centroids),
        };
        let params = index::pir_params(&mode)?;
        let database = Database::from_slice(&params, &sealed)?;
        let (_, hint) = simple::Server::setup(database, &params, &Seed(mode.pir_seed))?;
        let hint = hint.to_bytes();
        mode.hint = digest(&hint);
        Ok(Self {
            mode,
            buckets: sealed,
            digests,
            centroids,
            hint,
            chunks: base.rows,
            ids: base.ids,
            expected_recall,
            reached: expected_recall >= wanted,
        })
    }
}

/// A bucket's content as words, the last one filled up with zeros: all contents have one length.
fn words(plain: &[u8]) -> impl Iterator<Item = u32> {
    plain.chunks(4).map(|bytes| {
        let mut word = [0; 4];
        word[..bytes.len()].copy_from_slice(bytes);
        u32::from_le_bytes(word)
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
    fn trained(units: &Vectors, seed: [u8; 32], clusters: usize) -> Result<Self, Error> {
        let trained = cluster::centroids(units, clusters, seed);
        let mut encoding = Vec::new();
        trained
            .rows()
            .for_each(|row| code::int8(row, &mut encoding));
        let decoded = encoding
            .chunks_exact(units.dim())
            .flat_map(code::unit_from_int8);
        Ok(Self {
            centres: Vectors::new(units.dim(), decoded.collect())?,
            mean: None,
            encoding,
        })
    }

    /// The vertices of a keyed hash.
    fn hashed(units: &Vectors, seed: sordino_lsh::Seed, clusters: usize) -> Result<Self, Error> {
        let mean = Mean::of(units);
        Ok(Self {
            centres: router::vertices(seed, units.dim(), clusters)?,
            encoding: mean.to_bytes(),
            mean: Some(mean),
        })
    }

    /// Vectors as they are compared with the centres.
    fn routed<'a>(&self, vectors: &'a Vectors) -> Result<Cow<'a, Vectors>, Error> {
        Ok(match &self.mean {
            None => Cow::Borrowed(vectors),
            Some(mean) => Cow::Owned(mean.centred_all(vectors)?),
        })
    }
}
