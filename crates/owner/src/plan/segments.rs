//! The sizes of the segments of a stream, and the memory that a build needs for one.

use sordino_index::manifest::{MAX_SEGMENTS, ModeKind};

use super::{Plan, Retrieval, SEGMENT};
use crate::room;

/// Measured bytes of memory for each coordinate of all vectors while a build clusters them, in addition to the
/// vectors. If vectors have few coordinates, the lists of nearest centroids take more: these bytes for each record.
const ROUTED_COORDINATE: u64 = 5;
const SEALED_COORDINATE: u64 = 13;
const LISTS: u64 = 256;

/// Measured bytes of memory for each record in addition to its vector: its id and the order of records.
const RECORD: u64 = 64;

/// The bytes of memory of a process that builds.
const BUILD: u64 = 50_000_000;

/// The number of segments of the first size. After these there are eight segments of each size, and each size is
/// twice the size before.
const FIRST: usize = 16;
const NEXT: usize = 8;

/// The number of records of segment number `at` of a stream.
pub(crate) fn capacity(at: usize) -> usize {
    let doublings = at.checked_sub(FIRST).map_or(0, |more| 1 + more / NEXT);
    SEGMENT << doublings
}

/// The number of records of the largest segment, for a stream of `n` records.
fn largest(n: usize) -> usize {
    let (mut left, mut at) = (n, 0);
    while left > capacity(at) && at < MAX_SEGMENTS {
        left -= capacity(at);
        at += 1;
    }
    if at == 0 {
        n
    } else {
        capacity(at - 1).max(left)
    }
}

/// The bytes of memory that a build of routed or sealed mode needs after all `n` vectors of `dim` coordinates have arrived.
pub(crate) fn clustering_bytes(mode: ModeKind, n: usize, dim: usize) -> u64 {
    let coordinate = match mode {
        ModeKind::Sealed => SEALED_COORDINATE,
        _ => ROUTED_COORDINATE,
    };
    let record = (coordinate * dim as u64).max(LISTS) + RECORD;
    (n as u64).saturating_mul(record)
}

impl Plan {
    /// The largest number of bytes of memory that a build of a mode needs at one time. The memory holds one segment or,
    /// in modes that cluster, all vectors. It also holds what all records carry.
    #[must_use]
    pub fn build_bytes(&self, mode: ModeKind) -> u64 {
        let coordinates = |rows: usize| rows as u64 * self.dim as u64;
        let vectors = match mode {
            ModeKind::Masked | ModeKind::Open | ModeKind::Local => {
                coordinates(largest(self.n)) * room::SEGMENT as u64
            }
            ModeKind::Routed | ModeKind::Sealed => {
                let vectors = coordinates(self.n) * size_of::<f32>() as u64;
                vectors + clustering_bytes(mode, self.n, self.dim)
            }
        };
        let look = match mode {
            ModeKind::Masked | ModeKind::Open | ModeKind::Routed => self.second_look(),
            ModeKind::Sealed | ModeKind::Local => None,
        };
        let carried = look.or(self.payloads()).map(Retrieval::build_bytes);
        vectors + carried.unwrap_or(0) + BUILD
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_segment_is_the_last_whole_one() {
        for (n, expected) in [(1, 1), (SEGMENT, SEGMENT), (SEGMENT + 1, SEGMENT)] {
            assert_eq!(largest(n), expected);
        }
        assert_eq!(largest(FIRST * SEGMENT + 5), SEGMENT);
        assert_eq!(largest((FIRST + 2) * SEGMENT), 2 * SEGMENT);
        assert!(largest(usize::MAX) > SEGMENT);
    }

    /// Builds of a million records in masked mode, with 1,000 incompressible bytes each, took 3.2 GB. The estimate must
    /// be close to that.
    #[test]
    fn a_build_holds_what_records_carry() {
        let wish = super::super::Wish::default();
        let plan = Plan::new(1_000_000, 128, wish).unwrap();
        let without = plan.build_bytes(ModeKind::Masked);
        let plan = plan.with_payloads(1000).unwrap();
        let more = plan.build_bytes(ModeKind::Masked) - without;
        assert!((3_000_000_000..3_200_000_000).contains(&more), "{more}");
        let looked = Plan::new(1_000_000, 128, wish.second_look(Some(32))).unwrap();
        assert!(looked.build_bytes(ModeKind::Masked) > without + 3 * 256_000_000);
        let local = looked.build_bytes(ModeKind::Local);
        assert_eq!(local, plan.build_bytes(ModeKind::Local) - more);
    }

    #[test]
    fn segments_grow_with_the_stream() {
        let mut before = 0;
        for at in 0..60 {
            assert!(capacity(at) <= SEGMENT.max(before / 8), "segment {at}");
            before += capacity(at);
        }
        assert_eq!(capacity(15), SEGMENT);
        assert_eq!(capacity(16), 2 * SEGMENT);
    }
}
