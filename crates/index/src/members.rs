//! Who is where: the record at each place of routed mode's clusters, and how its vector is split.

use crate::Error;
use crate::manifest::{Grid, row_bits};
use crate::residual::Parts;

/// The records at all places, cluster after cluster. A record may have several places; a place may be nobody's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Members {
    n: u32,
    rows: Vec<u32>,
    parts: Vec<Parts>,
}

impl Members {
    /// Room for as many places, of `n` records.
    #[must_use]
    pub fn new(n: u32, count: usize) -> Self {
        Self {
            n,
            rows: Vec::with_capacity(count),
            parts: Vec::with_capacity(count),
        }
    }

    /// Appends a place: the record's row and the parts of its vector, or nobody's.
    pub fn push(&mut self, record: Option<(u32, Parts)>) {
        let (row, parts) = record.unwrap_or((self.n, Parts::default()));
        self.rows.push(row);
        self.parts.push(parts);
    }

    /// The record at each place of a cluster, with the parts of its vector; `None` where a place is nobody's.
    pub fn of(&self, cluster: usize, slots: usize) -> impl Iterator<Item = Option<(u32, Parts)>> {
        let first = cluster * slots;
        let places = self.rows[first..][..slots].iter();
        let parts = self.parts[first..][..slots].iter();
        let n = self.n;
        places
            .zip(parts)
            .map(move |(&row, &parts)| (row < n).then_some((row, parts)))
    }

    /// The encoding: rows, as many bits each as their numbers have, and then parts.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let bits = row_bits(self.n);
        let mut bytes = Vec::with_capacity((self.rows.len() * bits as usize).div_ceil(8));
        let (mut word, mut held) = (0u64, 0);
        for &row in &self.rows {
            word |= u64::from(row) << held;
            held += bits;
            while held >= 8 {
                bytes.push(word.to_le_bytes()[0]);
                word >>= 8;
                held -= 8;
            }
        }
        if held > 0 {
            bytes.push(word.to_le_bytes()[0]);
        }
        bytes.extend(self.parts.iter().flat_map(|parts| parts.to_bytes()));
        bytes
    }

    /// Reads the places of `n` records.
    ///
    /// # Errors
    /// [`Error::Malformed`] if it is the encoding of another number of places, or names a row that is not there.
    pub fn from_bytes(grid: &Grid, n: u32, bytes: &[u8]) -> Result<Self, Error> {
        let malformed = |why: String| Error::Malformed {
            what: "members",
            why,
        };
        let (count, bits) = (grid.places(), row_bits(n));
        let expected = grid.members_len(n) - crate::TAG_LEN;
        if bytes.len() != expected {
            let why = format!("{} bytes, expected {expected}", bytes.len());
            return Err(malformed(why));
        }
        let (mut packed, parts) = bytes.split_at(expected - count * Parts::LEN);
        let mut members = Self::new(n, count);
        let (mut word, mut held) = (0u64, 0);
        for _ in 0..count {
            while held < bits {
                let Some((&byte, rest)) = packed.split_first() else {
                    return Err(malformed("truncated".to_owned()));
                };
                word |= u64::from(byte) << held;
                held += 8;
                packed = rest;
            }
            let row = word & ((1 << bits) - 1);
            word >>= bits;
            held -= bits;
            match u32::try_from(row) {
                Ok(row) if row <= n => members.rows.push(row),
                _ => return Err(malformed(format!("row {row} of {n}"))),
            }
        }
        let (parts, _) = parts.as_chunks();
        members
            .parts
            .extend(parts.iter().copied().map(Parts::from_bytes));
        Ok(members)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::SecretPacking;

    fn grid() -> Grid {
        Grid {
            groups: 2,
            clusters: 3,
            slots: 5,
            packing: SecretPacking::T64,
        }
    }

    #[test]
    fn members_read_back_and_nothing_else_does() {
        for n in [1, 2, 255, 256, 100_000, u32::MAX] {
            let mut members = Members::new(n, 30);
            for at in 0..30u32 {
                let row = at.wrapping_mul(2_654_435_761) % n;
                let parts = Parts::from_bytes([at.to_le_bytes()[0], 3, 5]);
                members.push((at % 7 != 3).then_some((row, parts)));
            }
            let bytes = members.to_bytes();
            assert_eq!(bytes.len() + crate::TAG_LEN, grid().members_len(n));
            assert_eq!(Members::from_bytes(&grid(), n, &bytes).unwrap(), members);
            let of: Vec<_> = members.of(1, 5).collect();
            assert_eq!(of[1].map(|(_, parts)| parts.to_bytes()), Some([6, 3, 5]));
            assert!(of[0].is_some());
            assert!(Members::from_bytes(&grid(), n, &bytes[1..]).is_err());
            let longer = [&bytes[..], &[0]].concat();
            assert!(Members::from_bytes(&grid(), n, &longer).is_err());
        }
        // Five of a possible seven: 6 is no row of 4, nor nobody.
        let mut members = Members::new(4, 30);
        (0..30).for_each(|_| members.push(Some((3, Parts::default()))));
        let mut bytes = members.to_bytes();
        bytes[0] |= 6;
        let error = Members::from_bytes(&grid(), 4, &bytes).unwrap_err();
        assert_eq!(error.to_string(), "malformed members: row 7 of 4");
    }
}
