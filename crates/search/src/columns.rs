//! What open and masked mode store: rows of four-byte coordinates, encoded for scoring when a server
//! starts.
//!
//! Open rows are the rotated vectors in single precision, masked rows their masked codes, centred
//! mod P. Neither the encoded form nor the hint is stored: both follow from the rows and the seed in
//! a fraction of a second.

use sordino_ckks::column::{Database, Hint, Params};

use crate::Error;
use crate::manifest::{Manifest, Packing};

/// Bytes of a coordinate.
const COORDINATE_LEN: usize = 4;

/// The length of all rows.
pub(crate) fn rows_len(manifest: &Manifest) -> usize {
    manifest.n as usize * manifest.dim as usize * COORDINATE_LEN
}

/// The length of the hint that clients download.
pub(crate) fn hint_len(params: &Params, manifest: &Manifest) -> Result<usize, Error> {
    let (dim, n) = (manifest.dim as usize, manifest.n as usize);
    Ok(Hint::encoded_len(params, dim, n)?)
}

/// Rows of open mode.
pub(crate) fn open_rows(vectors: &[f32]) -> Vec<u8> {
    vectors.iter().flat_map(|x| x.to_le_bytes()).collect()
}

/// Rows of masked mode.
pub(crate) fn masked_rows(codes: &[i32]) -> Vec<u8> {
    codes.iter().flat_map(|x| x.to_le_bytes()).collect()
}

/// Rows of open mode, ready to be scored.
pub(crate) fn encode_open(
    packing: Packing,
    seed: [u8; 32],
    dim: usize,
    rows: &[u8],
) -> Result<(Database, Hint), Error> {
    let (coordinates, _) = rows.as_chunks::<COORDINATE_LEN>();
    let vectors: Vec<f32> = coordinates
        .iter()
        .copied()
        .map(f32::from_le_bytes)
        .collect();
    Ok(Database::encode(&packing.open(), seed, &vectors, dim)?)
}

/// Rows of masked mode, ready to be scored.
pub(crate) fn encode_masked(
    packing: Packing,
    seed: [u8; 32],
    dim: usize,
    rows: &[u8],
) -> Result<(Database, Hint), Error> {
    let (coordinates, _) = rows.as_chunks::<COORDINATE_LEN>();
    let codes: Vec<i32> = coordinates
        .iter()
        .copied()
        .map(i32::from_le_bytes)
        .collect();
    Ok(Database::encode_modular(
        &packing.masked(),
        seed,
        &codes,
        dim,
    )?)
}
