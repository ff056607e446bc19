//! The constants of open and masked mode.

use serde::{Deserialize, Serialize};
use sordino_ckks::column::Params;

use super::Segment;
use crate::digest::Digest;

/// The constants of an index that is scored whole, in columns. All segments share the seed, so one
/// encrypted query scores them all.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Columns {
    /// The number of coordinates in a polynomial.
    pub packing: Packing,
    /// The seed of the public polynomials of queries and hint.
    pub seed: [u8; 32],
    /// The segments. Each begins a new block of polynomials.
    pub segments: Vec<ColumnSegment>,
}

impl Columns {
    /// Without segments.
    #[must_use]
    pub fn new(packing: Packing, seed: [u8; 32]) -> Self {
        Self {
            packing,
            seed,
            segments: Vec::new(),
        }
    }
}

/// A segment that is scored whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ColumnSegment {
    /// The records.
    pub segment: Segment,
    /// The digest of the hint of these rows.
    pub hint: Digest,
}

impl ColumnSegment {
    /// A segment with the digest of its hint.
    #[must_use]
    pub fn new(segment: Segment, hint: Digest) -> Self {
        Self { segment, hint }
    }
}

/// A number of coordinates in a polynomial: more of them mean shorter queries and a longer hint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Packing {
    /// Four coordinates share a polynomial.
    T4,
    /// Eight coordinates share a polynomial.
    T8,
    /// Sixty-four coordinates share a polynomial, for a thousand dimensions and more; and of what was added to a routed
    /// index, which is little.
    T64,
    /// Sixteen coordinates share a polynomial, for hundreds of dimensions.
    T16,
    /// Thirty-two coordinates share a polynomial.
    T32,
}

impl Packing {
    /// All, the fewest coordinates first.
    pub const ALL: [Self; 5] = [Self::T4, Self::T8, Self::T16, Self::T32, Self::T64];

    /// The number of coordinates `t`.
    #[must_use]
    pub fn t(self) -> usize {
        match self {
            Self::T4 => 4,
            Self::T8 => 8,
            Self::T16 => 16,
            Self::T32 => 32,
            Self::T64 => 64,
        }
    }

    /// The packing of so many coordinates, if there is one.
    #[must_use]
    pub fn of(t: usize) -> Option<Self> {
        Self::ALL.into_iter().find(|packing| packing.t() == t)
    }

    /// The word for it in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::T4 => "t = 4",
            Self::T8 => "t = 8",
            Self::T16 => "t = 16",
            Self::T32 => "t = 32",
            Self::T64 => "t = 64",
        }
    }

    /// The parameter set of open mode.
    #[must_use]
    pub fn open(self) -> Params {
        match self {
            Self::T4 => Params::real_t4(),
            Self::T8 => Params::real_t8(),
            Self::T16 => Params::real_t16(),
            Self::T32 => Params::real_t32(),
            Self::T64 => Params::real_t64(),
        }
    }

    /// The parameter set of masked rows.
    #[must_use]
    pub fn masked(self) -> Params {
        match self {
            Self::T4 => Params::modular_26_t4(),
            Self::T8 => Params::modular_26_t8(),
            Self::T16 => Params::modular_26_t16(),
            Self::T32 => Params::modular_26_t32(),
            Self::T64 => Params::modular_26_t64(),
        }
    }
}
