//! The rows of open and masked mode: four bytes a coordinate, encoded for scoring when a server
//! starts.
//!
//! Open rows are the rotated vectors in single precision, masked rows their masked codes, centred
//! mod P. Neither the encoded form nor the hint is stored: both follow from the rows and the seed in
//! a fraction of a second.

use sordino_ckks::column::{Database, Hint, Params};

use crate::manifest::{COORDINATE_LEN, Columns, Packing, rows_len};
use crate::{Bytes, Error, digest};

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
        let params = self.params(packing);
        let n = rows.len().checked_div(rows_len(1, width)).unwrap_or(0);
        let mut database = Database::empty(&params, seed, width, n)?;
        self.append(&mut database, rows)
    }

    /// All segments encoded for scoring, and their hints, checked against the manifest's digests. The
    /// bytes of each segment are let go before the next is encoded.
    ///
    /// # Errors
    /// If rows do not fit the manifest, or a hint is not the one that it names.
    pub fn encode(
        self,
        mode: &Columns,
        width: usize,
        rows: impl IntoIterator<Item = Bytes>,
    ) -> Result<(Database, Vec<Vec<u8>>), Error> {
        let params = self.params(mode.packing);
        let block = params.block_vectors();
        let sizes = mode.segments.iter().map(|column| column.segment.n as usize);
        let places = sizes.map(|n| n.next_multiple_of(block)).sum();
        let mut database = Database::empty(&params, mode.seed, width, places)?;
        let mut hints = Vec::with_capacity(mode.segments.len());
        for (column, rows) in mode.segments.iter().zip(rows) {
            let hint = self.append(&mut database, &rows)?.to_bytes();
            digest::check("hint", &hint, &column.hint)?;
            hints.push(hint);
        }
        Ok((database, hints))
    }

    fn append(self, database: &mut Database, rows: &[u8]) -> Result<Hint, Error> {
        Ok(match self {
            Self::Open => database.append_segment(&open_vectors(rows))?,
            Self::Masked => {
                let (coordinates, _) = rows.as_chunks::<COORDINATE_LEN>();
                let codes: Vec<i32> = coordinates
                    .iter()
                    .copied()
                    .map(i32::from_le_bytes)
                    .collect();
                database.append_segment_modular(&codes)?
            }
        })
    }
}
