//! NumPy's `.npy` format, versions 1 to 3: a header that is a Python dictionary, then raw values.

use std::io::Read;

use crate::Error;
use crate::element::Element;
use crate::id::{Id, IdKind};
use crate::input::{Input, check_dim, check_len};
use crate::rows::Rows;

mod columns;

const MAGIC: &[u8; 6] = b"\x93NUMPY";

/// The longest header that is read. NumPy itself refuses headers of more than 10,000 bytes.
const MAX_HEADER: usize = 1 << 16;

/// The accepted types of coordinates.
const COORDINATES: &str = "numbers or truth values: save array.astype('<f4')";

/// The accepted types of row numbers.
const ROWS: &str = "whole numbers, such as <i4: save array.astype('<i4')";

/// The accepted types of ids.
const IDS: &str = "whole numbers, such as <u4, <i4, <u8 or <i8: save array.astype('<i8'), or texts as lines, with \
    numpy.savetxt('ids.txt', array, '%s', encoding='utf-8') (on the command line --id-kind text)";

/// The advice for arrays of objects, for which `astype` does not work if they are lists.
const STACKED: &str = "numbers or truth values: of an array of lists or arrays save numpy.stack(array).astype('<f4'), without rows that \
    have none";

/// The advice for complex numbers, of which `astype` drops a part.
const COMPLEX: &str =
    "numbers or truth values: save numpy.hstack([array.real, array.imag]).astype('<f4')";

/// The message for archives, which other NumPy functions write.
const ARCHIVE: &str = "it begins like a zip archive, as numpy.savez and torch.save write: save one array, with \
    numpy.save('base.npy', array)";

impl Element {
    /// The type for NumPy's name, without the byte order.
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "f8" => Self::F64,
            "f4" => Self::F32,
            "f2" => Self::F16,
            "b1" => Self::Bool,
            "u1" => Self::U8,
            "i1" => Self::I8,
            "u2" => Self::U16,
            "i2" => Self::I16,
            "u4" => Self::U32,
            "i4" => Self::I32,
            "u8" => Self::U64,
            "i8" => Self::I64,
            _ => return None,
        })
    }
}

/// A parsed header.
struct Head {
    element: Element,
    /// The type as written in the header.
    descr: String,
    shape: Vec<u64>,
    /// True if the values are stored column by column.
    by_columns: bool,
    /// The header's own length.
    len: usize,
}

/// The rows of a two-dimensional matrix of numbers or truth values. If `one` is true, a one-dimensional array is
/// one row.
pub(super) fn rows(mut input: Input, one: bool) -> Result<(Rows, u64), Error> {
    let head = Head::read(&mut input.bytes, COORDINATES)?;
    let (rows, columns) = match *head.shape.as_slice() {
        [rows, columns] => (rows, columns),
        [columns] if one => (1, columns),
        _ => {
            let dimensions = head.shape.len();
            return Err(Error::NpyShape { dimensions });
        }
    };
    if rows == 0 {
        return Err(Error::NoVectors);
    }
    // This is checked before the dimension, because a shape that contradicts the file's length is the better
    // explanation.
    input.check_len(head.len, rows, columns, head.element.size())?;
    let dim = check_dim(columns)?;
    let size = head.element.size();
    let mut bytes = match head.by_columns {
        true => columns::by_rows(input, head.len, (rows, dim), size)?,
        false => input.bytes,
    };
    if head.is_swapped() {
        bytes = Box::new(Swapped { bytes, size });
    }
    let source = Rows::counted(bytes, head.element, dim, rows);
    Ok((source, rows))
}

/// Reads numbers of `size` bytes in big-endian order, and returns them in little-endian order.
struct Swapped {
    bytes: Box<dyn Read + Send>,
    size: usize,
}

impl Read for Swapped {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        // Only whole numbers are swapped, unless the caller asks for fewer bytes than one number has. In that case no
        // bytes are left over.
        let whole = out.len() / self.size * self.size;
        if whole == 0 {
            return self.bytes.read(out);
        }
        let read = read_up_to(&mut self.bytes, &mut out[..whole])?;
        let numbers = out[..read].chunks_exact_mut(self.size);
        numbers.for_each(<[u8]>::reverse);
        Ok(read)
    }
}

/// Reads a matrix of row numbers: for each query, its neighbours in order.
///
/// # Errors
/// Fails if the header is damaged, the array is not two-dimensional, or the type is not one of whole numbers. It also
/// fails if the file's length does not fit the header, or a row number is negative or has more than 32 bits.
pub fn neighbours(bytes: &[u8]) -> Result<Vec<Vec<u32>>, Error> {
    let (head, values) = Head::of(bytes, ROWS)?;
    let &[rows, columns] = head.shape.as_slice() else {
        let dimensions = head.shape.len();
        return Err(Error::NpyShape { dimensions });
    };
    if !head.element.is_whole() || head.by_columns {
        return Err(head.unexpected(ROWS));
    }
    check_len(values.len() as u64, rows, columns, head.element.size())?;
    if rows == 0 || columns == 0 {
        return Err(Error::NoVectors);
    }
    let values = head.whole(values).into_iter();
    let rows: Result<Vec<u32>, _> = values.map(u32::try_from).collect();
    let rows = rows.map_err(|_| Error::NegativeNeighbour)?;
    // The file contains all rows, so their number fits.
    let columns = usize::try_from(columns).unwrap_or(usize::MAX);
    Ok(rows.chunks(columns).map(<[u32]>::to_vec).collect())
}

/// Reads ids from a one-dimensional array of whole numbers, with one id for each vector. The numbers may become texts.
///
/// # Errors
/// Fails if the header is damaged, there is more than one dimension, or the type is not one of whole numbers. It also
/// fails if the file's length does not fit the header, or an id that stays a number is negative.
pub fn ids(bytes: &[u8], texts: bool) -> Result<Vec<Id>, Error> {
    let (head, values) = Head::of(bytes, IDS)?;
    let &[rows] = head.shape.as_slice() else {
        let dimensions = head.shape.len();
        return Err(Error::IdsShape { dimensions });
    };
    if !head.element.is_whole() {
        return Err(head.unexpected(IDS));
    }
    check_len(values.len() as u64, rows, 1, head.element.size())?;
    let ids = (0..).zip(head.whole(values));
    let read = |(row, x): (u64, i128)| {
        if texts {
            return Ok(Id::Text(x.to_string().into()));
        }
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
    /// Splits a file's bytes into the header and the values after it.
    fn of<'a>(bytes: &'a [u8], expected: &'static str) -> Result<(Self, &'a [u8]), Error> {
        let head = Self::read(&mut &*bytes, expected)?;
        let values = bytes.get(head.len..).unwrap_or_default();
        Ok((head, values))
    }

    /// True if the numbers are big-endian.
    fn is_swapped(&self) -> bool {
        self.descr.starts_with('>') && self.element.size() > 1
    }

    /// The whole numbers in these bytes.
    fn whole(&self, values: &[u8]) -> Vec<i128> {
        let mut values = values.to_vec();
        if self.is_swapped() {
            let numbers = values.chunks_exact_mut(self.element.size());
            numbers.for_each(<[u8]>::reverse);
        }
        self.element.whole(&values)
    }

    fn unexpected(&self, expected: &'static str) -> Error {
        let by_columns = if self.by_columns { ", by columns" } else { "" };
        let descr = format!("{}{by_columns}", self.descr);
        Error::NpyType { descr, expected }
    }

    /// Reads only the header. `expected` names the types that its values may have.
    fn read(input: &mut impl Read, expected: &'static str) -> Result<Self, Error> {
        let damaged = |what| Error::NpyHeader { what };
        let short = |_| damaged("it ends early");
        let mut start = [0; 8];
        let got = read_up_to(input, &mut start).map_err(Error::Read)?;
        if start.starts_with(b"PK\x03\x04") {
            return Err(damaged(ARCHIVE));
        }
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

        let by_columns = match field(header, "fortran_order") {
            Some(value) if value.starts_with("False") => false,
            Some(value) if value.starts_with("True") => true,
            _ => return Err(damaged("fortran_order is neither True nor False")),
        };
        let descr = field(header, "descr").ok_or(damaged("descr is missing"))?;
        if descr.starts_with(['[', '(']) {
            return Err(damaged(
                "descr is a list of fields, so the array is a structured one: save the field that is the matrix, such \
                 as array['v']",
            ));
        }
        let descr = quoted(descr).ok_or(damaged("descr is no text in quotes"))?;
        let descr: String = descr.chars().take(16).collect();
        let name = descr.strip_prefix(['<', '>', '|', '=']);
        let Some(element) = name.and_then(Element::named) else {
            let expected = match name {
                Some("O") if expected == COORDINATES => STACKED,
                Some("c8" | "c16" | "c32") if expected == COORDINATES => COMPLEX,
                _ => expected,
            };
            return Err(Error::NpyType { descr, expected });
        };
        let shape = field(header, "shape")
            .and_then(|value| value.strip_prefix('(')?.split_once(')'))
            .ok_or(damaged("shape is missing"))?;
        let shape: Result<Vec<u64>, _> = shape
            .0
            .split(',')
            .map(str::trim)
            .filter(|size| !size.is_empty())
            // Python 2 wrote long integers with an `L`.
            .map(|size| size.strip_suffix('L').unwrap_or(size).parse())
            .collect();
        let shape = shape.map_err(|_| damaged("shape is not a tuple of numbers"))?;
        let len = start.len() + prefix + len;
        Ok(Self {
            element,
            descr,
            shape,
            by_columns,
            len,
        })
    }
}

/// Fills `buffer` until it is full or no bytes are left.
fn read_up_to(input: &mut impl Read, buffer: &mut [u8]) -> std::io::Result<usize> {
    let mut got = 0;
    while got < buffer.len() {
        match input.read(&mut buffer[got..]) {
            Ok(0) => break,
            Ok(more) => got += more,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => (),
            Err(error) => return Err(error),
        }
    }
    Ok(got)
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

    /// A file of format version 1.
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
            ("|b1", vec![1, 0], [1.0, 0.0]),
            ("<u2", vec![3, 0, 0, 1], [3.0, 256.0]),
            (">i2", vec![0, 3, 255, 255], [3.0, -1.0]),
            ("<i4", vec![3, 0, 0, 0, 255, 255, 255, 255], [3.0, -1.0]),
            (">u4", vec![0, 0, 0, 3, 0, 0, 1, 0], [3.0, 256.0]),
            (">f4", vec![0x3f, 0xc0, 0, 0, 0xc0, 0, 0, 0], [1.5, -2.0]),
            (
                ">f8",
                vec![0x3f, 0xf8, 0, 0, 0, 0, 0, 0, 0xc0, 0, 0, 0, 0, 0, 0, 0],
                [1.5, -2.0],
            ),
            (
                "<i8",
                [3i64.to_le_bytes(), (-1i64).to_le_bytes()].concat(),
                [3.0, -1.0],
            ),
        ] {
            let matrix = vectors(&npy(descr, "(2, 1)", &values)).unwrap();
            assert_eq!((matrix.len(), matrix.dim()), (2, 1));
            assert_eq!(matrix.as_slice(), expected, "{descr}");
        }
        let truth = neighbours(&npy("<i4", "(1, 2)", &[7, 0, 0, 0, 1, 1, 0, 0])).unwrap();
        assert_eq!(truth, [[7, 257]]);
        // FAISS and hnswlib write row numbers with 64 bits.
        let wide = [7i64.to_le_bytes(), 257i64.to_le_bytes()].concat();
        assert_eq!(
            neighbours(&npy("<i8", "(1, 2)", &wide)).unwrap(),
            [[7, 257]]
        );
        let wrong = neighbours(&npy("<f4", "(1, 1)", &[0; 4]))
            .unwrap_err()
            .to_string();
        assert!(wrong.contains("expected whole numbers"), "{wrong}");
    }

    #[test]
    fn one_dimension_is_a_row_where_that_is_meant() {
        let bytes = npy("|u1", "(3,)", &[1, 2, 3]);
        let (mut rows, len) = rows(Input::whole(bytes), true).unwrap();
        assert_eq!((rows.next().unwrap(), len), (vec![1.0, 2.0, 3.0], 1));
    }

    #[test]
    fn ids_are_read_from_every_integer_type() {
        for (descr, values) in [
            ("<u4", vec![7, 0, 0, 0]),
            ("<i4", vec![7, 0, 0, 0]),
            ("<u8", vec![7, 0, 0, 0, 0, 0, 0, 0]),
            ("<i8", vec![7, 0, 0, 0, 0, 0, 0, 0]),
        ] {
            let ids = ids(&npy(descr, "(1,)", &values), false).unwrap();
            assert_eq!(ids, [Id::Number(7)], "{descr}");
        }
        let minus_one = ids(&npy("<i8", "(1,)", &[255; 8]), false);
        let why = minus_one.unwrap_err().to_string();
        assert!(
            why.starts_with("row 0: -1 is not an id: expected a whole number"),
            "{why}"
        );
        let texts = ids(&npy("<i8", "(1,)", &[255; 8]), true).unwrap();
        assert_eq!(texts, [Id::Text("-1".into())]);
        let matrix = ids(&npy("<i8", "(1, 1)", &[0; 8]), false);
        assert!(matches!(matrix, Err(Error::IdsShape { dimensions: 2 })));
        let floats = ids(&npy("<f4", "(1,)", &[0; 4]), false);
        let why = floats.unwrap_err().to_string();
        assert!(
            why.contains("save array.astype('<i8')") && why.contains("numpy.savetxt('ids.txt'"),
            "{why}"
        );
        let swapped = ids(&npy(">i4", "(1,)", &[0, 0, 0, 7]), false).unwrap();
        assert_eq!(swapped, [Id::Number(7)]);
        for descr in ["<f8", ">f8", "<U3"] {
            let why = ids(&npy(descr, "(1,)", &[0; 8]), false)
                .unwrap_err()
                .to_string();
            assert!(why.contains("expected whole numbers, such as <u4"), "{why}");
        }
        assert!(ids(&npy("<i8", "(2,)", &[0; 8]), false).is_err());
    }

    /// `astype` would drop the imaginary parts.
    #[test]
    fn complex_numbers_are_refused_with_both_parts_named() {
        for descr in ["<c8", "<c16"] {
            let why = vectors(&npy(descr, "(1, 1)", &[0; 16]))
                .unwrap_err()
                .to_string();
            assert!(why.contains("[array.real, array.imag]"), "{why}");
        }
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
        assert!(message(&npy("<c8", "(1, 1)", &[0; 8])).contains("<c8: expected numbers"));
        assert!(message(&npy("|O", "(1,)", &[0; 8])).contains("numpy.stack(array)"));
        assert!(message(b"PK\x03\x04\x14\x00").contains("like a zip archive"));
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
