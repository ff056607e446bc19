//! Converts record ids from and to Python: an array of integers, or a list of texts.

use numpy::{PyArray1, PyArrayMethods, PyReadonlyArray1};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use sordino_search::{Found, Id, IdKind};

use crate::errors;

/// The ids that a caller gave: integers, or texts of any kind.
#[derive(FromPyObject)]
pub(crate) enum Given<'py> {
    Numbers(PyReadonlyArray1<'py, u64>),
    Texts(Vec<String>),
}

impl Given<'_> {
    /// Converts the ids, which must have this kind.
    pub(crate) fn of(&self, py: Python<'_>, kind: IdKind) -> PyResult<Vec<Id>> {
        match self {
            Self::Numbers(numbers) => {
                let ids = numbers.as_slice()?.iter();
                Ok(ids.map(|&id| Id::Number(id)).collect())
            }
            Self::Texts(texts) => {
                let ids = texts.iter().map(|text| kind.parse(text));
                let ids = ids.collect::<Result<_, _>>();
                ids.map_err(|error| errors::vectors(py, &error))
            }
        }
    }
}

/// Converts an id to Python: a number or a text.
pub(crate) fn one<'py>(py: Python<'py>, id: &Id) -> PyResult<Bound<'py, PyAny>> {
    match id {
        Id::Number(number) => number.into_bound_py_any(py),
        other => other.to_string().into_bound_py_any(py),
    }
}

/// Ids of one kind: an array of numbers, or a list of texts.
pub(crate) fn all<'py>(py: Python<'py>, ids: &[Id]) -> PyResult<Bound<'py, PyAny>> {
    let numbers: Option<Vec<u64>> = ids.iter().map(Id::number).collect();
    match numbers {
        Some(numbers) => Ok(PyArray1::from_vec(py, numbers).into_any()),
        None => {
            let texts: Vec<String> = ids.iter().map(ToString::to_string).collect();
            texts.into_bound_py_any(py)
        }
    }
}

/// The ids of the found records, `k` for each query. The result is an array of `int64` with -1 for places without a
/// record. If ids are texts, or one of them does not fit `int64`, it is a list for each query.
///
/// The Python layer turns the lists into arrays of objects. An id that does not fit `int64` is not an error here,
/// because the search has already succeeded.
pub(crate) fn found<'py>(
    py: Python<'py>,
    kind: IdKind,
    found: &[Found],
    k: usize,
) -> PyResult<Bound<'py, PyAny>> {
    let numbers = match kind {
        IdKind::Number => numbers(found, k),
        IdKind::Text | IdKind::Uuid => None,
    };
    if let Some(numbers) = numbers {
        let ids = PyArray1::from_vec(py, numbers).reshape([found.len(), k])?;
        return Ok(ids.into_any());
    }
    let rows = found.iter().map(|found| {
        let hits = found.hits.iter().take(k);
        hits.map(|hit| one(py, &hit.id))
            .collect::<PyResult<Vec<_>>>()
    });
    rows.collect::<PyResult<Vec<_>>>()?.into_bound_py_any(py)
}

/// The ids as `int64`, `k` for each query, with -1 for places without a record. `None` if an id is 2^63 or more.
fn numbers(found: &[Found], k: usize) -> Option<Vec<i64>> {
    let mut ids = vec![-1; found.len() * k];
    for (row, found) in found.iter().enumerate() {
        for (column, id) in found.numbers().take(k).enumerate() {
            ids[row * k + column] = i64::try_from(id).ok()?;
        }
    }
    Some(ids)
}

/// The kind with this name.
pub(crate) fn kind(py: Python<'_>, name: &str) -> PyResult<IdKind> {
    let mut kinds = IdKind::ALL.into_iter();
    kinds.find(|&kind| kind_name(kind) == name).ok_or_else(|| {
        let text = format!("id_kind {name:?}: expected \"number\", \"text\" or \"uuid\"");
        errors::raise(py, "InputError", text)
    })
}

/// The name of a kind in Python.
pub(crate) fn kind_name(kind: IdKind) -> &'static str {
    match kind {
        IdKind::Number => "number",
        IdKind::Text => "text",
        IdKind::Uuid => "uuid",
    }
}
