//! The rows of open and masked mode. A coordinate has four bytes. A server encodes the rows for scoring when it starts.
//!
//! Open rows are the rotated vectors in single precision. Masked rows are their masked codes, centred
//! mod P. Neither the encoded form nor the hint is stored, because both follow from the rows and the
//! seed in a fraction of a second.

use std::borrow::Cow;

use bytemuck::AnyBitPattern;
use sordino_ckks::column::{Database, Hint, Segments};

use crate::Error;
use crate::manifest::COORDINATE_LEN;
pub use crate::manifest::{Rows, Scheme};

/// The rows of open mode.
#[must_use]
pub fn open_rows(vectors: &[f32]) -> Vec<u8> {
    vectors.iter().flat_map(|x| x.to_le_bytes()).collect()
}

/// The vectors of open rows.
pub fn open_vectors(rows: &[u8]) -> Vec<f32> {
    in_place(rows, f32::from_le_bytes).into_owned()
}

/// The rows of masked mode.
#[must_use]
pub fn masked_rows(codes: &[i32]) -> Vec<u8> {
    codes.iter().flat_map(|x| x.to_le_bytes()).collect()
}

impl Scheme {
    /// The hint of a segment's rows.
    ///
    /// # Errors
    /// [`Error`] if the rows are too many or too long for a hint, or do not have this width.
    pub fn hint(self, seed: [u8; 32], width: usize, rows: &[u8]) -> Result<Hint, Error> {
        let segments = Segments::new(&self.params(), seed, width)?;
        Ok(match self.rows {
            Rows::Open => segments.hint(&in_place(rows, f32::from_le_bytes))?,
            Rows::Masked => segments.hint_modular(&in_place(rows, i32::from_le_bytes))?,
        })
    }

    /// A segment's rows, encoded for scoring together with `segments`, and their hint.
    ///
    /// # Errors
    /// [`Error`] if `rows` are not rows of this width.
    pub fn encode(self, segments: &Segments, rows: &[u8]) -> Result<(Database, Hint), Error> {
        Ok(match self.rows {
            Rows::Open => segments.encode(&in_place(rows, f32::from_le_bytes))?,
            Rows::Masked => segments.encode_modular(&in_place(rows, i32::from_le_bytes))?,
        })
    }
}

/// The coordinates of rows, without a copy if this machine has their byte order and they are aligned.
fn in_place<T: AnyBitPattern>(
    rows: &[u8],
    from_le_bytes: fn([u8; COORDINATE_LEN]) -> T,
) -> Cow<'_, [T]> {
    let (coordinates, _) = rows.as_chunks();
    let whole = coordinates.as_flattened();
    match bytemuck::try_cast_slice(whole) {
        Ok(values) if cfg!(target_endian = "little") => Cow::Borrowed(values),
        _ => Cow::Owned(coordinates.iter().copied().map(from_le_bytes).collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coordinates_are_the_same_where_they_lie_and_copied() {
        let codes: Vec<i32> = (0..64_i32).map(|i| i.wrapping_mul(123_456_789)).collect();
        let rows = masked_rows(&codes);
        for offset in 0..4 {
            let mut moved = vec![0; offset];
            moved.extend(&rows);
            // Bytes of half a coordinate do not belong to a row.
            moved.extend(&[1, 2, 3][..offset]);
            assert_eq!(*in_place(&moved[offset..], i32::from_le_bytes), codes);
        }
    }
}
