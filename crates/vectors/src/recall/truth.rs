//! The true nearest rows of queries, and the share of them that a search found.

use std::path::Path;

use rayon::prelude::*;

use crate::metric::length;
use crate::{Error, Metric, Vectors};
use crate::{extension, npy, read, texmex};

/// The true nearest rows of each query, best first.
#[derive(Clone, Debug, PartialEq)]
pub struct Truth(Vec<Nearest>);

/// The nearest rows of one query.
#[derive(Clone, Debug, PartialEq)]
struct Nearest {
    /// Best first, including all rows that are as near as the last.
    rows: Vec<u32>,
    /// For each row, the number of nearer rows. Empty if it is not known which rows are equally near.
    nearer: Vec<usize>,
    /// The number of rows that were requested.
    k: usize,
}

/// The `k` rows of `base` that are nearest to each query, best first, in double precision. Rows that are equally near in double
/// precision count as equal: a search may find any of them.
///
/// This takes some nanoseconds for each coordinate of each row and query.
///
/// # Panics
/// Panics if the dimensions differ.
#[must_use]
pub fn nearest(metric: Metric, base: &Vectors, queries: &Vectors, k: usize) -> Truth {
    assert_eq!(
        base.dim(),
        queries.dim(),
        "base and queries differ in dimension"
    );
    // A zero vector has no direction, and stays zero.
    let scale = |row: &[f32]| match (metric, length(row)) {
        (Metric::Cosine, length) if length > 0.0 => 1.0 / length,
        _ => 1.0,
    };
    let scales: Vec<f64> = base.rows().map(scale).collect();
    let numbers: Vec<usize> = (0..queries.len()).collect();
    let all = numbers.into_par_iter().map(|at| {
        let scale = scale(queries.row(at));
        let query: Vec<f64> = queries
            .row(at)
            .iter()
            .map(|&x| f64::from(x) * scale)
            .collect();
        let rows = base.rows().zip(&scales);
        let near: Vec<f64> = match metric {
            Metric::InnerProduct => rows
                .map(|(row, _)| sum(&query, row, |q, x| q * x))
                .collect(),
            Metric::Cosine | Metric::Euclidean => rows
                .map(|(row, scale)| -sum(&query, row, |q, x| (q - scale * x).powi(2)))
                .collect(),
        };
        Nearest::of(&near, k, |near| rounding(metric, base.dim(), near))
    });
    Truth(all.collect())
}

/// A sum over coordinates, in several parts so that the compiler uses vector instructions.
fn sum(query: &[f64], row: &[f32], each: impl Fn(f64, f64) -> f64) -> f64 {
    let (q, q_rest) = query.as_chunks::<8>();
    let (x, x_rest) = row.as_chunks::<8>();
    let mut sums = [0.0; 8];
    for (q, x) in q.iter().zip(x) {
        for lane in 0..8 {
            sums[lane] += each(q[lane], f64::from(x[lane]));
        }
    }
    let rest = q_rest.iter().zip(x_rest);
    sums.iter().sum::<f64>() + rest.map(|(&q, &x)| each(q, f64::from(x))).sum::<f64>()
}

/// A bound of the rounding error of a nearness in double precision. If two values differ by less, their order is unknown. The
/// cosine is computed from unit vectors, each of which has an error of some units in the last place.
fn rounding(metric: Metric, dim: usize, near: f64) -> f64 {
    let sum = dim as f64 * near.abs();
    f64::EPSILON
        * match metric {
            Metric::InnerProduct | Metric::Euclidean => sum,
            Metric::Cosine => sum + 16.0 * (near.abs().sqrt() + f64::EPSILON),
        }
}

impl Nearest {
    /// The rows of the `k` largest values of `near`, and all rows with a value equal to the last of them.
    fn of(near: &[f64], k: usize, rounding: impl Fn(f64) -> f64) -> Self {
        let k = k.min(near.len());
        let mut sorted = near.to_vec();
        let last = k.checked_sub(1).map_or(f64::INFINITY, |last| {
            *sorted.select_nth_unstable_by(last, |a, b| b.total_cmp(a)).1
        });
        let least = last - rounding(last);
        let mut kept: Vec<(u32, f64)> = (0..)
            .zip(near)
            .filter_map(|(row, &near)| (near >= least).then_some((row, near)))
            .collect();
        kept.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        let (mut nearer, mut first) = (Vec::with_capacity(kept.len()), 0);
        for (at, &(_, near)) in kept.iter().enumerate() {
            if near < kept[first].1 - rounding(kept[first].1) {
                first = at;
            }
            nearer.push(first);
        }
        let rows = kept.iter().map(|&(row, _)| row).collect();
        Self { rows, nearer, k }
    }

    /// The rows in the given order. No two are known to be equally near.
    fn known(rows: Vec<u32>) -> Self {
        Self {
            k: rows.len(),
            nearer: Vec::new(),
            rows,
        }
    }

    fn recall(&self, k: usize, found: &[u64]) -> f64 {
        let last = k.checked_sub(1);
        let nearer = last.and_then(|last| self.nearer.get(last).copied());
        let nearer = nearer.unwrap_or(k);
        let equal = self.nearer.iter().filter(|&&of| of == nearer).count();
        let end = (nearer + equal).max(k);
        let hits = |rows: &[u32]| {
            let hits = rows.iter();
            hits.filter(|&&row| found.binary_search(&row.into()).is_ok())
                .count()
        };
        let equal = hits(&self.rows[nearer..end]).min(k - nearer);
        (hits(&self.rows[..nearer]) + equal) as f64 / k as f64
    }
}

impl Truth {
    /// Rows in the given order. No two are known to be equally near.
    pub(super) fn ranked(rows: Vec<Vec<u32>>) -> Self {
        Self(rows.into_iter().map(Nearest::known).collect())
    }

    /// Reads known neighbours: `.npy` of 32-bit integers, or `.ivecs`.
    ///
    /// # Errors
    /// Fails if the file cannot be read or has neither of the two formats.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        let bytes = read(path)?;
        match &*extension(path) {
            "npy" => npy::neighbours(&bytes).map(Self::ranked),
            "ivecs" => texmex::ivecs(&bytes).map(Self::ranked),
            other => Err(Error::UnknownFormat {
                extension: other.to_owned(),
            }),
        }
    }

    /// Checks that this truth has at least `k` true rows, all below `n`, for each of `queries` queries.
    ///
    /// # Errors
    /// Fails if there are too few queries or neighbours, or a row is not below `n`.
    pub fn check(&self, queries: usize, k: usize, n: usize) -> Result<(), Error> {
        let neighbours = self.0.iter().map(|of| of.k).min().unwrap_or(0);
        if self.0.len() < queries || neighbours < k {
            let (found, expected) = ((self.0.len(), neighbours), (queries, k));
            return Err(Error::TruthShape { found, expected });
        }
        let mut rows = self.0.iter().flat_map(|of| &of.rows);
        match rows.find(|&&id| id as usize >= n) {
            Some(&id) => Err(Error::TruthRow { id, n }),
            None => Ok(()),
        }
    }

    /// The true neighbours of query `index`.
    ///
    /// # Panics
    /// Panics if there is no such query.
    #[must_use]
    pub fn of(&self, index: usize) -> &[u32] {
        let of = &self.0[index];
        &of.rows[..of.k]
    }

    /// Recall@k of one answer: the share of the query's `k` true nearest rows that `found` contains. Rows that are known to be as
    /// near as the last of these count as equal to it.
    ///
    /// # Panics
    /// Panics if there is no such query, or fewer than `k` true neighbours are known.
    #[must_use]
    pub fn recall(&self, index: usize, k: usize, found: impl IntoIterator<Item = u64>) -> f64 {
        let mut found: Vec<u64> = found.into_iter().collect();
        found.sort_unstable();
        found.dedup();
        self.0[index].recall(k, &found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{synthetic, u32_of};

    /// In single precision the constant hides all differences between these vectors.
    #[test]
    fn the_truth_is_that_of_double_precision() {
        let dim = 16;
        let gaussian = |n, seed| {
            let mut data = synthetic::uniform(n, dim, seed).as_slice().to_vec();
            data.chunks_exact_mut(dim)
                .for_each(|row| row[dim - 1] = 1e4);
            Vectors::new(dim, data).unwrap()
        };
        let (base, queries) = (gaussian(400, 1), gaussian(5, 2));
        let single = crate::recall::exact(
            &base.clone().normalised().unwrap(),
            &queries.clone().normalised().unwrap(),
            10,
        );
        let truth = nearest(Metric::Cosine, &base, &queries, 10);
        let mut lost = 0.0;
        for at in 0..5 {
            // Lengths are nearly equal and distances ignore the constant coordinate, so both orders agree.
            let distance = |row: usize| {
                let pairs = base.row(row).iter().zip(queries.row(at));
                pairs.map(|(&a, &b)| f64::from(a - b).powi(2)).sum::<f64>()
            };
            let mut rows: Vec<usize> = (0..400).collect();
            rows.sort_by(|&a, &b| distance(a).total_cmp(&distance(b)));
            let expected: Vec<u32> = rows[..10].iter().map(|&row| u32_of(row)).collect();
            assert_eq!(truth.of(at), expected);
            lost += 1.0 - truth.recall(at, 10, single.of(at).iter().map(|&row| row.into()));
        }
        assert!(lost > 1.0, "{lost}");
    }

    #[test]
    fn rows_that_are_equally_near_stand_for_each_other_and_no_others_do() {
        let base = [3.0f32, 1.0, 2.0, 2.0, 2.0, 0.5];
        let base = Vectors::new(1, base.to_vec()).unwrap();
        let zero = Vectors::new(1, vec![0.0]).unwrap();
        let truth = nearest(Metric::Euclidean, &base, &zero, 3);
        assert_eq!(truth.of(0), [5, 1, 2]);
        for (found, expected) in [
            (&[5, 1, 2][..], 3.0),
            (&[5, 1, 4], 3.0),
            (&[2, 3, 4], 1.0),
            (&[5, 3, 4], 2.0),
            (&[5, 1, 0], 2.0),
            (&[1, 1, 1], 1.0),
        ] {
            let recall = truth.recall(0, 3, found.iter().copied());
            assert!(
                (recall * 3.0 - expected).abs() < 1e-9,
                "{found:?}: {recall}"
            );
        }
        assert!((truth.recall(0, 1, [5]) - 1.0).abs() < 1e-9);
        assert_eq!(truth.recall(0, 2, [5, 2]), 0.5);
        // One direction with several lengths, and another direction close to it.
        let base = Vectors::new(2, vec![1.0, 3.0, 3.0, 9.0, 7.0, 21.0, 1.0, 3.000_001]).unwrap();
        let query = Vectors::new(2, vec![5.0, 15.0]).unwrap();
        let truth = nearest(Metric::Cosine, &base, &query, 1);
        for (row, recall) in [(0, 1.0), (1, 1.0), (2, 1.0), (3, 0.0)] {
            assert_eq!(truth.recall(0, 1, [row]), recall, "{row}");
        }
    }

    #[test]
    fn a_truth_of_the_wrong_shape_is_refused() {
        let truth = Truth::ranked(vec![vec![1, 2, 3], vec![4, 5, 6]]);
        assert!(truth.check(2, 3, 7).is_ok());
        assert!(matches!(
            truth.check(3, 3, 7),
            Err(Error::TruthShape { .. })
        ));
        assert!(matches!(
            truth.check(2, 4, 7),
            Err(Error::TruthShape { .. })
        ));
        assert!(matches!(
            truth.check(2, 3, 6),
            Err(Error::TruthRow { id: 6, n: 6 })
        ));
    }
}
