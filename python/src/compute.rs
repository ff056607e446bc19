//! Work without Python's lock.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use pyo3::prelude::*;
use rand::SeedableRng;
use rand::rngs::{StdRng, SysRng};

use crate::errors;

/// Does `work` without Python's lock, so that other threads of the interpreter go on. A panic becomes an
/// exception.
pub(crate) fn computing<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> PyResult<T> {
    // Anything that a panic leaves half done is dropped with the closure.
    py.detach(|| catch_unwind(AssertUnwindSafe(work)))
        .map_err(|payload| errors::panicked(py, &*payload))
}

/// The words of a panic.
pub(crate) fn words(payload: &(dyn Any + Send)) -> &str {
    payload
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| payload.downcast_ref::<&str>().copied())
        .unwrap_or("a panic without a message")
}

/// A generator seeded by the system.
pub(crate) fn random() -> PyResult<StdRng> {
    StdRng::try_from_rng(&mut SysRng)
        .map_err(|error| pyo3::exceptions::PyOSError::new_err(format!("no randomness: {error}")))
}
