//! The number of buckets that a search must read, measured by the builder on the owner's own vectors.
//!
//! The number goes into the manifest and is the same for every query. A sample of the vectors
//! serves as queries, each with itself left out of its truth and of its answer.

use std::cmp::Ordering;

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

    /// The scores of the nearest of query number `at`.
    fn nearest(&self, at: usize) -> Nearest<'_> {
        let (query, truth) = (self.queries.row(at), self.truth(at));
        let score = |id: &u32| dot(self.data.row(*id as usize), query);
        let mut nearest = Nearest {
            data: self.data,
            query,
            count: truth.len(),
            nearer: 0,
            last: truth.last().map_or(1.0, score),
        };
        let nearer = truth.iter().filter(|&&id| nearest.beside_last(id).is_gt());
        nearest.nearer = nearer.count();
        nearest
    }

    /// A record with its exact score for a query.
    pub(crate) fn scored(&self, id: u32, query: &[f32]) -> Scored {
        let score = dot(self.data.row(id as usize), query);
        Scored { id, score }
    }

    /// Mean recall@k of the best of what is found for each query, in which copies may be: what is among the candidates
    /// of a second look is found.
    pub(crate) fn recall(&self, find: impl Fn(&[f32]) -> Vec<Scored> + Sync) -> f64 {
        let hits = (0..self.rows.len()).into_par_iter().map(|at| {
            let itself = u32_of(self.rows[at]);
            let mut best = Best::new(self.kept, self.nearest(at));
            let found = find(self.queries.row(at)).into_iter();
            found
                .filter(|hit| hit.id != itself)
                .for_each(|hit| best.offer(hit));
            best.share()
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
            let itself = u32_of(self.rows[at]);
            let query: Vec<i16> = scan::fixed(self.queries.row(at)).collect();
            let mut best = Best::new(self.k, self.nearest(at));
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
                best.share()
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

/// The nearest records of a query by their scores, for of equal vectors one is as good as another.
struct Nearest<'a> {
    data: &'a Vectors,
    query: &'a [f32],
    /// The nearest, as many as are wanted.
    count: usize,
    /// Those of them that are nearer than the last.
    nearer: usize,
    /// The score of the last.
    last: f32,
}

impl Nearest<'_> {
    /// The order of a record's score and that of the last of the nearest: equal ones may stand for each other.
    fn beside_last(&self, id: u32) -> Ordering {
        let score = dot(self.data.row(id as usize), self.query);
        if (score - self.last).abs() <= SAME {
            return Ordering::Equal;
        }
        score.total_cmp(&self.last)
    }

    /// The part of them that was found, by the orders of what was found: equal ones count in the places that the nearer
    /// leave. All of none are found.
    fn share(&self, found: impl Iterator<Item = Ordering> + Clone) -> f64 {
        let so_many = |order| found.clone().filter(|found| *found == order).count();
        let equal = so_many(Ordering::Equal).min(self.count - self.nearer);
        match self.count {
            0 => 1.0,
            count => (so_many(Ordering::Greater) + equal) as f64 / count as f64,
        }
    }
}

/// The best `k` different records so far, best first, each with its order beside the last of the nearest.
struct Best<'a> {
    k: usize,
    nearest: Nearest<'a>,
    kept: Vec<(Scored, Ordering)>,
}

impl<'a> Best<'a> {
    fn new(k: usize, nearest: Nearest<'a>) -> Self {
        Self {
            k,
            nearest,
            kept: Vec::with_capacity(k + 1),
        }
    }

    /// The part of the nearest that is here.
    fn share(&self) -> f64 {
        self.nearest
            .share(self.kept.iter().map(|(_, order)| *order))
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
        let order = match same {
            Some(same) if Scored::rank(&new, &self.kept[same].0).is_ge() => return,
            Some(same) => self.kept.remove(same).1,
            None => self.nearest.beside_last(new.id),
        };
        let at = self
            .kept
            .partition_point(|(hit, _)| Scored::rank(hit, &new).is_lt());
        self.kept.insert(at, (new, order));
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
    fn copies_of_the_last_neighbour_do_not_stand_for_nearer_ones() {
        // The query, nine at small angles to it, and fifty copies of one at a large angle.
        let angles = (0..10u8).map(f32::from).chain([50.0; 50]);
        let rows =
            angles.flat_map(|degrees| [degrees.to_radians().cos(), degrees.to_radians().sin()]);
        let data = Vectors::new(2, rows.collect()).unwrap();
        let space = Space::new(Metric::Cosine, None, &data);
        let as_query = AsQuery::new(space, [0; 32], 2);
        let sample = |candidates| Sample::new(&data, &as_query, 1, 10).with_candidates(candidates);
        let found = |query: &[f32], ids: std::ops::Range<u32>| -> Vec<Scored> {
            let scored = |id| Scored {
                id,
                score: dot(data.row(id as usize), query),
            };
            ids.map(scored).collect()
        };
        for candidates in [None, Some(32)] {
            for (first, recall) in [(10, 0.1), (9, 0.2), (4, 0.7), (1, 1.0), (0, 1.0)] {
                let measured = sample(candidates).recall(|query| found(query, first..60));
                assert!((measured - recall).abs() < 1e-9, "{first}: {measured}");
            }
            let nearer = sample(candidates).recall(|query| found(query, 1..10));
            assert!((nearer - 0.9).abs() < 1e-9, "{nearer}");
        }
        // The copies in a bucket that is probed first.
        let opened = [10..60, 0..10].map(|rows| {
            let mut opened = Opened::default();
            rows.for_each(|row| opened.push(row, data.row(row as usize)));
            opened
        });
        let centroids = Vectors::new(2, vec![1.0, 0.0, 0.0, 1.0]).unwrap();
        let sample = sample(None);
        let curve = sample.curve(sample.queries(), &centroids, &opened, 2, &mut || ());
        assert!(
            (curve[0] - 0.1).abs() < 1e-9 && curve[1] > 1.0 - 1e-9,
            "{curve:?}"
        );
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
