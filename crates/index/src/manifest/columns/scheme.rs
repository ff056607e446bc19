//! All that lengths and parameters of rows follow from.

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

/// The content of rows, how they are packed and how their scores are checked: all that lengths and parameters follow from.
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

    /// Rows that a segment of `n` records stores: masked ones may have check rows next to them.
    #[must_use]
    pub fn stored(self, n: usize, width: usize) -> usize {
        match (self.rows, self.checking) {
            (Rows::Masked, Checking::Sums) => checks::stored(n, width),
            _ => n,
        }
    }

    /// Bytes of what is downloaded once in addition to the hint. It is the sums that readers hold of `n` open rows,
    /// sealed, or the combinations by which scores are checked exactly.
    ///
    /// # Errors
    /// If there are no rows of this width.
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
