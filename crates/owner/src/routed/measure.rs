//! The number of clusters that a search must score, measured with some of the vectors as queries.

use sordino_index::Error;
use sordino_index::columns;
use sordino_index::manifest::{Checking, Grid, SecretPacking};
use sordino_vault::residual::{Scores, SplitQuery};
use sordino_vectors::Vectors;
use sordino_vectors::recall::Scored;
use sordino_vectors::u32_of;

use super::Clusters;
use super::noise::Noise;
use crate::cluster::{self, Points};
use crate::groups::Demand;
use crate::lifted::Lifted;
use crate::lists::Lists;
use crate::measurement::Measurement;
use crate::plan::{Cost, Grouping, Wish, best_cut, cheapest_scoring, divisors, routed_cost};
use crate::probe::Sample;
use crate::sample_recall::{SampleRecall, first_enough};
use crate::step::Step;

/// The number of vectors whose orders of clusters show which clusters are wanted together.
const ORDERS: usize = 8192;

/// The number of clusters at the front of each order that are considered.
const RANKS: usize = 96;

/// The groups of clusters, and the recall that they reach.
pub(super) struct Chosen {
    pub(super) grid: Grid,
    /// The clusters, group after group.
    pub(super) order: Vec<u32>,
    recall: SampleRecall,
    cost: Cost,
}

impl Chosen {
    /// The smallest number of groups that is enough for the requested recall. If no number is enough, it is the smallest number
    /// beyond which almost no more records are found. With this number, clients stay within the plan's limits.
    pub(super) fn measured(
        clusters: &Clusters,
        wanted: &Demand,
        sample: &Sample,
        planned: &Grouping,
        wish: &Wish,
        progress: &mut dyn FnMut(Step),
    ) -> Result<Self, Error> {
        let enough = |tried: &Self| tried.recall.is_enough(wish.recall);
        let mut tried: Vec<Self> = Vec::new();
        for (grid, cost) in planned.regrouped(clusters.n, clusters.directions.dim(), wish.queries) {
            let affordable = tried.is_empty() || planned.most.allows(&cost, wish.queries);
            if !affordable
                || tried.last().is_some_and(enough)
                || clusters.no_use(sample, &tried, wish.recall)
            {
                break;
            }
            progress(Step::Probe);
            let order = wanted.dealt(grid.groups as usize);
            let recall = clusters.recall(sample, &order, &grid);
            tried.push(Self {
                grid,
                order,
                recall,
                cost,
            });
        }
        let recalls: Vec<SampleRecall> = tried.iter().map(|tried| tried.recall).collect();
        let chosen = tried.into_iter().nth(first_enough(&recalls, wish.recall));
        chosen.ok_or(Error::Recall(wish.recall))
    }

    /// The recall, and the mode that would serve clients of an index of `n` vectors better, if there is one.
    pub(super) fn result(&self, n: usize, dim: usize, wish: &Wish) -> Measurement {
        let queries = wish.queries;
        let masked = cheapest_scoring(n, dim, queries, columns::Rows::Masked, Checking::Sums);
        Measurement::new(
            &self.recall,
            wish.recall,
            self.cost,
            masked.map(|masked| masked.cost),
            queries,
        )
    }
}

impl Clusters {
    /// The clusters that queries want together.
    pub(super) fn wanted(&self, sample: &Sample, lifted: Lifted<'_>) -> Result<Demand, Error> {
        let count = self.members.len();
        let most = RANKS.min(count);
        let mut homes = vec![Vec::new(); lifted.len()];
        for (cluster, members) in (0..).zip(&self.members) {
            let rows = members.rows.iter();
            rows.for_each(|&row| homes[row as usize].push(cluster));
        }
        let queries = self.mean.centred_all(sample.queries())?;
        let orders = cluster::nearest(&queries, &self.directions, most, &mut || ());
        let mut gains = vec![0.0f32; most];
        for (truth, order) in sample.truths().zip(orders.iter()) {
            let mut ranks = vec![usize::MAX; count];
            for (rank, (cluster, _)) in order.iter().enumerate() {
                ranks[*cluster as usize] = rank;
            }
            for row in truth {
                let homes: &[u32] = &homes[row as usize];
                let first = homes.iter().map(|&home| ranks[home as usize]).min();
                if let Some(gain) = first.and_then(|rank| gains.get_mut(rank)) {
                    *gain += 1.0;
                }
            }
        }
        // Gains fall with the rank. A gain that is above the gain before it is due to chance.
        for rank in (1..most).rev() {
            gains[rank - 1] = gains[rank - 1].max(gains[rank]);
        }
        let Lifted { rows, frame } = lifted;
        let step = lifted.len().div_ceil(ORDERS);
        let asked = (0..lifted.len()).step_by(step).filter_map(|row| {
            let y = frame.whole(rows.marks[row].base, rows.vectors.row(row));
            Some(self.mean.centred(frame.ask_for(&y)?.lifted()))
        });
        let asked: Vec<f32> = asked.flatten().collect();
        let orders = match asked.is_empty() {
            true => Lists::default(),
            false => {
                let asked = Vectors::new(lifted.dim(), asked)?;
                cluster::nearest(&asked, &self.directions, most, &mut || ())
            }
        };
        Ok(Demand::new(count, &orders, &gains))
    }

    /// True if adding groups after the last step is useless. Clients would pay for the bytes of a margin with every search.
    ///
    /// A small gain alone does not prove this, because each of many clusters may hold some neighbours. So the records of the
    /// last step's clusters are searched exactly, which takes about as long as the measurement before it.
    fn no_use(&self, sample: &Sample, tried: &[Chosen], wish: f64) -> bool {
        let [.., before, last] = tried else {
            return false;
        };
        let seen = || self.seen(sample, last);
        last.recall.is_all(&before.recall, wish, seen)
    }

    /// Mean recall of the sample if the records of the best clusters are searched exactly.
    fn seen(&self, sample: &Sample, tried: &Chosen) -> SampleRecall {
        sample.recall(|query| {
            let best = self
                .best(query.asked.lifted(), &tried.order, &tried.grid)
                .into_iter();
            let rows = best.flat_map(|cluster| &self.members[cluster].rows);
            rows.map(|&row| sample.scored(row, query)).collect()
        })
    }

    /// The best cluster of each group for a query.
    fn best(&self, query: &[f32], order: &[u32], grid: &Grid) -> Vec<usize> {
        let centred = self.mean.centred(query);
        let directions = self.directions.rows();
        let near = directions.map(|row| sordino_vectors::dot(row, &centred));
        let near: Vec<f32> = near.collect();
        let groups = order.chunks_exact(grid.clusters as usize);
        let best = groups.filter_map(|group| {
            let score = |cluster: &&u32| near[**cluster as usize];
            // If clusters are equally near, this takes the first, like a client's route.
            let group = group.iter().rev();
            group.max_by(|a, b| score(a).total_cmp(&score(b)))
        });
        best.map(|&cluster| cluster as usize).collect()
    }

    /// Mean recall of the sample if its queries are answered from the best cluster of each group. It includes the effects of
    /// codes and of the noise of encrypted scores.
    pub(super) fn recall(&self, sample: &Sample, order: &[u32], grid: &Grid) -> SampleRecall {
        let dim = self.directions.dim();
        let scores = Scores::new(dim);
        sample.recall(|query| {
            let (asked, query) = (&query.asked, query.asked.lifted());
            let noise = Noise::new(query, grid, dim);
            let mut found = Vec::with_capacity(grid.scores());
            for cluster in self.best(query, order, grid) {
                let split = SplitQuery::new(self.route.base(cluster), query);
                let codes: Vec<i16> = split.codes().collect();
                let members = self.members[cluster].all().enumerate();
                let stored = self.codes[cluster].chunks_exact(codes.len());
                found.extend(members.zip(stored).map(|((place, (id, parts)), stored)| {
                    let product = stored.iter().zip(&codes);
                    let product = product.map(|(&a, &b)| i32::from(a) * i32::from(b));
                    let product = product.sum::<i32>() + noise.at(cluster, place);
                    let score = split.score(parts, scores.of(product));
                    let score = asked.key_of_lifted(score);
                    Scored { id, score }
                }));
            }
            found
        })
    }
}

impl Grouping {
    /// The grids of the same number of clusters in more and more groups. Each has the packing that a plan would take for it, and
    /// comes with the bytes that a client transfers. A packing of longer blocks has a few more places, which stay empty.
    fn regrouped(&self, n: usize, dim: usize, queries: u64) -> impl Iterator<Item = (Grid, Cost)> {
        let all = self.grid.all_clusters();
        // Numbers far below the prediction are not tried.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Most;
    use crate::rows::Rows;
    use crate::trained_centroids::{Assignment, TrainedCentroids};
    use sordino_index::IdKind;
    use sordino_index::code;
    use sordino_vault::attributes::Attributes;
    use sordino_vault::frame::Frame;
    use sordino_vault::ids::Ids;
    use sordino_vectors::metric::Metric;
    use sordino_vectors::synthetic;

    const DIM: usize = 32;
    const CLUSTERS: usize = 384;

    fn grid(groups: usize, clusters: usize, places: usize) -> Grid {
        let packing = SecretPacking::T64;
        Grid {
            groups: u32_of(groups),
            clusters: u32_of(clusters),
            slots: u32_of(Grid::slots_from(places, packing).unwrap()),
            packing,
        }
    }

    /// Clusters around these points. `home` names the cluster of each vector.
    fn clusters(
        lifted: Lifted<'_>,
        grid: &Grid,
        points: &Vectors,
        home: impl Fn(usize) -> usize,
    ) -> Clusters {
        let mut codes = Vec::new();
        points.rows().for_each(|row| code::int8(row, &mut codes));
        let lists = (0..lifted.len()).map(|at| vec![(u32_of(home(at)), 1.0)]);
        let given = Assignment {
            mean: None,
            trained: TrainedCentroids::of_codes(DIM, codes).unwrap(),
            lists: lists.collect::<Vec<_>>().into(),
        };
        Clusters::given(lifted, grid, given, &mut |_| ()).unwrap()
    }

    /// Unit vectors as rows of a frame about the origin.
    fn framed(units: &Vectors) -> (Frame, Rows) {
        let frame = Frame::origin(Metric::Cosine, [0; 32], DIM);
        let ids: Vec<sordino_index::Id> = (0..units.len() as u64).map(Into::into).collect();
        let rows = Rows {
            ids: Ids::from_ascending(IdKind::Number, &ids).unwrap(),
            vectors: units.clone(),
            marks: vec![Default::default(); units.len()],
            attributes: Attributes::none(units.len()),
        };
        (frame, rows)
    }

    /// The chosen number of groups, its recall, and the count of the numbers that were tried. There are vectors around one
    /// point for each cluster, and one in `every` of them is in the cluster of another point.
    fn chosen(recall: f64, every: usize) -> (u32, f64, usize) {
        const EACH: usize = 24;
        let points = synthetic::uniform(CLUSTERS, DIM, 1);
        let away = synthetic::uniform(EACH * CLUSTERS, DIM, 2);
        let rows = away.rows().enumerate().flat_map(|(at, away)| {
            let both = points.row(at / EACH).iter().zip(away);
            both.map(|(point, away)| point + 0.6 * away)
        });
        let units = Vectors::new(DIM, rows.collect()).and_then(Vectors::normalised);
        let units = units.unwrap();
        let grid = grid(32, CLUSTERS / 32, 40);
        let (frame, rows) = framed(&units);
        let lifted = Lifted::new(&rows, &frame);
        let clusters = clusters(lifted, &grid, &points, |at| match at % every {
            0 => at * 7919 % CLUSTERS,
            _ => at / EACH,
        });
        let sample = Sample::new(lifted, 500, None, 10).unwrap();
        let wanted = clusters.wanted(&sample, lifted).unwrap();
        let (cost, once) = routed_cost(&grid, units.len(), DIM).unwrap();
        let most = Most {
            total: u64::MAX,
            once: u64::MAX,
        };
        let planned = Grouping {
            grid,
            cost,
            once,
            most,
        };
        let wish = Wish {
            recall,
            ..Wish::default()
        };
        let mut tried = 0;
        let mut progress = |_| tried += 1;
        let chosen =
            Chosen::measured(&clusters, &wanted, &sample, &planned, &wish, &mut progress).unwrap();
        let measured = chosen.recall.held_out;
        assert_eq!(chosen.recall.reaches(recall), measured >= recall);
        (chosen.grid.groups, measured, tried)
    }

    /// Each step from 4 to 6, 8, 12 and 16 groups adds less than 0.002 to the recall. From 16 to 192 groups, the recall
    /// rises by 0.047.
    #[test]
    fn groups_are_added_while_neighbours_lie_in_others() {
        let (groups, recall, _) = chosen(0.92, 10);
        assert!(recall >= 0.92 && groups > 64, "{groups}: {recall}");
        // If all near clusters were scored, adding groups would gain nothing.
        let (groups, recall, tried) = chosen(0.999, usize::MAX);
        assert!(recall > 0.98 && groups < 8, "{groups}: {recall}");
        assert!(tried < 4, "{tried}");
    }

    /// In a group of many columns, a search finds fewer records of the same cluster.
    #[test]
    fn recall_is_measured_under_the_noise_of_encrypted_scores() {
        const COLUMNS: usize = 8192 / DIM;
        let units = synthetic::uniform(2000, DIM, 3);
        let one = grid(1, 1, units.len());
        let point = Vectors::new(DIM, units.row(0).to_vec()).unwrap();
        let (frame, rows) = framed(&units);
        let lifted = Lifted::new(&rows, &frame);
        let clusters = clusters(lifted, &one, &point, |_| 0);
        let sample = Sample::new(lifted, 500, None, 10).unwrap();
        let narrow = clusters.recall(&sample, &[0], &one).held_out;
        let wide = clusters.recall(&sample, &[0; COLUMNS], &grid(1, COLUMNS, units.len()));
        let wide = wide.held_out;
        assert!((0.001..0.02).contains(&(narrow - wide)), "{narrow} {wide}");
        assert!(narrow > 0.97, "{narrow}");
    }
}
