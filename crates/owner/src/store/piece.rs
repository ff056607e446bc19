//! A segment that was made apart, as its maker reports it.

use sordino_index::Error;
use sordino_index::digest::Coded;
use sordino_index::keys::OwnerKeys;
use sordino_index::manifest::{ColumnSegment, Segment};

/// The number of this form.
const FORM: u16 = 1;

/// Bytes of a tag.
pub(super) const TAG_LEN: usize = 16;

/// A segment whose parts are written, for the [`Assembly`](super::Assembly) that signs the index. It has what a manifest says of a segment:
/// nothing in it is secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    pub(super) build: [u8; 16],
    pub(super) task: u64,
    pub(super) column: ColumnSegment,
}

impl Piece {
    /// The task that it is of.
    #[must_use]
    pub fn task(&self) -> u64 {
        self.task
    }

    /// Its records.
    #[must_use]
    pub fn records(&self) -> u32 {
        self.column.segment.n
    }

    /// The bytes, with a tag under the owner's key at their end.
    #[must_use]
    pub fn to_bytes(&self, keys: &OwnerKeys) -> Vec<u8> {
        let segment = &self.column.segment;
        let mut bytes = FORM.to_le_bytes().to_vec();
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
            bytes.extend(coded.len.to_le_bytes());
            bytes.extend(coded.digest);
        }
        bytes.extend(self.column.hint);
        let tag = tag(keys, b"piece", &bytes);
        bytes.extend(tag);
        bytes
    }

    /// Reads what [`to_bytes`](Self::to_bytes) has written under the same keys.
    ///
    /// # Errors
    /// [`Error::Malformed`].
    pub fn from_bytes(bytes: &[u8], keys: &OwnerKeys) -> Result<Self, Error> {
        let (body, found) = bytes
            .split_last_chunk::<TAG_LEN>()
            .unwrap_or((&[], &[0; TAG_LEN]));
        if tag(keys, b"piece", body) != *found {
            return Err(malformed("not made under this owner's key"));
        }
        Self::read(body).ok_or_else(|| malformed("not of this form"))
    }

    fn read(body: &[u8]) -> Option<Self> {
        let mut reader = Reader::new(body);
        if reader.u16()? != FORM {
            return None;
        }
        let (build, task) = (reader.array()?, reader.u64()?);
        let (id, version, n) = (reader.array()?, reader.u64()?, reader.u32()?);
        let (rows, attributes) = (reader.array()?, reader.flag()?);
        let mut segment = Segment::new(id, version, n, rows, reader.coded()?);
        segment.attributes = match attributes {
            true => Some(reader.coded()?),
            false => None,
        };
        let column = ColumnSegment::new(segment, reader.array()?);
        reader.is_empty().then_some(Self {
            build,
            task,
            column,
        })
    }
}

/// A tag that only the owner can make, for bytes that pass between two processes of the owner. Their secrecy is no matter.
pub(super) fn tag(keys: &OwnerKeys, kind: &[u8], bytes: &[u8]) -> [u8; TAG_LEN] {
    keys.content_id(&[0; 32], kind, bytes, std::iter::empty())
}

pub(super) fn malformed(why: &str) -> Error {
    Error::Malformed {
        what: "piece of a build",
        why: why.to_owned(),
    }
}

/// Reads fields of fixed lengths.
pub(super) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*first)
    }

    pub(super) fn u8(&mut self) -> Option<u8> {
        self.array().map(u8::from_le_bytes)
    }

    pub(super) fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// One spelling of yes, and one of no.
    pub(super) fn flag(&mut self) -> Option<bool> {
        match self.u8()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }

    fn coded(&mut self) -> Option<Coded> {
        let mut coded = Coded::default();
        (coded.len, coded.digest) = (self.u64()?, self.array()?);
        Some(coded)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_reads_back_under_its_key_alone() {
        let keys = OwnerKeys::from_master([1; 32]);
        let mut segment = Segment::new([2; 16], 3, 4, [5; 32], Coded::of(b"ids"));
        for attributes in [None, Some(Coded::of(b"attributes"))] {
            segment.attributes = attributes;
            let column = ColumnSegment::new(segment.clone(), [6; 32]);
            let piece = Piece {
                build: [7; 16],
                task: 8,
                column,
            };
            let bytes = piece.to_bytes(&keys);
            assert_eq!(Piece::from_bytes(&bytes, &keys).unwrap(), piece);
            for len in 0..bytes.len() {
                assert!(Piece::from_bytes(&bytes[..len], &keys).is_err());
                // A body without its tag too: each length is refused or read to its end.
                assert!(Piece::read(&bytes[..len]).is_none() || len + TAG_LEN == bytes.len());
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
