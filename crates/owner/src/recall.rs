//! The recall of an index whose rows are all scored, measured while it is built.
//!
//! Some rows serve as queries, and are themselves not counted as found. The truth is computed in double precision from the
//! vectors. Scores are computed from the stored form, with noise as large as the noise of encryption. Rows may replace each
//! other only if their true nearness is equal. Equal scores alone are not enough.

use rayon::prelude::*;
use sordino_index::Error;
use sordino_index::code::Codec;
use sordino_vault::frame::{Frame, FrameQuery, RowScale};
use sordino_vectors::metric::Metric;
use sordino_vectors::recall::TopK;
use sordino_vectors::to_f32;

use crate::random::mixed;
use crate::rows::Rows;

/// The number of rows of the first segment that serve as queries. `NEXT` is the number for each later segment, and
/// `MOST` is the largest total number.
const FIRST: usize = 48;
const NEXT: usize = 4;
const MOST: usize = 64;

/// Below this recall, vectors that clients download get the longer code.
const LITTLE: f64 = 0.985;

/// The nearness of rows to a query in the metric, in double precision. A larger value is nearer.
pub(crate) struct Nearness {
    metric: Metric,
    /// For each base its difference to the query or, for the inner product, its part of the product.
    bases: Vec<Vec<f64>>,
    /// The rotated query: its `y`, or for the inner product the query itself.
    query: Vec<f64>,
    /// The length of the query's `y`, and the length of the query.
    lengths: (f64, f64),
    /// For a question a bound on the length of rows. Then only the rows were rounded, and not the question.
    longest: Option<f64>,
}

impl Nearness {
    /// The nearness to the vector of this `y`.
    pub(crate) fn new(frame: &Frame, y: &[f32]) -> Self {
        let metric = frame.metric();
        let wide = |x: &[f32]| x.iter().map(|&x| f64::from(x)).collect::<Vec<f64>>();
        let query = match metric {
            Metric::InnerProduct => wide(&frame.turned(y)),
            Metric::Cosine | Metric::Euclidean => wide(y),
        };
        let base = |base: usize| {
            let base = frame.base(u8::try_from(base).unwrap_or(0));
            let both = base.iter().map(|&x| f64::from(x)).zip(&query);
            match metric {
                // All rows share the product with the centre, which would hide their differences, so it is left out.
                Metric::InnerProduct => vec![both.map(|(a, b)| a * b).sum()],
                Metric::Cosine | Metric::Euclidean => both.map(|(base, y)| base - y).collect(),
            }
        };
        let length = |x: &[f64]| x.iter().map(|x| x * x).sum::<f64>().sqrt();
        Self {
            metric,
            bases: (0..frame.bases()).map(base).collect(),
            lengths: (length(&wide(y)), length(&query)),
            query,
            longest: None,
        }
    }

    /// The nearness to a question. `asked` is the question in the form that a client asks, and `y` is its `y`.
    ///
    /// By the inner product the length of a question does not change the order of rows. So the question has length 1,
    /// and its centre is not subtracted.
    pub(crate) fn to_question(frame: &Frame, asked: &FrameQuery, y: &[f32]) -> Self {
        let mut near = Self::new(frame, y);
        match near.metric {
            Metric::Cosine => near.longest = Some(f64::INFINITY),
            Metric::Euclidean => near.longest = Some(frame.longest()),
            Metric::InnerProduct => {
                let unit = asked.unit().iter().map(|&x| f64::from(x));
                near.query = unit.collect();
                let along = |base: usize| {
                    let base = frame.base(u8::try_from(base).unwrap_or(0)).iter();
                    vec![base.zip(&near.query).map(|(&c, q)| f64::from(c) * q).sum()]
                };
                near.bases = (0..frame.bases()).map(along).collect();
                near.lengths = (frame.longest(), 1.0);
            }
        }
        near
    }

    /// The query in single precision.
    pub(crate) fn single(&self) -> impl Iterator<Item = f32> {
        self.query.iter().map(|&x| to_f32(x))
    }

    /// The largest difference in nearness at which rows may be equally near. Vectors are given and rotated in single precision,
    /// so equal vectors differ in the last bits. They differ by about four roundings of the length of each of two vectors.
    pub(crate) fn slack(&self, near: f64) -> f64 {
        let (own, whole) = self.lengths;
        let roundings = 4.0 * f64::from(f32::EPSILON) / 2.0;
        match self.metric {
            Metric::InnerProduct => 2.0 * roundings * own * whole,
            // Converts a change of a distance to a change of its square.
            Metric::Cosine | Metric::Euclidean => {
                let far = (-near).max(0.0).sqrt();
                let both = match self.longest {
                    None => 2.0 * own + far,
                    Some(longest) => 2.0 * longest.min(own + far),
                };
                2.0 * roundings * far * both
            }
        }
    }

    /// The nearness of the row with this residual to a base.
    pub(crate) fn of(&self, base: u8, residual: &[f32]) -> f64 {
        let base = &self.bases[usize::from(base)];
        match self.metric {
            // Of two unit vectors, the nearer one has the larger cosine.
            Metric::Cosine | Metric::Euclidean => -sum(base, residual, |d, r| (d + r) * (d + r)),
            Metric::InnerProduct => base[0] + sum(&self.query, residual, |q, r| q * r),
        }
    }
}

/// A sum over pairs of coordinates, in four parts so that the compiler uses vector instructions.
fn sum(a: &[f64], b: &[f32], each: impl Fn(f64, f64) -> f64) -> f64 {
    let (a4, a_rest) = a.as_chunks::<4>();
    let (b4, b_rest) = b.as_chunks::<4>();
    let mut sums = [0.0; 4];
    for (a, b) in a4.iter().zip(b4) {
        for lane in 0..4 {
            sums[lane] += each(a[lane], f64::from(b[lane]));
        }
    }
    let rest = a_rest.iter().zip(b_rest);
    sums.iter().sum::<f64>() + rest.map(|(&a, &b)| each(a, f64::from(b))).sum::<f64>()
}

/// Queries, with the nearest rows of each so far and the rows that were found.
pub(crate) struct Recall {
    k: usize,
    kept: usize,
    queries: Vec<Query>,
    rows: u32,
}

struct Query {
    /// The position of the query's own row.
    itself: u32,
    near: Nearness,
    asked: FrameQuery,
    truth: Best,
    /// The rows with the best scores, with the true nearness of each.
    found: TopK,
    nearness: Vec<(u32, f64)>,
}

/// The largest of the numbers that it was given, up to a fixed count.
struct Best {
    k: usize,
    kept: Vec<f64>,
}

impl Best {
    fn offer(&mut self, new: f64) {
        let at = self.kept.partition_point(|kept| *kept >= new);
        if at < self.k {
            self.kept.insert(at, new);
            self.kept.truncate(self.k);
        }
    }
}

impl Recall {
    /// An empty list of queries, for `k` results. `kept` candidates are kept, and if they are more than `k`, they are ranked
    /// exactly.
    pub(crate) fn new(k: usize, kept: usize) -> Self {
        Self {
            k,
            kept,
            queries: Vec::new(),
            rows: 0,
        }
    }

    /// The shortest code, from this one on, with which clients that download these rows lose little.
    pub(crate) fn coarsest(
        &self,
        frame: &Frame,
        rows: &Rows,
        codec: Codec,
    ) -> Result<Codec, Error> {
        if codec != Codec::Int8 {
            return Ok(codec);
        }
        let vectors = rows.decoded(frame, codec)?;
        let mut tried = Self::new(self.k, self.kept);
        tried.add(frame, rows, |asked, _| vectors.keys(asked));
        let loses = tried.share().is_some_and(|recall| recall < LITTLE);
        Ok(if loses { Codec::Int12 } else { codec })
    }

    /// Measures a segment's rows. `keys` gives the keys of all rows for a query, as a client of the index has them.
    pub(crate) fn add(
        &mut self,
        frame: &Frame,
        rows: &Rows,
        keys: impl Fn(&FrameQuery, u64) -> Vec<f32> + Sync,
    ) {
        let n = rows.vectors.len();
        let y = |row: usize| rows.whole(frame, row);
        let more = if self.queries.is_empty() { FIRST } else { NEXT };
        let more = more.min(MOST - self.queries.len()).min(n);
        for row in (0..more).map(|at| (2 * at + 1) * n / (2 * more)) {
            let y = y(row);
            if let Some(asked) = frame.ask_for(&y) {
                self.queries.push(Query {
                    itself: self.rows + sordino_vectors::u32_of(row),
                    near: Nearness::new(frame, &y),
                    asked,
                    truth: Best {
                        k: self.k,
                        kept: Vec::new(),
                    },
                    found: TopK::new(self.kept),
                    nearness: Vec::new(),
                });
            }
        }
        let first = self.rows;
        let (vectors, width) = (rows.all_unrounded(), rows.vectors.dim());
        self.queries.par_iter_mut().for_each(|query| {
            let keys = keys(&query.asked, u64::from(query.itself));
            for (row, key) in keys.into_iter().enumerate() {
                let place = first + sordino_vectors::u32_of(row);
                if place == query.itself {
                    continue;
                }
                let residual = &vectors[row * width..][..width];
                let near = query.near.of(rows.marks[row].base, residual);
                query.truth.offer(near);
                query.found.offer_with(key, || {
                    query.nearness.push((place, near));
                    place
                });
            }
            // A row that was kept for a while may have been replaced since.
            let kept: std::collections::HashSet<u32> = query
                .found
                .clone()
                .into_ranked()
                .iter()
                .map(|hit| hit.id)
                .collect();
            query.nearness.retain(|(place, _)| kept.contains(place));
        });
        self.rows += sordino_vectors::u32_of(n);
    }

    /// Like [`share`](Self::share), but `None` if there are so few rows that all of them are among the nearest.
    pub(crate) fn share_of_many(&self) -> Option<f64> {
        let many = self.rows as usize >= 4 * self.k;
        self.share().filter(|_| many)
    }

    /// The share of the nearest rows that was found, or `None` without queries.
    pub(crate) fn share(&self) -> Option<f64> {
        let shares = self.queries.iter().map(|query| query.share(self.k));
        let shares: Vec<f64> = shares.collect();
        (!shares.is_empty()).then(|| shares.iter().sum::<f64>() / shares.len() as f64)
    }
}

impl Query {
    fn share(&self, k: usize) -> f64 {
        let Some(&last) = self.truth.kept.last() else {
            return 1.0;
        };
        // If there are more candidates than results, they are ranked exactly.
        let mut found: Vec<f64> = self.nearness.iter().map(|(_, near)| *near).collect();
        found.sort_unstable_by(|a, b| b.total_cmp(a));
        found.truncate(k);
        share(&self.truth.kept, &found, self.near.slack(last))
    }
}

/// The share of the true nearest rows that was found. `truth` has their nearness, best first. Rows within `slack` of
/// the last may replace each other.
pub(crate) fn share(truth: &[f64], found: &[f64], slack: f64) -> f64 {
    let Some(&last) = truth.last() else {
        return 1.0;
    };
    let nearer = |all: &[f64]| all.iter().filter(|near| **near > last + slack).count();
    let equal = found
        .iter()
        .filter(|near| (**near - last).abs() <= slack)
        .count();
    let equal = equal.min(truth.len() - nearer(truth));
    (nearer(found) + equal) as f64 / truth.len().max(1) as f64
}

/// Numbers close to normal, with this standard deviation. They depend only on the seed and the position.
pub(crate) struct Noise {
    pub(crate) seed: u64,
    pub(crate) deviation: f64,
}

impl Noise {
    pub(crate) fn at(&self, place: usize) -> f64 {
        let drawn = mixed(self.seed ^ mixed(place as u64));
        // A sum of four numbers below 2^16, all equally likely.
        let parts = [0, 16, 32, 48].map(|shift| drawn >> shift & 0xffff);
        let sum = parts.iter().sum::<u64>() as f64 - 2.0 * 65_535.0;
        sum * self.deviation * 3f64.sqrt() / 65_536.0
    }
}

/// The keys of rows whose residuals are stored as these unit vectors, under noise. `asked` is the query in its encoded form.
pub(crate) fn keys_of_units(
    units: &[f32],
    scales: &[RowScale],
    asked: &FrameQuery,
    query: &[f32],
    noise: &Noise,
) -> Vec<f32> {
    let rows = units.chunks_exact(query.len()).zip(scales).enumerate();
    rows.map(|(place, (unit, scale))| {
        let score = f64::from(sordino_vectors::dot(unit, query)) + noise.at(place);
        asked.key(scale, to_f32(score))
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equally_near_rows_stand_for_each_other_and_for_no_nearer_ones() {
        let truth = [5.0, 4.0, 3.0, 3.0];
        for (found, expected) in [
            (&[5.0, 4.0, 3.0, 3.0][..], 1.0),
            (&[3.0, 3.0, 3.0, 3.0], 0.5),
            (&[5.0, 3.0, 3.0, 3.0], 0.75),
            (&[5.0, 4.0, 3.0, 2.9], 0.75),
            (&[2.0, 2.0, 2.0, 2.0], 0.0),
        ] {
            assert!((share(&truth, found, 1e-6) - expected).abs() < 1e-12);
        }
    }

    #[test]
    fn noise_has_the_deviation_that_is_asked_for() {
        let noise = Noise {
            seed: 7,
            deviation: 0.25,
        };
        let all: Vec<f64> = (0..100_000).map(|at| noise.at(at)).collect();
        let mean = all.iter().sum::<f64>() / 1e5;
        let square = all.iter().map(|x| x * x).sum::<f64>() / 1e5;
        assert!(mean.abs() < 0.003 && (square.sqrt() / 0.25 - 1.0).abs() < 0.01);
        assert_eq!(noise.at(5), noise.at(5));
    }
}
