//! A bucket: quantised vectors with their record ids, in a form whose size never varies.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use crate::Error;
use crate::code::{Codec, Frame};
use crate::recall::{Scored, TopK};
use crate::scan;
use crate::seal::{Seal, TAG_LEN};

/// The shape that all buckets of an index share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layout {
    /// Coordinates of a vector.
    pub dim: u32,
    /// Places for vectors.
    pub slots: u32,
    /// How a vector is stored.
    pub codec: Codec,
}

/// Bytes of the count of vectors at a bucket's head, and of each vector's record id.
const COUNT_LEN: usize = 4;
const ID_LEN: usize = 4;

impl Layout {
    /// Bytes of a bucket before sealing: count, frame, ids, codes.
    #[must_use]
    pub fn plain_len(&self) -> usize {
        let entry = ID_LEN + self.codec.vector_len(self.dim as usize);
        COUNT_LEN + self.codec.frame_len(self.dim as usize) + self.slots as usize * entry
    }

    /// Bytes of a sealed bucket.
    #[must_use]
    pub fn sealed_len(&self) -> usize {
        self.plain_len() + TAG_LEN
    }

    /// What the seal binds beside a bucket's place.
    fn shape(&self) -> [u8; 9] {
        let mut shape = [0; 9];
        shape[..4].copy_from_slice(&self.dim.to_be_bytes());
        shape[4..8].copy_from_slice(&self.slots.to_be_bytes());
        shape[8] = match self.codec {
            Codec::Int8 => 8,
            Codec::Residual6 => 6,
            Codec::Residual4 => 4,
        };
        shape
    }

    /// A bucket's content: these vectors, at most `slots` of them, with their hidden record ids.
    pub(crate) fn write(&self, centroid: &[f32], entries: &[(u32, &[f32])]) -> Vec<u8> {
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
    pub(crate) fn read(&self, plain: &[u8], opened: &mut Opened) -> bool {
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
    pub(crate) fn map_ids(&self, plain: &mut [u8], map: impl Fn(u32) -> u32) {
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
    pub(crate) fn seal(&self, seal: &Seal, number: u32, plain: &[u8]) -> Vec<u8> {
        seal.seal(number, &self.shape(), plain)
    }

    /// Opens bucket number `number` and decodes its vectors onto the end of `opened`.
    ///
    /// # Errors
    /// [`Error::Search`] if it is not what the owner sealed in this place.
    pub(crate) fn open(
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
    pub(crate) fn open_units(
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

/// Decoded vectors of opened buckets, ready to be scored.
#[derive(Clone, Debug, Default)]
pub(crate) struct Opened {
    /// Hidden record ids; a vector may be here more than once.
    pub(crate) ids: Vec<u32>,
    /// Unit vectors in fixed point, row by row.
    rows: Vec<i16>,
}

impl Opened {
    pub(crate) fn push(&mut self, id: u32, unit: &[f32]) {
        self.ids.push(id);
        self.rows.extend(scan::fixed(unit));
    }

    /// The inner product of the fixed-point `query` with each vector, in order.
    pub(crate) fn products(&self, query: &[i16]) -> Vec<i32> {
        let mut products = vec![0; self.ids.len()];
        scan::products(&self.rows, query, &mut products);
        products
    }

    /// Forgets these records.
    pub(crate) fn remove(&mut self, dead: &HashSet<u32>) {
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

    /// The `k` vectors nearest to the unit vector `query`, best first, each record once.
    pub(crate) fn nearest(&self, query: &[f32], k: usize) -> Vec<Scored> {
        let query: Vec<i16> = scan::fixed(query).collect();
        let products = self.products(&query);
        // Copies of a vector have almost the same score, and a codec of residuals not the very
        // same, so room is kept for copies before they are removed.
        let mut best = TopK::new(4 * k);
        for (&id, &product) in self.ids.iter().zip(&products) {
            best.offer(Scored {
                id,
                score: scan::score(product),
            });
        }
        let mut unique: Vec<Scored> = Vec::with_capacity(k);
        for hit in best.into_ranked() {
            if unique.len() < k && unique.iter().all(|kept| kept.id != hit.id) {
                unique.push(hit);
            }
        }
        unique
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic;

    fn seal() -> Seal {
        Seal::new(&[1; 32], "bucket", [2; 16], 3)
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
                    for hit in opened.nearest(query, 10) {
                        let exact = crate::vectors::dot(query, base.row(hit.id as usize - 100));
                        assert!((hit.score - exact).abs() < 0.1, "{codec:?}");
                    }
                    assert_eq!(opened.nearest(query, 10).len(), count.min(10));
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
        let found = opened.nearest(&[1.0, 0.0], 3);
        let ids: Vec<u32> = found.iter().map(|hit| hit.id).collect();
        assert_eq!(ids, [6, 7]);
        assert!((found[1].score - 0.5).abs() < 1e-4);
        opened.remove(&HashSet::from([6, 7]));
        assert!(opened.nearest(&[1.0, 0.0], 3).is_empty());
    }

    #[test]
    fn copies_are_counted_once() {
        let mut opened = Opened::default();
        for id in [5, 6, 5, 7, 5, 6] {
            opened.push(id, &[1.0, 0.0]);
        }
        let ids: Vec<u32> = opened
            .nearest(&[1.0, 0.0], 3)
            .iter()
            .map(|hit| hit.id)
            .collect();
        assert_eq!(ids, [5, 6, 7]);
    }
}
