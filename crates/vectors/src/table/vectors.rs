//! Columns of vectors: lists of numbers, texts with numbers, bytes of 32-bit floats, or one column for each
//! coordinate.

use arrow_array::cast::AsArray;
use arrow_array::types::{Float16Type, Float32Type, Float64Type};
use arrow_array::{Array, ArrayRef, downcast_integer_array};
use arrow_schema::DataType;

use super::dictionary::plain;
use super::strings::{bytes, is_bytes, is_text, text};
use crate::rounding::Rounding;
use crate::{Error, MAX_DIM, numbers};

/// True for a column from which vectors can be read.
pub(super) fn is_vector(kind: &DataType) -> bool {
    is_list(kind) || is_text(kind) || is_bytes(kind)
}

/// True for a column of lists of numbers.
pub(super) fn is_list(kind: &DataType) -> bool {
    match kind {
        DataType::FixedSizeList(item, _)
        | DataType::List(item)
        | DataType::LargeList(item)
        | DataType::ListView(item)
        | DataType::LargeListView(item) => is_number(item.data_type()),
        _ => false,
    }
}

/// True for a column of numbers that can be coordinates.
pub(super) fn is_number(kind: &DataType) -> bool {
    kind.is_integer() || kind.is_floating()
}

/// The list in row `at` of a column, if there is one.
pub(super) fn list(column: &ArrayRef, at: usize) -> Option<ArrayRef> {
    if column.is_null(at) {
        return None;
    }
    Some(match column.data_type() {
        DataType::FixedSizeList(..) => column.as_fixed_size_list().value(at),
        DataType::List(_) => column.as_list::<i32>().value(at),
        DataType::LargeList(_) => column.as_list::<i64>().value(at),
        DataType::ListView(_) => column.as_list_view::<i32>().value(at),
        DataType::LargeListView(_) => column.as_list_view::<i64>().value(at),
        _ => return None,
    })
}

/// The numbers of a row.
pub(super) enum Row {
    /// An array of numbers.
    Array(ArrayRef),
    /// The numbers of a text, or of several columns.
    Numbers(Vec<f64>),
    /// The numbers of a byte string.
    Floats(Vec<f32>),
}

/// Reads the vector in row `at` of these columns; `None` if a value is missing.
///
/// # Errors
/// [`Error::Numbers`] for a text or bytes that are not numbers.
pub(super) fn row(columns: &[ArrayRef], at: usize) -> Result<Option<Row>, Error> {
    if let Some(column) = columns
        .first()
        .filter(|column| !is_number(column.data_type()))
    {
        if column.is_null(at) {
            return Ok(None);
        }
        if column.as_any_dictionary_opt().is_some() {
            return row(&[plain(&column.slice(at, 1))?], 0);
        }
        if let Some(text) = text(column, at) {
            return numbers::parse(text).map(|numbers| Some(Row::Numbers(numbers)));
        }
        if let Some(bytes) = bytes(column, at) {
            return floats(bytes).map(|floats| Some(Row::Floats(floats)));
        }
        return Ok(list(column, at).map(Row::Array));
    }
    let numbers = columns.iter().map(|column| {
        let one = column.slice(at, 1);
        (!one.is_null(0)).then(|| doubles(&one))
    });
    let numbers: Option<Vec<Vec<f64>>> = numbers.collect();
    Ok(numbers.map(|numbers| Row::Numbers(numbers.concat())))
}

/// The little-endian 32-bit floats in these bytes.
fn floats(bytes: &[u8]) -> Result<Vec<f32>, Error> {
    let (floats, rest) = bytes.as_chunks();
    if !rest.is_empty() || floats.len() > MAX_DIM as usize {
        return Err(Error::Numbers {
            found: format!("{} bytes", bytes.len()),
            expected: "4 bytes for each coordinate, a little-endian float of 32 bits",
        });
    }
    Ok(floats.iter().map(|b| f32::from_le_bytes(*b)).collect())
}

/// The numbers of an array without nulls.
fn doubles(values: &ArrayRef) -> Vec<f64> {
    match values.data_type() {
        DataType::Float64 => values.as_primitive::<Float64Type>().values().to_vec(),
        DataType::Float32 => {
            let values = values.as_primitive::<Float32Type>().values().iter();
            values.map(|&x| x.into()).collect()
        }
        DataType::Float16 => {
            let values = values.as_primitive::<Float16Type>().values().iter();
            values.map(|x| x.to_f64()).collect()
        }
        _ => downcast_integer_array!(
            values => values.values().iter().map(|&x| x as f64).collect(),
            _ => Vec::new()
        ),
    }
}

impl Row {
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Array(values) => values.len(),
            Self::Numbers(values) => values.len(),
            Self::Floats(values) => values.len(),
        }
    }

    pub(super) fn has_null(&self) -> bool {
        matches!(self, Self::Array(values) if values.null_count() > 0)
    }

    /// Appends the numbers to a set of vectors, which must all be present.
    pub(super) fn append(self, rounding: &mut Rounding, out: &mut Vec<f32>) {
        match self {
            Self::Numbers(numbers) => rounding.row(numbers.into_iter(), out),
            Self::Floats(floats) => out.extend(floats),
            Self::Array(values) => match values.data_type() {
                DataType::Float32 => {
                    out.extend_from_slice(values.as_primitive::<Float32Type>().values());
                }
                DataType::Float64 => {
                    let values = values.as_primitive::<Float64Type>().values();
                    rounding.row(values.iter().copied(), out);
                }
                _ => rounding.row(doubles(&values).into_iter(), out),
            },
        }
    }
}
