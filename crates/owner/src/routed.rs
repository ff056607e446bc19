//! The base of a routed index: clusters in groups, as a table of codes under pads.

mod dealt;
mod measure;
mod noise;

use rand_core::CryptoRng;
use rayon::prelude::*;
use sordino_index::manifest::{Grid, Routed};
use sordino_index::{Disk, Error};
use sordino_vault::frame::Frame;
use sordino_vault::ids::Ids;
use sordino_vault::mean::Mean;
use sordino_vault::members::Cluster;
use sordino_vault::residual::{self, Parts, Spread};
use sordino_vault::route::Route;
use sordino_vectors::Vectors;
use sordino_vectors::u32_of;

use crate::build_context::Build;
use crate::cluster::{self, Points};
use crate::groups::Demand;
use crate::lifted::Lifted;
use crate::lists::Lists;
use crate::measurement::Measurement;
use crate::plan::{Grouping, Wish};
use crate::probe::{SAMPLE, Sample};
use crate::rows::Rows;
use crate::step::Step;
use crate::trained_centroids::{Assignment, TrainedCentroids};
use dealt::Dealt;
use measure::Chosen;

/// A routed index without a tail. Its parts are written.
pub(crate) struct Base {
    pub(crate) mode: Routed,
    pub(crate) ids: Ids,
    pub(crate) measured: Measurement,
}

impl Base {
    /// Clusters and masks the lifted rows as planned, and writes each part. It measures the necessary number of groups
    /// with some of the rows and the owner's questions as queries.
    pub(crate) fn new<D: Disk, R: CryptoRng + ?Sized>(
        build: &mut Build<'_, D, R>,
        rows: Rows,
        given: Option<Assignment>,
        planned: &Grouping,
        wish: &Wish,
        questions: Option<&Vectors>,
        frame: &Frame,
    ) -> Result<Self, Error> {
        let lifted = Lifted::new(&rows, frame);
        let (n, dim) = (lifted.len(), lifted.dim());
        let sample = Sample::new(lifted, SAMPLE, questions, wish.k)?;
        let sample = sample.with_candidates(wish.second_look);
        let (planned, clusters, wanted) = match given {
            None => Clusters::planned(build, lifted, planned, wish, &sample)?,
            Some(given) => {
                let clusters = Clusters::given(lifted, &planned.grid, given, build.progress)?;
                build.tell(Step::Probe);
                let wanted = clusters.wanted(&sample, lifted)?;
                (*planned, clusters, wanted)
            }
        };
        let chosen = Chosen::measured(&clusters, &wanted, &sample, &planned, wish, build.progress)?;
        drop((sample, wanted));
        build.tell(Step::Mask);
        let dealt = clusters.dealt(&chosen.order, dim);
        let kept = wish.planned_for(questions.is_some());
        let (mode, ids) = dealt.written(build, rows, chosen.grid, &kept)?;
        Ok(Self {
            mode,
            ids,
            measured: chosen.result(n, dim, wish),
        })
    }
}

/// Clusters of one size with their vectors' codes, in the order of training.
struct Clusters {
    /// The number of vectors.
    n: usize,
    mean: Mean,
    /// The route to all clusters, as one group.
    route: Route,
    /// For each cluster its share and its direction's codes.
    encoding: Vec<(f32, Vec<u8>)>,
    /// The directions, decoded.
    directions: Vectors,
    /// The records of each cluster.
    members: Vec<Cluster>,
    /// The codes of all places of each cluster.
    codes: Vec<Vec<i16>>,
}

impl Clusters {
    /// Makes the planned number of clusters. If the measured recall differs so much from the prediction that another
    /// number saves bytes, it makes that number instead. It also finds out which clusters queries want together.
    fn planned<D: Disk, R: CryptoRng + ?Sized>(
        build: &mut Build<'_, D, R>,
        lifted: Lifted<'_>,
        planned: &Grouping,
        wish: &Wish,
        sample: &Sample<'_>,
    ) -> Result<(Grouping, Self, Demand), Error> {
        let clusters = Self::trained(build, lifted, &planned.grid)?;
        build.tell(Step::Probe);
        let wanted = clusters.wanted(sample, lifted)?;
        let order = wanted.dealt(planned.grid.groups as usize);
        let recall = clusters.recall(sample, &order, &planned.grid);
        let Some(planned) = planned.refitted(lifted.len(), lifted.dim(), wish, recall.lower())
        else {
            return Ok((*planned, clusters, wanted));
        };
        drop((clusters, wanted));
        let clusters = Self::trained(build, lifted, &planned.grid)?;
        let wanted = clusters.wanted(sample, lifted)?;
        Ok((planned, clusters, wanted))
    }

    fn trained<D: Disk, R: CryptoRng + ?Sized>(
        build: &mut Build<'_, D, R>,
        lifted: Lifted<'_>,
        grid: &Grid,
    ) -> Result<Self, Error> {
        build.tell(Step::Cluster);
        let mean = lifted.mean();
        let centred = lifted.centred(&mean);
        let (count, seed) = (grid.all_clusters(), build.seed());
        let mut pulse = || build.tell(Step::Cluster);
        let trained = TrainedCentroids::new(&centred, count, seed, &mut pulse)?;
        build.tell(Step::Assign);
        let mut pulse = || build.tell(Step::Assign);
        let lists = cluster::lists(&centred, &trained.centres, &mut pulse);
        Self::placed(lifted, grid, mean, trained, lists)
    }

    /// The clusters of these centroids, filled from existing lists.
    fn given(
        lifted: Lifted<'_>,
        grid: &Grid,
        given: Assignment,
        progress: &mut dyn FnMut(Step),
    ) -> Result<Self, Error> {
        progress(Step::Assign);
        let mean = given.mean.unwrap_or_else(|| lifted.mean());
        Self::placed(lifted, grid, mean, given.trained, given.lists)
    }

    fn placed(
        lifted: Lifted<'_>,
        grid: &Grid,
        mean: Mean,
        trained: TrainedCentroids,
        lists: Lists,
    ) -> Result<Self, Error> {
        let (count, slots, dim) = (grid.all_clusters(), grid.slots as usize, lifted.dim());
        let (codes, directions) = (trained.codes, trained.centres);
        let centred = lifted.centred(&mean);
        let mut members = cluster::buckets(&centred, &directions, lists, slots);
        members.iter_mut().for_each(|rows| rows.sort_unstable());
        let shares = members
            .par_iter()
            .zip(0..count)
            .map(|(members, cluster)| share(lifted, members, &mean, directions.row(cluster)));
        let shares: Vec<f32> = shares.collect();
        let codes = codes.chunks_exact(dim).map(<[u8]>::to_vec);
        let encoding: Vec<(f32, Vec<u8>)> = shares.into_iter().zip(codes).collect();
        let one = encode(&mean, encoding.iter());
        let route = Route::from_bytes(&as_one(grid), dim, &one)?;
        let each = members.into_par_iter().zip(0..count);
        let each = each.map(|(rows, cluster)| coded(lifted, rows, route.base(cluster), slots));
        let (members, codes) = each.collect::<Vec<_>>().into_iter().unzip();
        Ok(Self {
            n: lifted.len(),
            mean,
            route,
            encoding,
            directions,
            members,
            codes,
        })
    }

    /// The clusters in this order.
    fn dealt(self, order: &[u32], dim: usize) -> Dealt {
        let mut clusters: Vec<_> = (self.members.into_iter())
            .zip(self.codes)
            .map(Some)
            .collect();
        let encoding = order
            .iter()
            .map(|&cluster| &self.encoding[cluster as usize]);
        let centroids = encode(&self.mean, encoding);
        let taken = order.iter().map(|&cluster| {
            let taken = clusters[cluster as usize].take();
            taken.expect("an order names each cluster once")
        });
        let (members, codes) = taken.unzip();
        Dealt {
            centroids,
            members,
            codes,
            dim,
        }
    }
}

/// A grid with all clusters in one group.
fn as_one(grid: &Grid) -> Grid {
    Grid {
        groups: 1,
        clusters: u32_of(grid.all_clusters()),
        ..*grid
    }
}

fn encode<'a>(mean: &Mean, clusters: impl Iterator<Item = &'a (f32, Vec<u8>)>) -> Vec<u8> {
    let clusters = clusters.map(|(share, codes)| (*share, &codes[..]));
    Route::encode(mean, clusters)
}

/// The distance from the mean, in this direction, of the point nearest to all of these vectors.
fn share(lifted: Lifted<'_>, members: &[u32], mean: &Mean, direction: &[f32]) -> f32 {
    let along = |row: &u32| {
        let unit = lifted.unit(*row as usize);
        let along = unit.iter().zip(mean.as_slice()).zip(direction);
        let along = along.map(|((x, mean), d)| (x - mean) * d);
        along.sum::<f32>()
    };
    let sum: f32 = members.iter().map(along).sum();
    let share = sum / members.len().max(1) as f32;
    // Two unit vectors differ by no more than 2.
    share.clamp(-2.0, 2.0)
}

/// A cluster of these rows, and the codes of its vectors. The codes of empty places are zeros.
fn coded(lifted: Lifted<'_>, rows: Vec<u32>, base: &[f32], slots: usize) -> (Cluster, Vec<i16>) {
    let units = rows.iter().map(|&row| lifted.unit(row as usize));
    let units: Vec<Vec<f32>> = units.collect();
    let along = units.iter().map(|unit| Parts::along_of(base, unit));
    let along: Vec<f32> = along.collect();
    let spread = Spread::of(along.iter().copied());
    let along: Vec<u16> = along.into_iter().map(|part| spread.code(part)).collect();
    let cluster = Cluster {
        rows,
        spread,
        along,
    };
    let mut codes = Vec::with_capacity(slots * lifted.dim());
    for ((_, parts), mut rest) in cluster.all().zip(units) {
        parts.rest(base, &mut rest);
        codes.extend(residual::codes(&rest));
    }
    codes.resize(slots * lifted.dim(), 0);
    (cluster, codes)
}
