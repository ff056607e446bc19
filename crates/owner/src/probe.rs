//! The number of buckets that a search must read, measured by the builder on the owner's own vectors.
//!
//! The number goes into the manifest and is the same for every query. A sample of the vectors
//! serves as queries, each with itself left out of its truth and of its answer.

use rayon::prelude::*;
use sordino_index::opened::Opened;
use sordino_index::scan;
use sordino_vectors::Vectors;
use sordino_vectors::metric::AsQuery;
use sordino_vectors::recall::{self, Scored, Truth};
use sordino_vectors::u32_of;

/// Vectors that serve as queries to measure how many probes are needed.
pub(crate) const SAMPLE: usize = 500;

/// Added to the wanted recall when the number of probes is chosen. The standard error of
/// a sample of 500 is about .004, and vectors of the set itself are answered up to .007 better
/// than new ones (measured on image descriptors).
pub(crate) const MARGIN: f64 = 0.0075;

/// Held-out queries.
#[derive(Debug)]
pub(crate) struct Sample {
    rows: Vec<usize>,
    queries: Vectors,
    /// The `k` nearest rows and one more, for the row itself is among them.
    truth: Truth,
    k: usize,
    /// Records that are kept of what is found: more than `k` where these are ranked exactly afterwards.
    kept: usize,
}

impl Sample {
    /// Every `len / count`-th vector, as it would be asked for.
    pub(crate) fn new(data: &Vectors, as_query: &AsQuery, count: usize, k: usize) -> Self {
        let count = count.min(data.len());
        let rows: Vec<usize> = (0..count).map(|i| i * data.len() / count).collect();
        let queries = rows
            .iter()
            .flat_map(|&row| as_query.of(data.row(row)))
            .collect();
        let queries = Vectors::new(data.dim(), queries).expect("as many coordinates as before");
        let truth = recall::exact(data, &queries, k + 1);
        Self {
            rows,
            queries,
            truth,
            k,
            kept: k,
        }
    }

    /// The same queries for searches that rank the best `candidates` exactly.
    pub(crate) fn with_candidates(self, candidates: Option<u32>) -> Self {
        let kept = candidates.map_or(self.k, |candidates| candidates as usize);
        Self { kept, ..self }
    }

    /// The queries.
    pub(crate) fn queries(&self) -> &Vectors {
        &self.queries
    }

    /// The nearest rows of query number `at`, itself left out.
    pub(crate) fn truth(&self, at: usize) -> Vec<u32> {
        let itself = u32_of(self.rows[at]);
        let others = self.truth.of(at).iter().copied();
        others.filter(|&id| id != itself).take(self.k).collect()
    }

    /// Mean recall@k of the best of what is found for each query, in which copies may be: what is among the candidates
    /// of a second look is found.
    pub(crate) fn recall(&self, find: impl Fn(&[f32]) -> Vec<Scored> + Sync) -> f64 {
        let hits = (0..self.rows.len()).into_par_iter().map(|at| {
            let (itself, truth) = (u32_of(self.rows[at]), self.truth(at));
            let mut best = Best::new(self.kept);
            let found = find(self.queries.row(at)).into_iter();
            found
                .filter(|hit| hit.id != itself)
                .for_each(|hit| best.offer(hit));
            best.share_of(&truth)
        });
        hits.sum::<f64>() / self.rows.len() as f64
    }

    /// Mean recall@k after 1, 2, ... `most` probes of `opened`, the buckets of `centroids`, in the
    /// order of the inner products of `routed`, the queries as a router has them.
    pub(crate) fn curve(
        &self,
        routed: &Vectors,
        centroids: &Vectors,
        opened: &[Opened],
        most: usize,
        pulse: &mut dyn FnMut(),
    ) -> Vec<f64> {
        let most = most.min(opened.len());
        let order = crate::cluster::nearest(routed, centroids, most, pulse);
        let hits = (0..self.rows.len()).into_par_iter().map(|at| {
            let (itself, truth) = (u32_of(self.rows[at]), self.truth(at));
            let query: Vec<i16> = scan::fixed(self.queries.row(at)).collect();
            let mut best = Best::new(self.k);
            let after = order[at].iter().map(|&(bucket, _)| {
                let bucket = &opened[bucket as usize];
                for (&id, product) in bucket.rows.iter().zip(bucket.products(&query)) {
                    if id != itself {
                        best.offer(Scored {
                            id,
                            score: scan::score(product),
                        });
                    }
                }
                best.share_of(&truth)
            });
            after.collect::<Vec<f64>>()
        });
        let mut mean = vec![0.0; most];
        for hits in hits.collect::<Vec<_>>() {
            mean.iter_mut()
                .zip(hits)
                .for_each(|(m, h)| *m += h / self.rows.len() as f64);
        }
        mean
    }
}

/// The best `k` different records so far, best first.
struct Best {
    k: usize,
    kept: Vec<Scored>,
}

impl Best {
    fn new(k: usize) -> Self {
        Self {
            k,
            kept: Vec::with_capacity(k + 1),
        }
    }

    /// The part of the true ones that is here.
    fn share_of(&self, truth: &[u32]) -> f64 {
        let found = self.kept.iter().filter(|hit| truth.contains(&hit.id));
        found.count() as f64 / truth.len().max(1) as f64
    }

    fn offer(&mut self, new: Scored) {
        let full = self.kept.len() == self.k;
        if full
            && self
                .kept
                .last()
                .is_some_and(|worst| Scored::rank(&new, worst).is_ge())
        {
            return;
        }
        if let Some(same) = self.kept.iter().position(|hit| hit.id == new.id) {
            if Scored::rank(&new, &self.kept[same]).is_ge() {
                return;
            }
            self.kept.remove(same);
        }
        let at = self
            .kept
            .partition_point(|hit| Scored::rank(hit, &new).is_lt());
        self.kept.insert(at, new);
        self.kept.truncate(self.k);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster;
    use sordino_vectors::metric::{Metric, Space};
    use sordino_vectors::synthetic;

    #[test]
    fn probing_everything_finds_everything_and_probing_more_finds_more() {
        let (data, _) = synthetic::clustered(2000, 1, 48, 2);
        let centroids = cluster::centroids(&data, 20, [1; 32], &mut || ());
        let lists = cluster::lists(&data, &centroids, &mut || ());
        let opened: Vec<Opened> = cluster::buckets(&data, &centroids, &lists, 200)
            .iter()
            .map(|rows| {
                let mut opened = Opened::default();
                rows.iter()
                    .for_each(|&row| opened.push(row, data.row(row as usize)));
                opened
            })
            .collect();
        let space = Space::new(Metric::Cosine, None, &data);
        let sample = Sample::new(&data, &AsQuery::new(space, [0; 32], 48), 100, 10);
        let curve = sample.curve(sample.queries(), &centroids, &opened, 20, &mut || ());
        assert_eq!(curve.len(), 20);
        assert!(curve[19] > 0.998, "{curve:?}");
        assert!(curve[0] > 0.3 && curve[0] < curve[4], "{curve:?}");
        assert!(curve.is_sorted_by(|a, b| *a <= b + 0.005), "{curve:?}");
    }
}
