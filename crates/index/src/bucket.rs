//! A bucket: quantised vectors with the rows of their records. All buckets of an index have the same size.

use serde::{Deserialize, Serialize};

use crate::TAG_LEN;
use crate::code::Codec;

/// The shape that all buckets of an index share.
///
/// The fields must not change: a segment's id binds each of them. A new field that the id does not bind must not
/// compile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layout {
    /// The number of coordinates of a vector.
    pub dim: u32,
    /// The places for vectors.
    pub slots: u32,
    /// The code of a vector.
    pub codec: Codec,
}

/// The size in bytes of the count of vectors at the head of a bucket.
const COUNT_LEN: usize = 4;
/// The size in bytes of the number of a vector's row.
pub const ROW_LEN: usize = 4;

impl Layout {
    /// The size in bytes of a bucket before sealing: count, head, rows, codes.
    #[must_use]
    pub fn plain_len(&self) -> usize {
        let entry = self.entry_len();
        COUNT_LEN + self.codec.head_len(self.dim as usize) + self.slots as usize * entry
    }

    /// The size in bytes of a vector with its row.
    #[must_use]
    pub fn entry_len(&self) -> usize {
        ROW_LEN + self.codec.mark_len() + self.codec.vector_len(self.dim as usize)
    }

    /// The size in bytes of a sealed bucket.
    #[must_use]
    pub fn sealed_len(&self) -> usize {
        self.plain_len() + TAG_LEN
    }

    /// The associated data with which a bucket is sealed, in addition to its place.
    #[must_use]
    pub fn shape(&self) -> [u8; 9] {
        let mut shape = [0; 9];
        shape[..4].copy_from_slice(&self.dim.to_be_bytes());
        shape[4..8].copy_from_slice(&self.slots.to_be_bytes());
        shape[8] = match self.codec {
            Codec::Int8 => 8,
            Codec::Int12 => 12,
            Codec::Residual6 => 6,
            Codec::Residual4 => 4,
        };
        shape
    }
}
