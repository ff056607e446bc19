//! Buckets written, sealed, opened and scored.

use rayon::prelude::*;
use zeroize::Zeroizing;

use crate::Error;
use crate::bucket::{Layout, ROW_LEN};
use crate::code::Frame;
use crate::scan;
use crate::seal::Seal;
use sordino_vectors::recall::{Scored, TopK, counting};

impl Layout {
    /// A bucket's content: these vectors, at most `slots` of them, each with its row in its segment.
    ///
    /// # Panics
    /// If there are more vectors than slots.
    #[must_use]
    pub fn write(&self, centroid: &[f32], entries: &[(u32, &[f32])]) -> Vec<u8> {
        assert!(
            entries.len() <= self.slots as usize,
            "a bucket holds at most its slots"
        );
        let mut plain = Vec::with_capacity(self.plain_len());
        plain.extend(sordino_vectors::u32_of(entries.len()).to_le_bytes());
        let vectors: Vec<&[f32]> = entries.iter().map(|entry| entry.1).collect();
        let frame = Frame::new(self.codec, centroid, &vectors, &mut plain);
        for (row, vector) in entries {
            plain.extend(row.to_le_bytes());
            frame.encode(vector, &mut plain);
        }
        plain.resize(self.plain_len(), 0);
        plain
    }

    /// Decodes a bucket's content onto the end of `opened`; false if it has another form.
    #[expect(clippy::missing_panics_doc, reason = "entries have their length")]
    pub fn read(&self, plain: &[u8], opened: &mut Opened) -> bool {
        let (Some((count, rest)), true) =
            (plain.split_first_chunk(), plain.len() == self.plain_len())
        else {
            return false;
        };
        let count = u32::from_le_bytes(*count);
        let dim = self.dim as usize;
        let (frame, entries) = rest.split_at(self.codec.frame_len(dim));
        let frame = Frame::read(self.codec, frame);
        let mut unit = vec![0.0; dim];
        let entry_len = ROW_LEN + self.codec.vector_len(dim);
        for entry in entries.chunks_exact(entry_len).take(count as usize) {
            let (row, code) = entry.split_at(ROW_LEN);
            frame.decode(code, &mut unit);
            opened.push(
                u32::from_le_bytes(row.try_into().expect("four bytes")),
                &unit,
            );
        }
        count <= self.slots
    }

    /// Seals the content of bucket number `number`.
    #[must_use]
    pub fn seal(&self, seal: &Seal, number: u32, plain: &[u8]) -> Vec<u8> {
        seal.seal(number, &self.shape(), plain)
    }

    /// Opens bucket number `number` and decodes its vectors onto the end of `opened`.
    ///
    /// # Errors
    /// [`Error::Search`] if it is not what the owner sealed in this place.
    pub fn open(
        &self,
        seal: &Seal,
        number: u32,
        sealed: &[u8],
        opened: &mut Opened,
    ) -> Result<(), Error> {
        let plain = seal
            .open(number, &self.shape(), sealed)
            .ok_or(Error::Search)?;
        self.read(&plain, opened).then_some(()).ok_or(Error::Search)
    }
}

impl Layout {
    /// Opens bucket number `number` and appends the unit vectors that its codes stand for.
    ///
    /// # Errors
    /// [`Error::Search`] if it is not what the owner sealed in this place.
    pub fn open_units(
        &self,
        seal: &Seal,
        number: u32,
        sealed: &[u8],
        units: &mut Vec<f32>,
    ) -> Result<(), Error> {
        let plain = seal.open(number, &self.shape(), sealed);
        let plain = plain.filter(|plain| plain.len() == self.plain_len());
        let plain = plain.ok_or(Error::Search)?;
        let (count, rest) = plain.split_first_chunk().ok_or(Error::Search)?;
        let count = u32::from_le_bytes(*count).min(self.slots) as usize;
        let dim = self.dim as usize;
        let (frame, entries) = rest.split_at(self.codec.frame_len(dim));
        let frame = Frame::read(self.codec, frame);
        let entry_len = ROW_LEN + self.codec.vector_len(dim);
        for entry in entries.chunks_exact(entry_len).take(count) {
            let start = units.len();
            units.resize(start + dim, 0.0);
            frame.decode(&entry[ROW_LEN..], &mut units[start..]);
        }
        Ok(())
    }
}

/// Rows that one task scores.
const PART: usize = 8192;

/// Decoded vectors of opened buckets, ready to be scored.
#[derive(Clone, Debug, Default)]
pub struct Opened {
    /// The rows of records in their segment; a record may be here more than once.
    pub rows: Vec<u32>,
    /// Unit vectors in fixed point, one after the other.
    vectors: Vec<i16>,
}

impl Opened {
    /// Appends a unit vector with its record's row.
    pub fn push(&mut self, row: u32, unit: &[f32]) {
        self.rows.push(row);
        self.vectors.extend(scan::fixed(unit));
    }

    /// Adds the vectors of `other`.
    pub fn append(&mut self, mut other: Self) {
        self.rows.append(&mut other.rows);
        self.vectors.append(&mut other.vectors);
    }

    /// The fixed-point form of the vector at `at`.
    #[must_use]
    pub fn vector(&self, at: usize) -> &[i16] {
        let dim = self.vectors.len() / self.rows.len();
        &self.vectors[at * dim..][..dim]
    }

    /// Where the `k` vectors are with the largest inner product with the fixed-point `query`.
    #[must_use]
    pub fn nearest_places(&self, query: &[i16], k: usize) -> Vec<Scored> {
        let mut best = TopK::new(k);
        for (place, product) in (0..).zip(self.products(query)) {
            best.offer(Scored {
                id: place,
                score: scan::score(product),
            });
        }
        best.into_ranked()
    }

    /// The rows of the `k` vectors nearest to the unit vector `query`, best first, where each record is
    /// here once: all vectors are scored, in parallel on rayon's current pool, and those kept whose rows count.
    #[must_use]
    pub fn nearest_of_all(
        &self,
        query: &[f32],
        counts: impl Fn(u32) -> bool + Sync,
        k: usize,
    ) -> Vec<Scored> {
        let query = fixed_query(query);
        let parts = self.vectors.par_chunks(PART * query.len());
        let best = parts
            .zip(self.rows.par_chunks(PART))
            .map(|(vectors, rows)| {
                let mut products = vec![0; rows.len()];
                scan::products(vectors, &query, &mut products);
                let mut best = TopK::new(k);
                for (&id, product) in rows.iter().zip(products) {
                    best.offer_if(counts(id), scan::score(product), || id);
                }
                best.into_ranked()
            });
        let best: Vec<Vec<Scored>> = best.collect();
        let mut all = TopK::new(k);
        best.into_iter().flatten().for_each(|hit| all.offer(hit));
        all.into_ranked()
    }

    /// [`Self::nearest_of_all`], of the vectors at these places alone.
    #[must_use]
    pub fn nearest_among(
        &self,
        query: &[f32],
        places: impl IntoIterator<Item = u32>,
        k: usize,
    ) -> Vec<Scored> {
        let query = fixed_query(query);
        let mut best = TopK::new(k);
        for at in places {
            let mut product = [0];
            scan::products(self.vector(at as usize), &query, &mut product);
            best.offer(Scored {
                id: self.rows[at as usize],
                score: scan::score(product[0]),
            });
        }
        best.into_ranked()
    }

    /// The inner product of the fixed-point `query` with each vector, in order.
    #[must_use]
    pub fn products(&self, query: &[i16]) -> Vec<i32> {
        let mut products = vec![0; self.rows.len()];
        scan::products(&self.vectors, query, &mut products);
        products
    }

    /// Forgets all records but those whose rows `keep` says to keep.
    pub fn retain(&mut self, keep: impl Fn(u32) -> bool) {
        let dim = self.vectors.len().checked_div(self.rows.len()).unwrap_or(0);
        let mut kept = 0;
        for at in 0..self.rows.len() {
            if keep(self.rows[at]) {
                self.rows[kept] = self.rows[at];
                self.vectors
                    .copy_within(at * dim..(at + 1) * dim, kept * dim);
                kept += 1;
            }
        }
        self.rows.truncate(kept);
        self.vectors.truncate(kept * dim);
    }

    /// The rows of the `k` vectors nearest to the unit vector `query`, best first, each once, of those whose rows count. All are
    /// scored.
    #[must_use]
    pub fn nearest(&self, query: &[f32], counts: impl Fn(u32) -> bool, k: usize) -> Vec<Scored> {
        let products = self.products(&fixed_query(query));
        // Copies of a vector have almost the same score, and a codec of residuals not the very
        // same, so room is kept for copies before they are removed.
        let mut best = TopK::new(4 * k);
        let scored = self.rows.iter().zip(products).map(|(&id, product)| Scored {
            id,
            score: counting(counts(id), scan::score(product)),
        });
        let scored: Vec<Scored> = scored.collect();
        scored
            .iter()
            .for_each(|&hit| best.offer_with(hit.score, || 0));
        let least = best.least();
        let good = scored.into_iter();
        let good = good.filter(|hit| least.is_some_and(|least| hit.score >= least));
        let mut good: Vec<Scored> = good.collect();
        good.sort_by(Scored::rank);
        let mut unique: Vec<Scored> = Vec::with_capacity(k);
        for hit in good {
            if unique.len() < k && unique.iter().all(|kept| kept.id != hit.id) {
                unique.push(hit);
            }
        }
        unique
    }
}

/// The fixed-point form of a query, which is a secret.
fn fixed_query(query: &[f32]) -> Zeroizing<Vec<i16>> {
    Zeroizing::new(scan::fixed(query).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::Codec;
    use crate::purpose::Purpose;
    use crate::synthetic;

    fn seal() -> Seal {
        Seal::new(&[1; 32], Purpose::Bucket, [2; 16], 3)
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
                let entries: Vec<(u32, &[f32])> = (100..).zip(base.rows()).take(count).collect();
                let plain = layout.write(base.row(0), &entries);
                let sealed = layout.seal(&seal(), 7, &plain);
                assert_eq!(sealed.len(), layout.sealed_len());
                let mut opened = Opened::default();
                layout.open(&seal(), 7, &sealed, &mut opened).unwrap();
                assert_eq!(opened.rows, (100..).take(count).collect::<Vec<_>>());
                for query in queries.rows() {
                    for hit in opened.nearest(query, |_| true, 10) {
                        let exact = crate::vectors::dot(query, base.row(hit.id as usize - 100));
                        assert!((hit.score - exact).abs() < 0.1, "{codec:?}");
                    }
                    assert_eq!(opened.nearest(query, |_| true, 10).len(), count.min(10));
                }
                assert!(layout.open(&seal(), 8, &sealed, &mut opened).is_err());
                assert!(layout.open(&seal(), 7, &sealed[1..], &mut opened).is_err());
                let other = Layout {
                    slots: 65,
                    ..layout
                };
                assert!(other.open(&seal(), 7, &sealed, &mut opened).is_err());
            }
        }
    }

    #[test]
    fn removed_records_are_not_found() {
        let mut opened = Opened::default();
        for (id, x) in [(5u32, 1.0f32), (6, 0.9), (5, 0.95), (7, 0.5)] {
            opened.push(id, &[x, 0.0]);
        }
        let query = [1.0, 0.0];
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
        assert!(opened.nearest(&[1.0, 0.0], |_| true, 3).is_empty());
    }

    #[test]
    fn copies_are_counted_once() {
        let mut opened = Opened::default();
        for id in [5, 6, 5, 7, 5, 6] {
            opened.push(id, &[1.0, 0.0]);
        }
        let ids: Vec<u32> = opened
            .nearest(&[1.0, 0.0], |_| true, 3)
            .iter()
            .map(|hit| hit.id)
            .collect();
        assert_eq!(ids, [5, 6, 7]);
    }

    #[test]
    fn equal_scores_are_ranked_by_row() {
        // Rows in no order, more of them than fit.
        let mut opened = Opened::default();
        for row in (0..400u32).map(|at| at * 7919 % 400) {
            opened.push(row, &[0.6, 0.8]);
        }
        opened.push(1000, &[1.0, 0.0]);
        let expected = [1000, 0, 1, 2, 3, 4, 5, 6, 7];
        let query = [1.0, 0.0];
        for found in [
            opened.nearest(&query, |_| true, 9),
            opened.nearest_of_all(&query, |_| true, 9),
            opened.nearest_among(&query, 0..401, 9),
        ] {
            let rows: Vec<u32> = found.iter().map(|hit| hit.id).collect();
            assert_eq!(rows, expected);
        }
        let none = Opened::default();
        assert!(none.nearest_of_all(&query, |_| true, 9).is_empty());
        assert!(none.nearest(&query, |_| true, 9).is_empty());
    }
}
