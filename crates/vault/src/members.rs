//! The records in each of routed mode's clusters, and how their vectors are split.
//!
//! A cluster's list has its records in the order of their rows, which saves bytes. The cluster's places have a
//! different order, which readers derive from their key, and which is the same for all clusters
//! ([`ContentKey::row_order`](crate::content_key::ContentKey::row_order)). Otherwise a server could distinguish older
//! records from newer ones by their places.

use crate::residual::{Parts, Spread};
use sordino_index::Error;
use sordino_index::elias_fano::{EliasFano, bits, set};
use sordino_index::manifest::{ALONG_BITS, Grid};
use zeroize::{Zeroize, ZeroizeOnDrop};

/// The lists of all clusters. A record may be in several of them.
///
/// They stay encoded, and a search decodes only the clusters that it reads. Decoded lists would take twice the memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Members {
    slots: usize,
    /// The size of a cluster in bytes.
    len: usize,
    rows: EliasFano,
    bytes: Vec<u8>,
}

/// The list of a cluster: its records, and how their vectors are split. Places behind the last record are empty.
///
/// # Security
/// A decoded cluster reveals what a query chose, so the list is wiped when it is dropped.
#[derive(Clone, Debug, Default, PartialEq, Zeroize, ZeroizeOnDrop)]
pub struct Cluster {
    /// The records' rows, each above the one before.
    pub rows: Vec<u32>,
    /// The range of their parts along the base.
    pub spread: Spread,
    /// For each record, the position of its part in that range.
    pub along: Vec<u16>,
}

impl Cluster {
    /// The record at a position of the list with the parts of its vector, if the list is long enough.
    #[must_use]
    pub fn get(&self, at: usize) -> Option<(u32, Parts)> {
        let parts = self.along.get(at).map(|&code| self.spread.parts(code));
        self.rows.get(at).copied().zip(parts)
    }

    /// The records with the parts of their vectors.
    pub fn all(&self) -> impl Iterator<Item = (u32, Parts)> {
        (0..self.rows.len()).filter_map(|at| self.get(at))
    }
}

impl Members {
    /// Memory for the clusters of a grid with `n` records.
    #[must_use]
    pub fn new(grid: &Grid, n: u32) -> Self {
        Self {
            slots: grid.slots as usize,
            len: grid.cluster_len(n),
            rows: grid.rows(n),
            bytes: Vec::with_capacity(grid.members_len(n)),
        }
    }

    /// Appends a cluster.
    ///
    /// # Panics
    /// Panics if the cluster has more records than places, its rows do not ascend below `n`, or a code has more than
    /// 10 bits.
    pub fn push(&mut self, cluster: &Cluster) {
        let empty = self.rows.most();
        assert_eq!(cluster.rows.len(), cluster.along.len(), "records and parts");
        let within = cluster.rows.last().is_none_or(|&last| last < empty);
        let ascend = cluster.rows.is_sorted_by(|a, b| a < b);
        assert!(within && ascend, "rows that do not ascend below {empty}");
        let codes = cluster.along.iter().all(|&code| code >> ALONG_BITS == 0);
        let fits = cluster.rows.len() <= self.slots;
        assert!(
            codes && fits,
            "a list that does not fit {} places",
            self.slots
        );
        let mut rows = cluster.rows.clone();
        rows.resize(self.slots, empty);
        self.bytes.extend(cluster.spread.to_bytes());
        self.rows.append(&rows, &mut self.bytes);
        let mut along = vec![0; (self.slots * ALONG_BITS).div_ceil(8)];
        for (at, &code) in cluster.along.iter().enumerate() {
            set(&mut along, at * ALONG_BITS, code.into());
        }
        self.bytes.extend(along);
    }

    /// A cluster.
    ///
    /// # Panics
    /// Panics if there is no such cluster.
    #[must_use]
    pub fn of(&self, cluster: usize) -> Cluster {
        let read = self.read(&self.bytes[cluster * self.len..][..self.len]);
        read.expect("all clusters were read when they came")
    }

    /// The encoding: for each cluster the range, the rows, and the codes of the parts.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Reads the clusters of `n` records.
    ///
    /// # Errors
    /// [`Error::Malformed`] if the bytes encode other clusters, or name a row that does not exist.
    pub fn from_bytes(grid: &Grid, n: u32, bytes: Vec<u8>) -> Result<Self, Error> {
        let malformed = |why: String| Error::Malformed {
            what: "members",
            why,
        };
        let expected = grid.members_len(n) - sordino_index::TAG_LEN;
        if bytes.len() != expected {
            let why = format!("{} bytes, expected {expected}", bytes.len());
            return Err(malformed(why));
        }
        let members = Self {
            slots: grid.slots as usize,
            len: grid.cluster_len(n),
            rows: grid.rows(n),
            bytes,
        };
        let clusters = members.bytes.chunks_exact(members.len);
        for (number, cluster) in clusters.enumerate() {
            if members.read(cluster).is_none() {
                let why = format!("cluster {number} of {}", grid.all_clusters());
                return Err(malformed(why));
            }
        }
        Ok(members)
    }

    /// The cluster in these bytes, or `None` if [`push`](Self::push) does not write such bytes.
    fn read(&self, cluster: &[u8]) -> Option<Cluster> {
        let (spread, rest) = cluster.split_first_chunk()?;
        let (rows, along) = rest.split_at_checked(self.rows.list_len())?;
        let mut rows = self.rows.read(rows)?;
        rows.truncate(rows.partition_point(|&row| row < self.rows.most()));
        let code = |at| {
            let [low, high, ..] = bits(along, at * ALONG_BITS).to_le_bytes();
            u16::from_le_bytes([low, high]) & ((1 << ALONG_BITS) - 1)
        };
        let used = rows.len() * ALONG_BITS;
        // After the last record all bits are zero.
        let spare = (used..along.len() * 8)
            .step_by(64)
            .all(|at| bits(along, at) == 0);
        (spare && rows.is_sorted_by(|a, b| a < b)).then_some(Cluster {
            along: (0..rows.len()).map(code).collect(),
            spread: Spread::from_bytes(*spread)?,
            rows,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sordino_index::manifest::SecretPacking;

    fn grid() -> Grid {
        Grid {
            groups: 2,
            clusters: 3,
            slots: 5,
            packing: SecretPacking::T64,
        }
    }

    fn cluster(rows: Vec<u32>) -> Cluster {
        Cluster {
            spread: Spread::of([0.25, 0.75]),
            along: (0..).map(|at| 1023 - at * 100).take(rows.len()).collect(),
            rows,
        }
    }

    #[test]
    fn members_read_back_and_nothing_else_does() {
        for n in [5, 255, 256, 100_000, u32::MAX] {
            let clusters = [
                cluster(vec![0, 1, 2, 3, 4]),
                cluster(vec![n - 1]),
                cluster(vec![]),
                cluster(vec![n / 3, n - 2]),
                cluster(vec![0, n / 2, n - 2, n - 1]),
                Cluster::default(),
            ];
            let mut members = Members::new(&grid(), n);
            clusters.iter().for_each(|cluster| members.push(cluster));
            let bytes = members.as_bytes().to_vec();
            assert_eq!(bytes.len() + sordino_index::TAG_LEN, grid().members_len(n));
            let read = |bytes: &[u8]| Members::from_bytes(&grid(), n, bytes.to_vec());
            assert_eq!(read(&bytes).unwrap(), members);
            for (number, cluster) in clusters.iter().enumerate() {
                assert_eq!(members.of(number), *cluster);
            }
            assert!(read(&bytes[1..]).is_err());
            assert!(read(&[&bytes[..], &[0]].concat()).is_err());
            // Every changed bit changes the members or is refused.
            for bit in 0..bytes.len() * 8 {
                let mut changed = bytes.clone();
                changed[bit / 8] ^= 1 << (bit % 8);
                if let Ok(other) = read(&changed) {
                    assert_ne!(other, members);
                    assert_eq!(other.as_bytes(), changed);
                }
            }
        }
    }

    /// Bytes that a separate program made from the description of this format.
    #[test]
    fn a_cluster_has_the_bytes_that_the_format_says() {
        let bytes = [
            0x66, 0x66, 0x66, 0x3f, 0x17, 0xb7, 0xd1, 0x38, 0xc9, 0x09, 0x01, 0x08, 0x30, 0x00,
            0x00,
        ];
        let (spread, _) = bytes.split_first_chunk().unwrap();
        let grid = Grid { slots: 4, ..grid() };
        let mut members = Members::new(&grid, 9);
        members.push(&Cluster {
            rows: vec![1, 4, 8],
            spread: Spread::from_bytes(*spread).unwrap(),
            along: vec![1, 2, 3],
        });
        assert_eq!(members.as_bytes(), bytes);
    }

    #[test]
    fn rows_that_are_not_there_or_there_twice_are_refused() {
        let members = |rows: [u32; 5]| {
            let mut bytes = cluster(vec![]).spread.to_bytes().to_vec();
            grid().rows(20).append(&rows, &mut bytes);
            bytes.extend([0; 7]);
            let six = bytes.repeat(6);
            Members::from_bytes(&grid(), 20, six).map(|members| members.of(5).rows.len())
        };
        assert_eq!(members([1, 2, 3, 20, 20]).unwrap(), 3);
        for rows in [[1, 1, 3, 20, 20], [0, 5, 19, 19, 20]] {
            let error = members(rows).unwrap_err();
            assert_eq!(error.to_string(), "malformed members: cluster 0 of 6");
        }
    }

    #[test]
    #[should_panic(expected = "ascend")]
    fn rows_beyond_the_records_are_not_written() {
        Members::new(&grid(), 20).push(&cluster(vec![3, 20]));
    }
}
