//! What open and masked mode store: rows of four-byte coordinates, encoded for scoring when a server
//! starts.
//!
//! Open rows are the rotated vectors in single precision, masked rows their masked codes, centred
//! mod P. Neither the encoded form nor the hint is stored: both follow from the rows and the seed in
//! a fraction of a second.

use sordino_ckks::column::{Database, Hint, Params};

use crate::manifest::{Columns, Packing};
use crate::store::Bytes;
use crate::{Error, index};

/// Bytes of a coordinate.
const COORDINATE_LEN: usize = 4;

/// The length of the rows of `n` vectors.
pub(crate) fn rows_len(n: usize, width: usize) -> usize {
    n * width * COORDINATE_LEN
}

/// Rows of open mode.
pub(crate) fn open_rows(vectors: &[f32]) -> Vec<u8> {
    vectors.iter().flat_map(|x| x.to_le_bytes()).collect()
}

/// The vectors of open rows.
pub(crate) fn open_vectors(rows: &[u8]) -> Vec<f32> {
    let (coordinates, _) = rows.as_chunks::<COORDINATE_LEN>();
    coordinates
        .iter()
        .copied()
        .map(f32::from_le_bytes)
        .collect()
}

/// Rows of masked mode.
pub(crate) fn masked_rows(codes: &[i32]) -> Vec<u8> {
    codes.iter().flat_map(|x| x.to_le_bytes()).collect()
}

/// What rows hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rows {
    Open,
    Masked,
}

impl Rows {
    /// The parameter set.
    pub(crate) fn params(self, packing: Packing) -> Params {
        match self {
            Self::Open => packing.open(),
            Self::Masked => packing.masked(),
        }
    }

    /// The hint of a segment's rows.
    pub(crate) fn hint(
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
    pub(crate) fn encode(
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
            index::check_digest("hint", &hint, &column.hint)?;
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
