//! Deals clusters into groups. It puts clusters that the same query wants into different groups.
//!
//! A search of routed mode reads the best cluster of each group. So if it wants two clusters of one group, it loses the
//! second. Sample queries show the size of the loss. The `j`th cluster in a query's order holds, on average, some of
//! its nearest vectors that no earlier cluster holds. Their number is the weight of a pair whose second cluster is
//! `j`th, summed over many queries. The deal makes the sum of weights inside groups small.

use crate::lists::Lists;

/// The weight of each pair of clusters.
pub(crate) struct Demand {
    clusters: usize,
    weights: Vec<f32>,
}

impl Demand {
    /// Computes the weights from the orders of clusters for some queries, best first. `gains[j]` is the share of a
    /// query's nearest vectors that it finds first in its `j`th cluster.
    pub(crate) fn new(clusters: usize, orders: &Lists, gains: &[f32]) -> Self {
        let mut weights = vec![0.0; clusters * clusters];
        for order in orders.iter() {
            for (j, (second, _)) in order.iter().enumerate().take(gains.len()) {
                for (first, _) in &order[..j] {
                    weights[*first as usize * clusters + *second as usize] += gains[j];
                    weights[*second as usize * clusters + *first as usize] += gains[j];
                }
            }
        }
        Self { clusters, weights }
    }

    fn row(&self, cluster: usize) -> &[f32] {
        &self.weights[cluster * self.clusters..][..self.clusters]
    }

    /// The clusters of each of `groups` groups of the same size, group after group.
    ///
    /// # Panics
    /// Panics if the groups cannot have the same size.
    pub(crate) fn dealt(&self, groups: usize) -> Vec<u32> {
        assert!(self.clusters.is_multiple_of(groups), "groups of one size");
        let mut deal = Deal::new(self, groups);
        // Usually fewer than ten rounds change anything. The limit is for ties in floating point.
        for _ in 0..32 {
            if !deal.swap_all() {
                break;
            }
        }
        let mut order: Vec<usize> = (0..self.clusters).collect();
        order.sort_by_key(|&cluster| deal.group[cluster]);
        order.into_iter().map(sordino_vectors::u32_of).collect()
    }
}

/// A deal that is being improved.
struct Deal<'a> {
    wanted: &'a Demand,
    groups: usize,
    group: Vec<usize>,
    /// For each cluster, the sum of the weights of its pairs with the clusters of each group.
    sums: Vec<f32>,
}

impl<'a> Deal<'a> {
    /// Assigns each cluster to a group with a free place, and begins with the most wanted cluster. Each cluster goes to
    /// the group to which it adds the smallest weight.
    fn new(wanted: &'a Demand, groups: usize) -> Self {
        let clusters = wanted.clusters;
        let mut deal = Self {
            wanted,
            groups,
            group: vec![0; clusters],
            sums: vec![0.0; clusters * groups],
        };
        let all: Vec<f32> = (0..clusters).map(|c| wanted.row(c).iter().sum()).collect();
        let mut order: Vec<usize> = (0..clusters).collect();
        order.sort_by(|&a, &b| all[b].total_cmp(&all[a]).then(a.cmp(&b)));
        let (mut sizes, most) = (vec![0; groups], clusters.div_ceil(groups));
        for cluster in order {
            let open = (0..groups).filter(|&group| sizes[group] < most);
            let weight = |group: &usize| deal.sums[cluster * groups + group];
            let best = open.min_by(|a, b| {
                let sizes = sizes[*a].cmp(&sizes[*b]);
                weight(a).total_cmp(&weight(b)).then(sizes)
            });
            let best = best.expect("a group has room while a cluster has none");
            sizes[best] += 1;
            deal.group[cluster] = best;
            deal.add(cluster, best, 1.0);
        }
        deal
    }

    /// Adds a cluster to a group's sums, or subtracts it.
    fn add(&mut self, cluster: usize, group: usize, sign: f32) {
        for (other, weight) in self.wanted.row(cluster).iter().enumerate() {
            self.sums[other * self.groups + group] += sign * weight;
        }
    }

    /// Swaps every pair of clusters whose exchange reduces the weight. Returns false if there was no such pair.
    fn swap_all(&mut self) -> bool {
        let mut better = false;
        for a in 0..self.wanted.clusters {
            for b in 0..a {
                let (from, to) = (self.group[a], self.group[b]);
                let sum = |cluster: usize, group: usize| self.sums[cluster * self.groups + group];
                let now = sum(a, from) + sum(b, to);
                let then = sum(a, to) + sum(b, from) - 2.0 * self.wanted.row(a)[b];
                if from == to || then >= now - 1e-3 - 1e-5 * now {
                    continue;
                }
                better = true;
                (self.group[a], self.group[b]) = (to, from);
                for (cluster, old, new) in [(a, from, to), (b, to, from)] {
                    self.add(cluster, old, -1.0);
                    self.add(cluster, new, 1.0);
                }
            }
        }
        better
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wanted_together_is_dealt_apart() {
        // Queries around a ring of 24 clusters want each cluster and the five after it.
        let orders: Vec<Vec<(u32, f32)>> = (0..24u32)
            .map(|first| (0..6).map(|at| ((first + at) % 24, 0.0)).collect())
            .collect();
        let wanted = Demand::new(24, &orders.into(), &[1.0; 6]);
        let dealt = wanted.dealt(6);
        let mut all = dealt.clone();
        all.sort_unstable();
        assert!(all.into_iter().eq(0..24));
        for group in dealt.chunks(4) {
            for (at, a) in group.iter().enumerate() {
                for b in &group[..at] {
                    let apart = a.abs_diff(*b).min(24 - a.abs_diff(*b));
                    assert!(apart >= 6, "{dealt:?}");
                }
            }
        }
    }

    #[test]
    fn one_group_and_as_many_as_clusters_are_deals_too() {
        let wanted = Demand::new(5, &vec![vec![(1, 0.0), (2, 0.0)]].into(), &[0.5, 0.5]);
        for groups in [1, 5] {
            let mut dealt = wanted.dealt(groups);
            dealt.sort_unstable();
            assert_eq!(dealt, [0, 1, 2, 3, 4]);
        }
    }
}
