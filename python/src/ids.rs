//! Record ids as Python has them: an array of integers, or a list of texts.

use numpy::{PyArray1, PyArrayMethods, PyReadonlyArray1};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use sordino_search::vectors::Error;
use sordino_search::{Found, Id, IdKind};

use crate::errors;

/// Ids that were given: integers, or texts of whatever kind the index's ids are.
#[derive(FromPyObject)]
pub(crate) enum Given<'py> {
    Numbers(PyReadonlyArray1<'py, i64>),
    Texts(Vec<String>),
}

impl Given<'_> {
    /// The ids, if they are of this kind.
    pub(crate) fn of(&self, py: Python<'_>, kind: IdKind) -> PyResult<Vec<Id>> {
        let refused = |error| errors::vectors(py, &error);
        match self {
            Self::Numbers(numbers) => {
                let ids = numbers.as_slice()?.iter().map(|&id| u64::try_from(id));
                let ids: Result<Vec<u64>, _> = ids.collect();
                let ids = ids.map_err(|_| refused(Error::IdRange))?;
                Ok(ids.into_iter().map(Id::Number).collect())
            }
            Self::Texts(texts) => {
                let ids = texts.iter().map(|text| kind.parse(text));
                ids.collect::<Result<_, _>>().map_err(refused)
            }
        }
    }
}

/// An id as Python has it: a number, or text.
pub(crate) fn one<'py>(py: Python<'py>, id: &Id) -> PyResult<Bound<'py, PyAny>> {
    match id {
        Id::Number(number) => number.into_bound_py_any(py),
        other => other.to_string().into_bound_py_any(py),
    }
}

/// The ids of what was found, `k` for each query: an array with -1 where there is none, or lists of texts.
pub(crate) fn found<'py>(
    py: Python<'py>,
    kind: IdKind,
    found: &[Found],
    k: usize,
) -> PyResult<Bound<'py, PyAny>> {
    if kind != IdKind::Number {
        let texts = |found: &Found| {
            let hits = found.hits.iter().take(k);
            hits.map(|hit| hit.id.to_string()).collect::<Vec<_>>()
        };
        let texts: Vec<Vec<String>> = found.iter().map(texts).collect();
        return texts.into_bound_py_any(py);
    }
    let mut ids = vec![-1i64; found.len() * k];
    for (row, found) in found.iter().enumerate() {
        for (column, id) in found.numbers().take(k).enumerate() {
            let id = i64::try_from(id);
            let beyond = |_| errors::raise(py, "IdsError", "an id beyond 2**63 - 1 was found");
            ids[row * k + column] = id.map_err(beyond)?;
        }
    }
    let ids = PyArray1::from_vec(py, ids).reshape([found.len(), k])?;
    Ok(ids.into_any())
}

/// The kind of this name.
pub(crate) fn kind(py: Python<'_>, name: &str) -> PyResult<IdKind> {
    let mut kinds = IdKind::ALL.into_iter();
    kinds.find(|&kind| kind_name(kind) == name).ok_or_else(|| {
        let text = format!("id_kind {name:?}: expected \"number\", \"text\" or \"uuid\"");
        errors::raise(py, "InputError", text)
    })
}

/// The name of a kind, as Python gives it.
pub(crate) fn kind_name(kind: IdKind) -> &'static str {
    match kind {
        IdKind::Number => "number",
        IdKind::Text => "text",
        IdKind::Uuid => "uuid",
    }
}
