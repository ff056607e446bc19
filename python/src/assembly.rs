//! Builds an index whose segments several processes make.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use numpy::PyReadonlyArray2;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use sordino_search::{Assembly as Whole, Blueprint, Error, Files, Folder, OwnerKeys, Piece, Pins};

use crate::build::{Settings, Stop, Stream};
use crate::compute::{computing, random};
use crate::errors;
use crate::keys::OwnerKey;
use crate::vectors::matrix;

/// A new index. It takes the segments that tasks have made, and is signed at the end.
#[pyclass(module = "sordino._sordino", frozen)]
pub(crate) struct Assembly {
    path: PathBuf,
    keys: OwnerKeys,
    pins: Arc<Pins>,
    whole: Mutex<Option<Whole>>,
}

impl Assembly {
    fn whole(&self) -> MutexGuard<'_, Option<Whole>> {
        self.whole.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The error for an assembly that is finished.
fn finished() -> Error {
    Error::Malformed {
        what: "build",
        why: "it is finished".to_owned(),
    }
}

#[pymethods]
impl Assembly {
    /// Begins an index in a directory; `sample` holds some of its vectors.
    #[new]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        key: &Bound<'_, OwnerKey>,
        settings: Settings,
        sample: PyReadonlyArray2<'_, f32>,
    ) -> PyResult<Self> {
        let spec = settings.spec(py)?;
        let (keys, pins) = (key.get().0.clone(), Arc::clone(&key.get().1));
        let sample = matrix(py, &sample, 0)?;
        let mut rng = random()?;
        let begun = computing(py, || {
            pins.check()?;
            Whole::begin(&path, &mut rng, &keys, &spec, &sample)
        })?;
        let whole = begun.map_err(|error| errors::search(py, &error))?;
        let whole = Mutex::new(Some(whole));
        Ok(Self {
            path,
            keys,
            pins,
            whole,
        })
    }

    /// Returns the facts that tasks need, as bytes.
    fn blueprint<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let whole = self.whole();
        let whole = whole.as_ref().ok_or_else(finished);
        let whole = whole.map_err(|error| errors::search(py, &error))?;
        let bytes = whole.blueprint().to_bytes(&self.keys);
        Ok(PyBytes::new(py, &bytes))
    }

    /// Takes the result of a task. Returns False if the result of another attempt at the same task was taken before.
    fn take(&self, py: Python<'_>, piece: &[u8]) -> PyResult<bool> {
        let taken = computing(py, || {
            let piece = Piece::from_bytes(piece, &self.keys)?;
            self.whole().as_mut().ok_or_else(finished)?.take(piece)
        })?;
        taken.map_err(|error| errors::search(py, &error))
    }

    /// Signs the index, which this number of tasks made.
    fn finish(&self, py: Python<'_>, tasks: u64) -> PyResult<()> {
        let mut rng = random()?;
        let done = computing(py, || {
            let mut there = self.whole();
            let whole = there.as_mut().ok_or_else(finished)?;
            let pin = whole.finish(&mut rng, tasks)?;
            // Dropping the value also releases the lock.
            *there = None;
            self.pins.remember_new(&Pins::place(&self.path), pin)
        })?;
        done.map_err(|error| errors::search(py, &error))
    }

    /// Releases the folder. The next build in it removes the segments that were made.
    fn close(&self) {
        drop(self.whole().take());
    }
}

/// Makes a task's segment from an iterator of `(vectors, ids or None, None, attributes or None)`. Returns the bytes for
/// `Assembly.take`. Records without ids are numbered from the second number in `task` on.
#[pyfunction]
pub(crate) fn make_segment<'py>(
    py: Python<'py>,
    path: PathBuf,
    key: &Bound<'py, OwnerKey>,
    blueprint: &[u8],
    task: (u64, u64),
    numbered: bool,
    records: Py<PyAny>,
) -> PyResult<Bound<'py, PyBytes>> {
    let keys = key.get().0.clone();
    let blueprint = Blueprint::from_bytes(blueprint, &keys);
    let blueprint = blueprint.map_err(|error| errors::search(py, &error))?;
    let mut rng = random()?;
    let (number, first) = task;
    let stop = Stop::at(first);
    let task = (number, numbered.then_some(first));
    let (metric, ids) = (blueprint.metric(), blueprint.ids());
    let stream = Stream::new(records, metric, ids, stop.clone());
    let piece = stop.heeding(py, None, |told| {
        let folder = Folder::new(&path, Files);
        blueprint.make(&mut rng, &keys, &folder, task, stream, told)
    })?;
    Ok(PyBytes::new(py, &piece.to_bytes(&keys)))
}
