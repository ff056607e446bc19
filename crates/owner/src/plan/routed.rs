//! The ways to cut a routed index, and what each costs.

use sordino_index::code::Codec;
use sordino_index::columns::Rows;
use sordino_index::manifest::{Checking, Grid, SecretPacking};
use sordino_index::wire::{message_len, request_len};
use sordino_vectors::u32_of;

use super::{Cost, Wish, download_cost, scoring};
use crate::sample_recall::MARGIN;

/// A cut of a routed index, and the bytes that its clients transfer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Grouping {
    /// Clusters in groups. The number of groups is a prediction; the builder measures it.
    pub grid: Grid,
    /// The bytes that a client transfers.
    pub cost: Cost,
    /// The parts of the bytes that the client downloads once.
    pub once: Once,
    /// The limits that the builder respects when it adds groups.
    pub most: Most,
}

/// The bytes that a client of routed mode downloads once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Once {
    /// The hint. It has `19 t` bits for each score of a search, where `t` entries of an encrypted secret share one
    /// polynomial.
    pub hint: u64,
    /// The list of each cluster's records, and how their vectors are split. It takes about 3 bytes for each place.
    pub members: u64,
    /// The clusters' directions. They take a byte for each coordinate.
    pub centroids: u64,
}

/// The bytes above which another mode serves a client better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Most {
    /// Total bytes for the requested searches: four fifths of the bytes in masked mode.
    pub total: u64,
    /// The size in bytes of the initial download: no more than all vectors, which a client could search by itself.
    pub once: u64,
}

impl Most {
    /// The limits for an index of this size, but at least 1.5 times the predicted bytes. So an owner who uses routed
    /// mode where it does not pay still gets the planned recall.
    fn of(predicted: &Cost, n: usize, width: usize, queries: u64) -> Self {
        let half_more = |bytes: u64| bytes.saturating_add(bytes >> 1);
        let masked = scoring::cheapest(n, width, queries, Rows::Masked, Checking::Sums);
        let total = masked.map_or(u64::MAX, |masked| masked.cost.saving_a_fifth(queries));
        let predicted = half_more(predicted.total(queries));
        Self {
            total: total.max(predicted),
            once: download_cost(n, width, Codec::Int8).once.max(predicted),
        }
    }

    /// True if a client may transfer this number of bytes.
    pub(crate) fn allows(&self, cost: &Cost, queries: u64) -> bool {
        cost.total(queries) <= self.total && cost.once <= self.once
    }
}

/// The number of places per vector. Every vector has one place, and second copies fill the others. With twice the
/// places, the recall in the same number of clusters is 0.02 higher, but each cluster is then twice as long.
const PLACES: f64 = 1.3;

/// The numbers of clusters to try. They are three times a power of two, so that the numbers of groups that divide them
/// lie close together. Below 96 the recall was not measured.
fn counts(most: usize) -> impl Iterator<Item = usize> {
    let all = [1, 2].into_iter().chain((0..=12).map(|log| 3 << log));
    all.filter(move |&clusters| clusters <= most && clusters >= most.div_ceil(2).min(96))
}

/// The possible numbers of groups, if the clusters are divided into groups of one size. The smallest number comes first.
pub(crate) fn divisors(clusters: usize) -> impl Iterator<Item = usize> {
    (1..=clusters).filter(move |&groups| clusters.is_multiple_of(groups))
}

/// The smallest number of vectors of a cluster. A cluster with fewer would have empty places.
const LEAST: usize = 24;

impl Grouping {
    /// The cut with the smallest download. Only cuts count that transfer at most a twentieth more bytes than the
    /// cheapest cut, for the requested queries. The download decides because a client may stop before its last query.
    pub(crate) fn cheapest(n: usize, width: usize, wish: &Wish) -> Option<Self> {
        let (grid, cost, once) = best(cuts(n, width, wish, MISSED), wish.queries)?;
        let most = Most::of(&cost, n, width, wish.queries);
        Some(Self {
            grid,
            cost,
            once,
            most,
        })
    }

    /// Suppose that searches with this cut reach `recall`. Returns a cut with another number of clusters if it then
    /// transfers over a tenth fewer bytes. The limits on a client's bytes do not change.
    pub(crate) fn refitted(
        &self,
        n: usize,
        width: usize,
        wish: &Wish,
        recall: f64,
    ) -> Option<Self> {
        let clusters = self.grid.all_clusters();
        let missed = (1.0 - recall).max(LEAST_MISSED);
        let scale = missed / missed_part(clusters, self.grid.groups as usize);
        // The other number is at most twice and at least half of this one, because the curve is known only between the
        // measured numbers.
        let near = |grid: &Grid| {
            let other = grid.all_clusters();
            other <= 2 * clusters && clusters <= 2 * other
        };
        let cheapest = |like: &dyn Fn(&Grid) -> bool| {
            let cuts = cuts(n, width, wish, scale).filter(|(grid, _, _)| like(grid));
            best(cuts, wish.queries)
        };
        let total = |cost: &Cost| u128::from(cost.total(wish.queries));
        let (grid, cost, once) = cheapest(&near)?;
        let same = cheapest(&|grid| grid.all_clusters() == clusters);
        let saves = same.is_none_or(|(_, same, _)| 10 * total(&cost) < 9 * total(&same));
        (grid.all_clusters() != clusters && saves).then_some(Self {
            grid,
            cost,
            once,
            most: self.most,
        })
    }
}

/// The cut with the smallest download. Only cuts count that transfer at most a twentieth more bytes, in all queries,
/// than the cheapest cut.
pub(crate) fn best(
    cuts: impl Iterator<Item = (Grid, Cost, Once)>,
    queries: u64,
) -> Option<(Grid, Cost, Once)> {
    let cuts: Vec<_> = cuts.collect();
    let total = |cost: &Cost| cost.total(queries);
    let fewest = cuts.iter().map(|(_, cost, _)| total(cost)).min()?;
    let few = fewest.saturating_add(fewest.div_ceil(20));
    let near = cuts.into_iter().filter(|(_, cost, _)| total(cost) <= few);
    near.min_by_key(|(_, cost, _)| cost.once)
}

/// All cuts, each with the number of groups that is predicted for data in which 16 of 256 clusters miss this share.
fn cuts(
    n: usize,
    width: usize,
    wish: &Wish,
    missed: f64,
) -> impl Iterator<Item = (Grid, Cost, Once)> {
    let (recall, most) = (wish.recall, (n / LEAST).max(1));
    let ways = counts(most).flat_map(|c| SecretPacking::ALL.map(|packing| (c, packing)));
    ways.filter_map(move |(clusters, packing)| {
        let grid = grid(
            n,
            width,
            clusters,
            packing,
            predicted_groups(clusters, recall, missed),
        )?;
        let (cost, once) = cost(&grid, n, width)?;
        Some((grid, cost, once))
    })
}

impl Grouping {
    /// The polynomials of an encrypted secret, and the blocks of its products with the hint.
    pub(super) fn secret_work(&self) -> (usize, usize) {
        let params = self.grid.packing.params();
        let blocks = self.grid.scores().div_ceil(params.block_vectors());
        (Grid::params().n().div_ceil(params.t()), blocks)
    }
}

/// A grid of this number of clusters in at least `least` groups. There are enough groups that none of them is too wide.
fn grid(
    n: usize,
    width: usize,
    clusters: usize,
    packing: SecretPacking,
    least: usize,
) -> Option<Grid> {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a number of places"
    )]
    let places = (n as f64 * PLACES / clusters as f64).ceil() as usize;
    let slots = u32::try_from(Grid::slots_from(places, packing)?).ok()?;
    let grids = divisors(clusters).map(|groups| Grid {
        groups: u32_of(groups),
        clusters: u32_of(clusters.div_ceil(groups)),
        slots,
        packing,
    });
    let mut possible = grids.filter(|grid| {
        let placed = u32::try_from(grid.all_stored()).is_ok();
        placed && grid.shape(width).is_ok() && grid.groups as usize >= least
    });
    possible.next()
}

/// The share of neighbours that a search of 16 of 256 clusters misses. It was measured on 100,000 image descriptors
/// with 1.3 places for each vector, grouped greedily. The builder measures its own share.
const MISSED: f64 = 0.047;

/// The smallest share that a sample of a few hundred queries can distinguish from 0.
const LEAST_MISSED: f64 = 1e-3;

/// The missed share, relative to 256 clusters in 16 groups. It was measured like [`MISSED`], in 8, 16 and 32 groups. The
/// shares were 0.071, 0.024 and 0.004 for 128 clusters, 0.117, 0.047 and 0.017 for 256, and 0.167, 0.093 and 0.037 for
/// 512.
fn missed_part(clusters: usize, groups: usize) -> f64 {
    (clusters as f64 / 256.0).powf(0.95) * (16.0 / groups as f64).powf(1.4)
}

/// The number of groups for a recall, if 16 of 256 clusters miss this share of the neighbours.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a small number of groups"
)]
fn predicted_groups(clusters: usize, recall: f64, missed: f64) -> usize {
    let allowed = (1.0 - recall - MARGIN).max(LEAST_MISSED);
    let at_16 = missed * missed_part(clusters, 16);
    let groups = 16.0 * (at_16 / allowed).powf(1.0 / 1.4);
    (groups.ceil() as usize).clamp(1, clusters)
}

/// The bytes that a client of an index with this cut transfers, without additions.
pub(crate) fn cost(grid: &Grid, n: usize, width: usize) -> Option<(Cost, Once)> {
    let len = |body: usize| message_len(body) as u64;
    let hint = grid.groups as usize * grid.group_hint_len().ok()?;
    let (members, centroids) = (grid.members_len(u32_of(n)), grid.route_len(width));
    let once = Once {
        hint: hint as u64,
        members: members as u64,
        centroids: centroids as u64,
    };
    let cost = Cost {
        once: len(hint + members + centroids),
        up: request_len(grid.query_len(width).ok()?) as u64,
        down: len(grid.reply_len().ok()?),
    };
    Some((cost, once))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn predictions_follow_what_was_measured() {
        for (clusters, recall, groups) in [
            (128, 0.97, 16),
            (256, 0.945, 16),
            (256, 0.975, 32),
            (512, 0.955, 32),
        ] {
            let predicted = predicted_groups(clusters, recall - MARGIN, MISSED);
            let near = groups * 3 / 4..=groups * 4 / 3;
            assert!(
                near.contains(&predicted),
                "{clusters} {recall}: {predicted}"
            );
        }
        assert_eq!(predicted_groups(1, 0.99, MISSED), 1);
    }

    #[test]
    fn few_and_long_vectors_have_a_cut() {
        let wish = Wish::default();
        for (n, width) in [(1, 1), (5, 128), (1000, 8194), (100_000, 1536)] {
            let cut = Grouping::cheapest(n, width, &wish);
            assert_eq!(cut.is_some(), width <= 8192, "{n} x {width}");
            let Some(Grouping { grid, .. }) = cut else {
                continue;
            };
            assert!(grid.places() >= n && grid.all_clusters() <= n);
        }
    }

    /// A client joins the hints of groups, so each must end with a block.
    #[test]
    fn clusters_with_their_check_rows_are_whole_blocks() {
        let mut packings = Vec::new();
        for n in [
            1,
            77,
            6_000,
            20_000,
            100_000,
            1_000_000,
            3_000_000,
            10_000_000,
            100_000_000,
        ] {
            for (width, queries) in [(8, 1), (32, 10), (128, 1), (128, 10), (1536, 100)] {
                let wish = Wish {
                    queries,
                    ..Wish::default()
                };
                for (grid, _, _) in cuts(n, width, &wish, MISSED) {
                    assert!(grid.packs(grid.packing), "{n} x {width}: {grid:?}");
                    let one = grid.group_hint_len().unwrap();
                    let params = grid.packing.params();
                    let block = params.block_vectors();
                    assert_eq!(grid.stored() % block, 0);
                    let n = Grid::params().n();
                    let whole = sordino_ckks::column::Hint::encoded_len(&params, n, grid.scores());
                    // `head` is the length of a hint's head, which is left out of the sizes.
                    let head = sordino_ckks::column::Hint::encoded_len(&params, n, 0).unwrap();
                    assert_eq!(whole.unwrap() - head, grid.groups as usize * (one - head));
                    packings.push((grid.packing, grid.stored() / 64 % 2));
                }
            }
        }
        for packing in SecretPacking::ALL {
            assert!(packings.contains(&(packing, 0)), "{packing:?}");
        }
    }

    #[test]
    fn what_was_measured_decides_beside_what_was_predicted() {
        let wish = Wish::default();
        let planned = Grouping::cheapest(1_000_000, 128, &wish).unwrap();
        // The result equals the prediction, so nothing is planned again.
        let missed =
            MISSED * missed_part(planned.grid.all_clusters(), planned.grid.groups as usize);
        let again = |recall| planned.refitted(1_000_000, 128, &wish, recall);
        assert_eq!(again(1.0 - missed), None);
        // The result is far worse than predicted, so the plan takes another number of clusters, within the same limits.
        let worse = again(0.5).expect("another number of clusters");
        assert_ne!(worse.grid.all_clusters(), planned.grid.all_clusters());
        assert!(worse.cost.total(100) > planned.cost.total(100));
        assert_eq!(worse.most, planned.most);
    }

    #[test]
    fn groups_are_added_up_to_four_fifths_of_masked_mode() {
        let wish = Wish::default();
        let planned = Grouping::cheapest(1_000_000, 128, &wish).unwrap();
        let (rows, checking) = (Rows::Masked, Checking::Sums);
        let masked = scoring::cheapest(1_000_000, 128, 100, rows, checking).unwrap();
        let Most { total, once } = planned.most;
        assert!(total <= masked.cost.total(100) * 4 / 5 && total > masked.cost.total(100) * 3 / 4);
        assert!((130_000_000..136_000_000).contains(&once), "{once}");
        assert!(planned.most.allows(&planned.cost, 100));
        let all = Grid {
            groups: u32_of(planned.grid.all_clusters()),
            clusters: 1,
            ..planned.grid
        };
        let (cost, _) = cost(&all, 1_000_000, 128).unwrap();
        assert!(!planned.most.allows(&cost, 100));
        // If routed mode does not pay from the start, the limit is half more than predicted.
        let small = Grouping::cheapest(2000, 24, &wish).unwrap();
        assert!(small.most.total >= small.cost.total(100) * 3 / 2);
    }
}
