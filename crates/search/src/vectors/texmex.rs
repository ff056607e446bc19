//! The TEXMEX formats: each vector is its dimension (32-bit, little-endian), then its values.
//! `.fvecs` holds f32, `.bvecs` holds u8, `.ivecs` holds the row numbers of neighbours.

use crate::{Error, Vectors};

/// Reads `.fvecs`.
///
/// # Errors
/// If the file ends early, its vectors differ in dimension, or a value is not finite.
pub fn fvecs(bytes: &[u8]) -> Result<Vectors, Error> {
    let (dim, rows) = records(bytes, 4)?;
    Vectors::new(
        dim,
        rows.flat_map(|row| row.as_chunks().0)
            .map(|b| f32::from_le_bytes(*b))
            .collect(),
    )
}

/// Reads `.bvecs`.
///
/// # Errors
/// If the file ends early or its vectors differ in dimension.
pub fn bvecs(bytes: &[u8]) -> Result<Vectors, Error> {
    let (dim, rows) = records(bytes, 1)?;
    Vectors::new(dim, rows.flatten().map(|&b| f32::from(b)).collect())
}

/// Reads `.ivecs`: for each query, its neighbours in order.
///
/// # Errors
/// If the file ends early, its rows differ in length, or a row number is negative.
pub fn ivecs(bytes: &[u8]) -> Result<Vec<Vec<u32>>, Error> {
    let (_, rows) = records(bytes, 4)?;
    rows.map(|row| {
        let row = row
            .as_chunks()
            .0
            .iter()
            .map(|b| u32::try_from(i32::from_le_bytes(*b)));
        row.collect::<Result<_, _>>()
            .map_err(|_| Error::NegativeNeighbour)
    })
    .collect()
}

/// The dimension that all records share, and each record's values.
fn records(bytes: &[u8], size: usize) -> Result<(usize, impl Iterator<Item = &[u8]>), Error> {
    let first = bytes.first_chunk().ok_or(Error::NoVectors)?;
    let dim = u32::from_le_bytes(*first);
    let row = usize::try_from(dim)
        .ok()
        .and_then(|dim| dim.checked_mul(size))
        .unwrap_or(usize::MAX);
    if dim == 0 {
        return Err(Error::NoVectors);
    }
    if !bytes.len().is_multiple_of(row.saturating_add(4)) {
        return Err(Error::TexmexLength {
            dim,
            found: bytes.len(),
        });
    }
    for (index, record) in bytes.chunks_exact(row + 4).enumerate() {
        let found = u32::from_le_bytes(*record.first_chunk().expect("four bytes and more"));
        if found != dim {
            return Err(Error::TexmexDimension {
                row: index,
                found,
                expected: dim,
            });
        }
    }
    Ok((
        row / size,
        bytes.chunks_exact(row + 4).map(|record| &record[4..]),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

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

        let ints = [1u32, 42].map(u32::to_le_bytes).concat();
        assert_eq!(ivecs(&ints).unwrap(), [[42]]);
    }

    #[test]
    fn wrong_files_are_named_for_what_is_wrong() {
        assert!(matches!(bvecs(&[]), Err(Error::NoVectors)));
        assert!(matches!(bvecs(&[0, 0, 0, 0]), Err(Error::NoVectors)));
        assert!(matches!(
            bvecs(&[255; 9]),
            Err(Error::TexmexLength {
                dim: u32::MAX,
                found: 9
            })
        ));
        assert!(matches!(
            bvecs(&[2, 0, 0, 0, 1]),
            Err(Error::TexmexLength { dim: 2, found: 5 })
        ));
        let ragged = [1u8, 0, 0, 0, 5, 2, 0, 0, 0, 5];
        assert!(matches!(
            bvecs(&ragged),
            Err(Error::TexmexDimension {
                row: 1,
                found: 2,
                expected: 1
            })
        ));
        let nan = [&1u32.to_le_bytes()[..], &f32::INFINITY.to_le_bytes()].concat();
        assert!(matches!(
            fvecs(&nan),
            Err(Error::NotFinite { row: 0, column: 0 })
        ));
    }
}
