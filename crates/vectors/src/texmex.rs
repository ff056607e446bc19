//! The TEXMEX formats: each vector has its dimension (32-bit, little-endian), then its values.
//! `.fvecs` holds f32, `.bvecs` holds u8, `.ivecs` holds the row numbers of neighbours.

use std::io::Read;

use crate::Error;
use crate::element::Element;
use crate::input::{Input, check_dim};
use crate::rows::Rows;

/// The rows of a `.fvecs` or `.bvecs` file, and their number if the file's length is known.
pub(super) fn rows(mut input: Input, element: Element) -> Result<(Rows, Option<u64>), Error> {
    let mut first = [0; 4];
    input
        .bytes
        .read_exact(&mut first)
        .map_err(|_| Error::NoVectors)?;
    let dim = check_dim(u64::from(u32::from_le_bytes(first)))?;
    let record = 4 + (dim * element.size()) as u64;
    if let Some(found) = input.len.filter(|len| !len.is_multiple_of(record)) {
        let dim = dim as u64;
        return Err(Error::TexmexLength { dim, found });
    }
    let len = input.len.map(|len| len / record);
    Ok((Rows::prefixed(first, input.bytes, element, dim), len))
}

/// Reads an `.ivecs` file: for each query, its neighbours in order.
///
/// # Errors
/// Fails if the file ends early, its rows differ in length, or a row number is negative.
pub fn ivecs(bytes: &[u8]) -> Result<Vec<Vec<u32>>, Error> {
    let first = bytes.first_chunk().ok_or(Error::NoVectors)?;
    let dim = u32::from_le_bytes(*first);
    if dim == 0 {
        return Err(Error::NoVectors);
    }
    let record = (dim as usize).saturating_mul(4).saturating_add(4);
    if !bytes.len().is_multiple_of(record) {
        let (dim, found) = (dim.into(), bytes.len() as u64);
        return Err(Error::TexmexLength { dim, found });
    }
    let rows = (0..).zip(bytes.chunks_exact(record)).map(|(row, record)| {
        let mut numbers = record.as_chunks().0.iter().map(|b| i32::from_le_bytes(*b));
        let found = numbers.next().map_or(0, i32::cast_unsigned);
        if found != dim {
            return Err(Error::RowDimension {
                row,
                found: found.into(),
                expected: dim.into(),
            });
        }
        numbers
            .map(|number| u32::try_from(number).map_err(|_| Error::NegativeNeighbour))
            .collect()
    });
    rows.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Format;
    use crate::Vectors;

    fn bvecs(bytes: &[u8]) -> Result<Vectors, Error> {
        Vectors::from_bytes(Format::Bvecs, bytes.to_vec())
    }

    fn fvecs(bytes: &[u8]) -> Result<Vectors, Error> {
        Vectors::from_bytes(Format::Fvecs, bytes.to_vec())
    }

    #[test]
    fn the_three_formats_are_read() {
        let bytes = [[2u8, 0, 0, 0, 5, 9], [2, 0, 0, 0, 7, 255]].concat();
        let matrix = bvecs(&bytes).unwrap();
        assert_eq!(
            (matrix.dim(), matrix.as_slice()),
            (2, &[5.0, 9.0, 7.0, 255.0][..])
        );

        let floats = [&1u32.to_le_bytes()[..], &2.5f32.to_le_bytes()].concat();
        assert_eq!(fvecs(&floats).unwrap().as_slice(), [2.5]);

        let ints = [1u32, 42, 1, 7].map(u32::to_le_bytes).concat();
        assert_eq!(ivecs(&ints).unwrap(), [[42], [7]]);
    }

    #[test]
    fn wrong_files_are_named_for_what_is_wrong() {
        assert!(matches!(bvecs(&[]), Err(Error::NoVectors)));
        assert!(matches!(bvecs(&[0, 0, 0, 0]), Err(Error::NoVectors)));
        assert!(matches!(
            bvecs(&[255; 9]),
            Err(Error::WideVectors { dim: 0xffff_ffff })
        ));
        assert!(matches!(
            bvecs(&[2, 0, 0, 0, 1]),
            Err(Error::TexmexLength { dim: 2, found: 5 })
        ));
        let ragged = [1u8, 0, 0, 0, 5, 2, 0, 0, 0, 5];
        assert!(matches!(
            bvecs(&ragged),
            Err(Error::RowDimension {
                row: 1,
                found: 2,
                expected: 1
            })
        ));
        assert!(matches!(
            ivecs(&[255; 8]),
            Err(Error::TexmexLength { found: 8, .. })
        ));
        let uneven = [1u32, 42, 2, 7].map(u32::to_le_bytes).concat();
        assert!(matches!(
            ivecs(&uneven),
            Err(Error::RowDimension { row: 1, .. })
        ));
        let nan = [&1u32.to_le_bytes()[..], &f32::INFINITY.to_le_bytes()].concat();
        assert!(matches!(
            fvecs(&nan),
            Err(Error::NotFinite { row: 0, column: 0 })
        ));
    }
}
