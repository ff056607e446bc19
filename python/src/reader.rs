//! Reads files of vectors, a chunk at a time.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use sordino_search::Column;
use sordino_search::vectors::{self, Chunk, ColumnNames, FileOptions, Format};

use crate::compute::computing;
use crate::errors;
use crate::ids;

/// An iterator over a file's records: arrays of vectors, ids or None, and payloads or None.
#[pyclass(module = "sordino._sordino", frozen)]
pub(crate) struct Reader {
    rest: Mutex<Rest>,
    /// The number of coordinates of a vector.
    #[pyo3(get)]
    dim: usize,
    /// The number of vectors, if the beginning of the file tells it.
    #[pyo3(get)]
    len: Option<u64>,
    /// The kind of ids, if they are read.
    #[pyo3(get)]
    id_kind: Option<&'static str>,
}

/// The records that are not given out yet.
struct Rest {
    first: Option<Chunk>,
    reader: vectors::Reader,
}

/// Vectors, ids and payloads.
type Records<'py> = (
    Bound<'py, PyArray2<f32>>,
    Option<Bound<'py, PyAny>>,
    Option<Vec<Bound<'py, PyAny>>>,
);

#[pymethods]
impl Reader {
    /// Opens a file. If the file is a table, the reader takes these columns, with ids of this kind. No record may have
    /// one of `absent`.
    #[new]
    #[pyo3(signature = (path, vectors=None, ids=None, payloads=None, absent=Vec::new(), id_kind=None))]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        vectors: Option<String>,
        ids: Option<String>,
        payloads: Option<String>,
        absent: Vec<String>,
        id_kind: Option<&str>,
    ) -> PyResult<Self> {
        let has_ids = ids.is_some();
        let names = ColumnNames {
            vectors,
            ids,
            values: payloads.into_iter().collect(),
            absent,
            id_kind: id_kind.map(|kind| ids::kind(py, kind)).transpose()?,
            ..ColumnNames::default()
        };
        let opened = computing(py, || {
            let mut reader = vectors::Reader::open_columns(&path, &names)?;
            // The first ids show the kind of all.
            let first = match has_ids {
                true => reader.next().transpose()?,
                false => None,
            };
            Ok(Rest { first, reader })
        })?;
        let rest = opened.map_err(|error| errors::vectors(py, &error))?;
        let known = rest.first.iter().flat_map(|chunk| &chunk.ids);
        let kind = known.flatten().next().map(|id| ids::kind_name(id.kind()));
        Ok(Self {
            dim: rest.reader.dim(),
            len: rest.reader.len_hint(),
            id_kind: kind,
            rest: Mutex::new(rest),
        })
    }

    /// The names of all columns of a table, with the index of pandas; none for a file of vectors alone, and for a pipe, which is read once.
    #[staticmethod]
    fn columns(py: Python<'_>, path: PathBuf) -> PyResult<Vec<String>> {
        let found = computing(py, || {
            if !path.is_file() || !Format::of(&path)?.is_table() {
                return Ok(Vec::new());
            }
            let names = ColumnNames {
                vectorless: true,
                ..ColumnNames::default()
            };
            let options = FileOptions::default();
            match vectors::Reader::open_with(&path, &names, &options) {
                Ok(reader) => {
                    let mut found = reader.columns().to_vec();
                    let index = reader.index_column().map(str::to_owned);
                    found.extend(index.filter(|index| !reader.columns().contains(index)));
                    Ok(found)
                }
                // Lines may be lists of numbers, without names.
                Err(error) => match vectors::Reader::open(&path) {
                    Ok(reader) if reader.columns().is_empty() => Ok(Vec::new()),
                    _ => Err(error),
                },
            }
        })?;
        found.map_err(|error| errors::vectors(py, &error))
    }

    fn __iter__(this: Bound<'_, Self>) -> Bound<'_, Self> {
        this
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Records<'py>>> {
        let chunk = computing(py, || {
            let mut rest = self.rest.lock().unwrap_or_else(PoisonError::into_inner);
            match rest.first.take() {
                Some(chunk) => Ok(Some(chunk)),
                None => rest.reader.next().transpose(),
            }
        })?;
        let Some(chunk) = chunk.map_err(|error| errors::vectors(py, &error))? else {
            return Ok(None);
        };
        let shape = [chunk.vectors.len(), chunk.vectors.dim()];
        let rows = PyArray1::from_slice(py, chunk.vectors.as_slice()).reshape(shape)?;
        let ids = chunk.ids.map(|ids| ids::all(py, &ids)).transpose()?;
        let values = chunk.values.first().map(|column| {
            let values = (0..column.len()).map(|row| value(py, column, row));
            values.collect::<PyResult<Vec<_>>>()
        });
        Ok(Some((rows, ids, values.transpose()?)))
    }
}

/// A value of a table as a payload: a text or bytes as they are, a text in JSON without its quotes, and other JSON as it is written.
fn value<'py>(py: Python<'py>, column: &Column, row: usize) -> PyResult<Bound<'py, PyAny>> {
    match column {
        Column::Int(values) => values[row].into_bound_py_any(py),
        Column::Float(values) => values[row].into_bound_py_any(py),
        Column::Bool(values) => values[row].into_bound_py_any(py),
        Column::Text(values) => values[row].as_deref().into_bound_py_any(py),
        Column::Bytes(values) => {
            let bytes = values[row].as_deref();
            bytes
                .map(|bytes| PyBytes::new(py, bytes))
                .into_bound_py_any(py)
        }
        Column::Json(values) => match values[row].as_deref() {
            Some(text) if text.starts_with('"') => {
                py.import("json")?.call_method1("loads", (text,))
            }
            text => text.into_bound_py_any(py),
        },
    }
}
