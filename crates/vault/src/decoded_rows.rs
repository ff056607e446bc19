//! Opened vectors, and their scores.

use rayon::prelude::*;
use zeroize::Zeroizing;

use crate::frame::{Frame, FrameQuery, RowScale};
use crate::scan;
use sordino_vectors::metric::length;
use sordino_vectors::recall::{Scored, TopK, counting};
use sordino_vectors::to_f32;

/// The number of rows that one task scores.
const PART: usize = 8192;

/// Decoded vectors of opened buckets, ready to be scored.
#[derive(Clone, Debug, Default)]
pub struct DecodedRows {
    /// For each vector, the row of its record in the segment. A record may occur more than once.
    pub rows: Vec<u32>,
    scales: Vec<RowScale>,
    /// The directions of residuals in fixed point, one after the other.
    vectors: Vec<i16>,
}

impl DecodedRows {
    /// Appends a residual to a base, with its record's row.
    pub fn push(&mut self, frame: &Frame, row: u32, base: u8, residual: &[f32]) {
        let scale = to_f32(length(residual));
        self.rows.push(row);
        self.scales.push(frame.row(base, scale, residual));
        let over = f64::from(scale.max(f32::MIN_POSITIVE));
        let unit = residual.iter().map(|&x| to_f32(f64::from(x) / over));
        let unit: Vec<f32> = unit.collect();
        self.vectors.extend(scan::fixed(&unit));
    }

    /// Adds the vectors of `other`.
    pub fn append(&mut self, mut other: Self) {
        self.rows.append(&mut other.rows);
        self.scales.append(&mut other.scales);
        self.vectors.append(&mut other.vectors);
    }

    /// The vector at `at` relative to the frame's centre.
    pub fn from_centre(&self, frame: &Frame, at: usize, vector: &mut [f32]) {
        let row = &self.scales[at];
        let parts = self.vector(at).iter().zip(frame.base(row.base));
        for (x, (&fixed, base)) in vector.iter_mut().zip(parts) {
            *x = base + row.scale * scan::coordinate(fixed);
        }
    }

    /// The fixed-point form of the direction at `at`.
    fn vector(&self, at: usize) -> &[i16] {
        let dim = self.vectors.len() / self.rows.len();
        &self.vectors[at * dim..][..dim]
    }

    /// The keys of all vectors for this query, in the vectors' order.
    #[must_use]
    pub fn keys(&self, asked: &FrameQuery) -> Vec<f32> {
        let mut products = vec![0; self.rows.len()];
        scan::products(&self.vectors, &fixed_query(asked), &mut products);
        let rows = self.scales.iter().zip(products);
        rows.map(|(row, product)| asked.key(row, scan::score(product)))
            .collect()
    }

    /// The positions of the `k` nearest vectors, best first.
    #[must_use]
    pub fn nearest_places(&self, asked: &FrameQuery, k: usize) -> Vec<Scored> {
        let mut best = TopK::new(k);
        for (id, score) in (0..).zip(self.keys(asked)) {
            best.offer(Scored { id, score });
        }
        best.into_ranked()
    }

    /// Returns the rows of the `k` nearest vectors, best first. Each record must occur only once. All vectors are scored, in
    /// parallel on rayon's current pool. Rows for which `counts` is false are skipped.
    #[must_use]
    pub fn nearest_of_all(
        &self,
        asked: &FrameQuery,
        counts: impl Fn(u32) -> bool + Sync,
        k: usize,
    ) -> Vec<Scored> {
        let query = fixed_query(asked);
        let parts = self.vectors.par_chunks(PART * query.len());
        let rows = self.rows.par_chunks(PART).zip(self.scales.par_chunks(PART));
        let best = parts.zip(rows).map(|(vectors, (rows, scales))| {
            let mut products = vec![0; rows.len()];
            scan::products(vectors, &query, &mut products);
            let mut best = TopK::new(k);
            for ((&id, scale), product) in rows.iter().zip(scales).zip(products) {
                let key = asked.key(scale, scan::score(product));
                best.offer_if(counts(id), key, || id);
            }
            best.into_ranked()
        });
        let best: Vec<Vec<Scored>> = best.collect();
        let mut all = TopK::new(k);
        best.into_iter().flatten().for_each(|hit| all.offer(hit));
        all.into_ranked()
    }

    /// Like [`Self::nearest_of_all`], for the vectors at these positions only.
    #[must_use]
    pub fn nearest_among(
        &self,
        asked: &FrameQuery,
        places: impl IntoIterator<Item = u32>,
        k: usize,
    ) -> Vec<Scored> {
        let query = fixed_query(asked);
        let mut best = TopK::new(k);
        for at in places {
            let at = at as usize;
            let mut product = [0];
            scan::products(self.vector(at), &query, &mut product);
            best.offer(Scored {
                id: self.rows[at],
                score: asked.key(&self.scales[at], scan::score(product[0])),
            });
        }
        best.into_ranked()
    }

    /// Removes all records except the rows for which `keep` is true.
    pub fn retain(&mut self, keep: impl Fn(u32) -> bool) {
        let dim = self.vectors.len().checked_div(self.rows.len()).unwrap_or(0);
        let mut kept = 0;
        for at in 0..self.rows.len() {
            if keep(self.rows[at]) {
                self.rows[kept] = self.rows[at];
                self.scales[kept] = self.scales[at];
                self.vectors
                    .copy_within(at * dim..(at + 1) * dim, kept * dim);
                kept += 1;
            }
        }
        self.rows.truncate(kept);
        self.scales.truncate(kept);
        self.vectors.truncate(kept * dim);
    }

    /// The rows of the `k` nearest records for whose rows `counts` is true, best first, each row once. All vectors are scored.
    #[must_use]
    pub fn nearest(
        &self,
        asked: &FrameQuery,
        counts: impl Fn(u32) -> bool,
        k: usize,
    ) -> Vec<Scored> {
        // A record may have any number of copies, with almost the same score. A list of limited length could fill up with them.
        let scored = self.rows.iter().zip(self.keys(asked));
        let scored = scored.map(|(&id, key)| Scored {
            id,
            score: counting(counts(id), key),
        });
        let mut scored: Vec<Scored> = scored.collect();
        scored.sort_unstable_by(Scored::rank);
        let mut unique: Vec<Scored> = Vec::with_capacity(k);
        for hit in scored {
            let counts = hit.score > f32::NEG_INFINITY;
            if unique.len() < k && counts && unique.iter().all(|kept| kept.id != hit.id) {
                unique.push(hit);
            }
        }
        unique
    }
}

/// The fixed-point form of a query, which is a secret.
fn fixed_query(asked: &FrameQuery) -> Zeroizing<Vec<i16>> {
    Zeroizing::new(scan::fixed(asked.unit()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bucket_codec::BucketCodec;
    use crate::metric::Metric;
    use crate::purpose::Purpose;
    use crate::quantiser::Entry;
    use crate::seal::Seal;
    use crate::synthetic;
    use sordino_index::bucket::Layout;
    use sordino_index::code::Codec;

    fn seal() -> Seal {
        Seal::new(&[1; 32], Purpose::Bucket, [2; 16], 3)
    }

    /// A frame about the origin, in which keys are inner products, for residuals of `width` coordinates.
    fn frame(width: usize) -> Frame {
        Frame::origin(Metric::InnerProduct, [9; 32], width - 1)
    }

    fn asked(query: &[f32]) -> FrameQuery {
        frame(query.len()).ask_for(query).unwrap()
    }

    #[test]
    fn a_bucket_keeps_its_vectors_and_its_size() {
        let (base, queries) = synthetic::clustered(60, 5, 40, 1);
        for codec in Codec::ALL {
            let layout = Layout {
                dim: 40,
                slots: 64,
                codec,
            };
            for count in [0, 1, 37, 60] {
                let entry = |(row, unit)| Entry {
                    row,
                    base: 0,
                    scale: 0.0,
                    residual: unit,
                    unit,
                };
                let entries = (100..).zip(base.rows()).take(count).map(entry);
                let entries: Vec<Entry<'_>> = entries.collect();
                let frame = &frame(40);
                let plain = BucketCodec(layout).write(base.row(0), &entries);
                let sealed = BucketCodec(layout).seal(&seal(), 7, &plain);
                assert_eq!(sealed.len(), layout.sealed_len());
                let mut opened = DecodedRows::default();
                BucketCodec(layout)
                    .open(&seal(), 7, &sealed, frame, &mut opened)
                    .unwrap();
                assert_eq!(opened.rows, (100..).take(count).collect::<Vec<_>>());
                for query in queries.rows() {
                    for hit in opened.nearest(&asked(query), |_| true, 10) {
                        let exact = crate::vectors::dot(query, base.row(hit.id as usize - 100));
                        assert!((hit.score - exact).abs() < 0.1, "{codec:?}");
                    }
                    assert_eq!(
                        opened.nearest(&asked(query), |_| true, 10).len(),
                        count.min(10)
                    );
                }
                assert!(
                    BucketCodec(layout)
                        .open(&seal(), 8, &sealed, frame, &mut opened)
                        .is_err()
                );
                assert!(
                    BucketCodec(layout)
                        .open(&seal(), 7, &sealed[1..], frame, &mut opened)
                        .is_err()
                );
                let other = Layout {
                    slots: 65,
                    ..layout
                };
                assert!(
                    BucketCodec(other)
                        .open(&seal(), 7, &sealed, frame, &mut opened)
                        .is_err()
                );
            }
        }
    }

    #[test]
    fn removed_records_are_not_found() {
        let mut opened = DecodedRows::default();
        for (id, x) in [(5u32, 1.0f32), (6, 0.9), (5, 0.95), (7, 0.5)] {
            opened.push(&frame(2), id, 0, &[x, 0.0]);
        }
        let query = asked(&[1.0, 0.0]);
        let uncounted = [
            opened.nearest(&query, |row| row != 5, 3),
            opened.nearest_of_all(&query, |row| row != 5, 3),
        ];
        opened.retain(|row| row != 5);
        let found = opened.nearest(&query, |_| true, 3);
        let ids: Vec<u32> = found.iter().map(|hit| hit.id).collect();
        assert_eq!(ids, [6, 7]);
        assert!((found[1].score - 0.5).abs() < 1e-4);
        assert_eq!(uncounted, [found.clone(), found]);
        assert!(opened.nearest(&query, |_| false, 3).is_empty());
        opened.retain(|row| row == 9);
        assert!(opened.nearest(&asked(&[1.0, 0.0]), |_| true, 3).is_empty());
    }

    #[test]
    fn copies_are_counted_once() {
        let mut opened = DecodedRows::default();
        for id in [5, 6, 5, 7, 5, 6] {
            opened.push(&frame(2), id, 0, &[1.0, 0.0]);
        }
        let ids: Vec<u32> = opened
            .nearest(&asked(&[1.0, 0.0]), |_| true, 3)
            .iter()
            .map(|hit| hit.id)
            .collect();
        assert_eq!(ids, [5, 6, 7]);
        // For the inner product, long vectors are copied to most buckets.
        let mut opened = DecodedRows::default();
        for id in (0..3).flat_map(|id| [id; 50]) {
            opened.push(&frame(2), id, 0, &[1.0, 0.0]);
        }
        let found = opened.nearest(&asked(&[1.0, 0.0]), |_| true, 3);
        assert_eq!(found.len(), 3);
    }

    #[test]
    fn equal_scores_are_ranked_by_row() {
        // The rows come unsorted, and there are more of them than a result can have.
        let mut opened = DecodedRows::default();
        for row in (0..400u32).map(|at| at * 7919 % 400) {
            opened.push(&frame(2), row, 0, &[0.6, 0.8]);
        }
        opened.push(&frame(2), 1000, 0, &[1.0, 0.0]);
        let expected = [1000, 0, 1, 2, 3, 4, 5, 6, 7];
        let query = asked(&[1.0, 0.0]);
        for found in [
            opened.nearest(&query, |_| true, 9),
            opened.nearest_of_all(&query, |_| true, 9),
            opened.nearest_among(&query, 0..401, 9),
        ] {
            let rows: Vec<u32> = found.iter().map(|hit| hit.id).collect();
            assert_eq!(rows, expected);
        }
        let none = DecodedRows::default();
        assert!(none.nearest_of_all(&query, |_| true, 9).is_empty());
        assert!(none.nearest(&query, |_| true, 9).is_empty());
    }
}
