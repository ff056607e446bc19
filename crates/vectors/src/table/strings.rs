//! Columns of texts and of bytes, which Arrow stores in several ways.

use arrow_array::ArrayRef;
use arrow_array::cast::AsArray;
use arrow_schema::DataType;

pub(super) fn is_text(kind: &DataType) -> bool {
    matches!(
        kind,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View
    )
}

pub(super) fn is_bytes(kind: &DataType) -> bool {
    matches!(
        kind,
        DataType::Binary
            | DataType::LargeBinary
            | DataType::BinaryView
            | DataType::FixedSizeBinary(_)
    )
}

/// The text in a row, which must have a value; `None` if the column has another type.
pub(super) fn text(column: &ArrayRef, at: usize) -> Option<&str> {
    match column.data_type() {
        DataType::Utf8 => Some(column.as_string::<i32>().value(at)),
        DataType::LargeUtf8 => Some(column.as_string::<i64>().value(at)),
        DataType::Utf8View => Some(column.as_string_view().value(at)),
        _ => None,
    }
}

/// The bytes in a row, which must have a value; `None` if the column has another type.
pub(super) fn bytes(column: &ArrayRef, at: usize) -> Option<&[u8]> {
    match column.data_type() {
        DataType::Binary => Some(column.as_binary::<i32>().value(at)),
        DataType::LargeBinary => Some(column.as_binary::<i64>().value(at)),
        DataType::BinaryView => Some(column.as_binary_view().value(at)),
        DataType::FixedSizeBinary(_) => Some(column.as_fixed_size_binary().value(at)),
        _ => None,
    }
}
