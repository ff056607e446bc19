//! The rows of open and masked mode: four bytes a coordinate, encoded for scoring when a server
//! starts.
//!
//! Open rows are the rotated vectors in single precision, masked rows their masked codes, centred
//! mod P. Neither the encoded form nor the hint is stored: both follow from the rows and the seed in
//! a fraction of a second.

use sordino_ckks::column::{Database, Hint, Params, Segments};

use crate::Error;
use crate::manifest::{COORDINATE_LEN, Packing};

/// Rows of open mode.
#[must_use]
pub fn open_rows(vectors: &[f32]) -> Vec<u8> {
    vectors.iter().flat_map(|x| x.to_le_bytes()).collect()
}

/// The vectors of open rows.
pub fn open_vectors(rows: &[u8]) -> Vec<f32> {
    let (coordinates, _) = rows.as_chunks::<COORDINATE_LEN>();
    coordinates
        .iter()
        .copied()
        .map(f32::from_le_bytes)
        .collect()
}

/// Rows of masked mode.
#[must_use]
pub fn masked_rows(codes: &[i32]) -> Vec<u8> {
    codes.iter().flat_map(|x| x.to_le_bytes()).collect()
}

/// The content of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rows {
    /// Vectors in the clear.
    Open,
    /// Codes under pads.
    Masked,
}

impl Rows {
    /// The parameter set.
    #[must_use]
    pub fn params(self, packing: Packing) -> Params {
        match self {
            Self::Open => packing.open(),
            Self::Masked => packing.masked(),
        }
    }

    /// The hint of a segment's rows.
    ///
    /// # Errors
    /// If the rows are more or longer than a hint can be of, or not rows of this width.
    pub fn hint(
        self,
        packing: Packing,
        seed: [u8; 32],
        width: usize,
        rows: &[u8],
    ) -> Result<Hint, Error> {
        let segments = Segments::new(&self.params(packing), seed, width)?;
        let (_, hint) = self.encode(&segments, rows)?;
        Ok(hint)
    }

    /// A segment's rows encoded for scoring beside `segments`, with their hint.
    ///
    /// # Errors
    /// If they are not rows of this width.
    pub fn encode(self, segments: &Segments, rows: &[u8]) -> Result<(Database, Hint), Error> {
        Ok(match self {
            Self::Open => segments.encode(&open_vectors(rows))?,
            Self::Masked => segments.encode_modular(&masked_codes(rows))?,
        })
    }
}

/// The codes of masked rows.
fn masked_codes(rows: &[u8]) -> Vec<i32> {
    let (coordinates, _) = rows.as_chunks::<COORDINATE_LEN>();
    coordinates
        .iter()
        .copied()
        .map(i32::from_le_bytes)
        .collect()
}
