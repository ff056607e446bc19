//! Runs computations without Python's lock.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use pyo3::prelude::*;
use rand::SeedableRng;
use rand::rngs::{StdRng, SysRng};

use crate::errors;

/// The first process that computed, which has the computing threads.
static FIRST: OnceLock<u32> = OnceLock::new();

/// True in a process that was forked after the computing threads had started. It does not have these threads, and
/// would wait for ever for them or for a lock that one of them held.
pub(crate) fn forked() -> bool {
    FIRST
        .get()
        .is_some_and(|first| *first != std::process::id())
}

/// Refuses to compute in a process without the computing threads.
fn check_process(py: Python<'_>) -> PyResult<()> {
    FIRST.get_or_init(std::process::id);
    if !forked() {
        return Ok(());
    }
    let text = "this process was forked after sordino had started threads, and a fork has no threads: start processes \
        with multiprocessing's \"spawn\", or use sordino only after the fork";
    Err(errors::raise(py, "ProcessError", text))
}

/// Runs `work` without Python's lock, so that other Python threads continue. A panic becomes an exception.
pub(crate) fn computing<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> PyResult<T> {
    check_process(py)?;
    // The closure owns everything that a panic could leave half done, so it is dropped.
    py.detach(|| catch_unwind(AssertUnwindSafe(work)))
        .map_err(|payload| errors::panicked(py, &*payload))
}

/// The time between two checks for Ctrl-C.
const TICK: Duration = Duration::from_millis(50);

/// Like [`computing`], but Ctrl-C stops it. A second thread runs `work`, since Python reports signals only to the
/// calling thread. After Ctrl-C this function returns at once. `work` finds its flag set and ends when it can;
/// its result is dropped.
pub(crate) fn stoppable<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce(&Arc<AtomicBool>) -> T + Send + 'static,
) -> PyResult<T> {
    check_process(py)?;
    let stop = Arc::new(AtomicBool::new(false));
    let (done, mut result) = mpsc::sync_channel(1);
    let flag = Arc::clone(&stop);
    let worker = move || {
        let result = catch_unwind(AssertUnwindSafe(|| work(&flag)));
        // After Ctrl-C the receiver is gone.
        drop(done.send(result));
    };
    let thread = thread::Builder::new().name("sordino-call".to_owned());
    thread.spawn(worker)?;
    loop {
        // `Receiver` is not `Sync`, so it is moved into the closure without Python's lock, and back.
        let (back, waited) = py.detach(move || {
            let waited = result.recv_timeout(TICK);
            (result, waited)
        });
        result = back;
        match waited {
            Ok(Ok(done)) => return Ok(done),
            Ok(Err(payload)) => return Err(errors::panicked(py, &*payload)),
            Err(RecvTimeoutError::Timeout) => py
                .check_signals()
                .inspect_err(|_| stop.store(true, Ordering::Relaxed))?,
            Err(RecvTimeoutError::Disconnected) => {
                return Err(errors::panicked(py, &"a thread ended without a result"));
            }
        }
    }
}

/// A generator seeded by the operating system.
pub(crate) fn random() -> PyResult<StdRng> {
    StdRng::try_from_rng(&mut SysRng)
        .map_err(|error| pyo3::exceptions::PyOSError::new_err(format!("no randomness: {error}")))
}

/// The number of seconds since 1970.
pub(crate) fn now() -> u64 {
    let elapsed = SystemTime::now().duration_since(UNIX_EPOCH);
    elapsed.map_or(0, |elapsed| elapsed.as_secs())
}
