//! Exact search, and the recall of an approximate search against it.

use rayon::prelude::*;

use crate::{Vectors, u32_of};

mod truth;

pub use truth::{Truth, nearest};

/// A vector's row and its score.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scored {
    /// The row of the vector.
    pub id: u32,
    /// The inner product of the vector and the query.
    pub score: f32,
}

impl Scored {
    /// Orders by score, best first. Equal scores are ordered by row, so that a ranking is unique.
    #[must_use]
    pub fn rank(a: &Self, b: &Self) -> std::cmp::Ordering {
        b.score.total_cmp(&a.score).then(a.id.cmp(&b.id))
    }
}

/// The rows and queries of one block of the matrix product, whose scores fit into the cache.
const ROWS: usize = 512;
const QUERIES: usize = 32;

/// The `k` rows of `base` with the largest inner product with each query, best first, in single precision. If
/// vectors are close together, this may not be the true order. [`nearest`] finds the true order in more time.
///
/// # Panics
/// Panics if the dimensions differ.
#[must_use]
pub fn exact(base: &Vectors, queries: &Vectors, k: usize) -> Truth {
    assert_eq!(
        base.dim(),
        queries.dim(),
        "base and queries differ in dimension"
    );
    let blocks: Vec<usize> = (0..queries.len()).step_by(QUERIES).collect();
    let nearest = blocks.into_par_iter().flat_map_iter(|first| {
        let block = first..queries.len().min(first + QUERIES);
        let transposed = queries.view(block.clone()).reversed_axes();
        let mut best = vec![TopK::new(k); block.len()];
        for start in (0..base.len()).step_by(ROWS) {
            let rows = start..base.len().min(start + ROWS);
            let scores = base.view(rows.clone()).dot(&transposed);
            for (id, scores) in rows.zip(scores.outer_iter()) {
                for (best, &score) in best.iter_mut().zip(scores) {
                    best.offer(Scored {
                        id: u32_of(id),
                        score,
                    });
                }
            }
        }
        best.into_iter()
            .map(|best| best.into_ranked().iter().map(|hit| hit.id).collect())
    });
    Truth::ranked(nearest.collect())
}

/// Returns the score if `counts` is true, and otherwise a score that [`TopK`] refuses. It does not branch.
#[inline]
#[must_use]
pub fn counting(counts: bool, score: f32) -> f32 {
    // If the compiler knew that the mask is all zeros or all ones, it would insert a branch.
    let kept = std::hint::black_box(u32::from(counts).wrapping_neg());
    f32::from_bits((score.to_bits() & kept) | (f32::NEG_INFINITY.to_bits() & !kept))
}

/// The best `k` of the offered scores. Scores are never NaN, and minus infinity is never kept.
#[derive(Clone, Debug)]
pub struct TopK {
    k: usize,
    /// The kept rows. They have no order until there are `k` rows. From then on the worst row is first.
    kept: Vec<Scored>,
    /// Lower scores are refused. Until `k` rows are kept, this is the smallest number. Then it is the worst kept
    /// score.
    least: f32,
    /// The rows beyond `k` that are as good as the worst, if they are wanted.
    equal: Option<Vec<Scored>>,
}

impl TopK {
    /// An empty list for at most `k` rows.
    #[must_use]
    pub fn new(k: usize) -> Self {
        Self {
            k,
            kept: Vec::with_capacity(k.min(4096)),
            least: f32::MIN,
            equal: None,
        }
    }

    /// An empty list for at most `k` rows and all rows with the same score as the last of these. Callers that order
    /// equal scores by something other than the row need it.
    #[must_use]
    pub fn with_equal(k: usize) -> Self {
        Self {
            equal: Some(Vec::new()),
            ..Self::new(k)
        }
    }

    /// Keeps `new` if it is among the best `k` so far. Use it only for public data and the client's own plaintext,
    /// since its time depends on the scores.
    #[inline]
    pub fn offer(&mut self, new: Scored) {
        self.offer_with(new.score, || new.id);
    }

    /// Like [`offer`](Self::offer), but computes the row number only if the score is good enough.
    #[inline]
    pub fn offer_with(&mut self, score: f32, id: impl FnOnce() -> u32) {
        // Nearly all scores are refused here.
        if score < self.least {
            return;
        }
        self.keep(Scored { id: id(), score });
    }

    /// Like [`offer_with`](Self::offer_with), but refuses the row if `counts` is false. Such a row takes the same
    /// time as any row with a low score.
    #[inline]
    pub fn offer_if(&mut self, counts: bool, score: f32, id: impl FnOnce() -> u32) {
        self.offer_with(counting(counts, score), id);
    }

    /// The lowest score that is kept, if any score is kept.
    #[must_use]
    pub fn least(&self) -> Option<f32> {
        let scores = self.kept.iter().map(|hit| hit.score);
        scores.min_by(f32::total_cmp)
    }

    #[inline(never)]
    fn keep(&mut self, new: Scored) {
        if self.kept.len() < self.k {
            self.kept.push(new);
            if self.kept.len() == self.k {
                self.kept.sort_by(|a, b| Scored::rank(b, a));
                self.least = self.kept[0].score;
            }
            return;
        }
        let Some(&worst) = self.kept.first() else {
            return;
        };
        let mut out = new;
        if Scored::rank(&new, &worst).is_lt() {
            let better = self
                .kept
                .partition_point(|kept| Scored::rank(&new, kept).is_lt());
            self.kept.copy_within(1..better, 0);
            self.kept[better - 1] = new;
            self.least = self.kept[0].score;
            out = worst;
        }
        if let Some(equal) = &mut self.equal {
            let alike = |a: &Scored, b: &Scored| a.score.total_cmp(&b.score).is_eq();
            if !alike(&worst, &self.kept[0]) {
                equal.clear();
            }
            if alike(&out, &self.kept[0]) {
                equal.push(out);
            }
        }
    }

    /// The rows that were kept, best first. If they are wanted, the rows that are as good as the last follow.
    pub fn into_ranked(mut self) -> Vec<Scored> {
        self.kept.extend(self.equal.unwrap_or_default());
        self.kept.sort_by(Scored::rank);
        self.kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn top_k_is_a_sorted_prefix(scores in prop::collection::vec(-3i8..4, 0..60), k in 1usize..20) {
            let all: Vec<Scored> = (0u32..)
                .zip(&scores)
                .map(|(id, &score)| Scored { id, score: f32::from(score) })
                .collect();
            let mut top = TopK::new(k);
            all.iter().for_each(|&hit| top.offer(hit));
            let mut sorted = all;
            sorted.sort_by(Scored::rank);
            sorted.truncate(k);
            prop_assert_eq!(top.into_ranked(), sorted);
        }

        #[test]
        fn what_does_not_count_is_as_if_it_were_not_offered(
            scores in prop::collection::vec((-3i8..4, any::<bool>()), 0..60),
            k in 0usize..20,
        ) {
            let all = (0u32..).zip(&scores).map(|(id, &(score, counts))| (counts, Scored { id, score: f32::from(score) }));
            let (mut offered, mut expected) = (TopK::with_equal(k), TopK::with_equal(k));
            for (counts, hit) in all {
                offered.offer_if(counts, hit.score, || hit.id);
                if counts {
                    expected.offer(hit);
                }
            }
            prop_assert_eq!(offered.into_ranked(), expected.into_ranked());
        }

        #[test]
        fn all_that_are_as_good_as_the_last_are_kept_too(
            scores in prop::collection::vec(-3i8..4, 0..60),
            k in 1usize..20,
        ) {
            let mut all: Vec<Scored> = (0u32..)
                .zip(&scores)
                .map(|(id, &score)| Scored { id, score: f32::from(score) })
                .collect();
            let mut top = TopK::with_equal(k);
            all.iter().rev().for_each(|&hit| top.offer(hit));
            all.sort_by(Scored::rank);
            let least = all.get(k - 1).map(|last| last.score);
            all.retain(|hit| least.is_none_or(|least| hit.score >= least));
            prop_assert_eq!(top.into_ranked(), all);
        }
    }

    #[test]
    fn exact_search_ranks_by_inner_product() {
        let base =
            Vectors::new(1, (0..1000u16).map(|i| f32::from(i * 7 % 1000)).collect()).unwrap();
        let queries = Vectors::new(1, vec![1.0, -1.0]).unwrap();
        let truth = exact(&base, &queries, 3);
        assert_eq!(
            truth
                .of(0)
                .iter()
                .map(|&id| id * 7 % 1000)
                .collect::<Vec<_>>(),
            [999, 998, 997]
        );
        assert_eq!(
            truth
                .of(1)
                .iter()
                .map(|&id| id * 7 % 1000)
                .collect::<Vec<_>>(),
            [0, 1, 2]
        );
        assert_eq!(truth.recall(0, 3, [0, 999 * 143 % 1000]), 1.0 / 3.0);
    }

    /// Equal vectors are in different blocks of the matrix product, including the shorter block at the end.
    #[test]
    fn equal_vectors_are_ranked_by_their_rows() {
        let dim = 33;
        let (mut data, queries) = (
            crate::synthetic::uniform(1601, dim, 5).as_slice().to_vec(),
            crate::synthetic::uniform(40, dim, 6),
        );
        let equal = [3usize, 7, 511, 512, 700, 1535, 1536, 1540, 1600];
        let one = data[..dim].to_vec();
        for &row in &equal {
            data[row * dim..][..dim].copy_from_slice(&one);
        }
        let base = Vectors::new(dim, data).unwrap();
        let all: Vec<u32> = std::iter::once(0).chain(equal.map(u32_of)).collect();
        let truth = exact(&base, &queries, 1601);
        for query in 0..40 {
            let ranked = truth.of(query).iter().copied();
            let found: Vec<u32> = ranked.filter(|row| all.contains(row)).collect();
            assert_eq!(found, all, "query {query}");
        }
    }
}
