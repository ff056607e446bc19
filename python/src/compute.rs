//! Work without Python's lock.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use pyo3::prelude::*;
use rand::SeedableRng;
use rand::rngs::{StdRng, SysRng};

use crate::errors;

/// The process that computed first: its threads compute.
static FIRST: OnceLock<u32> = OnceLock::new();

/// True in a process that was forked after threads were started for computing. It has none of them, and would
/// wait for them for ever, or for a lock that one of them held.
pub(crate) fn forked() -> bool {
    FIRST
        .get()
        .is_some_and(|first| *first != std::process::id())
}

/// Refuses to compute in a process without threads.
fn check_process(py: Python<'_>) -> PyResult<()> {
    FIRST.get_or_init(std::process::id);
    if !forked() {
        return Ok(());
    }
    let text = "this process was forked from one in which sordino had started threads, which it lacks: \
                start processes by multiprocessing's \"spawn\", or use sordino only after the fork";
    Err(errors::raise(py, "ProcessError", text))
}

/// Does `work` without Python's lock, so that other threads of the interpreter go on. A panic becomes an
/// exception.
pub(crate) fn computing<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> PyResult<T> {
    check_process(py)?;
    // Anything that a panic leaves half done is dropped with the closure.
    py.detach(|| catch_unwind(AssertUnwindSafe(work)))
        .map_err(|payload| errors::panicked(py, &*payload))
}

/// The pause between looks for Ctrl-C.
const TICK: Duration = Duration::from_millis(50);

/// [`computing`] that Ctrl-C stops: `work` is done by another thread and ends early when its flag is set, since
/// Python tells signals to the calling thread alone. What it returns then is dropped.
pub(crate) fn stoppable<T: Send>(
    py: Python<'_>,
    work: impl FnOnce(&AtomicBool) -> T + Send,
) -> PyResult<T> {
    check_process(py)?;
    let stop = AtomicBool::new(false);
    let (done, ended) = mpsc::channel::<()>();
    let worker = || {
        let done_when_dropped = done;
        let result = catch_unwind(AssertUnwindSafe(|| work(&stop)));
        drop(done_when_dropped);
        result
    };
    thread::scope(|scope| {
        let worker = scope.spawn(worker);
        let mut signal = None;
        // `Receiver` is not `Sync`: it is moved to the thread without Python's lock and back.
        let mut ended = ended;
        loop {
            let (back, waited) = py.detach(move || {
                let waited = ended.recv_timeout(TICK);
                (ended, waited)
            });
            ended = back;
            if waited == Err(RecvTimeoutError::Disconnected) {
                break;
            }
            if signal.is_none() {
                signal = py.check_signals().err();
                stop.store(signal.is_some(), Ordering::Relaxed);
            }
        }
        let result = py.detach(|| worker.join());
        match (signal, result) {
            (Some(signal), _) => Err(signal),
            (None, Ok(Ok(result))) => Ok(result),
            (None, Ok(Err(payload)) | Err(payload)) => Err(errors::panicked(py, &*payload)),
        }
    })
}

/// A generator seeded by the system.
pub(crate) fn random() -> PyResult<StdRng> {
    StdRng::try_from_rng(&mut SysRng)
        .map_err(|error| pyo3::exceptions::PyOSError::new_err(format!("no randomness: {error}")))
}
