//! Builds an index whose records several processes assign to clusters.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use numpy::PyReadonlyArray2;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use sordino_search::{
    Centroids, Clustering as Whole, Error, Files, Folder, IdKind, Nearest, OwnerKeys, Pins, Spec,
};

use crate::build::{Measured, Settings, Stop, Stream, measured_of};
use crate::compute::{computing, random};
use crate::errors;
use crate::keys::OwnerKey;
use crate::vectors::{check_directions, matrix};

/// The centroids of a new index. They take the lists that tasks have made, and the index is made at the end.
#[pyclass(module = "sordino._sordino", frozen)]
pub(crate) struct Clustering {
    path: PathBuf,
    keys: OwnerKeys,
    pins: Arc<Pins>,
    spec: Spec,
    n: usize,
    /// The number of vectors for training.
    sample: usize,
    /// The trained centroids, from training until the index is made.
    whole: Mutex<Option<Whole>>,
}

impl Clustering {
    fn whole(&self) -> MutexGuard<'_, Option<Whole>> {
        self.whole.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The error for a clustering that is not trained yet, or finished.
fn none() -> Error {
    Error::Malformed {
        what: "build",
        why: "it has no centroids".to_owned(),
    }
}

#[pymethods]
impl Clustering {
    /// Plans an index of `n` vectors of `dim` coordinates. This writes nothing.
    #[new]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        key: &Bound<'_, OwnerKey>,
        settings: Settings,
        n: usize,
        dim: usize,
    ) -> PyResult<Self> {
        let spec = settings.spec(py)?;
        let free = Folder::new(&path, Files).check_free();
        let sample = free.and_then(|()| Whole::sample(&spec, n, dim));
        Ok(Self {
            path,
            keys: key.get().0.clone(),
            pins: Arc::clone(&key.get().1),
            spec,
            n,
            sample: sample.map_err(|error| errors::search(py, &error))?,
            whole: Mutex::new(None),
        })
    }

    /// The number of vectors on which to train the centroids.
    fn sample(&self) -> usize {
        self.sample
    }

    /// Refuses vectors that cannot be in the index; the first has the number `first`.
    fn check(&self, py: Python<'_>, rows: PyReadonlyArray2<'_, f32>, first: usize) -> PyResult<()> {
        let rows = matrix(py, &rows, first)?;
        check_directions(py, self.spec.metric, &rows, first)
    }

    /// Trains the centroids on some of the vectors. Returns the facts that tasks need, as bytes.
    fn train<'py>(
        &self,
        py: Python<'py>,
        sample: PyReadonlyArray2<'_, f32>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let sample = matrix(py, &sample, 0)?;
        let mut rng = random()?;
        let bytes = Stop::default().heeding(py, None, |told| {
            let whole = Whole::begin(&mut rng, &self.keys, &self.spec, self.n, sample, told)?;
            let bytes = whole.centroids().to_bytes(&self.keys);
            *self.whole() = Some(whole);
            Ok(bytes)
        })?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Takes the result of a task. Returns False if the result of another attempt at the same task was taken before.
    fn take(&self, py: Python<'_>, lists: &[u8]) -> PyResult<bool> {
        let taken = computing(py, || {
            let nearest = Nearest::from_bytes(lists, &self.keys)?;
            self.whole().as_mut().ok_or_else(none)?.take(nearest)
        })?;
        taken.map_err(|error| errors::search(py, &error))
    }

    /// Makes the index from the results of this number of tasks and from all records, in an iterator as for `build`.
    fn finish(&self, py: Python<'_>, tasks: u64, records: Py<PyAny>) -> PyResult<Measured> {
        let whole = self.whole().take().ok_or_else(none);
        let whole = whole.map_err(|error| errors::search(py, &error))?;
        let mut rng = random()?;
        let stop = Stop::default();
        let stream = Stream::new(records, self.spec.metric, self.spec.ids, stop.clone());
        let store = stop.heeding(py, None, |told| {
            self.pins.check()?;
            let store = whole.finish(&self.path, &mut rng, tasks, stream, told)?;
            self.pins.remember(&Pins::place(&self.path), &store)?;
            Ok(store)
        })?;
        Ok(measured_of(&store))
    }
}

/// Finds the nearest centroids for the records of a task. `task` has its number and the number of its first record; `records` is
/// an iterator of `(vectors, None, None, None)`. Returns the bytes for `Clustering.take`.
#[pyfunction]
pub(crate) fn nearest<'py>(
    py: Python<'py>,
    key: &Bound<'py, OwnerKey>,
    centroids: &[u8],
    task: (u64, u64),
    records: Py<PyAny>,
) -> PyResult<Bound<'py, PyBytes>> {
    let keys = key.get().0.clone();
    let centroids = computing(py, || Centroids::from_bytes(centroids, &keys))?;
    let centroids = centroids.map_err(|error| errors::search(py, &error))?;
    let stop = Stop::at(task.1);
    let stream = Stream::new(records, centroids.metric(), IdKind::Number, stop.clone());
    let bytes = stop.heeding(py, None, |told| {
        let nearest = centroids.nearest(task, stream, told)?;
        Ok(nearest.to_bytes(&keys))
    })?;
    Ok(PyBytes::new(py, &bytes))
}
