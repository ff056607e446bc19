//! A segment that a task has made, in the form that it reports.

use sordino_index::Error;
use sordino_index::manifest::{ColumnSegment, Segment};
use sordino_vault::keys::OwnerKeys;

use super::owner_tag::{Fields, Kind, opened, put_coded, tagged};

/// The name and the form number of a piece.
const KIND: Kind = (b"piece", 2);

/// A segment whose parts are written, for the [`Assembly`](super::Assembly) that signs the index. It has what a manifest says
/// about a segment, and nothing in it is secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    pub(super) build: [u8; 16],
    pub(super) task: u64,
    pub(super) column: ColumnSegment,
}

impl Piece {
    /// The number of its task.
    #[must_use]
    pub fn task(&self) -> u64 {
        self.task
    }

    /// The number of its records.
    #[must_use]
    pub fn records(&self) -> u32 {
        self.column.segment.n
    }

    /// The bytes, which end with a tag under the owner's key.
    #[must_use]
    pub fn to_bytes(&self, keys: &OwnerKeys) -> Vec<u8> {
        let segment = &self.column.segment;
        tagged(keys, KIND, |bytes| {
            bytes.extend(self.build);
            bytes.extend(self.task.to_le_bytes());
            bytes.extend(segment.id);
            bytes.extend(segment.version.to_le_bytes());
            bytes.extend(segment.n.to_le_bytes());
            bytes.extend(segment.rows);
            bytes.push(segment.attributes.is_some().into());
            for coded in [Some(&segment.ids), segment.attributes.as_ref()]
                .into_iter()
                .flatten()
            {
                put_coded(bytes, coded);
            }
            bytes.push(segment.scales.is_some().into());
            bytes.extend(segment.scales.into_iter().flatten());
            bytes.extend(self.column.hint);
            bytes.push(self.column.sums.is_some().into());
            bytes.extend(self.column.sums.into_iter().flatten());
        })
    }

    /// Reads what [`to_bytes`](Self::to_bytes) has written under the same keys.
    ///
    /// # Errors
    /// [`Error::Malformed`] if the form is wrong or these keys did not make the bytes.
    pub fn from_bytes(bytes: &[u8], keys: &OwnerKeys) -> Result<Self, Error> {
        opened(keys, KIND, bytes, Self::read)
    }

    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let (build, task) = (fields.array()?, fields.u64()?);
        let (id, version, n) = (fields.array()?, fields.u64()?, fields.u32()?);
        let (rows, attributes) = (fields.array()?, fields.flag()?);
        let mut segment = Segment::new(id, version, n, rows, fields.coded()?);
        segment.attributes = match attributes {
            true => Some(fields.coded()?),
            false => None,
        };
        segment.scales = match fields.flag()? {
            true => Some(fields.array()?),
            false => None,
        };
        let mut column = ColumnSegment::new(segment, fields.array()?);
        column.sums = match fields.flag()? {
            true => Some(fields.array()?),
            false => None,
        };
        Some(Self {
            build,
            task,
            column,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::owner_tag::TAG_LEN;
    use sordino_index::digest::Coded;

    #[test]
    fn a_piece_reads_back_under_its_key_alone() {
        let keys = OwnerKeys::from_master([1; 32]);
        let mut segment = Segment::new([2; 16], 3, 4, [5; 32], Coded::of(b"ids"));
        for attributes in [None, Some(Coded::of(b"attributes"))] {
            segment.attributes = attributes.clone();
            segment.scales = attributes.as_ref().map(|_| [4; 32]);
            let mut column = ColumnSegment::new(segment.clone(), [6; 32]);
            column.sums = attributes.map(|_| [9; 32]);
            let piece = Piece {
                build: [7; 16],
                task: 8,
                column,
            };
            let bytes = piece.to_bytes(&keys);
            assert_eq!(Piece::from_bytes(&bytes, &keys).unwrap(), piece);
            for len in 0..bytes.len() {
                assert!(Piece::from_bytes(&bytes[..len], &keys).is_err());
                // A body with a valid tag of its own is tested, too.
                let body = &bytes[2..bytes.len() - TAG_LEN];
                if let Some((body, _)) = body.split_at_checked(len) {
                    let cut = tagged(&keys, KIND, |bytes| bytes.extend(body));
                    let whole = body.len() + 2 + TAG_LEN == bytes.len();
                    assert_eq!(Piece::from_bytes(&cut, &keys).is_ok(), whole);
                }
            }
            for at in 0..bytes.len() {
                let mut wrong = bytes.clone();
                wrong[at] ^= 1;
                assert!(Piece::from_bytes(&wrong, &keys).is_err(), "byte {at}");
            }
            let other = OwnerKeys::from_master([2; 32]);
            assert!(Piece::from_bytes(&bytes, &other).is_err());
        }
    }
}
