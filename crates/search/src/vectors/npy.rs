//! NumPy's `.npy` format, versions 1 to 3: a header that is a Python dictionary, then raw values.

use half::f16;

use crate::{Error, Vectors};

const MAGIC: &[u8] = b"\x93NUMPY";

/// The element type of a file, by NumPy's `descr`.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Element {
    F32,
    F16,
    U8,
    I8,
    I32,
}

impl Element {
    fn from_descr(descr: &str) -> Result<Self, Error> {
        match descr {
            "<f4" => Ok(Self::F32),
            "<f2" => Ok(Self::F16),
            "|u1" => Ok(Self::U8),
            "|i1" => Ok(Self::I8),
            "<i4" => Ok(Self::I32),
            other => Err(Error::NpyType {
                descr: other.chars().take(16).collect(),
            }),
        }
    }

    fn size(self) -> usize {
        match self {
            Self::F32 | Self::I32 => 4,
            Self::F16 => 2,
            Self::U8 | Self::I8 => 1,
        }
    }
}

/// A parsed file: its element type, its row length, its values' bytes.
struct Npy<'a> {
    element: Element,
    columns: usize,
    values: &'a [u8],
}

/// Reads a matrix of vectors: two dimensions of f32, f16, u8 or i8.
///
/// # Errors
/// If the header is damaged, the shape is not two-dimensional, the type is another one, the
/// file's length is not what the header says, or a value is not finite.
pub fn vectors(bytes: &[u8]) -> Result<Vectors, Error> {
    let npy = Npy::parse(bytes)?;
    let data: Vec<f32> = match npy.element {
        Element::F32 => npy
            .values
            .as_chunks()
            .0
            .iter()
            .map(|b| f32::from_le_bytes(*b))
            .collect(),
        Element::F16 => npy
            .values
            .as_chunks()
            .0
            .iter()
            .map(|b| f16::from_le_bytes(*b).to_f32())
            .collect(),
        Element::U8 => npy.values.iter().map(|&b| f32::from(b)).collect(),
        Element::I8 => npy
            .values
            .iter()
            .map(|&b| f32::from(b.cast_signed()))
            .collect(),
        Element::I32 => {
            return Err(Error::NpyType {
                descr: "<i4".to_owned(),
            });
        }
    };
    Vectors::new(npy.columns, data)
}

/// Reads a matrix of row numbers, `<i4`: for each query, its neighbours in order.
///
/// # Errors
/// As [`vectors`], and if a row number is negative.
pub fn neighbours(bytes: &[u8]) -> Result<Vec<Vec<u32>>, Error> {
    let npy = Npy::parse(bytes)?;
    if npy.element != Element::I32 {
        return Err(Error::NpyType {
            descr: format!("{:?}, expected <i4", npy.element),
        });
    }
    let rows: Result<Vec<u32>, _> = npy
        .values
        .as_chunks()
        .0
        .iter()
        .map(|b| u32::try_from(i32::from_le_bytes(*b)))
        .collect();
    let rows = rows.map_err(|_| Error::NegativeNeighbour)?;
    Ok(rows.chunks(npy.columns).map(<[u32]>::to_vec).collect())
}

impl<'a> Npy<'a> {
    fn parse(bytes: &'a [u8]) -> Result<Self, Error> {
        let damaged = |what| Error::NpyHeader { what };
        let rest = bytes
            .strip_prefix(MAGIC)
            .ok_or(damaged("it does not begin with \\x93NUMPY"))?;
        let (version, rest) = rest
            .split_first_chunk::<2>()
            .ok_or(damaged("it ends early"))?;
        let (len, rest) = match version[0] {
            1 => {
                let (len, rest) = rest.split_first_chunk().ok_or(damaged("it ends early"))?;
                (usize::from(u16::from_le_bytes(*len)), rest)
            }
            2 | 3 => {
                let (len, rest) = rest.split_first_chunk().ok_or(damaged("it ends early"))?;
                (u32::from_le_bytes(*len) as usize, rest)
            }
            _ => return Err(damaged("its version is not 1, 2 or 3")),
        };
        let (header, values) = rest.split_at_checked(len).ok_or(damaged("it ends early"))?;
        let header = std::str::from_utf8(header).map_err(|_| damaged("it is not text"))?;

        if field(header, "fortran_order").is_none_or(|value| !value.starts_with("False")) {
            return Err(damaged("fortran_order is not False"));
        }
        let descr = field(header, "descr")
            .and_then(|value| value.strip_prefix('\'')?.split_once('\''))
            .ok_or(damaged("descr is missing"))?;
        let element = Element::from_descr(descr.0)?;
        let shape = field(header, "shape")
            .and_then(|value| value.strip_prefix('(')?.split_once(')'))
            .ok_or(damaged("shape is missing"))?;
        let shape: Result<Vec<usize>, _> = shape
            .0
            .split(',')
            .map(str::trim)
            .filter(|size| !size.is_empty())
            .map(str::parse)
            .collect();
        let shape = shape.map_err(|_| damaged("shape is not a tuple of numbers"))?;
        let &[rows, columns] = shape.as_slice() else {
            return Err(Error::NpyShape {
                dimensions: shape.len(),
            });
        };
        let expected = rows
            .checked_mul(columns)
            .and_then(|count| count.checked_mul(element.size()));
        if expected != Some(values.len()) {
            return Err(Error::NpyLength {
                rows,
                columns,
                found: values.len(),
            });
        }
        if rows == 0 || columns == 0 {
            return Err(Error::NoVectors);
        }
        Ok(Self {
            element,
            columns,
            values,
        })
    }
}

/// What follows `'name':` in the header's dictionary.
fn field<'a>(header: &'a str, name: &str) -> Option<&'a str> {
    let (_, after) = header.split_once(&format!("'{name}'"))?;
    Some(after.trim_start().strip_prefix(':')?.trim_start())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A version 1 file.
    fn npy(descr: &str, shape: &str, values: &[u8]) -> Vec<u8> {
        let header =
            format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n");
        let mut bytes = [MAGIC, &[1, 0]].concat();
        bytes.extend(u16::try_from(header.len()).unwrap().to_le_bytes());
        bytes.extend(header.as_bytes());
        bytes.extend(values);
        bytes
    }

    #[test]
    fn every_element_type_is_read() {
        let f32s: Vec<u8> = [1.5f32, -2.0]
            .iter()
            .flat_map(|x| x.to_le_bytes())
            .collect();
        let f16s: Vec<u8> = [1.5f32, -2.0]
            .iter()
            .flat_map(|&x| f16::from_f32(x).to_le_bytes())
            .collect();
        for (descr, values, expected) in [
            ("<f4", f32s, [1.5, -2.0]),
            ("<f2", f16s, [1.5, -2.0]),
            ("|u1", vec![3, 255], [3.0, 255.0]),
            ("|i1", vec![3, 255], [3.0, -1.0]),
        ] {
            let matrix = vectors(&npy(descr, "(2, 1)", &values)).unwrap();
            assert_eq!((matrix.len(), matrix.dim()), (2, 1));
            assert_eq!(matrix.as_slice(), expected, "{descr}");
        }
        let truth = neighbours(&npy("<i4", "(1, 2)", &[7, 0, 0, 0, 1, 1, 0, 0])).unwrap();
        assert_eq!(truth, [[7, 257]]);
    }

    #[test]
    fn wrong_files_are_named_for_what_is_wrong() {
        let good = npy("|u1", "(2, 3)", &[0; 6]);
        for cut in 0..good.len() {
            assert!(vectors(&good[..cut]).is_err(), "cut at {cut}");
        }
        let message = |bytes: &[u8]| vectors(bytes).unwrap_err().to_string();
        assert!(message(&npy("|u1", "(2, 3)", &[0; 7])).contains("found 7"));
        assert!(message(&npy("|u1", "(6,)", &[0; 6])).contains("1 dimension"));
        assert!(message(&npy(">f4", "(1, 1)", &[0; 4])).contains(">f4"));
        assert!(message(&npy("|u1", "(0, 3)", &[])).contains("no vectors"));
        assert!(message(&npy("|u1", "(18446744073709551615, 2)", &[0; 6])).contains("found 6"));
        assert!(message(&npy("<f4", "(1, 1)", &f32::NAN.to_le_bytes())).contains("row 0"));
        let minus_one = npy("<i4", "(1, 1)", &[255; 4]);
        assert!(matches!(
            neighbours(&minus_one),
            Err(Error::NegativeNeighbour)
        ));
    }
}
