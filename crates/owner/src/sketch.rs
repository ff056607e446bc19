//! Local mode's first stage: short codes that a client makes of downloaded vectors.
//!
//! A search compares the query's code with all codes, and scores exactly only the vectors with the nearest codes. The
//! necessary numbers of bits and of candidates depend on the data. So the builder measures them against scoring
//! everything. If no affordable number of candidates holds what a full scan finds, there is no first stage.
//!
//! Codes never leave the client: a code is a sketch of its vector.

use rayon::prelude::*;
use sordino_index::sketch::Sketch;
use sordino_lsh::Seed;
use sordino_vault::decoded_rows::DecodedRows;
use sordino_vault::frame::{Frame, FrameQuery};
use sordino_vault::hamming_codes::{HammingCodes, MANY};
use sordino_vectors::u32_of;

/// The numbers of bits to try.
const BITS: [usize; 4] = [128, 256, 512, 1024];

/// The numbers of candidates to try.
const CANDIDATES: [usize; 6] = [100, 200, 500, 1000, 2000, 4000];

/// The share of a full scan's results that the candidates must hold.
const SHARE: f64 = 0.9995;

/// The number of vectors that serve as queries for this measurement.
const SAMPLE: usize = 250;

/// A full scan must take longer by this factor, or the codes are not worth making.
const GAIN: f64 = 1.5;

/// Nanoseconds for comparing sketches. The first two are for a word of a code in a scan, and for a candidate before its
/// coordinates are read. The others are for a coordinate of a candidate, and for a coordinate in a full scan. They are
/// fitted within a sixth to whole searches of 100,000 vectors at 500 to 2000 candidates, on one thread of the machine
/// of [`Speed::ZEN5`](crate::plan::Speed::ZEN5).
const WORD: f64 = 0.16;
const CANDIDATE: f64 = 300.0;
const COORDINATE: f64 = 0.55;
const SCANNED: f64 = 0.09;

/// The sketch for a segment of these vectors, in the form that a client has, if one is worth it.
pub(crate) fn of(vectors: &DecodedRows, frame: &Frame, seed: Seed, k: usize) -> Option<Sketch> {
    let query = |row| {
        let mut y = vec![0.0; frame.stored_dim()];
        vectors.from_centre(frame, row, &mut y);
        frame.ask_for(&y)
    };
    choose(vectors, frame, query, seed, k)
}

/// The cheapest sketch that loses almost nothing of these vectors, if there is one. `query` turns the number of a
/// vector into a query for it.
fn choose(
    vectors: &DecodedRows,
    frame: &Frame,
    query: impl Fn(usize) -> Option<FrameQuery>,
    seed: Seed,
    k: usize,
) -> Option<Sketch> {
    let (len, dim) = (vectors.rows.len(), frame.stored_dim());
    let whole = (len * dim) as f64 * SCANNED;
    let cost = |sketch: &Sketch| {
        let words = len as f64 * f64::from(sketch.bits) / 64.0;
        let candidate = CANDIDATE + COORDINATE * dim as f64;
        WORD * words + candidate * f64::from(sketch.candidates)
    };
    let affordable = |sketch: &Sketch| {
        let holds = (k + 1..=len / MANY).contains(&(sketch.candidates as usize));
        holds && cost(sketch) * GAIN <= whole
    };
    let mut sample = None;
    let mut best: Option<Sketch> = None;
    for bits in BITS.map(u32_of) {
        let sketches = CANDIDATES.map(|count| Sketch::new(bits, u32_of(count)));
        let cheaper = |sketch: &Sketch| best.as_ref().is_none_or(|best| cost(sketch) < cost(best));
        let open = |sketch: &&Sketch| affordable(sketch) && cheaper(sketch);
        let Some(largest) = sketches.iter().rfind(open) else {
            continue;
        };
        let sample = sample.get_or_insert_with(|| Sample::new(vectors, &query, k));
        let shares = sample.shares(&HammingCodes::new(largest, seed, frame, vectors));
        let enough = |sketch: &&Sketch| shares[sketch.candidates as usize] >= SHARE;
        best = sketches.iter().filter(open).find(enough).copied().or(best);
    }
    best
}

/// Vectors that serve as queries, with the `k` others that a full scan finds for each.
struct Sample {
    queries: Vec<FrameQuery>,
    truth: Vec<Vec<u32>>,
}

impl Sample {
    fn new(vectors: &DecodedRows, query: impl Fn(usize) -> Option<FrameQuery>, k: usize) -> Self {
        let len = vectors.rows.len();
        let count = SAMPLE.min(len);
        let rows: Vec<u32> = (0..count).map(|i| u32_of(i * len / count)).collect();
        let asked = rows
            .iter()
            .filter_map(|&row| Some((row, query(row as usize)?)));
        let (rows, queries): (Vec<u32>, Vec<FrameQuery>) = asked.unzip();
        let nearest = |(query, &row): (&FrameQuery, &u32)| {
            let nearest = vectors.nearest_places(query, k + 1);
            let others = nearest.iter().map(|hit| hit.id).filter(|&id| id != row);
            others.take(k).collect::<Vec<u32>>()
        };
        let truth = queries.par_iter().zip(&rows).map(nearest).collect();
        Self { queries, truth }
    }

    /// For each number of candidates, up to the number of `sketched`, the share of the truth that is among them.
    fn shares(&self, sketched: &HammingCodes) -> Vec<f64> {
        let places = self.queries.par_iter().zip(&self.truth);
        let places = places.map(|(query, truth)| {
            // The nearest codes come first, so a smaller number of candidates is a prefix of these.
            let candidates = sketched.candidates(query);
            let place = |id: &u32| candidates.iter().position(|candidate| candidate == id);
            truth.iter().map(place).collect::<Vec<Option<usize>>>()
        });
        let places: Vec<Option<usize>> = places.flatten_iter().collect();
        let mut shares = vec![0.0; sketched.candidates + 1];
        for place in places.iter().flatten() {
            shares[place + 1] += 1.0 / places.len() as f64;
        }
        for count in 1..shares.len() {
            shares[count] += shares[count - 1];
        }
        shares
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sordino_vectors::metric::Metric;
    use sordino_vectors::{Vectors, synthetic};

    const DIM: usize = 128;

    fn frame() -> Frame {
        Frame::origin(Metric::Cosine, [3; 32], DIM)
    }

    fn opened(vectors: &Vectors) -> DecodedRows {
        let (frame, mut opened) = (frame(), DecodedRows::default());
        for (row, vector) in (0..).zip(vectors.rows()) {
            opened.push(&frame, row, 0, &frame.centred(vector));
        }
        opened
    }

    #[test]
    fn a_sketch_is_chosen_that_finds_what_a_whole_scan_finds() {
        let (base, queries) = synthetic::clustered(20_000, 50, DIM, 3);
        let (vectors, seed, frame) = (opened(&base), Seed([1; 32]), frame());
        let sketch = of(&vectors, &frame, seed, 10).expect("this data has structure");
        assert!(sketch.candidates < 5000, "{sketch:?}");
        let sketched = HammingCodes::new(&sketch, seed, &frame, &vectors);
        let mut found = 0;
        for query in queries.rows() {
            let asked = frame.ask(query).unwrap();
            let truth = vectors.nearest_places(&asked, 10);
            let candidates = sketched.candidates(&asked);
            assert_eq!(candidates.len(), sketch.candidates as usize);
            found += truth
                .iter()
                .filter(|hit| candidates.contains(&hit.id))
                .count();
        }
        assert!(found >= 497, "{found} of 500");
    }

    #[test]
    fn there_is_none_where_it_would_lose_or_gain_nothing() {
        let seed = Seed([1; 32]);
        // A full scan of few vectors is faster than comparing codes.
        let none = |vectors: &Vectors| of(&opened(vectors), &frame(), seed, 10).is_none();
        assert!(none(&synthetic::clustered(300, 1, DIM, 3).0));
        // Without structure in the data, only very many candidates hold the nearest.
        assert!(none(&synthetic::uniform(20_000, DIM, 3)));
    }
}
