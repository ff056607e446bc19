//! The head of every message: its kind, version, parameter set and shape.
//!
//! All integers are little-endian and of fixed width. The shape fixes the length of the body, so a
//! body of any other length is refused before memory for it is allocated.

use crate::Error;

const MAGIC: [u8; 4] = *b"SCKS";
const VERSION: u8 = 2;

/// The largest dimension of a vector.
pub(crate) const MAX_DIM: usize = 1 << 16;
/// The largest number of vectors.
pub(crate) const MAX_COUNT: usize = 1 << 28;

/// Encoded bytes of a [`Head`].
pub(crate) const HEAD_LEN: usize = 16;

/// The kinds of message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    DotQuery = 1,
    DotReply = 2,
    ColumnQuery = 3,
    ColumnReply = 4,
    Hint = 5,
    HintDelta = 6,
    Plaintexts = 8,
    SlotCiphertext = 9,
    GaloisKey = 10,
    Database = 12,
    Combination = 13,
}

/// The fields of a head, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    magic: [u8; 4],
    version: u8,
    kind: u8,
    pub(crate) set: u8,
    reserved: u8,
    dim: u32,
    count: u32,
}

impl Head {
    /// The head of a message of `kind` about `count` vectors of `dim` coordinates.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "checked against MAX_DIM and MAX_COUNT"
    )]
    pub(crate) fn new(kind: Kind, set: u8, dim: usize, count: usize) -> Self {
        debug_assert!(dim <= MAX_DIM && count <= MAX_COUNT);
        Self {
            magic: MAGIC,
            version: VERSION,
            kind: kind as u8,
            set,
            reserved: 0,
            dim: dim as u32,
            count: count as u32,
        }
    }

    pub(crate) fn dim(&self) -> usize {
        self.dim as usize
    }

    pub(crate) fn count(&self) -> usize {
        self.count as usize
    }

    /// Starts a message: the head, with room for a body of `body` bytes.
    pub(crate) fn begin(&self, body: usize) -> Vec<u8> {
        let mut message = Vec::with_capacity(HEAD_LEN + body);
        message.extend_from_slice(&self.magic);
        message.extend_from_slice(&[self.version, self.kind, self.set, self.reserved]);
        message.extend_from_slice(&self.dim.to_le_bytes());
        message.extend_from_slice(&self.count.to_le_bytes());
        message
    }

    fn from_bytes(bytes: &[u8; HEAD_LEN]) -> Self {
        let &[a, b, c, d, version, kind, set, reserved, ..] = bytes;
        let number = |at: usize| u32::from_le_bytes(std::array::from_fn(|i| bytes[at + i]));
        Self {
            magic: [a, b, c, d],
            version,
            kind,
            set,
            reserved,
            dim: number(8),
            count: number(12),
        }
    }

    /// Splits a message of `kind` into its head and its body.
    pub(crate) fn split(kind: Kind, message: &[u8]) -> Result<(Self, &[u8]), Error> {
        let (head, body) = message.split_first_chunk().ok_or(Error::MessageLength {
            found: message.len(),
            expected: HEAD_LEN,
        })?;
        let head = Self::from_bytes(head);
        if head.magic != MAGIC || head.kind != kind as u8 || head.reserved != 0 {
            return Err(Error::Kind);
        }
        if head.version != VERSION {
            return Err(Error::FormatVersion {
                found: head.version,
                expected: VERSION,
            });
        }
        check_dim(head.dim())?;
        check_count(head.count())?;
        Ok((head, body))
    }
}

pub(crate) fn check_dim(dim: usize) -> Result<(), Error> {
    if (1..=MAX_DIM).contains(&dim) {
        return Ok(());
    }
    Err(Error::Dimension {
        found: dim,
        most: MAX_DIM,
    })
}

pub(crate) fn check_count(count: usize) -> Result<(), Error> {
    if count <= MAX_COUNT {
        return Ok(());
    }
    Err(Error::Count {
        found: count,
        most: MAX_COUNT,
    })
}

/// Checks that coordinates fill whole vectors.
pub(crate) fn check_rows(coordinates: usize, dim: usize) -> Result<(), Error> {
    if coordinates.is_multiple_of(dim) {
        return Ok(());
    }
    Err(Error::Length {
        found: coordinates,
        expected: coordinates.next_multiple_of(dim),
    })
}

/// Checks that the length of a body fits its head.
pub(crate) fn check_body(body: &[u8], expected: usize) -> Result<(), Error> {
    if body.len() == expected {
        return Ok(());
    }
    Err(Error::MessageLength {
        found: HEAD_LEN.saturating_add(body.len()),
        expected: HEAD_LEN.saturating_add(expected),
    })
}

/// Checks that an object equals its receiver in `what`: a count, a dimension, or a set.
pub(crate) fn check_same(what: &'static str, found: usize, expected: usize) -> Result<(), Error> {
    if found == expected {
        return Ok(());
    }
    Err(Error::Mismatch {
        what,
        found,
        expected,
    })
}
