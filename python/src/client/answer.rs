//! Makes the arrays that a search returns.

use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use sordino_search::{Found, IdKind};

use crate::ids;
use crate::transport::Moved;

/// The ids, scores, payloads, a flag for each payload that was shortened, bytes up, bytes down, and
/// the server's milliseconds.
pub(super) type Answer<'py> = (
    Bound<'py, PyAny>,
    Bound<'py, PyArray2<f32>>,
    Option<Vec<Vec<Bound<'py, PyBytes>>>>,
    Option<Vec<Vec<bool>>>,
    u64,
    u64,
    f64,
);

/// The arrays of results. Places without a result have -1 and NaN.
pub(super) fn answer<'py>(
    py: Python<'py>,
    found: &[Found],
    (k, kind): (usize, IdKind),
    payloads: bool,
    moved: Moved,
) -> PyResult<Answer<'py>> {
    let n = found.len();
    let mut scores = vec![f32::NAN; n * k];
    let (mut carried, mut truncated) = (Vec::new(), Vec::new());
    for (row, found) in found.iter().enumerate() {
        for (column, hit) in found.hits.iter().take(k).enumerate() {
            scores[row * k + column] = hit.score;
        }
        if payloads {
            let payloads = found.payloads.iter().take(k);
            let bytes = payloads.map(|it| PyBytes::new(py, it));
            carried.push(bytes.collect());
            let hits = found.hits.iter().take(k);
            truncated.push(hits.map(|hit| hit.truncated).collect());
        }
    }
    Ok((
        ids::found(py, kind, found, k)?,
        PyArray1::from_vec(py, scores).reshape([n, k])?,
        payloads.then_some(carried),
        payloads.then_some(truncated),
        moved.up,
        moved.down,
        moved.waited.as_secs_f64() * 1e3,
    ))
}
