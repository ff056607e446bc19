//! The bytes of ids and attributes, which clients download in every mode.

use sordino_index::TAG_LEN;

/// The number of records of a segment, while the index has few segments.
pub(crate) const SEGMENT: usize = 1 << 17;

/// The smallest number of bytes of a list, without its tag.
const SHORTEST: usize = 128;

/// Average bytes of a record in addition to its vector and its payload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecordBytes {
    /// The bytes of the id: 16 for a UUID, and for a text its length plus 1. A number takes up to 11 bytes, depending
    /// on its distance from the number before it. Consecutive numbers take 0 bytes.
    pub id: usize,
    /// The size in bytes of the attributes: 8 for a number, 1 for a truth value, and for a text its length plus 4.
    pub attributes: usize,
}

impl RecordBytes {
    /// The bytes of the lists of `n` records, in segments as a build makes them, or in one segment.
    pub(super) fn bytes(self, n: usize, one: bool) -> u64 {
        let each = if one { n } else { n.min(SEGMENT) };
        let (whole, rest) = (n / each, n % each);
        // The list of deletions is empty, but still has its minimal length.
        whole as u64 * self.segment(each) + self.segment(rest) + sealed(0)
    }

    fn segment(self, records: usize) -> u64 {
        if records == 0 {
            return 0;
        }
        let ids = sealed(self.id.saturating_mul(records));
        match self.attributes {
            0 => ids,
            each => ids + sealed(each.saturating_mul(records)),
        }
    }
}

/// The length of a list that is filled up and sealed.
fn sealed(len: usize) -> u64 {
    (len.next_power_of_two().max(SHORTEST) + TAG_LEN) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lengths of the lists that `sordino index build` writes, computed by hand.
    #[test]
    fn lists_are_filled_up_segment_by_segment() {
        let bytes = |id, attributes, n, one| RecordBytes { id, attributes }.bytes(n, one);
        assert_eq!(bytes(0, 0, 1, false), 144 + 144);
        assert_eq!(bytes(16, 0, 1000, false), 16384 + 16 + 144);
        assert_eq!(bytes(16, 9, 1000, false), 16384 + 16 + 16384 + 16 + 144);
        let million = 7 * ((2 << 20) + 16) + (2 << 20) + 16 + 144;
        assert_eq!(bytes(16, 0, 1_000_000, false), million);
        assert_eq!(bytes(16, 0, 1_000_000, true), (16 << 20) + 16 + 144);
    }
}
