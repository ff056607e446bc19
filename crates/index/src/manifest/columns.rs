//! The constants of open and masked mode.

mod scheme;

pub use scheme::{Rows, Scheme};
use serde::{Deserialize, Serialize};
use sordino_ckks::column::Params;

use super::{Manifest, Mode, Segment};
use crate::digest::Digest;

/// The constants of an index that is scored whole, in columns. All segments share the seed, so one
/// encrypted query scores them all.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Columns {
    /// The number of coordinates in a polynomial.
    pub packing: Packing,
    /// The way in which clients check scores.
    pub checking: Checking,
    /// The combinations that check them exactly; only with [`Checking::Exact`].
    pub combined: Option<Combined>,
    /// The seed of the public polynomials of queries and hint.
    pub seed: [u8; 32],
    /// The segments. Each begins a new block of polynomials.
    pub segments: Vec<ColumnSegment>,
}

impl Columns {
    /// Without segments, checked by sums.
    #[must_use]
    pub fn new(packing: Packing, seed: [u8; 32]) -> Self {
        Self {
            packing,
            checking: Checking::Sums,
            combined: None,
            seed,
            segments: Vec::new(),
        }
    }
}

/// A way in which clients check the scores of rows that are scored whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Checking {
    /// No check: in open mode alone.
    None,
    /// By sums of some hundred to some thousand rows: check rows that the server stores, or in open mode sums that readers hold. Changes that are small next to the noise
    /// of such a sum are not seen.
    #[default]
    Sums,
    /// By combinations of all rows mod `q`, before anything is decrypted. Any change is seen, and a refusal of a reply
    /// says nothing of the query. Replies are about three times as long.
    Exact,
}

impl Checking {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::None, Self::Sums, Self::Exact];

    /// The word for it in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Sums => "sums",
            Self::Exact => "exact",
        }
    }
}

/// Combinations of all rows, sealed: a part of a version, of one length whatever the rows are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Combined {
    /// Random and bound to the content, as a segment's id is.
    pub id: [u8; 16],
    /// The version of the index that they were written for.
    pub version: u64,
    /// The digest of the sealed part.
    pub part: Digest,
}

impl Combined {
    /// A sealed part that was written for `version`.
    #[must_use]
    pub fn new(id: [u8; 16], version: u64, part: Digest) -> Self {
        Self { id, version, part }
    }
}

impl Manifest {
    /// The combinations that check scores exactly, if there are any.
    #[must_use]
    pub fn combined(&self) -> Option<&Combined> {
        match &self.mode {
            Mode::Open(mode) | Mode::Masked(mode) => mode.combined.as_ref(),
            Mode::Sealed(_) | Mode::Local(_) | Mode::Routed(_) => None,
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
    /// The digest of the sealed sums that readers hold of open rows, where they are checked by these.
    pub sums: Option<Digest>,
}

impl ColumnSegment {
    /// A segment with the digest of its hint.
    #[must_use]
    pub fn new(segment: Segment, hint: Digest) -> Self {
        Self {
            segment,
            hint,
            sums: None,
        }
    }

    /// A segment in sealed chunks that clients download whole, as additions in local mode have it: it has no hint.
    #[must_use]
    pub fn sealed_whole(segment: Segment) -> Self {
        Self::new(segment, Digest::default())
    }

    /// True if it is such a segment.
    pub(super) fn is_sealed_whole(&self) -> bool {
        self.hint == Digest::default() && self.sums.is_none() && self.segment.scales.is_none()
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

    /// The packing of `t` coordinates in a polynomial, if there is one.
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
