//! The measures of nearness, each turned into an inner product of unit vectors.
//!
//! Every mode scores unit vectors by their inner product `s`. With `B` the bound on the length of
//! stored vectors, `u = x / B`, `v = q / B`:
//!
//! | metric | stored | query | what is returned |
//! |---|---|---|---|
//! | cosine | `x / abs(x)` | `q / abs(q)` | `s` |
//! | inner product | `(u, sqrt(1 - abs(u)^2))` | `(q / abs(q), 0)` | `B abs(q) s` |
//! | Euclidean | `(u, abs(u)^2 / sqrt 2, p) / sqrt(3/2)` | `(v, -1 / sqrt 2, 0) / w` | `B sqrt(abs(v)^2 - sqrt 6 w s)` |
//!
//! where `p` makes the stored vector a unit vector and `w = sqrt(abs(v)^2 + 1/2)`. The Euclidean
//! weights are those that enlarge an error of `s` least for a query as long as the bound: an error
//! of `s` by `e` moves a squared distance by `3 e B^2`. So a bound much above the vectors' lengths
//! costs precision.
//!
//! Sources: Bachrach and others, 2014 (inner products); the lifting of Euclidean distance is folklore.

use serde::{Deserialize, Serialize};

use crate::recall::Scored;
use crate::{Error, Vectors};
use crate::{normalise, to_f32};

mod as_query;

pub use as_query::AsQuery;

/// A measure of nearness.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Metric {
    /// The cosine of the angle: larger is nearer. Zero vectors are refused.
    #[default]
    Cosine,
    /// The inner product: larger is nearer.
    InnerProduct,
    /// The Euclidean distance: smaller is nearer.
    Euclidean,
}

impl Metric {
    /// All metrics.
    pub const ALL: [Self; 3] = [Self::Cosine, Self::InnerProduct, Self::Euclidean];

    /// The word for it in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Cosine => "cosine",
            Self::InnerProduct => "inner product",
            Self::Euclidean => "Euclidean",
        }
    }

    /// Coordinates that a stored vector has more than the owner's.
    #[must_use]
    pub fn added(self) -> u32 {
        match self {
            Self::Cosine => 0,
            Self::InnerProduct => 1,
            Self::Euclidean => 2,
        }
    }
}

/// The largest and the smallest bound on a length, as logarithms to base 2.
pub const BOUNDS: std::ops::RangeInclusive<i16> = -200..=200;

/// A metric with its bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Space {
    /// The metric.
    pub metric: Metric,
    /// The logarithm to base 2 of the bound on the length of stored vectors; 0 for the cosine.
    pub bound: i16,
}

impl Space {
    /// The metric with the bound that these vectors need, or that vectors of length `norm` need.
    #[expect(clippy::cast_possible_truncation, reason = "clamped to the bounds")]
    pub fn new(metric: Metric, norm: Option<f32>, vectors: &Vectors) -> Self {
        if metric == Metric::Cosine {
            return Self { metric, bound: 0 };
        }
        let longest = || vectors.rows().map(length).fold(0.0, f64::max);
        let longest = norm.map_or_else(longest, f64::from);
        let (low, high) = (f64::from(*BOUNDS.start()), f64::from(*BOUNDS.end()));
        let bound = longest.log2().ceil().clamp(low, high) as i16;
        Self { metric, bound }
    }

    /// The bound on the length of a vector.
    #[must_use]
    pub fn longest(self) -> f64 {
        f64::from(self.bound).exp2()
    }

    /// Refuses vectors that cannot be stored, and names the row: that of the first vector is `first`.
    ///
    /// # Errors
    /// [`Error::ZeroVector`] for the cosine, [`Error::Norm`] for a vector beyond the bound.
    pub fn check(self, vectors: &Vectors, first: usize) -> Result<(), Error> {
        for (row, vector) in (first..).zip(vectors.rows()) {
            let norm = length(vector);
            if self.metric == Metric::Cosine && norm == 0.0 {
                return Err(Error::ZeroVector { row });
            }
            if self.metric != Metric::Cosine && norm > self.longest() {
                let (norm, most) = (to_f32(norm), to_f32(self.longest()));
                return Err(Error::Norm { row, norm, most });
            }
        }
        Ok(())
    }

    /// The unit vectors that stand for `vectors`.
    ///
    /// # Errors
    /// [`Error::ZeroVector`] for the cosine, [`Error::Norm`] for a vector beyond the bound.
    pub fn stored(self, vectors: Vectors) -> Result<Vectors, Error> {
        if self.metric == Metric::Cosine {
            return vectors.normalised();
        }
        let width = vectors.dim() + self.metric.added() as usize;
        let mut data = Vec::with_capacity(vectors.len() * width);
        for (row, vector) in vectors.rows().enumerate() {
            let norm = length(vector);
            if norm > self.longest() {
                let (norm, most) = (to_f32(norm), to_f32(self.longest()));
                return Err(Error::Norm { row, norm, most });
            }
            let square = (norm / self.longest()).powi(2);
            let whole = match self.metric {
                Metric::Euclidean => 1.5f64,
                _ => 1.0,
            };
            let scale = 1.0 / (self.longest() * whole.sqrt());
            data.extend(vector.iter().map(|&x| to_f32(f64::from(x) * scale)));
            let mut rest = whole - square;
            if self.metric == Metric::Euclidean {
                let half = square / 2f64.sqrt();
                data.push(to_f32(half / whole.sqrt()));
                rest -= half * half;
            }
            data.push(to_f32((rest.max(0.0) / whole).sqrt()));
        }
        Vectors::new(width, data)
    }

    /// The vector of `dim` coordinates that a stored unit vector stands for: for the cosine its direction.
    #[must_use]
    pub fn restored(self, unit: &[f32], dim: usize) -> Vec<f32> {
        let scale = match self.metric {
            Metric::Cosine => 1.0,
            Metric::InnerProduct => self.longest(),
            Metric::Euclidean => self.longest() * 1.5f64.sqrt(),
        };
        let unit = unit.iter().take(dim);
        unit.map(|&x| to_f32(f64::from(x) * scale)).collect()
    }

    /// The unit vector that stands for `query`, and what turns its scores into the metric's.
    ///
    /// # Errors
    /// [`Error::ZeroVector`] for the cosine and the inner product.
    pub fn query(self, query: &[f32]) -> Result<(Vec<f32>, Scale), Error> {
        let norm = length(query);
        let mut unit = query.to_vec();
        let scale = match self.metric {
            Metric::Cosine => Scale::Linear(1.0),
            Metric::InnerProduct => Scale::Linear(self.longest() * norm),
            Metric::Euclidean => {
                let bound = self.longest();
                // In f64, whatever the query's length is against the bound.
                let square = (norm / bound).powi(2);
                let weight = (square + 0.5).sqrt();
                let lifted = query.iter().map(|&x| to_f32(f64::from(x) / bound / weight));
                unit = lifted.collect();
                unit.extend([to_f32(-0.5f64.sqrt() / weight), 0.0]);
                return Ok((
                    unit,
                    Scale::Distance {
                        bound,
                        square,
                        weight,
                    },
                ));
            }
        };
        if !normalise(&mut unit) {
            return Err(Error::ZeroVector { row: 0 });
        }
        if self.metric == Metric::InnerProduct {
            unit.push(0.0);
        }
        Ok((unit, scale))
    }
}

/// Turns the score of one query's unit vector into the metric's own.
#[derive(Clone, Copy, Debug)]
pub enum Scale {
    /// The score times this.
    Linear(f64),
    /// `B sqrt(abs(v)^2 - sqrt 6 w s)`, in the words of the module.
    Distance {
        /// `B`, the bound on the length of stored vectors.
        bound: f64,
        /// `abs(v)^2`, the query's squared length over `B^2`.
        square: f64,
        /// `w`, by which the lifted query was divided.
        weight: f64,
    },
}

impl Scale {
    /// Gives hits the metric's scores and ranks them, equal scores by their ids: different scores of unit
    /// vectors may be the same distance.
    pub fn rank(self, hits: &mut [Scored]) {
        for hit in &mut *hits {
            hit.score = self.apply(hit.score);
        }
        hits.sort_by(|a, b| match self {
            Self::Linear(_) => Scored::rank(a, b),
            Self::Distance { .. } => a.score.total_cmp(&b.score).then(a.id.cmp(&b.id)),
        });
    }

    /// The metric's own score.
    #[must_use]
    pub fn apply(self, score: f32) -> f32 {
        let score = f64::from(score);
        to_f32(match self {
            Self::Linear(scale) => scale * score,
            Self::Distance {
                bound,
                square,
                weight,
            } => {
                let squared = square - 6f64.sqrt() * weight * score;
                bound * squared.max(0.0).sqrt()
            }
        })
    }
}

fn length(vector: &[f32]) -> f64 {
    let squares = vector.iter().map(|&x| f64::from(x) * f64::from(x));
    squares.sum::<f64>().sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dot;
    use proptest::prelude::*;

    fn measure(metric: Metric, a: &[f32], b: &[f32]) -> f64 {
        let product = || -> f64 {
            a.iter()
                .zip(b)
                .map(|(&a, &b)| f64::from(a) * f64::from(b))
                .sum()
        };
        match metric {
            Metric::Cosine => product() / length(a) / length(b),
            Metric::InnerProduct => product(),
            Metric::Euclidean => {
                let difference: Vec<f32> = a.iter().zip(b).map(|(a, b)| a - b).collect();
                length(&difference)
            }
        }
    }

    proptest! {
        #[test]
        fn scores_are_the_metrics_own(
            x in prop::collection::vec(-9f32..9.0, 5),
            q in prop::collection::vec(-9f32..9.0, 5),
            scale in prop::sample::select(vec![1e-6f32, 1.0, 1e6]),
        ) {
            prop_assume!(length(&x) > 0.1 && length(&q) > 0.1);
            let x: Vec<f32> = x.iter().map(|x| x * scale).collect();
            let q: Vec<f32> = q.iter().map(|x| x * scale).collect();
            for metric in Metric::ALL {
                let vectors = Vectors::new(5, x.clone()).unwrap();
                let space = Space::new(metric, None, &vectors);
                let stored = space.stored(vectors).unwrap();
                prop_assert!((dot(stored.row(0), stored.row(0)) - 1.0).abs() < 1e-5);
                let (unit, turn) = space.query(&q).unwrap();
                prop_assert_eq!(unit.len(), stored.dim());
                prop_assert!((dot(&unit, &unit) - 1.0).abs() < 1e-5);
                let found = f64::from(turn.apply(dot(stored.row(0), &unit)));
                let expected = measure(metric, &x, &q);
                let size = match metric {
                    Metric::Cosine => 1.0,
                    _ => space.longest() * (length(&q) + space.longest()),
                };
                // A squared distance, where it is small, is a difference of large numbers.
                let error = match metric {
                    Metric::Euclidean => found * found - expected * expected,
                    _ => found - expected,
                };
                prop_assert!(error.abs() < 2e-5 * size, "{metric:?}: {found} for {expected}");
            }
        }
    }

    #[test]
    fn a_vector_beyond_the_bound_is_refused() {
        let vectors = |x: f32| Vectors::new(2, vec![0.5, 0.0, x, 0.0]).unwrap();
        let space = Space::new(Metric::InnerProduct, None, &vectors(3.0));
        assert_eq!(space.bound, 2);
        assert!(space.stored(vectors(4.0)).is_ok());
        assert!(matches!(
            space.stored(vectors(4.1)),
            Err(Error::Norm { row: 1, .. })
        ));
        assert_eq!(
            Space::new(Metric::Euclidean, Some(100.0), &vectors(3.0)).bound,
            7
        );
    }
}
