//! Converts attributes from and to Python: columns of values, with None where a record has no value.

use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sordino_search::{Attributes, Column, Edit, Id};

use crate::errors;

/// The columns that a caller gave. Each has a name, the name of its type, and a list with a value or None for each
/// record.
pub(crate) type Given<'py> = Vec<(String, String, Bound<'py, PyAny>)>;

/// Converts the attributes of `rows` records.
pub(crate) fn of(py: Python<'_>, rows: usize, given: Given<'_>) -> PyResult<Attributes> {
    let columns = given.into_iter().map(|(name, kind, values)| {
        let column = column(&kind, &values)?;
        Ok((name, column))
    });
    let columns: Vec<(String, Column)> = columns.collect::<PyResult<_>>()?;
    Attributes::new(rows, columns).map_err(|error| errors::search(py, &error))
}

/// Makes an edit of these records, with their attributes, and their payloads if there are any.
pub(crate) fn edit(
    py: Python<'_>,
    ids: Vec<Id>,
    payloads: Option<Vec<Vec<u8>>>,
    given: Option<Given<'_>>,
) -> PyResult<(Edit, Attributes)> {
    let mut edit = Edit::new(ids);
    if let Some(payloads) = payloads {
        let with = edit.with_payloads(payloads);
        edit = with.map_err(|error| errors::search(py, &error))?;
    }
    let attributes = match given {
        Some(given) => of(py, edit.len(), given)?,
        None => Attributes::none(edit.len()),
    };
    Ok((edit, attributes))
}

fn column(kind: &str, values: &Bound<'_, PyAny>) -> PyResult<Column> {
    Ok(match kind {
        "int" => Column::Int(values.extract()?),
        "float" => Column::Float(values.extract()?),
        "bool" => Column::Bool(values.extract()?),
        _ => {
            let texts: Vec<Option<String>> = values.extract()?;
            let texts = texts.into_iter();
            Column::Text(texts.map(|text| text.map(String::into_boxed_str)).collect())
        }
    })
}

/// The values of one record's attributes, by name. `row` holds only this record's attributes.
pub(crate) fn one<'py>(py: Python<'py>, row: &Attributes) -> PyResult<Bound<'py, PyDict>> {
    let values = PyDict::new(py);
    for (name, column) in row.columns() {
        if let Some(value) = value(py, column, 0)? {
            values.set_item(name, value)?;
        }
    }
    Ok(values)
}

/// The value in a row of a column, if there is one.
pub(crate) fn value<'py>(
    py: Python<'py>,
    column: &Column,
    row: usize,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let value = match column {
        Column::Int(values) => of_row(values, row).map(|value| value.into_bound_py_any(py)),
        Column::Float(values) => of_row(values, row).map(|value| value.into_bound_py_any(py)),
        Column::Bool(values) => of_row(values, row).map(|value| value.into_bound_py_any(py)),
        Column::Text(values) => of_row(values, row).map(|value| value.into_bound_py_any(py)),
        // Attributes never have these types.
        Column::Bytes(_) | Column::Json(_) => None,
    };
    value.transpose()
}

fn of_row<T>(values: &[Option<T>], row: usize) -> Option<&T> {
    values.get(row)?.as_ref()
}
