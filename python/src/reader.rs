//! Reads files of vectors, a chunk at a time.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use sordino_search::vectors;

use crate::compute::computing;
use crate::errors;

/// An iterator over a file's vectors, as arrays.
#[pyclass(module = "sordino._sordino", frozen)]
pub(crate) struct Reader {
    reader: Mutex<vectors::Reader>,
    /// The number of coordinates of a vector.
    #[pyo3(get)]
    dim: usize,
    /// The number of vectors, if the beginning of the file tells it.
    #[pyo3(get)]
    len: Option<u64>,
}

#[pymethods]
impl Reader {
    #[new]
    fn new(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let reader = computing(py, || vectors::Reader::open(&path))?;
        let reader = reader.map_err(|error| errors::vectors(py, &error))?;
        Ok(Self {
            dim: reader.dim(),
            len: reader.len_hint(),
            reader: Mutex::new(reader),
        })
    }

    fn __iter__(this: Bound<'_, Self>) -> Bound<'_, Self> {
        this
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyArray2<f32>>>> {
        let chunk = computing(py, || {
            let mut reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
            reader.next().transpose()
        })?;
        let Some(chunk) = chunk.map_err(|error| errors::vectors(py, &error))? else {
            return Ok(None);
        };
        let shape = [chunk.vectors.len(), chunk.vectors.dim()];
        let rows = PyArray1::from_slice(py, chunk.vectors.as_slice());
        rows.reshape(shape).map(Some)
    }
}
