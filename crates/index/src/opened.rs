//! Buckets written, sealed, opened and scored.

use std::collections::HashSet;

use rayon::prelude::*;
use zeroize::Zeroizing;

use crate::Error;
use crate::bucket::{COUNT_LEN, ID_LEN, Layout};
use crate::code::Frame;
use crate::recall::{Scored, TopK};
use crate::scan;
use crate::seal::Seal;

impl Layout {
    /// A bucket's content: these vectors, at most `slots` of them, with their hidden record ids.
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
        plain.extend(crate::recall::number(entries.len()).to_le_bytes());
        let vectors: Vec<&[f32]> = entries.iter().map(|entry| entry.1).collect();
        let frame = Frame::new(self.codec, centroid, &vectors, &mut plain);
        for (id, vector) in entries {
            plain.extend(id.to_le_bytes());
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
        let entry_len = ID_LEN + self.codec.vector_len(dim);
        for entry in entries.chunks_exact(entry_len).take(count as usize) {
            let (id, code) = entry.split_at(ID_LEN);
            frame.decode(code, &mut unit);
            opened.push(
                u32::from_le_bytes(id.try_into().expect("four bytes")),
                &unit,
            );
        }
        count <= self.slots
    }

    /// Replaces the record ids of a bucket's content.
    ///
    /// # Panics
    /// If it is no content that [`write`](Self::write) made.
    pub fn map_ids(&self, plain: &mut [u8], map: impl Fn(u32) -> u32) {
        let count = u32::from_le_bytes(*plain.first_chunk().expect("a count")) as usize;
        let dim = self.dim as usize;
        let entries = &mut plain[COUNT_LEN + self.codec.frame_len(dim)..];
        for entry in entries
            .chunks_exact_mut(ID_LEN + self.codec.vector_len(dim))
            .take(count)
        {
            let id = entry.first_chunk_mut().expect("an id");
            *id = map(u32::from_le_bytes(*id)).to_le_bytes();
        }
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
        let entry_len = ID_LEN + self.codec.vector_len(dim);
        for entry in entries.chunks_exact(entry_len).take(count) {
            let start = units.len();
            units.resize(start + dim, 0.0);
            frame.decode(&entry[ID_LEN..], &mut units[start..]);
        }
        Ok(())
    }
}

/// Rows that one task scores.
const PART: usize = 8192;

/// Decoded vectors of opened buckets, ready to be scored.
#[derive(Clone, Debug, Default)]
pub struct Opened {
    /// Hidden record ids; a vector may be here more than once.
    pub ids: Vec<u32>,
    /// Unit vectors in fixed point, row by row.
    rows: Vec<i16>,
}

impl Opened {
    /// Appends a unit vector with its hidden record id.
    pub fn push(&mut self, id: u32, unit: &[f32]) {
        self.ids.push(id);
        self.rows.extend(scan::fixed(unit));
    }

    /// Adds the vectors of `other`.
    pub fn append(&mut self, mut other: Self) {
        self.ids.append(&mut other.ids);
        self.rows.append(&mut other.rows);
    }

    /// The fixed-point form of a vector.
    #[must_use]
    pub fn row(&self, row: usize) -> &[i16] {
        let dim = self.rows.len() / self.ids.len();
        &self.rows[row * dim..][..dim]
    }

    /// The places of the `k` vectors with the largest inner product with the fixed-point `query`.
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

    /// The `k` vectors nearest to the unit vector `query`, best first, where each record is here
    /// once: all vectors are scored, in parallel on rayon's current pool. `record` turns a hidden id into
    /// the record's, by which equal scores are ranked.
    pub fn nearest_of_all(
        &self,
        query: &[f32],
        k: usize,
        record: impl Fn(u32) -> u32,
    ) -> Vec<Scored> {
        let query = fixed_query(query);
        let mut products = vec![0; self.ids.len()];
        let rows = self.rows.par_chunks(PART * query.len());
        let parts = products.par_chunks_mut(PART).zip(rows);
        let best = parts.map(|(products, rows)| {
            scan::products(rows, &query, products);
            let mut best = TopK::new(k);
            for &product in &*products {
                best.offer_with(scan::score(product), || 0);
            }
            best.into_ranked()
        });
        let mut all = TopK::new(k);
        let best: Vec<Vec<Scored>> = best.collect();
        best.into_iter().flatten().for_each(|hit| all.offer(hit));
        let scored = self.ids.iter().copied().zip(products);
        records(scored, all.least(), k, record)
    }

    /// [`Self::nearest_of_all`], of the vectors in these places alone.
    pub fn nearest_among(
        &self,
        query: &[f32],
        places: &[u32],
        k: usize,
        record: impl Fn(u32) -> u32,
    ) -> Vec<Scored> {
        let query = fixed_query(query);
        let mut best = TopK::new(k);
        let scored = places.iter().map(|&place| {
            let mut product = [0];
            scan::products(self.row(place as usize), &query, &mut product);
            best.offer_with(scan::score(product[0]), || 0);
            (self.ids[place as usize], product[0])
        });
        let scored: Vec<(u32, i32)> = scored.collect();
        records(scored, best.least(), k, record)
    }

    /// The inner product of the fixed-point `query` with each vector, in order.
    #[must_use]
    pub fn products(&self, query: &[i16]) -> Vec<i32> {
        let mut products = vec![0; self.ids.len()];
        scan::products(&self.rows, query, &mut products);
        products
    }

    /// Forgets these records.
    pub fn remove(&mut self, dead: &HashSet<u32>) {
        let dim = self.rows.len().checked_div(self.ids.len()).unwrap_or(0);
        let mut kept = 0;
        for at in 0..self.ids.len() {
            if !dead.contains(&self.ids[at]) {
                self.ids[kept] = self.ids[at];
                self.rows.copy_within(at * dim..(at + 1) * dim, kept * dim);
                kept += 1;
            }
        }
        self.ids.truncate(kept);
        self.rows.truncate(kept * dim);
    }

    /// The `k` vectors nearest to the unit vector `query`, best first, each record once. `record` is as in
    /// [`Self::nearest_of_all`].
    pub fn nearest(&self, query: &[f32], k: usize, record: impl Fn(u32) -> u32) -> Vec<Scored> {
        let products = self.products(&fixed_query(query));
        // Copies of a vector have almost the same score, and a codec of residuals not the very
        // same, so room is kept for copies before they are removed.
        let mut best = TopK::new(4 * k);
        for &product in &products {
            best.offer_with(scan::score(product), || 0);
        }
        let scored = self.ids.iter().copied().zip(products);
        let mut unique: Vec<Scored> = Vec::with_capacity(k);
        for hit in records(scored, best.least(), usize::MAX, record) {
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

/// The best `k` of these hidden ids and products whose score is at least `least`, as records, in order:
/// only so few ids are turned into those of records.
fn records(
    scored: impl IntoIterator<Item = (u32, i32)>,
    least: Option<f32>,
    k: usize,
    record: impl Fn(u32) -> u32,
) -> Vec<Scored> {
    let scored = scored.into_iter().map(|(id, product)| Scored {
        id,
        score: scan::score(product),
    });
    let good = scored.filter(|hit| least.is_some_and(|least| hit.score >= least));
    let mut records: Vec<Scored> = good
        .map(|hit| Scored {
            id: record(hit.id),
            ..hit
        })
        .collect();
    records.sort_by(Scored::rank);
    records.truncate(k);
    records
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
                assert_eq!(opened.ids, (100..).take(count).collect::<Vec<_>>());
                for query in queries.rows() {
                    for hit in opened.nearest(query, 10, |id| id) {
                        let exact = crate::vectors::dot(query, base.row(hit.id as usize - 100));
                        assert!((hit.score - exact).abs() < 0.1, "{codec:?}");
                    }
                    assert_eq!(opened.nearest(query, 10, |id| id).len(), count.min(10));
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
        opened.remove(&HashSet::from([5, 9]));
        let found = opened.nearest(&[1.0, 0.0], 3, |id| id);
        let ids: Vec<u32> = found.iter().map(|hit| hit.id).collect();
        assert_eq!(ids, [6, 7]);
        assert!((found[1].score - 0.5).abs() < 1e-4);
        opened.remove(&HashSet::from([6, 7]));
        assert!(opened.nearest(&[1.0, 0.0], 3, |id| id).is_empty());
    }

    #[test]
    fn copies_are_counted_once() {
        let mut opened = Opened::default();
        for id in [5, 6, 5, 7, 5, 6] {
            opened.push(id, &[1.0, 0.0]);
        }
        let ids: Vec<u32> = opened
            .nearest(&[1.0, 0.0], 3, |id| id)
            .iter()
            .map(|hit| hit.id)
            .collect();
        assert_eq!(ids, [5, 6, 7]);
    }

    #[test]
    fn equal_scores_are_ranked_by_record() {
        // Hidden ids in another order than the records', more of them than fit.
        let record = |hidden: u32| hidden.reverse_bits() & 0xffff;
        let mut opened = Opened::default();
        for hidden in (0..400u32).map(|at| (at * 7919 % 400) << 16) {
            opened.push(hidden, &[0.6, 0.8]);
        }
        opened.push(0xffff << 16, &[1.0, 0.0]);
        let mut expected: Vec<u32> = opened.ids.iter().map(|&hidden| record(hidden)).collect();
        let first = expected.pop().unwrap();
        expected.sort_unstable();
        expected.insert(0, first);
        expected.truncate(9);
        let places: Vec<u32> = (0..401).collect();
        let query = [1.0, 0.0];
        for found in [
            opened.nearest(&query, 9, record),
            opened.nearest_of_all(&query, 9, record),
            opened.nearest_among(&query, &places, 9, record),
        ] {
            let ids: Vec<u32> = found.iter().map(|hit| hit.id).collect();
            assert_eq!(ids, expected);
        }
        let none = Opened::default();
        assert!(none.nearest_of_all(&query, 9, record).is_empty());
        assert!(none.nearest(&query, 9, record).is_empty());
    }
}
