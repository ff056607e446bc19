//! The number of clusters that a search must score, measured with some of the vectors as queries.

use sordino_index::Error;
use sordino_index::columns::Rows;
use sordino_index::manifest::{Checking, Grid, SecretPacking};
use sordino_index::residual::{Scores, SplitQuery};
use sordino_vectors::Vectors;
use sordino_vectors::metric::AsQuery;
use sordino_vectors::recall::Scored;
use sordino_vectors::u32_of;

use super::Clusters;
use crate::cluster;
use crate::groups::Wanted;
use crate::measured::Measured;
use crate::plan::{Cost, Grouping, Wish, best_cut, cheapest_scoring, divisors, routed_cost};
use crate::probe::{GAIN, Sample, reaches, target};
use crate::step::Step;

/// Vectors whose orders of clusters say which clusters are wanted together.
const ORDERS: usize = 8192;

/// The clusters of an order that count.
const RANKS: usize = 96;

/// The groups of clusters, and the recall that they reach.
pub(super) struct Chosen {
    pub(super) grid: Grid,
    /// The clusters, group after group.
    pub(super) order: Vec<u32>,
    recall: f64,
    reached: bool,
    cost: Cost,
}

impl Chosen {
    /// The fewest groups that reach the recall wished for, as long as clients transfer no more than is planned at most.
    pub(super) fn measured(
        clusters: &Clusters,
        wanted: &Wanted,
        sample: &Sample,
        (planned, wish): (&Grouping, &Wish),
        progress: &mut dyn FnMut(Step),
    ) -> Result<Self, Error> {
        let enough = target(wish.recall);
        let mut best: Option<Self> = None;
        for (grid, cost) in planned.regrouped(clusters.n, clusters.directions.dim(), wish.queries) {
            if best.is_some() && !planned.most.allows(&cost, wish.queries) {
                break;
            }
            progress(Step::Probe);
            let order = wanted.dealt(grid.groups as usize);
            let recall = clusters.recall(sample, &order, &grid);
            let reached = reaches(recall, wish.recall);
            let no_better = |best: &Self| recall < best.recall + GAIN && (best.reached || !reached);
            if best.as_ref().is_some_and(no_better) {
                break;
            }
            best = Some(Self {
                grid,
                order,
                recall,
                reached,
                cost,
            });
            if reaches(recall, enough) {
                break;
            }
        }
        best.ok_or(Error::Recall(wish.recall))
    }

    /// The recall, and what the clients of so many vectors would be served better by.
    pub(super) fn result(&self, n: usize, dim: usize, queries: u64) -> Measured {
        let masked = cheapest_scoring((n, dim), queries, (Rows::Masked, Checking::Sums));
        let reached = (self.recall, self.reached);
        Measured::new(
            reached,
            self.cost,
            masked.map(|masked| masked.cost),
            queries,
        )
    }
}

impl Clusters {
    /// The clusters that queries want together.
    pub(super) fn wanted(
        &self,
        sample: &Sample,
        units: &Vectors,
        as_query: &AsQuery,
    ) -> Result<Wanted, Error> {
        let count = self.members.len();
        let most = RANKS.min(count);
        let mut homes = vec![Vec::new(); units.len()];
        for (cluster, members) in (0..).zip(&self.members) {
            let rows = members.rows.iter();
            rows.for_each(|&row| homes[row as usize].push(cluster));
        }
        let queries = self.mean.centred_all(sample.queries())?;
        let orders = cluster::nearest(&queries, &self.directions, most, &mut || ());
        let mut gains = vec![0.0f32; most];
        for (at, order) in orders.iter().enumerate() {
            let mut ranks = vec![usize::MAX; count];
            for (rank, (cluster, _)) in order.iter().enumerate() {
                ranks[*cluster as usize] = rank;
            }
            for row in sample.truth(at) {
                let homes: &[u32] = &homes[row as usize];
                let first = homes.iter().map(|&home| ranks[home as usize]).min();
                if let Some(gain) = first.and_then(|rank| gains.get_mut(rank)) {
                    *gain += 1.0;
                }
            }
        }
        // Gains fall: one rank above the one before it is chance.
        for rank in (1..most).rev() {
            gains[rank - 1] = gains[rank - 1].max(gains[rank]);
        }
        let step = units.len().div_ceil(ORDERS);
        let rows = (0..units.len()).step_by(step);
        let rows = rows.flat_map(|row| self.mean.centred(&as_query.of(units.row(row))));
        let rows = Vectors::new(units.dim(), rows.collect())?;
        let orders = cluster::nearest(&rows, &self.directions, most, &mut || ());
        Ok(Wanted::new(count, &orders, &gains))
    }

    /// Mean recall of the sample where its queries are answered from the best cluster of each group.
    pub(super) fn recall(&self, sample: &Sample, order: &[u32], grid: &Grid) -> f64 {
        let scores = Scores::new(self.directions.dim());
        sample.recall(|query| {
            let near: Vec<f32> = {
                let centred = self.mean.centred(query);
                let rows = self.directions.rows();
                rows.map(|row| sordino_vectors::dot(row, &centred))
                    .collect()
            };
            let groups = order.chunks_exact(grid.clusters as usize);
            let chosen = groups.filter_map(|group| {
                let score = |cluster: &&u32| near[**cluster as usize];
                // The first of equal ones, as a client's route chooses.
                let group = group.iter().rev();
                group.max_by(|a, b| score(a).total_cmp(&score(b)))
            });
            let mut found = Vec::with_capacity(grid.scores());
            for &cluster in chosen {
                let cluster = cluster as usize;
                let asked = SplitQuery::new(self.route.base(cluster), query);
                let codes: Vec<i16> = asked.codes().collect();
                let members = self.members[cluster].all();
                let stored = self.codes[cluster].chunks_exact(codes.len());
                found.extend(members.zip(stored).map(|((id, parts), stored)| {
                    let product = stored.iter().zip(&codes);
                    let product = product.map(|(&a, &b)| i32::from(a) * i32::from(b)).sum();
                    let score = asked.score(parts, scores.of(product));
                    Scored { id, score }
                }));
            }
            found
        })
    }
}

impl Grouping {
    /// The grids of as many clusters in more and more groups, each with the packing that a plan would take for it, and the bytes that a
    /// client transfers. A packing of longer blocks takes a few places more, which are nobody's.
    fn regrouped(&self, n: usize, dim: usize, queries: u64) -> impl Iterator<Item = (Grid, Cost)> {
        let all = self.grid.all_clusters();
        // Far fewer than predicted are not tried.
        let least = self.grid.groups / 8;
        let tried = divisors(all).filter(move |&groups| groups >= least as usize);
        tried.filter_map(move |groups| {
            let packed = SecretPacking::ALL.into_iter().filter_map(|packing| {
                let slots = Grid::slots_from(self.grid.slots as usize, packing)?;
                let grid = Grid {
                    groups: u32_of(groups),
                    clusters: u32_of(all.div_ceil(groups)),
                    slots: u32::try_from(slots).ok()?,
                    packing,
                };
                let possible = u32::try_from(grid.all_stored()).is_ok() && grid.shape(dim).is_ok();
                let (cost, once) = routed_cost(&grid, n, dim).filter(|_| possible)?;
                Some((grid, cost, once))
            });
            let (grid, cost, _) = best_cut(packed, queries)?;
            Some((grid, cost))
        })
    }
}
