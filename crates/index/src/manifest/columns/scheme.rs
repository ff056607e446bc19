//! The choices from which lengths and parameters of rows follow.

use sordino_ckks::column::Params;

use super::{Checking, Columns, Packing};
use crate::checks::{self, exact, held};
use crate::{Error, TAG_LEN};

/// The content of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rows {
    /// Vectors in the clear.
    Open,
    /// Codes under pads.
    Masked,
}

/// The content of rows, their packing and the check of their scores. All lengths and parameters follow from these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scheme {
    /// The content of rows.
    pub rows: Rows,
    /// The number of coordinates in a polynomial.
    pub packing: Packing,
    /// The check of scores.
    pub checking: Checking,
}

impl Scheme {
    /// The scheme of rows of this content.
    #[must_use]
    pub fn new(rows: Rows, mode: &Columns) -> Self {
        Self {
            rows,
            packing: mode.packing,
            checking: mode.checking,
        }
    }

    /// The number of rows that a segment of `n` records stores. Masked rows may have check rows in addition.
    #[must_use]
    pub fn stored(self, n: usize, width: usize) -> usize {
        match (self.rows, self.checking) {
            (Rows::Masked, Checking::Sums) => checks::stored(n, width),
            _ => n,
        }
    }

    /// The bytes of what a client downloads once in addition to the hint: the sealed sums of `n` open rows, or the
    /// combinations for exact checks.
    ///
    /// # Errors
    /// [`Error`] if rows of this width cannot exist.
    pub fn held_len(self, n: usize, width: usize) -> Result<usize, Error> {
        Ok(match (self.rows, self.checking) {
            (Rows::Open, Checking::Sums) => held::len(n, width) + TAG_LEN,
            (_, Checking::Exact) => exact::len(&self.params(), width)? + TAG_LEN,
            _ => 0,
        })
    }

    /// The parameter set.
    #[must_use]
    pub fn params(self) -> Params {
        match (self.rows, self.checking) {
            (Rows::Open, Checking::Exact) => self.packing.open().whole(),
            (Rows::Open, _) => self.packing.open(),
            (Rows::Masked, Checking::Exact) => self.packing.masked().whole(),
            (Rows::Masked, _) => self.packing.masked(),
        }
    }
}
