//! The constants of open and masked mode.

mod scheme;

pub use scheme::{Rows, Scheme};
use serde::{Deserialize, Serialize};
use sordino_ckks::column::Params;

use super::{Manifest, Mode, Segment};
use crate::digest::Digest;

/// The constants of an index whose rows are all scored, in columns. All segments share the seed, so one encrypted query scores
/// all of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Columns {
    /// The number of coordinates in a polynomial.
    pub packing: Packing,
    /// How clients check scores.
    pub checking: Checking,
    /// The combinations for exact checks, only with [`Checking::Exact`].
    pub combined: Option<Combined>,
    /// The seed of the public polynomials of queries and hint.
    pub seed: [u8; 32],
    /// The segments. Each begins a new block of polynomials.
    pub segments: Vec<ColumnSegment>,
}

impl Columns {
    /// The constants of an index without segments, checked by sums.
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

/// How clients check the scores of an index whose rows are all scored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Checking {
    /// No check, only allowed in open mode.
    None,
    /// By sums of some hundred to some thousand rows. They are check rows that the server stores, or in open mode sums that
    /// readers hold. A change that is small compared with the noise of such a sum is not detected.
    #[default]
    Sums,
    /// By combinations of all rows mod `q`, before anything is decrypted. Every change is detected, and a refusal reveals nothing
    /// about the query. Replies are about three times as long.
    Exact,
}

impl Checking {
    /// All ways to check.
    pub const ALL: [Self; 3] = [Self::None, Self::Sums, Self::Exact];

    /// The name in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Sums => "sums",
            Self::Exact => "exact",
        }
    }
}

/// The sealed combinations of all rows: a part of a version, whose length does not depend on the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Combined {
    /// Random and bound to the content, like a segment's id.
    pub id: [u8; 16],
    /// The version of the index in which they were written.
    pub version: u64,
    /// The digest of the sealed part.
    pub part: Digest,
}

impl Combined {
    /// A sealed part that was written in `version`.
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

/// A segment whose rows are all scored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ColumnSegment {
    /// The records.
    pub segment: Segment,
    /// The digest of the hint of these rows.
    pub hint: Digest,
    /// The digest of the sealed sums of open rows that readers hold, if these check the rows.
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

    /// A segment in sealed chunks that clients download as a whole, like additions in local mode. It has no hint.
    #[must_use]
    pub fn sealed_whole(segment: Segment) -> Self {
        Self::new(segment, Digest::default())
    }

    /// True if it is a segment that clients download as a whole.
    pub(super) fn is_sealed_whole(&self) -> bool {
        self.hint == Digest::default() && self.sums.is_none() && self.segment.scales.is_none()
    }
}

/// The number of coordinates in a polynomial. A larger number means shorter queries and a longer hint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Packing {
    /// Four coordinates share a polynomial.
    T4,
    /// Eight coordinates share a polynomial.
    T8,
    /// Sixty-four coordinates share a polynomial. For a thousand dimensions and more, and for additions to a routed index, which
    /// are small.
    T64,
    /// Sixteen coordinates share a polynomial, for hundreds of dimensions.
    T16,
    /// Thirty-two coordinates share a polynomial.
    T32,
}

impl Packing {
    /// All packings, in ascending order of the number of coordinates.
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

    /// The name in reports.
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
