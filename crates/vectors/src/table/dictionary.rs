//! Columns whose values are in a dictionary.

use arrow_array::ArrayRef;
use arrow_array::cast::AsArray;
use arrow_schema::{ArrowError, DataType};
use arrow_select::take::take;

use super::caught;
use crate::Error;

/// The type of a column's values, where a dictionary holds them, too.
pub(super) fn value_type(kind: &DataType) -> &DataType {
    match kind {
        DataType::Dictionary(_, value) => value,
        kind => kind,
    }
}

/// The column with the values that a dictionary has for it.
pub(super) fn plain(column: &ArrayRef) -> Result<ArrayRef, Error> {
    let Some(dictionary) = column.as_any_dictionary_opt() else {
        return Ok(column.clone());
    };
    let damaged = |error: ArrowError| Error::Table {
        format: "Arrow",
        why: error.to_string(),
    };
    let taken = caught("Arrow", || {
        take(dictionary.values(), dictionary.keys(), None)
    })?;
    taken.map_err(damaged)
}
