//! NumPy's `.npy` format, versions 1 to 3: a header that is a Python dictionary, then raw values.

use std::io::Read;

use crate::Error;
use crate::element::Element;
use crate::id::{Id, IdKind};
use crate::input::{Input, check_dim};
use crate::rows::Rows;

const MAGIC: &[u8; 6] = b"\x93NUMPY";

/// A header is never longer: NumPy itself refuses longer ones (10,000 bytes).
const MAX_HEADER: usize = 1 << 16;

impl Element {
    fn from_descr(descr: &str, expected: &'static str) -> Result<Self, Error> {
        match descr {
            "<f8" => Ok(Self::F64),
            "<f4" => Ok(Self::F32),
            "<f2" => Ok(Self::F16),
            "|u1" => Ok(Self::U8),
            "|i1" => Ok(Self::I8),
            "<u4" => Ok(Self::U32),
            "<i4" => Ok(Self::I32),
            "<u8" => Ok(Self::U64),
            "<i8" => Ok(Self::I64),
            other => Err(Error::NpyType {
                descr: other.chars().take(16).collect(),
                expected,
            }),
        }
    }

    fn unexpected(self, expected: &'static str) -> Error {
        let descr = self.descr().to_owned();
        Error::NpyType { descr, expected }
    }

    fn descr(self) -> &'static str {
        match self {
            Self::F64 => "<f8",
            Self::F32 => "<f4",
            Self::F16 => "<f2",
            Self::U8 => "|u1",
            Self::I8 => "|i1",
            Self::U32 => "<u4",
            Self::I32 => "<i4",
            Self::U64 => "<u8",
            Self::I64 => "<i8",
        }
    }
}

/// The types of coordinates.
const COORDINATES: &str = "<f8, <f4, <f2, |u1 or |i1: save array.astype('<f4')";

/// The type of row numbers.
const ROWS: &str = "whole numbers, <i4: save array.astype('<i4')";

/// The types of ids.
const IDS: &str = "whole numbers, <u4, <i4, <u8 or <i8: save array.astype('<i8')";

/// A parsed header.
struct Head {
    element: Element,
    shape: Vec<u64>,
    /// Its own length.
    len: usize,
}

/// The rows of a matrix: two dimensions of f64, f32, f16, u8 or i8.
pub(super) fn rows(mut input: Input) -> Result<(Rows, u64), Error> {
    let head = Head::read(&mut input.bytes, COORDINATES)?;
    let &[rows, columns] = head.shape.as_slice() else {
        let dimensions = head.shape.len();
        return Err(Error::NpyShape { dimensions });
    };
    if !head.element.is_coordinate() {
        return Err(head.element.unexpected(COORDINATES));
    }
    if rows == 0 {
        return Err(Error::NoVectors);
    }
    // Before the dimension: a shape that contradicts the file's length is the better reason.
    input.check_len(head.len, rows, columns, head.element.size())?;
    let dim = check_dim(columns)?;
    let source = Rows::counted(input.bytes, head.element, dim, rows);
    Ok((source, rows))
}

/// Reads a matrix of row numbers, `<i4`: for each query, its neighbours in order.
///
/// # Errors
/// If the header is damaged, the shape is not two-dimensional, the type is another one, the
/// file's length is not what the header says, or a row number is negative.
pub fn neighbours(bytes: &[u8]) -> Result<Vec<Vec<u32>>, Error> {
    let mut input = Input::whole(bytes.to_vec());
    let head = Head::read(&mut input.bytes, ROWS)?;
    let &[rows, columns] = head.shape.as_slice() else {
        let dimensions = head.shape.len();
        return Err(Error::NpyShape { dimensions });
    };
    if head.element != Element::I32 {
        return Err(head.element.unexpected(ROWS));
    }
    input.check_len(head.len, rows, columns, 4)?;
    if rows == 0 || columns == 0 {
        return Err(Error::NoVectors);
    }
    let values = bytes.get(head.len..).unwrap_or_default().as_chunks().0;
    let rows: Result<Vec<u32>, _> = values
        .iter()
        .map(|b| u32::try_from(i32::from_le_bytes(*b)))
        .collect();
    let rows = rows.map_err(|_| Error::NegativeNeighbour)?;
    // The rows are as many as the file holds, so their number fits.
    let columns = usize::try_from(columns).unwrap_or(usize::MAX);
    Ok(rows.chunks(columns).map(<[u32]>::to_vec).collect())
}

/// Reads ids: one dimension of u32, i32, u64 or i64, an id for each vector.
///
/// # Errors
/// If the header is damaged, there is more than one dimension, the type is another one, the
/// file's length is not what the header says, or an id is negative.
pub fn ids(bytes: &[u8]) -> Result<Vec<Id>, Error> {
    let mut input = Input::whole(bytes.to_vec());
    let head = Head::read(&mut input.bytes, IDS)?;
    let &[rows] = head.shape.as_slice() else {
        let dimensions = head.shape.len();
        return Err(Error::IdsShape { dimensions });
    };
    if head.element.is_coordinate() {
        return Err(head.element.unexpected(IDS));
    }
    input.check_len(head.len, rows, 1, head.element.size())?;
    let values = bytes.get(head.len..).unwrap_or_default();
    let ids = (0..).zip(head.element.ids(values));
    let read = |(row, x): (u64, i128)| {
        let number = u64::try_from(x).map(Id::Number);
        number.map_err(|_| Error::IdRow {
            row,
            found: x.to_string(),
            expected: IdKind::Number.expected(),
        })
    };
    ids.map(read).collect()
}

impl Head {
    /// Reads the header, and no more; `expected` are the types that its values may have.
    fn read(input: &mut impl Read, expected: &'static str) -> Result<Self, Error> {
        let damaged = |what| Error::NpyHeader { what };
        let short = |_| damaged("it ends early");
        let mut start = [0; 8];
        let got = read_up_to(input, &mut start)?;
        if !start[..got].starts_with(&MAGIC[..got.min(MAGIC.len())]) {
            return Err(damaged("it does not begin with \\x93NUMPY"));
        }
        if got < start.len() {
            return Err(damaged("it ends early"));
        }
        let (len, prefix) = match start[6] {
            1 => {
                let mut len = [0; 2];
                input.read_exact(&mut len).map_err(short)?;
                (usize::from(u16::from_le_bytes(len)), 2)
            }
            2 | 3 => {
                let mut len = [0; 4];
                input.read_exact(&mut len).map_err(short)?;
                (u32::from_le_bytes(len) as usize, 4)
            }
            _ => return Err(damaged("its version is not 1, 2 or 3")),
        };
        if len > MAX_HEADER {
            return Err(damaged("it is longer than 64 KiB"));
        }
        let mut header = vec![0; len];
        input.read_exact(&mut header).map_err(short)?;
        let header = std::str::from_utf8(&header).map_err(|_| damaged("it is not text"))?;

        if field(header, "fortran_order").is_none_or(|value| !value.starts_with("False")) {
            return Err(damaged(
                "fortran_order is not False: save numpy.ascontiguousarray of it",
            ));
        }
        let descr = field(header, "descr").ok_or(damaged("descr is missing"))?;
        if descr.starts_with(['[', '(']) {
            return Err(damaged(
                "descr is a list of fields, so the array is a structured one: save the field that is the matrix, such \
                 as array['v']",
            ));
        }
        let descr = quoted(descr).ok_or(damaged("descr is no text in quotes"))?;
        let element = Element::from_descr(descr, expected)?;
        let shape = field(header, "shape")
            .and_then(|value| value.strip_prefix('(')?.split_once(')'))
            .ok_or(damaged("shape is missing"))?;
        let shape: Result<Vec<u64>, _> = shape
            .0
            .split(',')
            .map(str::trim)
            .filter(|size| !size.is_empty())
            // Python 2 wrote long numbers so.
            .map(|size| size.strip_suffix('L').unwrap_or(size).parse())
            .collect();
        let shape = shape.map_err(|_| damaged("shape is not a tuple of numbers"))?;
        let len = start.len() + prefix + len;
        Ok(Self {
            element,
            shape,
            len,
        })
    }
}

/// Fills as much of `buffer` as there are bytes.
fn read_up_to(input: &mut impl Read, buffer: &mut [u8]) -> Result<usize, Error> {
    let mut bytes = Vec::with_capacity(buffer.len());
    let mut input = input.take(buffer.len() as u64);
    input.read_to_end(&mut bytes).map_err(Error::Read)?;
    buffer[..bytes.len()].copy_from_slice(&bytes);
    Ok(bytes.len())
}

/// The text after `'name':` or `"name":` in the header's dictionary.
fn field<'a>(header: &'a str, name: &str) -> Option<&'a str> {
    let key = |quote: char| header.split_once(&format!("{quote}{name}{quote}"));
    let (_, after) = key('\'').or_else(|| key('"'))?;
    Some(after.trim_start().strip_prefix(':')?.trim_start())
}

/// The text in quotes that begins `text`.
fn quoted(text: &str) -> Option<&str> {
    let quote = text.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
    Some(text[1..].split_once(quote)?.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Format;
    use crate::Vectors;
    use half::f16;

    fn vectors(bytes: &[u8]) -> Result<Vectors, Error> {
        Vectors::from_bytes(Format::Npy, bytes.to_vec())
    }

    /// A version 1 file.
    fn npy(descr: &str, shape: &str, values: &[u8]) -> Vec<u8> {
        let header =
            format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n");
        let mut bytes = [MAGIC, &[1, 0][..]].concat();
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
        let f64s: Vec<u8> = [1.5f64, -2.0]
            .iter()
            .flat_map(|x| x.to_le_bytes())
            .collect();
        for (descr, values, expected) in [
            ("<f8", f64s, [1.5, -2.0]),
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
    fn ids_are_read_from_every_integer_type() {
        for (descr, values) in [
            ("<u4", vec![7, 0, 0, 0]),
            ("<i4", vec![7, 0, 0, 0]),
            ("<u8", vec![7, 0, 0, 0, 0, 0, 0, 0]),
            ("<i8", vec![7, 0, 0, 0, 0, 0, 0, 0]),
        ] {
            let ids = ids(&npy(descr, "(1,)", &values)).unwrap();
            assert_eq!(ids, [Id::Number(7)], "{descr}");
        }
        let minus_one = ids(&npy("<i8", "(1,)", &[255; 8]));
        let why = minus_one.unwrap_err().to_string();
        assert!(
            why.starts_with("row 0: no id: -1, expected a whole number"),
            "{why}"
        );
        let matrix = ids(&npy("<i8", "(1, 1)", &[0; 8]));
        assert!(matches!(matrix, Err(Error::IdsShape { dimensions: 2 })));
        let floats = ids(&npy("<f4", "(1,)", &[0; 4]));
        let why = floats.unwrap_err().to_string();
        assert!(
            why.ends_with("save array.astype('<i8')") && !why.contains("f8"),
            "{why}"
        );
        for descr in ["<f8", ">f8", "<U3"] {
            let why = ids(&npy(descr, "(1,)", &[0; 8])).unwrap_err().to_string();
            assert!(why.contains("expected whole numbers, <u4"), "{why}");
        }
        assert!(ids(&npy("<i8", "(2,)", &[0; 8])).is_err());
    }

    #[test]
    fn headers_of_other_writers_are_read_or_refused_for_what_they_are() {
        let single = String::from_utf8_lossy(&npy("|u1", "(2L, 1L)", &[])[10..]).into_owned();
        let file = |header: &str| {
            let mut bytes = [MAGIC, &[1, 0][..]].concat();
            bytes.extend(u16::try_from(header.len()).unwrap().to_le_bytes());
            bytes.extend(header.as_bytes());
            bytes.extend([3, 4]);
            bytes
        };
        for header in [single.clone(), single.replace('\'', "\"")] {
            assert_eq!(vectors(&file(&header)).unwrap().as_slice(), [3.0, 4.0]);
        }
        let fields = single.replace("'|u1'", "[('v', '|u1', (1,))]");
        let why = vectors(&file(&fields)).unwrap_err().to_string();
        assert!(why.contains("a structured one: save the field"), "{why}");
        let why = vectors(&file(&single.replace("'|u1'", "|u1")))
            .unwrap_err()
            .to_string();
        assert!(why.contains("no text in quotes"), "{why}");
    }

    #[test]
    fn wrong_files_are_named_for_what_is_wrong() {
        let good = npy("|u1", "(2, 3)", &[0; 6]);
        for cut in 0..good.len() {
            assert!(vectors(&good[..cut]).is_err(), "cut at {cut}");
        }
        let message = |bytes: &[u8]| vectors(bytes).unwrap_err().to_string();
        let long = message(&npy("|u1", "(2, 3)", &[0; 7]));
        assert!(
            long.contains("with 7 bytes") && !long.contains("cut short"),
            "{long}"
        );
        assert!(long.contains("something follows the values"), "{long}");
        let short = message(&npy("|u1", "(2, 3)", &[0; 5]));
        assert!(short.contains("it was cut short"), "{short}");
        assert!(message(&npy("|u1", "(6,)", &[0; 6])).contains("1 dimension"));
        assert!(message(&npy(">f4", "(1, 1)", &[0; 4])).contains(">f4"));
        assert!(message(&npy("|u1", "(0, 3)", &[])).contains("no vectors"));
        assert!(
            message(&npy("|u1", "(18446744073709551615, 2)", &[0; 6])).contains("with 6 bytes")
        );
        assert!(message(&npy("<f4", "(1, 1)", &f32::NAN.to_le_bytes())).contains("row 0"));
        assert!(message(&npy("<f8", "(1, 1)", &1e300f64.to_le_bytes())).contains("of 32 bits"));
        assert!(
            message(&npy("<f8", "(1, 1)", &1e-46f64.to_le_bytes())).contains("row 0, column 0")
        );
        assert!(message(&npy("|u1", "(1, 9000)", &[0; 9000])).contains("9000 dimensions"));
        assert!(message(&npy("<i4", "(1, 1)", &[0; 4])).contains("<i4"));
        let mut long = [MAGIC, &[2, 0][..]].concat();
        long.extend(u32::MAX.to_le_bytes());
        assert!(message(&long).contains("64 KiB"));
        let minus_one = npy("<i4", "(1, 1)", &[255; 4]);
        assert!(matches!(
            neighbours(&minus_one),
            Err(Error::NegativeNeighbour)
        ));
    }
}
