//! Builds the base of a sealed index: clusters the vectors, fills buckets with them, seals the buckets, and computes
//! the PIR hint.

use rand_core::CryptoRng;
use rayon::prelude::*;
use sordino_index::bucket::Layout;
use sordino_index::code::Codec;
use sordino_index::manifest::{self, Routing, Sealed};
use sordino_index::{Disk, Error, digest};
use sordino_pir::{Database, Seed, simple};
use sordino_vault::bucket_codec::BucketCodec;
use sordino_vault::decoded_rows::DecodedRows;
use sordino_vault::frame::Frame;
use sordino_vault::purpose::Purpose;
use sordino_vectors::Vectors;
use sordino_vectors::u32_of;

use crate::build_context::Build;
use crate::cluster;
use crate::lifted::Lifted;
use crate::lists::Lists;
use crate::measurement::Measurement;
use crate::plan::{Plan, Way, Wish};
use crate::probe::{SAMPLE, Sample};
use crate::rows::Rows;
use crate::sample_recall::{SampleRecall, first_enough};
use crate::segment::WrittenSegment;
use crate::step::Step;
use crate::trained_centroids::{Assignment, TrainedCentroids};

/// A sealed index without a tail, and its parts.
pub(crate) struct Base {
    pub(crate) mode: Sealed,
    pub(crate) buckets: Vec<u8>,
    pub(crate) digests: Vec<u8>,
    pub(crate) centroids: Vec<u8>,
    /// The PIR hint, or `None` if buckets are fetched without one.
    pub(crate) hint: Option<Vec<u8>>,
    /// The base's chunks, ids and attributes.
    pub(crate) base: WrittenSegment,
    pub(crate) measured: Measurement,
}

impl Base {
    /// Clusters the lifted rows, and seals the clusters as planned. It measures the result with some of the rows and
    /// the owner's questions as queries.
    pub(crate) fn new<D: Disk, R: CryptoRng + ?Sized>(
        build: &mut Build<'_, D, R>,
        rows: &Rows,
        given: Option<Assignment>,
        plan: &Plan,
        questions: Option<&Vectors>,
        frame: &Frame,
    ) -> Result<Self, Error> {
        let chosen = plan.chosen();
        let lifted = Lifted::new(rows, frame);
        build.tell(Step::Cluster);
        let pir_seed = build.seed();
        let (trained, lists) = if let Some(given) = given {
            (given.trained, Some(given.lists))
        } else {
            let seed = build.seed();
            let mut pulse = || build.tell(Step::Cluster);
            let trained = TrainedCentroids::new(&lifted, chosen.clusters, seed, &mut pulse)?;
            (trained, None)
        };
        build.tell(Step::Assign);
        let mut pulse = || build.tell(Step::Assign);
        let plain = trained.filled(lifted, lists, &chosen.layout, &mut pulse);
        build.tell(Step::Probe);
        let mut pulse = || build.tell(Step::Probe);
        let probes = Probes::measured(
            &trained.centres,
            &plain,
            lifted,
            (plan, questions),
            &mut pulse,
        )?;
        build.tell(Step::Seal);
        let sealed = Buckets::sealed(build, rows, plan, trained, plain);
        build.tell(Step::Hint);
        sealed.finish(plan, &probes, pir_seed)
    }
}

/// The number of buckets that a search reads, and the recall that it reaches.
struct Probes {
    count: usize,
    recall: SampleRecall,
}

impl Probes {
    /// The smallest number of probes that is enough for the requested recall. If no number is enough, it is the smallest
    /// number beyond which almost no more records are found. Some of the vectors, and the questions, are the queries of this
    /// measurement.
    fn measured(
        centres: &Vectors,
        plain: &[Vec<u8>],
        lifted: Lifted<'_>,
        (plan, questions): (&Plan, Option<&Vectors>),
        pulse: &mut dyn FnMut(),
    ) -> Result<Self, Error> {
        let layout = plan.chosen().layout;
        let read = |plain: &Vec<u8>| {
            let mut opened = DecodedRows::default();
            BucketCodec(layout).read(plain, lifted.frame, &mut opened)?;
            Ok(opened)
        };
        let opened: Result<Vec<DecodedRows>, Error> = plain.par_iter().map(read).collect();
        let opened = opened?;
        let Wish { k, recall, .. } = *plan.wish();
        let sample = Sample::new(lifted, SAMPLE, questions, k)?;
        let most = plan.most_probes();
        let curve = sample.curve(sample.queries(), centres, &opened, most, pulse);
        let at = first_enough(&curve, recall);
        Ok(Self {
            count: at + 1,
            recall: curve[at],
        })
    }
}

/// Sealed buckets, and everything that belongs to them except the hint.
struct Buckets {
    sealed: Vec<u8>,
    digests: Vec<u8>,
    centroids: Vec<u8>,
    base: WrittenSegment,
}

impl Buckets {
    /// Seals buckets, centroids and chunks under one new id.
    fn sealed<D: Disk, R: CryptoRng + ?Sized>(
        build: &mut Build<'_, D, R>,
        rows: &Rows,
        plan: &Plan,
        trained: TrainedCentroids,
        plain: Vec<Vec<u8>>,
    ) -> Self {
        let writer = build.writer;
        let layout = plan.chosen().layout;
        // The clusters are drawn at random. The randomness fixes the bucket of a vector only up to the rounding of sums,
        // which may differ between processors. So the id must also be bound to the content of the buckets.
        let drawn = trained.centres.as_slice().iter();
        let drawn = drawn.chain(rows.vectors.as_slice()).map(|x| x.to_bits());
        let contents = plain.iter().flat_map(|plain| words(plain));
        let id = writer.base_id(build.rng, rows, plan, drawn.chain(contents));
        let reader = writer.key();
        let seal = reader.seal(Purpose::Bucket, &id, writer.version());
        let mut sealed = vec![0; plain.len() * layout.sealed_len()];
        let buckets = sealed.par_chunks_exact_mut(layout.sealed_len());
        let buckets = buckets.zip(plain.into_par_iter()).enumerate();
        buckets.for_each(|(bucket, (sealed, plain))| {
            sealed.copy_from_slice(&BucketCodec(layout).seal(&seal, u32_of(bucket), &plain));
        });
        let centroids = match plan.chosen().routing {
            Routing::Downloaded => {
                let seal = reader.seal(Purpose::Centroids, &id, writer.version());
                seal.seal(0, &[], &trained.codes)
            }
            Routing::Encrypted => trained.codes,
        };
        let chunks = writer.chunk_bytes(&id, rows, Codec::Int8);
        Self {
            digests: digest::of_buckets(&sealed, layout.sealed_len()),
            sealed,
            centroids,
            base: writer.written(id, rows, chunks),
        }
    }

    /// Computes the hint, if the plan has one, and the mode with all digests.
    fn finish(self, plan: &Plan, probes: &Probes, pir_seed: [u8; 32]) -> Result<Base, Error> {
        let (chosen, wish) = (plan.chosen(), plan.wish());
        let mut mode = Sealed::new(self.base.segment.clone(), chosen.layout, chosen.routing);
        mode.clusters = u32_of(chosen.clusters);
        mode.probes = u32_of(probes.count);
        mode.recall = wish
            .planned_for(probes.recall.questions.is_some())
            .millionths();
        mode.queries = wish.queries;
        mode.pir_seed = pir_seed;
        mode.buckets = digest::of(&self.sealed);
        mode.digests = digest::of(&self.digests);
        mode.centroids = digest::of(&self.centroids);
        let hint = match plan.way(probes.count) {
            Way::Hintless(_) => None,
            _ => {
                let params = manifest::pir_params(&mode)?;
                let database = Database::from_slice(&params, &self.sealed)?;
                let (_, hint) = simple::Server::setup(database, &params, &Seed(mode.pir_seed))?;
                Some(hint.to_bytes())
            }
        };
        mode.hint = hint.as_deref().map(digest::of);
        Ok(Base {
            mode,
            buckets: self.sealed,
            digests: self.digests,
            centroids: self.centroids,
            hint,
            base: self.base,
            measured: Measurement::new(
                &probes.recall,
                wish.recall,
                plan.cost(probes.count),
                plan.masked().map(|masked| masked.cost),
                wish.queries,
            ),
        })
    }
}

/// A bucket's content as words. Zeros fill up the last word. All contents have the same length.
fn words(plain: &[u8]) -> impl Iterator<Item = u32> {
    plain.chunks(4).map(|bytes| {
        let mut word = [0; 4];
        word[..bytes.len()].copy_from_slice(bytes);
        u32::from_le_bytes(word)
    })
}

impl TrainedCentroids {
    /// The contents of all buckets, from the lists of the nearest centroids. If there are no lists, the function computes
    /// them.
    fn filled(
        &self,
        lifted: Lifted<'_>,
        lists: Option<Lists>,
        layout: &Layout,
        pulse: &mut dyn FnMut(),
    ) -> Vec<Vec<u8>> {
        let lists = lists.unwrap_or_else(|| cluster::lists(&lifted, &self.centres, pulse));
        let buckets = cluster::buckets(&lifted, &self.centres, lists, layout.slots as usize);
        let filled = buckets.par_iter().enumerate().map(|(bucket, rows)| {
            let units: Vec<_> = rows.iter().map(|&row| lifted.unit(row as usize)).collect();
            let entries = rows.iter().zip(&units);
            let entries = entries.map(|(&row, unit)| lifted.rows.entry(row as usize, unit));
            BucketCodec(*layout).write(self.centres.row(bucket), &entries.collect::<Vec<_>>())
        });
        filled.collect()
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand::rngs::StdRng;
    use sordino_index::manifest::Mode;
    use sordino_vault::OwnerKeys;
    use sordino_vectors::synthetic;

    use crate::build;
    use crate::plan::{Plan, Wish};

    /// With codes of 8 bits, a search that reads everything still misses some of the nearest vectors. So a sample of 500
    /// queries hardly ever finds all of them.
    #[test]
    fn what_codes_cannot_reach_does_not_take_every_affordable_bucket() {
        let (data, _) = synthetic::clustered(2000, 1, 32, 4);
        let wish = Wish {
            recall: 0.995,
            ..Wish::default()
        };
        let plan = Plan::new(data.len(), data.dim(), wish).unwrap();
        let (keys, rng) = (
            OwnerKeys::from_master([2; 32]),
            &mut StdRng::seed_from_u64(5),
        );
        let built = build::sealed(rng, &keys, &data, &plan, &mut |_| ()).unwrap();
        let Mode::Sealed(mode) = &built.index.manifest().mode else {
            panic!("a sealed index");
        };
        let affordable = plan.most_probes().min(plan.chosen().clusters);
        assert!(mode.probes as usize * 3 < affordable * 2, "{}", mode.probes);
        assert!(built.measured.expected_recall > 0.98);
    }
}
