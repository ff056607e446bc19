//! Converts arrays to matrices.

use std::ffi::CString;

use numpy::{PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyUserWarning;
use pyo3::prelude::*;
use sordino_search::vectors::Error;
use sordino_search::{Batch, Id, Metric, Vectors};

use crate::{attributes, errors};

/// Copies an array's rows into a matrix. `first` is the number of the first row in error messages.
pub(crate) fn matrix(
    py: Python<'_>,
    rows: &PyReadonlyArray2<'_, f32>,
    first: usize,
) -> PyResult<Vectors> {
    let shape = rows.shape();
    let dim = shape[1];
    let data = rows.as_slice()?.to_vec();
    Vectors::new(dim, data).map_err(|error| errors::vectors(py, &later(error, first)))
}

/// The records of an array, with ids, payloads and attributes if there are any.
pub(crate) fn batch(
    py: Python<'_>,
    vectors: Vectors,
    ids: Option<Vec<Id>>,
    payloads: Option<Vec<Vec<u8>>>,
    attributes: Option<attributes::Given<'_>>,
) -> PyResult<Batch> {
    let wrong = |error| errors::search(py, &error);
    let rows = vectors.len();
    let mut batch = match ids {
        Some(ids) => Batch::new(ids, vectors).map_err(wrong)?,
        None => vectors.into(),
    };
    if let Some(payloads) = payloads {
        batch = batch.with_payloads(payloads).map_err(wrong)?;
    }
    if let Some(given) = attributes {
        let attributes = attributes::of(py, rows, given)?;
        batch = batch.with_attributes(attributes).map_err(wrong)?;
    }
    Ok(batch)
}

/// Refuses zero vectors if the metric needs a direction. The stream checks them only after its rows
/// were sorted by id, and would name another row.
pub(crate) fn check_directions(
    py: Python<'_>,
    metric: Metric,
    vectors: &Vectors,
    first: usize,
) -> PyResult<()> {
    if metric != Metric::Cosine {
        return Ok(());
    }
    let zero = vectors.rows().position(|row| row.iter().all(|&x| x == 0.0));
    match zero {
        Some(row) => Err(errors::vectors(py, &Error::ZeroVector { row: first + row })),
        None => Ok(()),
    }
}

/// Adds `first` to the row number of an error.
fn later(error: Error, first: usize) -> Error {
    match error {
        Error::NotFinite { row, column } => Error::NotFinite {
            row: first + row,
            column,
        },
        error => error,
    }
}

/// The name of a metric in Python.
pub(crate) fn metric_name(metric: Metric) -> &'static str {
    match metric {
        Metric::Cosine => "cosine",
        Metric::InnerProduct => "inner-product",
        Metric::Euclidean => "euclidean",
    }
}

/// The metric with this name.
pub(crate) fn metric(py: Python<'_>, name: &str) -> PyResult<Metric> {
    match name {
        "cosine" => Ok(Metric::Cosine),
        "inner-product" | "ip" => Ok(Metric::InnerProduct),
        "euclidean" | "l2" => Ok(Metric::Euclidean),
        _ => Err(errors::raise(
            py,
            "InputError",
            format!("metric {name:?}: expected \"cosine\", \"inner-product\" or \"euclidean\""),
        )),
    }
}

/// If the recall among added records is below this value, the owner is warned.
const FAR: f64 = 0.95;

/// Warns if new records are far from the records with which the index was built. It uses the recall
/// among the new records.
pub(crate) fn warn_of_far(py: Python<'_>, recall: Option<f64>) -> PyResult<()> {
    let Some(recall) = recall.filter(|recall| *recall < FAR) else {
        return Ok(());
    };
    let text = format!(
        "recall among these records is {recall:.3}: they lie far from the records of which the index was built, and are \
         stored relative to these. To find them better, build the index again from all vectors"
    );
    let text = CString::new(text).unwrap_or_default();
    PyErr::warn(py, &py.get_type::<PyUserWarning>(), &text, 1)
}
