//! The frame of a version.

use serde::{Deserialize, Serialize};

use crate::digest::Coded;

/// The part of a version with the centre and the bases, relative to which vectors are stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FramePart {
    /// Random and bound to the content, like a segment's id.
    pub id: [u8; 16],
    /// The version of the index in which it was written.
    pub version: u64,
    /// The number of its content key, which all readers have.
    pub key: u32,
    /// The sealed part.
    pub part: Coded,
}

impl FramePart {
    /// A sealed part that was written in `version` under a content key.
    #[must_use]
    pub fn new(id: [u8; 16], version: u64, key: u32, part: Coded) -> Self {
        Self {
            id,
            version,
            key,
            part,
        }
    }
}
