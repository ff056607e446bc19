//! Converts dates, decimals, lists and structures to JSON. Such values are for people to read; filters do not compare
//! them.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type, DurationMicrosecondType,
    DurationMillisecondType, DurationNanosecondType, DurationSecondType, Float16Type, Float32Type,
    Float64Type,
};
use arrow_array::{Array, ArrayRef, downcast_integer_array, downcast_temporal_array};
use arrow_schema::{DataType, Field, TimeUnit};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::Value;

use super::floats::{of_half, of_single};
use super::strings::{bytes, is_bytes, is_text, text};
use crate::Error;
use crate::column::Column;

/// The largest number of bytes of one value; payloads are not longer.
const MOST: usize = 1 << 20;

/// The largest number of bytes of the values of one chunk, since a file may encode much in few bytes.
const MOST_OF_CHUNK: usize = 1 << 28;

/// The largest number of lists and structures within one another.
const MOST_DEPTH: u32 = 16;

/// True for types whose values can be written as JSON.
pub(super) fn is_value(kind: &DataType) -> bool {
    is_within(kind, MOST_DEPTH)
}

/// True for types whose values can be written as JSON, with at most `depth` lists and structures within one another.
/// Each value must take bits in the file, so that a few bytes cannot encode a long list.
fn is_within(kind: &DataType, depth: u32) -> bool {
    let inner = |field: &Field| depth > 0 && is_within(field.data_type(), depth - 1);
    match kind {
        DataType::List(item) | DataType::LargeList(item) => inner(item),
        DataType::FixedSizeList(item, len) => *len > 0 && inner(item),
        DataType::Struct(fields) => !fields.is_empty() && fields.iter().all(|field| inner(field)),
        DataType::Map(entries, _) => match entries.data_type() {
            DataType::Struct(both) if both.len() == 2 => {
                is_text(both[0].data_type()) && inner(&both[1])
            }
            _ => false,
        },
        DataType::FixedSizeBinary(len) => *len > 0,
        DataType::Boolean
        | DataType::Date32
        | DataType::Date64
        | DataType::Time32(_)
        | DataType::Time64(_)
        | DataType::Timestamp(..)
        | DataType::Duration(_) => true,
        kind => {
            let number = kind.is_integer() || kind.is_floating() || kind.is_decimal();
            number || is_text(kind) || is_bytes(kind)
        }
    }
}

/// A column as JSON; its first row is row `first` of the table.
pub(super) fn column(column: &ArrayRef, name: &str, first: u64) -> Result<Column, Error> {
    let mut all = 0;
    let values = (first..).zip(0..column.len()).map(|(row, at)| {
        let wrong = |expected| Error::Value {
            row,
            column: name.to_owned(),
            expected,
        };
        if column.is_null(at) {
            return Ok(None);
        }
        let mut out = String::new();
        write(&mut out, column, at).map_err(wrong)?;
        all += out.len();
        if all > MOST_OF_CHUNK {
            // The fault is not in the row itself, so the row must not be left out.
            return Err(Error::Table {
                format: "table",
                why: format!(
                    "column {name}: rows up to {row} make more than 256 MiB of JSON at once: write the table with fewer rows in each group"
                ),
            });
        }
        Ok(Some(out.into_boxed_str()))
    });
    values.collect::<Result<_, Error>>().map(Column::Json)
}

/// Appends a value.
///
/// # Errors
/// The expected values in words, if the value cannot be written.
fn write(out: &mut String, values: &ArrayRef, at: usize) -> Result<(), &'static str> {
    if values.is_null(at) {
        out.push_str("null");
    } else if let Some(list) = list(values, at) {
        out.push('[');
        for at in 0..list.len() {
            separate(out, at);
            write(out, &list, at)?;
        }
        out.push(']');
    } else if let Some(fields) = values.as_struct_opt() {
        out.push('{');
        for (place, (field, values)) in fields.fields().iter().zip(fields.columns()).enumerate() {
            separate(out, place);
            name(out, field.name());
            write(out, values, at)?;
        }
        out.push('}');
    } else if let Some(map) = values.as_map_opt() {
        let entries = map.value(at);
        out.push('{');
        for at in 0..entries.len() {
            separate(out, at);
            name(out, text(entries.column(0), at).unwrap_or_default());
            write(out, entries.column(1), at)?;
        }
        out.push('}');
    } else {
        out.push_str(&single(values, at)?.to_string());
    }
    match out.len() <= MOST {
        true => Ok(()),
        false => Err("at most 1 MiB of JSON"),
    }
}

/// The list in a row, if it is a column of lists.
fn list(values: &ArrayRef, at: usize) -> Option<ArrayRef> {
    let is_list = matches!(
        values.data_type(),
        DataType::FixedSizeList(..) | DataType::List(_) | DataType::LargeList(_)
    );
    is_list.then(|| super::list(values, at)).flatten()
}

fn separate(out: &mut String, place: usize) {
    if place > 0 {
        out.push(',');
    }
}

fn name(out: &mut String, name: &str) {
    out.push_str(&Value::from(name).to_string());
    out.push(':');
}

/// Writes a value that is neither a list nor a structure.
fn single(values: &ArrayRef, at: usize) -> Result<Value, &'static str> {
    if let Some(text) = text(values, at) {
        return Ok(text.into());
    }
    if let Some(bytes) = bytes(values, at) {
        return Ok(BASE64_STANDARD.encode(bytes).into());
    }
    Ok(match values.data_type() {
        DataType::Boolean => values.as_boolean().value(at).into(),
        DataType::Float16 => of_half(values.as_primitive::<Float16Type>().value(at)).into(),
        DataType::Float32 => of_single(values.as_primitive::<Float32Type>().value(at)).into(),
        DataType::Float64 => values.as_primitive::<Float64Type>().value(at).into(),
        DataType::Decimal32(..) => decimal::<Decimal32Type>(values, at),
        DataType::Decimal64(..) => decimal::<Decimal64Type>(values, at),
        DataType::Decimal128(..) => decimal::<Decimal128Type>(values, at),
        DataType::Decimal256(..) => decimal::<Decimal256Type>(values, at),
        DataType::Duration(unit) => duration(values, *unit, at).into(),
        kind if kind.is_integer() => downcast_integer_array!(
            values => values.value(at).into(),
            _ => Value::Null
        ),
        _ => instant(values, at)
            .ok_or("a date that a calendar has")?
            .into(),
    })
}

/// The digits of a decimal number as a text, since many readers round JSON numbers.
fn decimal<T: arrow_array::types::DecimalType>(values: &ArrayRef, at: usize) -> Value {
    values.as_primitive::<T>().value_as_string(at).into()
}

/// A date, a time or an instant in ISO 8601. An instant with a known time zone is given in UTC.
fn instant(values: &ArrayRef, at: usize) -> Option<String> {
    let kind = values.data_type();
    downcast_temporal_array!(
        values => match kind {
            DataType::Date32 | DataType::Date64 => {
                values.value_as_date(at).map(|date| format!("{date:?}"))
            }
            DataType::Timestamp(_, zone) => {
                let zone = if zone.is_some() { "Z" } else { "" };
                values.value_as_datetime(at).map(|instant| format!("{instant:?}{zone}"))
            }
            _ => values.value_as_time(at).map(|time| format!("{time:?}")),
        },
        _ => None
    )
}

/// A duration in ISO 8601, in seconds.
fn duration(values: &ArrayRef, unit: TimeUnit, at: usize) -> String {
    let (value, nanoseconds) = match unit {
        TimeUnit::Second => {
            let values = values.as_primitive::<DurationSecondType>();
            (values.value(at), 1_000_000_000)
        }
        TimeUnit::Millisecond => {
            let values = values.as_primitive::<DurationMillisecondType>();
            (values.value(at), 1_000_000)
        }
        TimeUnit::Microsecond => {
            let values = values.as_primitive::<DurationMicrosecondType>();
            (values.value(at), 1000)
        }
        TimeUnit::Nanosecond => (values.as_primitive::<DurationNanosecondType>().value(at), 1),
    };
    let whole = i128::from(value) * nanoseconds;
    let sign = if whole < 0 { "-" } else { "" };
    let whole = whole.unsigned_abs();
    let digits = format!("{}.{:09}", whole / 1_000_000_000, whole % 1_000_000_000);
    let digits = digits.trim_end_matches('0').trim_end_matches('.');
    format!("{sign}PT{digits}S")
}
