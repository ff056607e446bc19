//! Columns of ids and of other values.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Decimal128Type, Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use uuid::Uuid;

use super::floats::{of_half, of_single};
use super::json;
use super::strings::{bytes, is_bytes, is_text, text};
use crate::Error;
use crate::column::{Column, ColumnKind};
use crate::id::{Id, IdKind};

/// The size in bytes of a UUID.
const UUID_LEN: usize = 16;

pub(super) fn is_id(kind: &DataType) -> bool {
    let whole = kind.is_integer() || matches!(kind, DataType::Decimal128(_, 0));
    let fixed = match kind {
        DataType::FixedSizeBinary(len) => usize::try_from(*len) == Ok(UUID_LEN),
        // pandas and polars write UUIDs so, and each value is checked.
        kind => is_bytes(kind),
    };
    whole || is_text(kind) || fixed
}

pub(super) fn is_value(kind: &DataType) -> bool {
    is_bytes(kind) || matches!(kind, DataType::Null) || json::is_value(kind)
}

/// The bytes that a row may have in addition to its share of a column's bytes. Rows that share a value of a dictionary
/// or a view may each have the longest value.
pub(super) fn longest(column: &ArrayRef) -> usize {
    let views = match column.data_type() {
        DataType::Utf8View => Some(column.as_string_view().views()),
        DataType::BinaryView => Some(column.as_binary_view().views()),
        _ => None,
    };
    if let Some(views) = views {
        // A view begins with its length as a 32-bit number.
        let len = |view: &u128| usize::try_from(view & u128::from(u32::MAX)).unwrap_or(usize::MAX);
        let lens = || views.iter().map(len);
        let shared = lens().sum::<usize>() > column.get_array_memory_size();
        return lens().max().filter(|_| shared).unwrap_or(0);
    }
    let Some(dictionary) = column.as_any_dictionary_opt() else {
        return 0;
    };
    let values = dictionary.values();
    let len = |at| {
        let text = text(values, at).map(str::len);
        text.or_else(|| bytes(values, at).map(<[u8]>::len))
    };
    (0..values.len()).filter_map(len).max().unwrap_or(0)
}

/// Converts a column without nulls to ids; its first row is row `first` of the table. Texts are converted to this kind
/// of id.
pub(super) fn ids(column: &ArrayRef, kind: Option<IdKind>, first: u64) -> Result<Vec<Id>, Error> {
    let own = match column.data_type() {
        kind if is_text(kind) => None,
        kind if is_bytes(kind) => Some(IdKind::Uuid),
        _ => Some(IdKind::Number),
    };
    // A whole number has only one spelling, so it also serves as a text id.
    let as_text = own == Some(IdKind::Number) && kind == Some(IdKind::Text);
    if as_text {
        let numbers = whole(column).into_iter().flatten();
        return Ok(numbers.map(|x| Id::Text(x.to_string().into())).collect());
    }
    if let (Some(own), Some(kind)) = (own, kind)
        && own != kind
    {
        return Err(Error::IdRow {
            row: first,
            found: format!("a {}, which the column holds,", own.name()),
            expected: kind.expected(),
        });
    }
    let ids = match own {
        Some(IdKind::Uuid) => {
            let read = |at| {
                let bytes = bytes(column, at).unwrap_or_default();
                let uuid = Uuid::from_slice(bytes).map(Id::Uuid);
                uuid.map_err(|_| Error::IdRow {
                    row: first + at as u64,
                    found: format!("a value of {} bytes", bytes.len()),
                    expected: "the 16 bytes of a UUID",
                })
            };
            let ids: Result<Vec<Id>, Error> = (0..column.len()).map(read).collect();
            Some(ids?)
        }
        Some(_) => {
            let numbers = (first..).zip(whole(column).into_iter().flatten());
            let read = |(row, x): (u64, i128)| {
                let number = u64::try_from(x).map(|x| Some(Id::Number(x)));
                number.map_err(|_| Error::IdRow {
                    row,
                    found: x.to_string(),
                    expected: IdKind::Number.expected(),
                })
            };
            numbers
                .map(read)
                .collect::<Result<Option<Vec<Id>>, Error>>()?
        }
        None => {
            let kind = kind.unwrap_or(IdKind::Text);
            let texts = (first..).zip(texts(column).into_iter().flatten());
            let read = |(row, text): (u64, Box<str>)| {
                kind.parse(&text).map(Some).map_err(|error| match error {
                    Error::Id { found, expected } => Error::IdRow {
                        row,
                        found,
                        expected,
                    },
                    other => other,
                })
            };
            texts
                .map(read)
                .collect::<Result<Option<Vec<Id>>, Error>>()?
        }
    };
    ids.ok_or(Error::IdRow {
        row: first,
        found: "bytes whose length is not 16".to_owned(),
        expected: IdKind::Uuid.expected(),
    })
}

/// Converts a column to values; its first row is row `first` of the table.
pub(super) fn column(column: &ArrayRef, name: &str, first: u64) -> Result<Column, Error> {
    Ok(match column.data_type() {
        DataType::Boolean => Column::Bool(column.as_boolean().iter().collect()),
        DataType::Float16 => {
            let values = column.as_primitive::<Float16Type>().iter();
            Column::Float(values.map(|x| x.map(of_half)).collect())
        }
        DataType::Float32 => {
            let values = column.as_primitive::<Float32Type>().iter();
            Column::Float(values.map(|x| x.map(of_single)).collect())
        }
        DataType::Float64 => Column::Float(column.as_primitive::<Float64Type>().iter().collect()),
        kind if is_text(kind) => Column::Text(texts(column)),
        kind if kind.is_integer() => {
            let values = whole(column).into_iter();
            let narrow = values.map(|x| x.map(i64::try_from).transpose());
            match narrow.collect() {
                Ok(values) => Column::Int(values),
                // Numbers from 2^63 on become JSON.
                Err(_) => json::column(column, name, first)?,
            }
        }
        DataType::Null => Column::empty(ColumnKind::Text, column.len()),
        DataType::Binary => owned(column.as_binary::<i32>().iter()),
        DataType::LargeBinary => owned(column.as_binary::<i64>().iter()),
        DataType::BinaryView => owned(column.as_binary_view().iter()),
        DataType::FixedSizeBinary(_) => owned(column.as_fixed_size_binary().iter()),
        _ => json::column(column, name, first)?,
    })
}

fn owned<'a>(values: impl Iterator<Item = Option<&'a [u8]>>) -> Column {
    Column::Bytes(values.map(|bytes| bytes.map(Box::from)).collect())
}

fn texts(column: &ArrayRef) -> Vec<Option<Box<str>>> {
    fn owned<'a>(texts: impl Iterator<Item = Option<&'a str>>) -> Vec<Option<Box<str>>> {
        texts.map(|text| text.map(Box::from)).collect()
    }
    match column.data_type() {
        DataType::Utf8 => owned(column.as_string::<i32>().iter()),
        DataType::LargeUtf8 => owned(column.as_string::<i64>().iter()),
        _ => owned(column.as_string_view().iter()),
    }
}

/// The values of a column of integers, or of decimals without a fraction.
pub(super) fn whole(column: &ArrayRef) -> Vec<Option<i128>> {
    fn wide<T: Into<i128>>(values: impl Iterator<Item = Option<T>>) -> Vec<Option<i128>> {
        values.map(|x| x.map(Into::into)).collect()
    }
    match column.data_type() {
        DataType::Int8 => wide(column.as_primitive::<Int8Type>().iter()),
        DataType::Int16 => wide(column.as_primitive::<Int16Type>().iter()),
        DataType::Int32 => wide(column.as_primitive::<Int32Type>().iter()),
        DataType::UInt8 => wide(column.as_primitive::<UInt8Type>().iter()),
        DataType::UInt16 => wide(column.as_primitive::<UInt16Type>().iter()),
        DataType::UInt32 => wide(column.as_primitive::<UInt32Type>().iter()),
        DataType::UInt64 => wide(column.as_primitive::<UInt64Type>().iter()),
        DataType::Decimal128(..) => wide(column.as_primitive::<Decimal128Type>().iter()),
        _ => wide(column.as_primitive::<Int64Type>().iter()),
    }
}
