//! The frame of reference of an index's vectors: a centre, and bases close to them.
//!
//! A stored number has few bits. If these bits described what all vectors share, or the range up to the longest vectors,
//! they could no longer separate near vectors from far ones. So a vector is stored as its difference to a base that readers
//! know, with a scale of its own.
//!
//! | symbol | shape | meaning |
//! |---|---|---|
//! | `x` | `d` | a vector as its owner gives it; for the cosine scaled to length 1 |
//! | `q` | `d` | a query; for the cosine and the inner product scaled to length 1 |
//! | `mu` | `d` | the centre: a median of each coordinate |
//! | `y = R (x - mu)` | `w` | the vector from the centre, behind zeros for lifting, rotated |
//! | `c_b` | `w` | base `b`, at most 256 of them, relative to the centre |
//! | `r = y - c_b` | `w` | the residual of a row, to the base nearest to it |
//! | `rho` | | the scale of a row, at least the length of `r` or, in chunks, its largest coordinate |
//! | `p` | `w` | the query as it is scored: `R (q - mu)`, and for the inner product `R q` |
//! | `s` | | a score: the inner product of `r / rho` and `p / abs(p)` |
//!
//! With these values
//!
//! ```text
//! cosine, Euclidean   abs(x - q)^2 = rho (k - 2 abs(p) s) + abs(p - c_b)^2     k = (abs(r)^2 + 2 <r, c_b>) / rho
//! inner product       <x, q>       = rho s + <c_b, p> + <mu, q>
//! ```
//!
//! and the cosine is 1 minus half the square of the distance. `b`, `rho` and `k` of each row are sealed, and so are the centre
//! and the bases. The term in brackets is relative to the row's own base, and the client alone computes the last term. So large
//! terms never limit the precision of a score. An error of `s` by `e` moves a squared distance by `2 rho abs(p) e`, and an
//! inner product by `rho e`.
//!
//! A frame for the cosine has one base, which is the centre itself. Then `k` follows from the length of `r`, and `rho` is that
//! length. The length has 16 bits. They replace the number of a base and the 8 bits of a scale. Both `rho` and `abs(p)` are
//! lengths of differences to the centre. So the error of a cosine is small compared with these differences, even if all
//! vectors are close to one another.
//!
//! For clustering, vectors are lifted to unit vectors instead, about the centre, with a bound `B` on the length of `y`. For the
//! inner product the lifted vector is `(y, sqrt(B^2 - abs(y)^2)) / B`. For the Euclidean distance it is `(u, abs(u)^2 / sqrt 2,
//! z) / sqrt(3/2)` with `u = y / B`, where `z` makes it a unit vector. Its query is `(p / B, -1 / sqrt 2, 0)` scaled to length 1.
//! Rows beyond the bound are stored where a search scores all rows.
//!
//! Sources: Bachrach and others, 2014 (lifting of inner products); the lifting of Euclidean distance is folklore.

use sordino_vectors::metric::{Metric, length};
use sordino_vectors::rotation::Rotation;
use sordino_vectors::to_f32;
use zeroize::Zeroizing;

use sordino_index::manifest::MAX_BASES;

mod encoding;
mod lengths;
mod query;
mod row;
mod scale;

pub use lengths::Lengths;
pub use query::FrameQuery;
pub use row::RowScale;
pub use scale::Scales;

/// The frame of reference of an index's vectors.
#[derive(Clone)]
pub struct Frame {
    metric: Metric,
    rotation: Rotation,
    /// `mu`.
    centre: Vec<f32>,
    /// `R mu`.
    turned: Vec<f32>,
    /// The `c_b`, one after the other, and the number of coordinates of each.
    bases: Vec<f32>,
    width: usize,
    /// The logarithm of `B` to base 2.
    bound: i16,
    /// Recall that the build measured, in millionths.
    recall: Option<u32>,
}

/// The allowed bounds on the length of lifted vectors, as logarithms to base 2.
const BOUNDS: std::ops::RangeInclusive<i16> = -140..=81;

/// The largest number of bases of a frame of this metric.
#[must_use]
pub fn most_bases(metric: Metric) -> usize {
    match metric {
        Metric::Cosine => 1,
        Metric::InnerProduct | Metric::Euclidean => MAX_BASES,
    }
}

impl Frame {
    /// A frame with this centre and at least one base. The bases are rotated, and relative to the centre.
    ///
    /// # Panics
    /// Panics if the bases have another dimension, or there are no bases or more than [`MAX_BASES`].
    #[must_use]
    pub fn new(metric: Metric, rotation: [u8; 32], centre: Vec<f32>, bases: Vec<f32>) -> Self {
        let width = centre.len() + metric.added() as usize;
        let count = bases.len() / width;
        assert!(bases.len().is_multiple_of(width), "whole bases");
        assert!((1..=MAX_BASES).contains(&count), "1 to 256 bases");
        let rotation = Rotation::new(width, rotation);
        let mut turned = centre.clone();
        turned.resize(width, 0.0);
        Self {
            metric,
            turned: rotation.apply(&turned),
            rotation,
            centre,
            bases,
            width,
            bound: 0,
            recall: None,
        }
    }

    /// The frame whose centre is the origin.
    #[must_use]
    pub fn origin(metric: Metric, rotation: [u8; 32], dim: usize) -> Self {
        let width = dim + metric.added() as usize;
        Self::new(metric, rotation, vec![0.0; dim], vec![0.0; width])
    }

    /// The same frame, for lifted vectors of at most this length. The bound is rounded up to a power of two.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "clamped to the bounds")]
    pub fn with_bound(self, longest: f64) -> Self {
        let (low, high) = (f64::from(*BOUNDS.start()), f64::from(*BOUNDS.end()));
        let bound = longest.log2().ceil().clamp(low, high) as i16;
        Self { bound, ..self }
    }

    /// The same frame with the recall that a build measured.
    #[must_use]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share"
    )]
    pub fn with_recall(self, recall: Option<f64>) -> Self {
        let millionths = |recall: f64| (recall.clamp(0.0, 1.0) * 1e6).round() as u32;
        Self {
            recall: recall.map(millionths),
            ..self
        }
    }

    /// The recall of held-out vectors, if the build measured it under the noise of real scores.
    #[must_use]
    pub fn recall(&self) -> Option<f64> {
        self.recall.map(|millionths| f64::from(millionths) / 1e6)
    }

    /// The metric.
    #[must_use]
    pub fn metric(&self) -> Metric {
        self.metric
    }

    /// The number of coordinates of a vector in the form that its owner gives.
    #[must_use]
    pub fn dim(&self) -> usize {
        self.centre.len()
    }

    /// The number of coordinates of a residual and of a lifted vector.
    #[must_use]
    pub fn stored_dim(&self) -> usize {
        self.width
    }

    /// The number of bases.
    #[must_use]
    pub fn bases(&self) -> usize {
        self.bases.len() / self.width
    }

    /// `c_b`, or the first base if there is no such base.
    #[must_use]
    pub fn base(&self, base: u8) -> &[f32] {
        let at = usize::from(base) * self.width;
        let base = self.bases.get(at..at + self.width);
        base.unwrap_or(&self.bases[..self.width])
    }

    /// `B`.
    #[must_use]
    pub fn longest(&self) -> f64 {
        f64::from(self.bound).exp2()
    }

    /// `y` of a vector.
    ///
    /// # Panics
    /// Panics if the vector has another dimension.
    #[must_use]
    pub fn centred(&self, vector: &[f32]) -> Vec<f32> {
        assert_eq!(vector.len(), self.dim(), "a vector of the frame");
        let whole = match self.metric {
            Metric::Cosine => length(vector),
            Metric::InnerProduct | Metric::Euclidean => 1.0,
        };
        let differences = vector.iter().zip(&self.centre);
        let differences =
            differences.map(|(&x, &centre)| to_f32(f64::from(x) / whole - f64::from(centre)));
        let centred = self.widened(differences);
        self.rotation.apply(&centred)
    }

    /// The coordinates of a vector, followed by zeros for lifting. The vector may be a query, so no copy of it is left in freed
    /// memory.
    fn widened(&self, vector: impl Iterator<Item = f32>) -> Zeroizing<Vec<f32>> {
        let mut wide = Zeroizing::new(Vec::with_capacity(self.width));
        wide.extend(vector);
        wide.resize(self.width, 0.0);
        wide
    }

    /// The `y` of a vector that is stored as this residual to this base.
    #[must_use]
    pub fn whole(&self, base: u8, residual: &[f32]) -> Vec<f32> {
        let both = self.base(base).iter().zip(residual);
        both.map(|(&base, &x)| to_f32(f64::from(base) + f64::from(x)))
            .collect()
    }

    /// The residual of a `y` to a base.
    #[must_use]
    pub fn residual(&self, base: u8, y: &[f32]) -> Vec<f32> {
        let both = y.iter().zip(self.base(base));
        both.map(|(&y, &base)| to_f32(f64::from(y) - f64::from(base)))
            .collect()
    }

    /// The base nearest to a `y`.
    #[must_use]
    pub fn nearest_base(&self, y: &[f32]) -> u8 {
        let mut best = (0, f64::INFINITY);
        for (at, base) in (0..=u8::MAX).zip(self.bases.chunks_exact(self.width)) {
            let far = squared_distance(y, base);
            if far < best.1 {
                best = (at, far);
            }
        }
        best.0
    }

    /// The vector of a `y`, in the form that its owner gave. For the cosine it is the vector's direction.
    #[must_use]
    pub fn restored(&self, y: &[f32]) -> Vec<f32> {
        let back = self.rotation.undo(y);
        let both = back.iter().zip(&self.centre);
        both.map(|(&x, &centre)| to_f32(f64::from(x) + f64::from(centre)))
            .collect()
    }

    /// `R x` of a `y`.
    #[must_use]
    pub fn turned(&self, y: &[f32]) -> Vec<f32> {
        let both = y.iter().zip(&self.turned);
        both.map(|(&y, &centre)| to_f32(f64::from(y) + f64::from(centre)))
            .collect()
    }

    /// The `y` of an `R x`.
    #[must_use]
    pub fn of_turned(&self, turned: &[f32]) -> Vec<f32> {
        let both = turned.iter().zip(&self.turned);
        both.map(|(&x, &centre)| to_f32(f64::from(x) - f64::from(centre)))
            .collect()
    }

    /// The row of a residual at this scale, before rounding.
    #[must_use]
    pub fn row(&self, base: u8, scale: f32, residual: &[f32]) -> RowScale {
        let constant = match self.metric {
            Metric::Euclidean | Metric::Cosine if scale > 0.0 => {
                let pairs = residual.iter().zip(self.base(base));
                let sum: f64 = pairs
                    .map(|(&r, &c)| f64::from(r) * (f64::from(r) + 2.0 * f64::from(c)))
                    .sum();
                to_f32(sum / f64::from(scale))
            }
            _ => 0.0,
        };
        RowScale {
            base,
            scale,
            constant,
        }
    }

    /// The unit vector that a `y` is lifted to, rotated. Beyond the bound it is the lifted vector of the point at the bound in
    /// the same direction.
    #[must_use]
    pub fn lifted(&self, y: &[f32]) -> Vec<f32> {
        if self.metric == Metric::Cosine {
            let mut unit = self.turned(y);
            if !sordino_vectors::normalise(&mut unit) {
                unit.fill(0.0);
            }
            return unit;
        }
        let norm = length(y);
        let square = (norm / self.longest()).powi(2).min(1.0);
        let whole: f64 = match self.metric {
            Metric::Euclidean => 1.5,
            _ => 1.0,
        };
        let scale = 1.0 / (norm.max(self.longest()) * whole.sqrt());
        let lifted = y.iter().map(|&x| f64::from(x) * scale);
        let mut lifted = Zeroizing::new(lifted.collect::<Vec<f64>>());
        let mut rest = whole - square;
        let mut axis = self.dim();
        if self.metric == Metric::Euclidean {
            let half = square / 2f64.sqrt();
            self.add_axis(&mut lifted, axis, half / whole.sqrt());
            axis += 1;
            rest -= half * half;
        }
        self.add_axis(&mut lifted, axis, (rest.max(0.0) / whole).sqrt());
        lifted.iter().copied().map(to_f32).collect()
    }

    /// Adds a multiple of an added coordinate to a rotated vector.
    fn add_axis(&self, rotated: &mut [f64], axis: usize, times: f64) {
        let mut direction = Zeroizing::new(vec![0.0; self.width]);
        direction[axis] = 1.0;
        let direction = Zeroizing::new(self.rotation.apply(&direction));
        for (x, axis) in rotated.iter_mut().zip(direction.iter()) {
            *x += times * f64::from(*axis);
        }
    }
}

fn squared_distance(a: &[f32], b: &[f32]) -> f64 {
    let differences = a.iter().zip(b).map(|(&a, &b)| f64::from(a) - f64::from(b));
    differences.map(|x| x * x).sum()
}

fn product(a: &[f32], b: &[f32]) -> f64 {
    let pairs = a.iter().zip(b);
    pairs.map(|(&a, &b)| f64::from(a) * f64::from(b)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic;
    use crate::vectors::dot;
    use sordino_index::manifest::frame_len;

    /// Bases of the frame in these tests.
    fn bases_of(metric: Metric) -> u8 {
        if metric == Metric::Cosine { 1 } else { 3 }
    }

    /// A frame with a distant centre, and three bases if the metric allows them.
    fn frame(metric: Metric, dim: usize) -> Frame {
        let width = dim + metric.added() as usize;
        let centre = synthetic::uniform(1, dim, 1);
        // A centre of unit vectors lies within the sphere.
        let size = if metric == Metric::Cosine { 0.04 } else { 1.0 };
        let centre = centre.as_slice().iter().map(|x| size * (5.0 + 3.0 * x));
        let mut bases = Vec::new();
        for at in 0..bases_of(metric) {
            let mut base: Vec<f32> = vec![f32::from(at) / 2.0; dim];
            base.resize(width, 0.0);
            bases.extend(Rotation::new(width, [4; 32]).apply(&base));
        }
        Frame::new(metric, [4; 32], centre.collect(), bases).with_bound(40.0)
    }

    /// The metric's score in double precision, from the vectors alone.
    fn measure(metric: Metric, x: &[f32], q: &[f32]) -> f64 {
        match metric {
            Metric::Cosine => product(x, q) / length(x) / length(q),
            Metric::InnerProduct => product(x, q),
            Metric::Euclidean => squared_distance(x, q).sqrt(),
        }
    }

    #[test]
    fn keys_of_scores_are_the_metrics_own() {
        const DIM: usize = 21;
        let rows = synthetic::uniform(60, DIM, 3);
        for metric in Metric::ALL {
            let frame = frame(metric, DIM);
            let moved = |row: &[f32]| -> Vec<f32> {
                let parts = row.iter().zip(&frame.centre);
                parts.map(|(x, centre)| 2.0 * x + centre).collect()
            };
            for pair in rows.as_slice().chunks_exact(2 * DIM) {
                let (x, q) = pair.split_at(DIM);
                let (x, q) = (moved(x), moved(q));
                let expected = measure(metric, &x, &q);
                let asked = frame.ask(&q).unwrap();
                assert!((length(asked.unit()) - 1.0).abs() < 1e-6);
                assert!((length(asked.lifted()) - 1.0).abs() < 1e-6);
                let y = frame.centred(&x);
                let back = frame.restored(&y);
                let whole = if metric == Metric::Cosine {
                    length(&x)
                } else {
                    1.0
                };
                for (back, x) in back.iter().zip(&x) {
                    assert!((f64::from(*back) - f64::from(*x) / whole).abs() < 1e-5);
                }
                let near = |found: f32, most: f64| {
                    let size = length(&q) * length(&x);
                    let size = if metric == Metric::InnerProduct {
                        size
                    } else {
                        1.0
                    };
                    let off = (f64::from(found) - expected).abs();
                    assert!(off < most * size, "{metric:?}: {found} for {expected}");
                };
                for base in 0..bases_of(metric) {
                    let residual = frame.residual(base, &y);
                    let scale = to_f32(1.05 * length(&residual));
                    let row = frame.row(base, scale, &residual);
                    let unit: Vec<f32> = residual.iter().map(|x| x / scale).collect();
                    let score = dot(&unit, asked.unit());
                    near(asked.score(asked.key(&row, score)), 3e-5);
                    near(asked.score(frame.exact_key(&asked, base, &residual)), 3e-6);
                }
                let lifted = frame.lifted(&y);
                assert!((length(&lifted) - 1.0).abs() < 1e-6);
                near(
                    asked.score(asked.key_of_lifted(dot(&lifted, asked.lifted()))),
                    2e-3,
                );
                // The query made from a row equals the query made from its vector.
                let own = frame.ask_for(&y).unwrap();
                let same = frame.ask(&x).unwrap();
                assert!(dot(own.unit(), same.unit()) > 0.999_999);
                assert!(dot(own.lifted(), same.lifted()) > 0.999_999);
            }
        }
    }

    #[test]
    fn no_score_is_one_that_no_vectors_have() {
        for metric in Metric::ALL {
            let frame = frame(metric, 3);
            let asked = frame.ask(&[1.0, 2.0, 3.0]).unwrap();
            for key in [f32::MIN, -1e30, -1.0, -0.0, 0.0, 1e-30, 1.0, 1e30] {
                let score = asked.score(key);
                assert!(score.is_finite());
                match metric {
                    Metric::Cosine => assert!((-1.0..=1.0).contains(&score)),
                    Metric::Euclidean => assert!(score >= 0.0 && (score > 0.0 || key == 0.0)),
                    Metric::InnerProduct => {}
                }
            }
        }
    }

    /// Rows and queries over eighty orders of magnitude have finite keys, sorted like their distances.
    #[test]
    fn far_and_near_are_told_over_all_magnitudes() {
        let frame = Frame::origin(Metric::Euclidean, [1; 32], 2);
        for query in [0.0, 1e-20, 1.0, 1e20] {
            let asked = frame.ask(&[query, 0.0]).unwrap();
            let key = |x: f32| {
                let y = frame.centred(&[0.0, x]);
                let scale = to_f32(length(&y));
                let unit: Vec<f32> = y.iter().map(|x| x / scale).collect();
                asked.key(&frame.row(0, scale, &y), dot(&unit, asked.unit()))
            };
            let keys: Vec<f32> = (-20..=20).map(|at| key(10f32.powi(at))).collect();
            assert!(keys.iter().all(|key| key.is_finite() && *key < 0.0));
            assert!(keys.is_sorted_by(|a, b| a >= b), "{query}: {keys:?}");
        }
    }

    #[test]
    fn a_frame_reads_back_and_nothing_else_does() {
        for metric in Metric::ALL {
            let rotation = [4; 32];
            for recall in [None, Some(0.0), Some(0.9876), Some(1.0)] {
                let frame = frame(metric, 5).with_recall(recall);
                let bytes = frame.to_bytes();
                let own = usize::from(bases_of(metric));
                assert_eq!(bytes.len(), frame_len(5, frame.stored_dim(), own));
                let read = Frame::from_bytes(metric, rotation, 5, &bytes).unwrap();
                assert_eq!(read.to_bytes(), bytes);
                assert_eq!(read.recall(), recall);
            }
            let bytes = frame(metric, 5).to_bytes();
            for len in 0..bytes.len() {
                assert!(Frame::from_bytes(metric, rotation, 5, &bytes[..len]).is_err());
            }
            assert!(Frame::from_bytes(metric, rotation, 6, &bytes).is_err());
            for (at, byte) in [(1, 0x7f), (5, 0x01), (6, 0), (7, 2), (11, 0x7f), (12, 0x7f)] {
                let mut wrong = bytes.clone();
                wrong[at] = byte;
                if at == 12 {
                    wrong[8..12].copy_from_slice(&f32::NAN.to_le_bytes());
                }
                if at == 5 {
                    wrong[2..6].copy_from_slice(&1_000_001u32.to_le_bytes());
                }
                assert!(
                    Frame::from_bytes(metric, rotation, 5, &wrong).is_err(),
                    "{at}"
                );
            }
        }
    }
}
