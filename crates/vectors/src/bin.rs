//! The formats of the billion-scale benchmarks. A file has the number of vectors, their dimension
//! (both 32-bit, little-endian), and then all values. `.fbin` holds f32, `.u8bin` u8, `.i8bin` i8.

use std::io::Read;

use crate::Error;
use crate::element::Element;
use crate::input::{Input, check_dim};
use crate::rows::Rows;

/// The rows after the header of a file of these formats.
pub(super) fn rows(mut input: Input, element: Element) -> Result<(Rows, u64), Error> {
    let mut head = [0; 8];
    input
        .bytes
        .read_exact(&mut head)
        .map_err(|_| Error::EndsInRow { row: 0 })?;
    let (rows, dim) = head.split_at(4);
    let number = |bytes: &[u8]| bytes.first_chunk().map_or(0, |b| u32::from_le_bytes(*b));
    let (rows, dim) = (u64::from(number(rows)), u64::from(number(dim)));
    if rows == 0 {
        return Err(Error::NoVectors);
    }
    let dim = check_dim(dim)?;
    input.check_len(8, rows, dim as u64, element.size())?;
    Ok((Rows::counted(input.bytes, element, dim, rows), rows))
}
