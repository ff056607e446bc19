//! The frame of a version.

use serde::{Deserialize, Serialize};

use crate::digest::Coded;

/// The centre and the bases that vectors are stored relative to: a part of a version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FramePart {
    /// Random and bound to the content, as a segment's id is.
    pub id: [u8; 16],
    /// The version of the index that it was written for.
    pub version: u64,
    /// The number of the content key that it is under, which all readers have.
    pub key: u32,
    /// The sealed part.
    pub part: Coded,
}

impl FramePart {
    /// A sealed part that was written for `version` under a content key.
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
