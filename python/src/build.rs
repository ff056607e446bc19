//! Builds an index from an iterator of arrays.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use numpy::{PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;
use sordino_search::manifest::{Checking, Packing};
use sordino_search::plan::{Conditions, Plan, Wish};
use sordino_search::{
    Batch, Disk, Error, Form, IdKind, Kind, Metric, Pins, Routing, Spec, Step, Store, Vectors,
};

use crate::attributes;
use crate::compute::{computing, random};
use crate::errors;
use crate::ids::{self, Given};
use crate::keys::OwnerKey;
use crate::vectors::{batch, check_directions, matrix, metric};

/// The choices of an owner.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Settings {
    mode: String,
    metric: String,
    recall: f64,
    k: usize,
    queries: u64,
    packing: Option<u8>,
    id_kind: String,
    routing: Option<String>,
    second_look: Option<u32>,
    checks: String,
    own_readers: bool,
    /// The numbers of records and dimensions, if they are known in advance.
    size: Option<(usize, usize)>,
    /// Typical questions as an array, which tasks do not take.
    #[pyo3(default)]
    questions: Option<Py<PyAny>>,
}

/// The questions of an owner, for this metric.
fn questions(py: Python<'_>, given: &Py<PyAny>, metric: Metric) -> PyResult<Vectors> {
    let rows: PyReadonlyArray2<'_, f32> = given.extract(py)?;
    let questions = Vectors::new(rows.shape()[1], rows.as_slice()?.to_vec());
    let checked = questions.and_then(|questions| {
        metric.check_queries(&questions)?;
        Ok(questions)
    });
    checked.map_err(|error| errors::questions(py, &error))
}

/// The recall that a build measured, and true if it is as high as requested.
pub(crate) type Measured = Option<(f64, bool)>;

/// Builds an index in a directory from an iterator of `(vectors, ids or None, payloads or None, attributes or None)`.
///
/// `progress`, if given, is called with the name of each step and the number of vectors read.
#[pyfunction]
pub(crate) fn build(
    py: Python<'_>,
    path: PathBuf,
    key: &Bound<'_, OwnerKey>,
    records: Py<PyAny>,
    settings: Settings,
    progress: Option<Py<PyAny>>,
) -> PyResult<Measured> {
    let spec = settings.spec(py)?;
    let (keys, pins) = (key.get().0.clone(), &key.get().1);
    let mut rng = random()?;
    let stop = Stop::default();
    let stream = Stream::new(records, spec.metric, spec.ids, stop.clone());
    let store = stop.heeding(py, progress.as_ref(), |told| {
        // This is checked before the build, so that no index is made whose version the key's file cannot remember.
        pins.check()?;
        let store = Store::create(&path, &mut rng, &keys, &spec, stream, told)?;
        pins.remember(&Pins::place(&path), &store)?;
        Ok(store)
    })?;
    Ok(measured_of(&store))
}

/// The recall that a build measured, of held-out vectors or, if it is lower, of questions, and a flag. In sealed and routed
/// mode, the flag is true if the requested recall was reached. In other modes, it is true if the recall is at least 0.95, which nearly all data reach.
pub(crate) fn measured_of<D: Disk>(store: &Store<D>) -> Measured {
    let searched = store.measured();
    let searched = searched.map(|measured| {
        let questions = measured.question_recall.unwrap_or(1.0);
        (measured.expected_recall.min(questions), measured.reached)
    });
    searched.or_else(|| store.recall().map(|recall| (recall, recall >= 0.95)))
}

impl Settings {
    pub(crate) fn spec(&self, py: Python<'_>) -> PyResult<Spec> {
        let form = match &self.mode[..] {
            "masked" => Form::Masked(self.packed(py, true)?),
            "open" => Form::Open(self.packed(py, false)?),
            "local" => Form::Local,
            "routed" => Form::Routed {
                recall: self.recall,
                queries: self.queries,
            },
            "sealed" => Form::Sealed {
                recall: self.recall,
                queries: self.queries,
                routing: self.routing(py)?,
            },
            mode => {
                let text = format!(
                    "mode {mode:?}: expected \"masked\", \"routed\", \"open\", \"local\" or \"sealed\""
                );
                return Err(errors::raise(py, "InputError", text));
            }
        };
        let metric = metric(py, &self.metric)?;
        let given = self.questions.as_ref();
        let questions = given.map(|given| questions(py, given, metric));
        Ok(Spec::new(form)
            .k(self.k)
            .ids(ids::kind(py, &self.id_kind)?)
            .metric(metric)
            .questions(questions.transpose()?)
            .conditions(Conditions::default().searches(self.queries))
            .second_look(self.second_look)
            .own_readers(self.own_readers)
            .checking(self.checking(py)?))
    }

    /// The packing that the caller chose. Without a choice, the packing that moves the fewest bytes.
    fn packed(&self, py: Python<'_>, masked: bool) -> PyResult<Packing> {
        match (self.packing, self.size) {
            (None, None) => Ok(Packing::T4),
            (Some(t), _) => Packing::of(t.into()).ok_or_else(|| {
                let text = format!("packing {t}: expected 4, 8, 16, 32 or 64");
                errors::raise(py, "InputError", text)
            }),
            (None, Some((n, dim))) => {
                // There may be more records later.
                let wish = Wish::default()
                    .k(self.k.min(n))
                    .queries(self.queries)
                    .checking(self.checking(py)?);
                let plan = Plan::new(n, dim, wish).map_err(|error| errors::search(py, &error))?;
                let scoring = if masked { plan.masked() } else { plan.open() };
                Ok(scoring.map_or(Packing::T4, |scoring| scoring.packing))
            }
        }
    }

    fn checking(&self, py: Python<'_>) -> PyResult<Checking> {
        let mut all = Checking::ALL.into_iter();
        let found = all.find(|checking| checking.name() == self.checks);
        found.ok_or_else(|| {
            let text = format!("checks {:?}: expected sums, exact or none", self.checks);
            errors::raise(py, "InputError", text)
        })
    }

    fn routing(&self, py: Python<'_>) -> PyResult<Option<Routing>> {
        match self.routing.as_deref() {
            None => Ok(None),
            Some("downloaded") => Ok(Some(Routing::Downloaded)),
            Some("encrypted") => Ok(Some(Routing::Encrypted)),
            Some(other) => {
                let text = format!("routing {other:?}: expected \"downloaded\" or \"encrypted\"");
                Err(errors::raise(py, "InputError", text))
            }
        }
    }
}

/// The reason for which Python stops a build or a change: Ctrl-C, or an exception of the caller's iterator or
/// callback.
#[derive(Clone, Default)]
pub(crate) struct Stop(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    error: Option<PyErr>,
    /// The number of vectors read, and the number of vectors before the first one of a task.
    read: usize,
    /// The last step that was reported to Python, and the number of vectors read by then.
    told: Option<(String, usize)>,
}

/// Unwinds a build.
struct Stopped;

/// The error that stands for Python's exception until the build has ended.
fn stopped() -> Error {
    Error::transport(Kind::Local, "the build was stopped")
}

impl Stop {
    /// The state for a task whose first vector has this number.
    pub(crate) fn at(first: u64) -> Self {
        let stop = Self::default();
        stop.state().read = usize::try_from(first).unwrap_or(usize::MAX);
        stop
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs `work`, which ends at the next reported step if Python wants to stop.
    pub(crate) fn heeding<T: Send>(
        &self,
        py: Python<'_>,
        progress: Option<&Py<PyAny>>,
        work: impl FnOnce(&mut dyn FnMut(Step)) -> Result<T, Error> + Send,
    ) -> PyResult<T> {
        let mut told = |step: Step| {
            Python::attach(|py| self.told(py, progress, step.name()));
        };
        let work = || {
            let work = AssertUnwindSafe(|| work(&mut told));
            catch_unwind(work).unwrap_or_else(|payload| {
                if payload.is::<Stopped>() {
                    return Err(stopped());
                }
                resume_unwind(payload)
            })
        };
        let done = computing(py, work)?;
        if let Some(error) = self.state().error.take() {
            return Err(error);
        }
        done.map_err(|error| errors::search(py, &error))
    }

    /// Reports a step to Python; unwinds if Python wants to stop.
    fn told(&self, py: Python<'_>, progress: Option<&Py<PyAny>>, step: &str) {
        let read = self.state().read;
        let now = Some((step.to_owned(), read));
        // A long step is reported repeatedly, only so that Ctrl-C works.
        let fresh = std::mem::replace(&mut self.state().told, now.clone()) != now;
        let told = py.check_signals().and_then(|()| match progress {
            Some(progress) if fresh => progress.call1(py, (step, read)).map(drop),
            _ => Ok(()),
        });
        if let Err(error) = told {
            self.state().error = Some(error);
            resume_unwind(Box::new(Stopped));
        }
    }
}

/// A stream of records from Python's iterator.
pub(crate) struct Stream {
    records: Py<PyAny>,
    metric: Metric,
    ids: IdKind,
    stop: Stop,
}

type Item<'py> = (
    PyReadonlyArray2<'py, f32>,
    Option<Given<'py>>,
    Option<Vec<Vec<u8>>>,
    Option<attributes::Given<'py>>,
);

impl Stream {
    /// The records of an iterator of `(vectors, ids or None, payloads or None, attributes or None)`.
    pub(crate) fn new(records: Py<PyAny>, metric: Metric, ids: IdKind, stop: Stop) -> Self {
        Self {
            records,
            metric,
            ids,
            stop,
        }
    }

    fn read(&self, py: Python<'_>) -> PyResult<Option<Batch>> {
        py.check_signals()?;
        let mut records = self.records.bind(py).try_iter()?;
        let Some(item) = records.next() else {
            return Ok(None);
        };
        let (rows, ids, payloads, attributes): Item<'_> = item?.extract()?;
        let first = self.stop.state().read;
        let vectors = matrix(py, &rows, first)?;
        check_directions(py, self.metric, &vectors, first)?;
        self.stop.state().read += vectors.len();
        let ids = ids.map(|ids| ids.of(py, self.ids)).transpose()?;
        batch(py, vectors, ids, payloads, attributes).map(Some)
    }
}

impl Iterator for Stream {
    type Item = Result<Batch, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        Python::attach(|py| match self.read(py) {
            Ok(batch) => batch.map(Ok),
            Err(error) => {
                self.stop.state().error = Some(error);
                Some(Err(stopped()))
            }
        })
    }
}
