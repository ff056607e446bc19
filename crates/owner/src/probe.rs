//! The number of buckets that a search must read, measured by the builder on the owner's own vectors.
//!
//! The number goes into the manifest and is the same for every query. A sample of the vectors
//! serves as queries, each with itself left out of its truth and of its answer.

use rayon::prelude::*;
use sordino_index::opened::Opened;
use sordino_index::scan;
use sordino_vectors::metric::AsQuery;
use sordino_vectors::recall::{self, Scored, Truth};
use sordino_vectors::{Vectors, dot, u32_of};

/// Vectors that serve as queries to measure how many probes are needed.
pub(crate) const SAMPLE: usize = 500;

/// Added to the wanted recall when the number of probes is chosen. The standard error of
/// a sample of 500 is about .004, and vectors of the set itself are answered up to .007 better
/// than new ones (measured on image descriptors).
pub(crate) const MARGIN: f64 = 0.0075;

/// A recall that is higher by less is no better: so much is chance, and no reason to read more.
pub(crate) const GAIN: f64 = 0.002;

/// The measured recall that is enough for a wish.
pub(crate) fn target(recall: f64) -> f64 {
    (recall + MARGIN).min(1.0)
}

/// True if this recall was wished for: sums of tenths are off in their last bits.
pub(crate) fn reaches(recall: f64, wish: f64) -> bool {
    recall >= wish - 1e-9
}

/// The place of the first of these recalls that is enough for a wish. Each is that of a longer search than the one before.
///
/// Codes may be too short for the margin, however long a search is. Then it is the first that has the wish and is next to the
/// highest, and where none has the wish, the first that is next to the highest.
pub(crate) fn first_enough(recalls: &[f64], wish: f64) -> usize {
    let highest = recalls.iter().copied().fold(0.0, f64::max);
    let least = if reaches(highest, target(wish)) {
        target(wish)
    } else if reaches(highest, wish) {
        wish.max(highest - GAIN)
    } else {
        highest - GAIN
    };
    let first = recalls.iter().position(|recall| reaches(*recall, least));
    first.unwrap_or(0)
}

/// Two products of the same vectors in different orders of summation differ by less, far below what tells vectors apart.
const SAME: f32 = 1e-6;

/// Held-out queries.
#[derive(Debug)]
pub(crate) struct Sample<'a> {
    data: &'a Vectors,
    rows: Vec<usize>,
    queries: Vectors,
    /// The `k` nearest rows and one more, for the row itself is among them.
    truth: Truth,
    k: usize,
    /// Records that are kept of what is found: more than `k` where these are ranked exactly afterwards.
    kept: usize,
}

impl<'a> Sample<'a> {
    /// Every `len / count`-th vector, as it would be asked for.
    pub(crate) fn new(data: &'a Vectors, as_query: &AsQuery, count: usize, k: usize) -> Self {
        let count = count.min(data.len());
        let rows: Vec<usize> = (0..count).map(|i| i * data.len() / count).collect();
        let queries = rows
            .iter()
            .flat_map(|&row| as_query.of(data.row(row)))
            .collect();
        let queries = Vectors::new(data.dim(), queries).expect("as many coordinates as before");
        let truth = recall::exact(data, &queries, k + 1);
        Self {
            data,
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

    /// The records that it is right to find for query number `at`, and how many of them: all that are as near as the last of
    /// its nearest, for of equal vectors one is as good as another.
    fn right(&self, at: usize) -> (usize, impl Fn(u32) -> bool) {
        let (query, truth) = (self.queries.row(at), self.truth(at));
        let score = move |id: u32| dot(self.data.row(id as usize), query);
        let least = truth.last().map(|&id| score(id) - SAME);
        let right = move |id| least.is_some_and(|least| score(id) >= least);
        (truth.len(), right)
    }

    /// Mean recall@k of the best of what is found for each query, in which copies may be: what is among the candidates
    /// of a second look is found.
    pub(crate) fn recall(&self, find: impl Fn(&[f32]) -> Vec<Scored> + Sync) -> f64 {
        let hits = (0..self.rows.len()).into_par_iter().map(|at| {
            let (itself, (count, right)) = (u32_of(self.rows[at]), self.right(at));
            let mut best = Best::new(self.kept, right);
            let found = find(self.queries.row(at)).into_iter();
            found
                .filter(|hit| hit.id != itself)
                .for_each(|hit| best.offer(hit));
            best.share_of(count)
        });
        // In one order, whatever thread was the first.
        let hits: Vec<f64> = hits.collect();
        hits.iter().sum::<f64>() / self.rows.len() as f64
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
            let (itself, (count, right)) = (u32_of(self.rows[at]), self.right(at));
            let query: Vec<i16> = scan::fixed(self.queries.row(at)).collect();
            let mut best = Best::new(self.k, right);
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
                best.share_of(count)
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

/// The best `k` different records so far, best first, each with true if it is right to find it.
struct Best<F> {
    k: usize,
    right: F,
    kept: Vec<(Scored, bool)>,
}

impl<F: Fn(u32) -> bool> Best<F> {
    fn new(k: usize, right: F) -> Self {
        Self {
            k,
            right,
            kept: Vec::with_capacity(k + 1),
        }
    }

    /// The part of so many right ones that is here. All of none are.
    fn share_of(&self, count: usize) -> f64 {
        let found = self.kept.iter().filter(|(_, right)| *right).count();
        match count {
            0 => 1.0,
            count => found.min(count) as f64 / count as f64,
        }
    }

    fn offer(&mut self, new: Scored) {
        let full = self.kept.len() == self.k;
        if full
            && self
                .kept
                .last()
                .is_some_and(|(worst, _)| Scored::rank(&new, worst).is_ge())
        {
            return;
        }
        let same = self.kept.iter().position(|(hit, _)| hit.id == new.id);
        let right = match same {
            Some(same) if Scored::rank(&new, &self.kept[same].0).is_ge() => return,
            Some(same) => self.kept.remove(same).1,
            None => (self.right)(new.id),
        };
        let at = self
            .kept
            .partition_point(|(hit, _)| Scored::rank(hit, &new).is_lt());
        self.kept.insert(at, (new, right));
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

    #[test]
    fn any_copy_of_a_neighbour_is_as_good_as_another() {
        // Each of 100 vectors eight times; those that are found are the last of its copies, and the truth has the first.
        let (distinct, _) = synthetic::clustered(100, 1, 16, 3);
        let rows = distinct.rows().flat_map(|row| row.repeat(8)).collect();
        let data = Vectors::new(16, rows).unwrap();
        let space = Space::new(Metric::Cosine, None, &data);
        let sample = Sample::new(&data, &AsQuery::new(space, [0; 32], 16), 60, 3);
        let copies = |query: &[f32], of: std::ops::Range<u32>| -> Vec<Scored> {
            let at = distinct.rows().position(|row| row == query).unwrap();
            of.map(|copy| Scored {
                id: u32_of(at) * 8 + copy,
                score: 1.0,
            })
            .collect()
        };
        assert!(sample.recall(|query| copies(query, 4..8)) > 0.999);
        let one = sample.recall(|query| copies(query, 7..8));
        // Where the query is the last copy itself nothing is found.
        assert!((0.2..0.334).contains(&one), "{one}");
        let other = |query: &[f32]| {
            let at = distinct.rows().position(|row| row == query).unwrap();
            copies(distinct.row((at + 1) % 100), 0..8)
        };
        assert!(sample.recall(other) < 0.001);
    }

    #[test]
    fn no_more_is_read_for_what_codes_do_not_reach() {
        // The margin is reached, though not by all.
        assert_eq!(first_enough(&[0.5, 0.9575, 0.958, 0.97], 0.95), 1);
        assert_eq!(first_enough(&[0.9, 0.979, 0.9875, 0.9875], 0.98), 2);
        // The wish is reached without it, then with as much as there is; by the first alone that is near to that.
        let curve = [0.7, 0.979, 0.9805, 0.9845, 0.985, 0.9855, 0.9853];
        assert_eq!(first_enough(&curve, 0.98), 3);
        assert_eq!(first_enough(&curve, 0.985), 4);
        // The wish is out of reach.
        assert_eq!(first_enough(&curve, 0.995), 3);
        assert_eq!(first_enough(&curve, 0.999_999), 3);
        assert_eq!(first_enough(&[0.3], 0.95), 0);
    }

    #[test]
    fn of_one_record_all_others_are_found() {
        let data = synthetic::uniform(1, 8, 1);
        let space = Space::new(Metric::Cosine, None, &data);
        let sample = Sample::new(&data, &AsQuery::new(space, [0; 32], 8), 500, 1);
        assert!(sample.recall(|_| Vec::new()) > 0.999);
        assert!(target(0.993) <= 1.0 && target(0.9) > 0.9);
        let sum: f64 = (0..20).map(|at| if at % 2 == 0 { 0.9 } else { 1.0 }).sum();
        assert!(reaches(sum / 20.0, 0.95) && !reaches(0.949, 0.95));
    }
}
