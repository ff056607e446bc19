//! The number of buckets that a search must read. The builder measures it with some vectors and with the owner's questions.
//!
//! The number goes into the manifest and is the same for every query. A vector that serves as a query is itself left out of its
//! truth and of its answer.

use rayon::prelude::*;
use sordino_index::Error;
use sordino_vault::decoded_rows::DecodedRows;
use sordino_vault::frame::{Frame, FrameQuery};
use sordino_vectors::metric::{Metric, length};
use sordino_vectors::recall::{Scored, TopK};
use sordino_vectors::{Vectors, to_f32, u32_of};

use crate::cluster::Points;
use crate::lifted::Lifted;
use crate::questions::different;
use crate::recall::{Nearness, share};
use crate::rows::Rows;
use crate::sample_recall::{DEVIATION, SampleRecall};

/// The number of vectors that serve as queries when the number of probes is measured.
pub(crate) const SAMPLE: usize = 500;

/// The number of extra candidates for the truth. They are chosen in single precision and ranked in double precision.
const SPARE: usize = 200;

/// The number of rows, and of queries, of one block of the matrix product. Its scores stay in the cache.
const ROWS: usize = 512;
const QUERIES: usize = 32;

/// The rows of an index that is searched in parts, with the queries of a measurement.
pub(crate) struct Sample<'a> {
    rows: &'a Rows,
    /// Rows that serve as queries, and then the questions.
    queries: Vec<Query>,
    /// The number of questions.
    questions: usize,
    /// The lifted queries.
    lifted: Vectors,
    k: usize,
    /// The number of found records that are kept. It is more than `k` if they are ranked exactly afterwards.
    kept: usize,
}

/// A query of a measurement.
pub(crate) struct Query {
    /// The row that serves as the query. `None` for a question.
    itself: Option<u32>,
    pub(crate) asked: FrameQuery,
    near: Nearness,
    /// The nearest other rows with their nearness, the nearest first.
    truth: Vec<(u32, f64)>,
}

impl<'a> Sample<'a> {
    /// Takes every `len / count`-th of these rows as a query, in the form that a client asks. Adds at most [`SAMPLE`] of the
    /// different questions, evenly spread.
    ///
    /// # Errors
    /// The errors of [`Frame::ask`] for questions.
    pub(crate) fn new(
        points: Lifted<'a>,
        count: usize,
        questions: Option<&Vectors>,
        k: usize,
    ) -> Result<Self, Error> {
        let (Lifted { rows, frame }, len) = (points, points.len());
        let count = count.min(len);
        let places = (0..count).map(|i| i * len / count);
        let asked = places.filter_map(|row| {
            let y = rows.whole(frame, row);
            let near_to = Nearness::new(frame, &y);
            Some((Some(u32_of(row)), frame.ask_for(&y)?, near_to))
        });
        let mut asked: Vec<_> = asked.collect();
        let own = asked.len();
        let given = questions.map_or_else(Vec::new, |all| {
            let different = different(all).into_iter();
            different.map(|at| all.row(at)).collect()
        });
        let count = given.len().min(SAMPLE);
        for i in 0..count {
            let question = given[i * given.len() / count];
            let query = frame.ask(question)?;
            let near_to = Nearness::to_question(frame, &query, &frame.centred(question));
            asked.push((None, query, near_to));
        }
        let sample = Self::asked(points, asked, k);
        Ok(Self {
            questions: sample.queries.len() - own,
            ..sample
        })
    }

    fn asked(
        Lifted { rows, frame }: Lifted<'a>,
        asked: Vec<(Option<u32>, FrameQuery, Nearness)>,
        k: usize,
    ) -> Self {
        let near = candidates(frame, rows, &asked, k + 1 + SPARE);
        let lifted = asked.iter().flat_map(|(_, asked, _)| asked.lifted());
        let lifted: Vec<f32> = lifted.copied().collect();
        // If all rows are zero, a search for the inner product has no queries.
        let lifted = match lifted.is_empty() {
            true => Vectors::new(frame.stored_dim(), Lifted { rows, frame }.unit(0)),
            false => Vectors::new(frame.stored_dim(), lifted),
        };
        let lifted = lifted.expect("the same number of coordinates as before");
        let query = |(near, (itself, asked, near_to)): (Vec<u32>, (_, FrameQuery, Nearness))| {
            let others = near.iter().filter(|&&id| Some(id) != itself);
            let of = |id: u32| {
                let id = id as usize;
                near_to.of(rows.marks[id].base, &rows.unrounded(id))
            };
            let mut truth: Vec<(u32, f64)> = others.map(|&id| (id, of(id))).collect();
            truth.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
            truth.truncate(k);
            Query {
                itself,
                asked,
                near: near_to,
                truth,
            }
        };
        Self {
            queries: near.into_iter().zip(asked).map(query).collect(),
            rows,
            questions: 0,
            lifted,
            k,
            kept: k,
        }
    }

    /// The same queries, for searches that rank the best candidates exactly. `candidates` is the number of these.
    pub(crate) fn with_candidates(self, candidates: Option<u32>) -> Self {
        let kept = candidates.map_or(self.k, |candidates| candidates as usize);
        Self { kept, ..self }
    }

    /// The lifted queries.
    pub(crate) fn queries(&self) -> &Vectors {
        &self.lifted
    }

    /// The nearest rows of each query, without the query itself.
    pub(crate) fn truths(&self) -> impl Iterator<Item = impl Iterator<Item = u32>> {
        self.queries
            .iter()
            .map(|query| query.truth.iter().map(|(id, _)| *id))
    }

    /// The true nearness of a row to a query.
    fn near(&self, query: &Query, id: u32) -> f64 {
        let id = id as usize;
        query
            .near
            .of(self.rows.marks[id].base, &self.rows.unrounded(id))
    }

    /// A record with its exact score for a query.
    pub(crate) fn scored(&self, id: u32, query: &Query) -> Scored {
        let score = to_f32(self.near(query, id));
        Scored { id, score }
    }

    /// The mean of rows and of questions of these shares, one for each query.
    fn means(&self, shares: &[f64]) -> SampleRecall {
        let (rows, questions) = shares.split_at(shares.len() - self.questions);
        SampleRecall {
            held_out: mean(rows),
            questions: (self.questions > 0).then(|| mean(questions)),
            margin: DEVIATION / (self.questions.max(1) as f64).sqrt(),
        }
    }

    /// Mean recall@k of the best records that `find` returns for each query, possibly with copies. Records among the candidates
    /// of a second look count as found.
    pub(crate) fn recall(&self, find: impl Fn(&Query) -> Vec<Scored> + Sync) -> SampleRecall {
        let hits = self.queries.par_iter().map(|query| {
            let mut best = Best::new(self.kept, self.k);
            let found = find(query).into_iter();
            found
                .filter(|hit| Some(hit.id) != query.itself)
                .for_each(|hit| best.offer(hit, || self.near(query, hit.id)));
            best.share(query)
        });
        // The order is fixed, so that the result does not depend on threads.
        let hits: Vec<f64> = hits.collect();
        self.means(&hits)
    }

    /// Mean recall@k after 1, 2, ... `most` probes of `opened`, the buckets of `centroids`. The order of probes follows the inner
    /// products of `routed`, the queries in the form that a router sees.
    pub(crate) fn curve(
        &self,
        routed: &Vectors,
        centroids: &Vectors,
        opened: &[DecodedRows],
        most: usize,
        pulse: &mut dyn FnMut(),
    ) -> Vec<SampleRecall> {
        let most = most.min(opened.len());
        let order = crate::cluster::nearest(routed, centroids, most, pulse);
        let hits = self.queries.par_iter().enumerate().map(|(at, query)| {
            let order = order.list(at);
            let mut best = Best::new(self.k, self.k);
            let after = order.iter().map(|&(bucket, _)| {
                let bucket = &opened[bucket as usize];
                for (&id, score) in bucket.rows.iter().zip(bucket.keys(&query.asked)) {
                    if Some(id) != query.itself {
                        best.offer(Scored { id, score }, || self.near(query, id));
                    }
                }
                best.share(query)
            });
            after.collect::<Vec<f64>>()
        });
        let hits: Vec<Vec<f64>> = hits.collect();
        let after = (0..most).map(|probes| {
            let shares: Vec<f64> = hits.iter().map(|hits| hits[probes]).collect();
            self.means(&shares)
        });
        after.collect()
    }
}

/// For each query its nearest rows in single precision, compared relative to the frame's centre. Single precision may
/// not distinguish lifted vectors, or directions from the origin.
fn candidates(
    frame: &Frame,
    rows: &Rows,
    asked: &[(Option<u32>, FrameQuery, Nearness)],
    most: usize,
) -> Vec<Vec<u32>> {
    let (n, width) = (rows.vectors.len(), frame.stored_dim());
    let mut best = vec![TopK::new(most); asked.len()];
    for first in (0..n).step_by(ROWS) {
        let last = n.min(first + ROWS);
        let whole = |row: usize| rows.whole(frame, row);
        let ys: Vec<f32> = (first..last).flat_map(whole).collect();
        let halves = ys.chunks_exact(width).map(|y| match frame.metric() {
            Metric::InnerProduct => 0.0,
            Metric::Cosine | Metric::Euclidean => to_f32(length(y).powi(2) / 2.0),
        });
        let halves: Vec<f32> = halves.collect();
        let ys = Vectors::new(width, ys).expect("whole rows");
        let ys = ys.view(0..ys.len()).reversed_axes();
        let blocks = best.par_chunks_mut(QUERIES).zip(asked.par_chunks(QUERIES));
        blocks.for_each(|(best, asked)| {
            let queries = asked.iter().flat_map(|(_, _, near)| near.single());
            let queries = Vectors::new(width, queries.collect()).expect("whole queries");
            let scores = queries.view(0..queries.len()).dot(&ys);
            for (best, scores) in best.iter_mut().zip(scores.outer_iter()) {
                for ((row, score), half) in (first..).zip(scores).zip(&halves) {
                    best.offer_with(score - half, || u32_of(row));
                }
            }
        });
    }
    let ids = |best: TopK| best.into_ranked().iter().map(|hit| hit.id).collect();
    best.into_iter().map(ids).collect()
}

/// The mean. It is 1 for an empty list: if there are no neighbours, none is missed.
fn mean(shares: &[f64]) -> f64 {
    match shares.len() {
        0 => 1.0,
        count => shares.iter().sum::<f64>() / count as f64,
    }
}

/// The records with the best scores so far, best first, with the true nearness of each. Each record occurs once.
struct Best {
    kept: usize,
    k: usize,
    best: Vec<(Scored, f64)>,
}

impl Best {
    fn new(kept: usize, k: usize) -> Self {
        Self {
            kept,
            k,
            best: Vec::with_capacity(kept + 1),
        }
    }

    /// The share of the nearest records that this list has and that are ranked exactly.
    fn share(&self, query: &Query) -> f64 {
        let Some(&(_, last)) = query.truth.last() else {
            return 1.0;
        };
        let truth: Vec<f64> = query.truth.iter().map(|(_, near)| *near).collect();
        let mut found: Vec<f64> = self.best.iter().map(|(_, near)| *near).collect();
        found.sort_unstable_by(|a, b| b.total_cmp(a));
        found.truncate(self.k);
        share(&truth, &found, query.near.slack(last))
    }

    fn offer(&mut self, new: Scored, near: impl FnOnce() -> f64) {
        let full = self.best.len() == self.kept;
        let worst = self.best.last();
        if full && worst.is_some_and(|(worst, _)| Scored::rank(&new, worst).is_ge()) {
            return;
        }
        let same = self.best.iter().position(|(hit, _)| hit.id == new.id);
        let near = match same {
            Some(same) if Scored::rank(&new, &self.best[same].0).is_ge() => return,
            Some(same) => self.best.remove(same).1,
            None => near(),
        };
        let at = self
            .best
            .partition_point(|(hit, _)| Scored::rank(hit, &new).is_lt());
        self.best.insert(at, (new, near));
        self.best.truncate(self.kept);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster;
    use sordino_index::IdKind;
    use sordino_vault::attributes::Attributes;
    use sordino_vault::ids::Ids;
    use sordino_vectors::synthetic;

    /// Vectors as rows of a frame about the origin.
    fn rows(data: &Vectors) -> (Frame, Rows) {
        let frame = Frame::origin(Metric::Cosine, [0; 32], data.dim());
        let ids: Vec<sordino_index::Id> = (0..data.len() as u64).map(Into::into).collect();
        let rows = Rows {
            ids: Ids::from_ascending(IdKind::Number, &ids).unwrap(),
            vectors: data.clone(),
            marks: Vec::new(),
            attributes: Attributes::none(data.len()),
        };
        let rows = rows.framed(&frame).unwrap();
        (frame, rows)
    }

    #[test]
    fn probing_everything_finds_everything_and_probing_more_finds_more() {
        let (data, _) = synthetic::clustered(2000, 1, 48, 2);
        let (frame, rows) = rows(&data);
        let units = Lifted::new(&rows, &frame);
        let centroids = cluster::centroids(&units, 20, [1; 32], &mut || ());
        let lists = cluster::lists(&units, &centroids, &mut || ());
        let opened: Vec<DecodedRows> = cluster::buckets(&units, &centroids, lists, 200)
            .iter()
            .map(|members| {
                let mut opened = DecodedRows::default();
                for &row in members {
                    opened.push(&frame, row, 0, rows.vectors.row(row as usize));
                }
                opened
            })
            .collect();
        let sample = Sample::new(Lifted::new(&rows, &frame), 100, None, 10).unwrap();
        let curve = sample.curve(sample.queries(), &centroids, &opened, 20, &mut || ());
        let curve: Vec<f64> = curve.iter().map(|recall| recall.held_out).collect();
        assert_eq!(curve.len(), 20);
        assert!(curve[19] > 0.998, "{curve:?}");
        assert!(curve[0] > 0.3 && curve[0] < curve[4], "{curve:?}");
        assert!(curve.is_sorted_by(|a, b| *a <= b + 0.005), "{curve:?}");
    }

    #[test]
    fn any_copy_of_a_neighbour_is_as_good_as_another_and_none_for_a_nearer_one() {
        // The query, nine vectors at small angles to it, and fifty copies of one at a large angle.
        let angles = (0..10u8).map(f32::from).chain([50.0; 50]);
        let data =
            angles.flat_map(|degrees| [degrees.to_radians().cos(), degrees.to_radians().sin()]);
        let data = Vectors::new(2, data.collect()).unwrap();
        let (frame, rows) = rows(&data);
        let found = |sample: &Sample<'_>, ids: std::ops::Range<u32>| {
            let found =
                sample.recall(|query| ids.clone().map(|id| sample.scored(id, query)).collect());
            found.held_out
        };
        for candidates in [None, Some(32)] {
            let sample = Sample::new(Lifted::new(&rows, &frame), 1, None, 10).unwrap();
            let sample = sample.with_candidates(candidates);
            for (first, recall) in [(10, 0.1), (9, 0.2), (4, 0.7), (1, 1.0), (0, 1.0)] {
                let measured = found(&sample, first..60);
                assert!((measured - recall).abs() < 1e-9, "{first}: {measured}");
            }
            assert!((found(&sample, 1..10) - 0.9).abs() < 1e-9);
        }
    }

    /// If all scores are equal, they do not depend on nearness.
    #[test]
    fn rows_are_not_found_because_all_scores_are_alike() {
        let data = synthetic::uniform(400, 8, 1);
        let (frame, rows) = rows(&data);
        let sample = Sample::new(Lifted::new(&rows, &frame), 50, None, 10).unwrap();
        let alike = |_: &Query| (0..400).map(|id| Scored { id, score: 0.5 }).collect();
        let recall = sample.recall(alike).held_out;
        assert!(recall < 0.1, "{recall}");
    }

    #[test]
    fn of_one_record_all_others_are_found() {
        let data = synthetic::uniform(1, 8, 1);
        let (frame, rows) = rows(&data);
        let sample = Sample::new(Lifted::new(&rows, &frame), 500, None, 1).unwrap();
        assert!(sample.recall(|_| Vec::new()).held_out > 0.999);
    }
}
