//! Columns whose values are stored in a dictionary.

use arrow_array::ArrayRef;
use arrow_array::cast::AsArray;
use arrow_schema::{ArrowError, DataType};
use arrow_select::take::take;

use super::caught;
use crate::Error;

/// The type of a column's values, even if a dictionary stores them.
pub(super) fn value_type(kind: &DataType) -> &DataType {
    match kind {
        DataType::Dictionary(_, value) => value,
        kind => kind,
    }
}

/// The column with each value taken from the dictionary.
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
