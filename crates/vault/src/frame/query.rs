//! A query in the form in which a frame's rows are scored.

use sordino_vectors::metric::{Metric, length};
use sordino_vectors::recall::Scored;
use sordino_vectors::to_f32;
use zeroize::Zeroizing;

use super::{Frame, RowScale, product, squared_distance};
use sordino_index::Error;

/// A query in the form that an index of this frame needs, with the numbers that turn scores into the metric's.
///
/// Scores of different rows are compared by their keys: larger is nearer.
pub struct FrameQuery {
    metric: Metric,
    /// `p / abs(p)`, or any unit vector if `p` has no direction.
    unit: Zeroizing<Vec<f32>>,
    /// The lifted query, a unit vector.
    lifted: Zeroizing<Vec<f32>>,
    /// `abs(p)`; for the inner product the length of the query.
    length: f64,
    /// For each base `abs(p - c_b)^2`. For the inner product `<c_b, p>` minus the largest of them.
    terms: Zeroizing<Vec<f64>>,
    /// The part of an inner product that keys leave out: `<mu, q>` and the largest `<c_b, p>`.
    rest: f64,
    /// A lifted score times the first number, plus the second, is the key: an inner product, or else the negated square
    /// of a distance.
    of_lifted: (f64, f64),
}

impl Frame {
    /// Prepares a query, given in the user's form.
    ///
    /// # Errors
    /// [`Error::Dimension`] if the query has another dimension; [`Error::Vectors`] if no vector can be compared with
    /// the query.
    pub fn ask(&self, query: &[f32]) -> Result<FrameQuery, Error> {
        let (found, expected) = (query.len(), self.dim());
        if found != expected {
            return Err(Error::Dimension { found, expected });
        }
        self.metric.check_query(query)?;
        if self.metric != Metric::InnerProduct {
            return Ok(self.by_distance(&Zeroizing::new(self.centred(query))));
        }
        let norm = length(query);
        let unit = query.iter().map(|&x| to_f32(f64::from(x) / norm));
        let unit = self.widened(unit);
        let pairs = query.iter().zip(&self.centre);
        let along = pairs.map(|(&x, &centre)| f64::from(x) * f64::from(centre));
        let along = along.sum::<f64>() / norm;
        let turned = Zeroizing::new(self.rotation.apply(&unit));
        Ok(self.by_product(&turned, norm, along))
    }

    /// The query for the vector of a `y` itself. `None` for a zero vector, with which all inner products are equal.
    #[must_use]
    pub fn ask_for(&self, y: &[f32]) -> Option<FrameQuery> {
        if self.metric != Metric::InnerProduct {
            return Some(self.by_distance(y));
        }
        let turned = self.turned(y);
        let norm = length(&turned);
        if norm <= 1e-6 * length(y) {
            return None;
        }
        let unit: Vec<f32> = turned
            .iter()
            .map(|&x| to_f32(f64::from(x) / norm))
            .collect();
        let along = product(&unit, &self.turned);
        Some(self.by_product(&unit, norm, along))
    }

    /// A query that scores rows by their distances from `p`.
    fn by_distance(&self, p: &[f32]) -> FrameQuery {
        let length = length(p);
        let scale = if length > 0.0 { length } else { 1.0 };
        let unit = p.iter().map(|&x| to_f32(f64::from(x) / scale));
        let mut unit = Zeroizing::new(unit.collect::<Vec<f32>>());
        if length == 0.0 {
            unit[0] = 1.0;
        }
        let bases = self.bases.chunks_exact(self.width);
        let terms = bases.map(|base| squared_distance(p, base));
        let (lifted, of_lifted) = match self.metric {
            // The square of the distance of unit vectors is 2 minus twice the cosine.
            Metric::Cosine => (Zeroizing::new(self.lifted(p)), (2.0, -2.0)),
            _ => {
                let bound = self.longest();
                let square = (length / bound).powi(2);
                let weight = (square + 0.5).sqrt();
                let over = p.iter().map(|&x| f64::from(x) / bound / weight);
                let mut lifted = Zeroizing::new(over.collect::<Vec<f64>>());
                self.add_axis(&mut lifted, self.dim(), -0.5f64.sqrt() / weight);
                let lifted: Vec<f32> = lifted.iter().copied().map(to_f32).collect();
                let area = bound * bound;
                let times = 6f64.sqrt() * weight * area;
                (Zeroizing::new(lifted), (times, -square * area))
            }
        };
        FrameQuery {
            metric: self.metric,
            unit,
            lifted,
            length,
            terms: Zeroizing::new(terms.collect()),
            rest: 0.0,
            of_lifted,
        }
    }

    /// A query that scores rows by their products with `p`, a unit vector. `length` is the query's length, and `product` its
    /// product with `mu` over that length.
    fn by_product(&self, p: &[f32], length: f64, along: f64) -> FrameQuery {
        let bases = self.bases.chunks_exact(self.width);
        let terms = bases.map(|base| product(p, base));
        let mut terms = Zeroizing::new(terms.collect::<Vec<f64>>());
        let top = terms.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        terms.iter_mut().for_each(|term| *term -= top);
        FrameQuery {
            metric: self.metric,
            unit: Zeroizing::new(p.to_vec()),
            lifted: Zeroizing::new(p.to_vec()),
            length,
            terms,
            rest: along + top,
            of_lifted: (self.longest(), -top),
        }
    }

    /// The key of a row, from its exact residual.
    #[must_use]
    pub fn exact_key(&self, asked: &FrameQuery, base: u8, residual: &[f32]) -> f32 {
        let known = self.base(base);
        match self.metric {
            Metric::Cosine | Metric::Euclidean => {
                let parts = known.iter().zip(residual).zip(asked.unit.iter());
                let square = parts.map(|((&c, &r), &unit)| {
                    let p = f64::from(unit) * asked.length;
                    (f64::from(c) - p + f64::from(r)).powi(2)
                });
                to_f32(-square.sum::<f64>().sqrt())
            }
            Metric::InnerProduct => {
                let term = asked.term(base);
                to_f32(product(residual, &asked.unit) + term)
            }
        }
    }
}

impl FrameQuery {
    /// The query for scoring rows: a unit vector.
    #[must_use]
    pub fn unit(&self) -> &[f32] {
        &self.unit
    }

    /// The query for scoring lifted vectors: a unit vector.
    #[must_use]
    pub fn lifted(&self) -> &[f32] {
        &self.lifted
    }

    fn term(&self, base: u8) -> f64 {
        let term = self.terms.get(usize::from(base));
        term.or(self.terms.first()).copied().unwrap_or(0.0)
    }

    /// The key of a row with this score.
    #[inline]
    #[must_use]
    pub fn key(&self, row: &RowScale, score: f32) -> f32 {
        let (scale, score, term) = (f64::from(row.scale), f64::from(score), self.term(row.base));
        match self.metric {
            Metric::Cosine | Metric::Euclidean => {
                let bracket = f64::from(row.constant) - 2.0 * self.length * score;
                root(-scale * bracket - term)
            }
            Metric::InnerProduct => to_f32(scale * score + term),
        }
    }

    /// The key of a lifted vector with this score.
    #[inline]
    #[must_use]
    pub fn key_of_lifted(&self, score: f32) -> f32 {
        let (times, plus) = self.of_lifted;
        let key = times * f64::from(score) + plus;
        match self.metric {
            Metric::Cosine | Metric::Euclidean => root(key),
            Metric::InnerProduct => to_f32(key),
        }
    }

    /// The metric's score of a key. For the cosine it is never more than 1. For the Euclidean distance it is above 0, except
    /// between equal vectors.
    #[must_use]
    pub fn score(&self, key: f32) -> f32 {
        let key = f64::from(key);
        match self.metric {
            Metric::Cosine => {
                let cosine = 1.0 - key.min(0.0).powi(2) / 2.0;
                to_f32(cosine.max(-1.0))
            }
            Metric::InnerProduct => {
                let most = f64::from(f32::MAX);
                to_f32(((key + self.rest) * self.length).clamp(-most, most))
            }
            // Noise can make a square negative. The distance is then too small to be measured.
            Metric::Euclidean if key > 0.0 => f32::MIN_POSITIVE,
            Metric::Euclidean => to_f32(-key),
        }
    }

    /// Replaces the keys in hits by the metric's scores.
    pub fn scored(&self, hits: &mut [Scored]) {
        for hit in hits {
            hit.score = self.score(hit.score);
        }
    }
}

/// The square root of a number, with its sign. It sorts like the number, and has half the exponent.
fn root(x: f64) -> f32 {
    to_f32(x.abs().sqrt().copysign(x))
}

impl std::fmt::Debug for FrameQuery {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Asked")
            .field("metric", &self.metric)
            .finish_non_exhaustive()
    }
}
