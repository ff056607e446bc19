//! The ways to cut a routed index, and what each costs.

use sordino_index::manifest::{Grid, SecretPacking};
use sordino_index::wire::{message_len, request_len};
use sordino_vectors::u32_of;

use super::{Cost, Wish};
use crate::probe::MARGIN;

/// A cut of a routed index, and the bytes that a client of it transfers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Grouping {
    /// Clusters in groups. The number of groups is predicted; the builder measures it.
    pub grid: Grid,
    /// The bytes that a client transfers.
    pub cost: Cost,
}

/// Places per vector: every vector has one, second copies fill the rest. Twice as many places find 2 points more in as
/// many clusters, but each is then as much longer.
const PLACES: f64 = 1.3;

/// Numbers of clusters that are tried, of those that are worth it: three times a power of two, so that numbers of groups
/// that divide them lie close together. Of fewer than 96 no recall was measured.
fn counts(most: usize) -> impl Iterator<Item = usize> {
    let all = [1, 2].into_iter().chain((0..=12).map(|log| 3 << log));
    all.filter(move |&clusters| clusters <= most && clusters >= most.div_ceil(2).min(96))
}

/// The numbers of groups of one size that so many clusters make, fewest first.
pub(crate) fn divisors(clusters: usize) -> impl Iterator<Item = usize> {
    (1..=clusters).filter(move |&groups| clusters.is_multiple_of(groups))
}

/// Vectors of a cluster, at least: a cluster of fewer is filled with empty places.
const LEAST: usize = 24;

impl Grouping {
    /// The cut that moves the fewest bytes in as many queries as are wished for.
    pub(crate) fn cheapest(n: usize, width: usize, wish: &Wish) -> Option<Self> {
        let most = (n / LEAST).max(1);
        let ways = counts(most).flat_map(|c| SecretPacking::ALL.map(|packing| (c, packing)));
        let cuts = ways.filter_map(|(clusters, packing)| {
            let grid = grid(n, width, clusters, packing, wish.recall)?;
            let cost = cost(&grid, n, width)?;
            Some(Self { grid, cost })
        });
        cuts.min_by_key(|cut| cut.cost.total(wish.queries))
    }
}

impl Grouping {
    /// The polynomials of an encrypted secret, and the blocks of its products with the hint.
    pub(super) fn secret_work(&self) -> (usize, usize) {
        let params = self.grid.packing.params();
        let blocks = self.grid.scores().div_ceil(params.block_vectors());
        (Grid::params().n().div_ceil(params.t()), blocks)
    }
}

/// So many clusters in as many groups as are predicted, but not so few that a group is too wide.
fn grid(
    n: usize,
    width: usize,
    clusters: usize,
    packing: SecretPacking,
    recall: f64,
) -> Option<Grid> {
    let block = packing.params().block_vectors();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a number of places"
    )]
    let slots = ((n as f64 * PLACES / clusters as f64).ceil() as usize).next_multiple_of(block);
    let slots = u32::try_from(slots).ok()?;
    let least = predicted_groups(clusters, recall);
    let grids = divisors(clusters).map(|groups| Grid {
        groups: u32_of(groups),
        clusters: u32_of(clusters.div_ceil(groups)),
        slots,
        packing,
    });
    let mut possible = grids.filter(|grid| {
        let placed = u32::try_from(grid.places()).is_ok();
        placed && grid.shape(width).is_ok() && grid.groups as usize >= least
    });
    possible.next()
}

/// Groups for a recall. The share that is missed, measured on 100,000 image descriptors with 1.3 places
/// a vector, grouped greedily: .071, .024, .004 of 128 clusters in 8, 16, 32 groups, .117, .047, .017 of 256,
/// .167, .093, .037 of 512; so `.047 (C / 256)^.95 (16 / G)^1.4`.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a small number of groups"
)]
fn predicted_groups(clusters: usize, recall: f64) -> usize {
    let missed = (1.0 - recall - MARGIN).max(1e-3);
    let at_16 = 0.047 * (clusters as f64 / 256.0).powf(0.95);
    let groups = 16.0 * (at_16 / missed).powf(1.0 / 1.4);
    (groups.ceil() as usize).clamp(1, clusters)
}

/// The bytes that a client of an index so cut transfers, nothing being added to it.
pub(super) fn cost(grid: &Grid, n: usize, width: usize) -> Option<Cost> {
    let len = |body: usize| message_len(body) as u64;
    let hint = grid.groups as usize * grid.group_hint_len().ok()?;
    let places = grid.members_len(u32_of(n));
    Some(Cost {
        once: len(hint + grid.route_len(width) + places),
        up: request_len(grid.query_len(width).ok()?) as u64,
        down: len(grid.reply_len().ok()?),
    })
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
            let predicted = predicted_groups(clusters, recall - MARGIN);
            let near = groups * 3 / 4..=groups * 4 / 3;
            assert!(
                near.contains(&predicted),
                "{clusters} {recall}: {predicted}"
            );
        }
        assert_eq!(predicted_groups(1, 0.99), 1);
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
}
