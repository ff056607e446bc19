//! Work without Python's lock.

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
    let text = "this process was forked after sordino had started threads, and a fork has no threads: start processes \
        with multiprocessing's \"spawn\", or use sordino only after the fork";
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

/// [`computing`] that Ctrl-C stops: `work` is done by another thread, since Python tells signals to the calling
/// thread alone. Then this returns, and `work`, whose flag is set, ends when it can; nobody gets what it returns.
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
        // After Ctrl-C nobody waits for it.
        drop(done.send(result));
    };
    let thread = thread::Builder::new().name("sordino-call".to_owned());
    thread.spawn(worker)?;
    loop {
        // `Receiver` is not `Sync`: it is moved to where Python's lock is not held, and back.
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

/// A generator seeded by the system.
pub(crate) fn random() -> PyResult<StdRng> {
    StdRng::try_from_rng(&mut SysRng)
        .map_err(|error| pyo3::exceptions::PyOSError::new_err(format!("no randomness: {error}")))
}

/// Seconds since 1970.
pub(crate) fn now() -> u64 {
    let elapsed = SystemTime::now().duration_since(UNIX_EPOCH);
    elapsed.map_or(0, |elapsed| elapsed.as_secs())
}
