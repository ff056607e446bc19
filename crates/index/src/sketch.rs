//! Local mode's first stage: short codes that clients compare before they score.

use serde::{Deserialize, Serialize};

/// The short codes that a client makes of the vectors it has downloaded. A search compares the query's code with all
/// codes, and scores exactly only the vectors with the nearest codes.
///
/// It is public, like the manifest, and reveals roughly how much structure the data has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Sketch {
    /// The number of bits of a code.
    pub bits: u32,
    /// The number of vectors with the nearest codes, which are scored.
    pub candidates: u32,
}

impl Sketch {
    /// A sketch with codes of this number of bits, and with this number of candidates.
    #[must_use]
    pub fn new(bits: u32, candidates: u32) -> Self {
        Self { bits, candidates }
    }
}
