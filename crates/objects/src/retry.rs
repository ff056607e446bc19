//! Runs requests on separate threads, and lets callers wait for them.

use std::future::Future;
use std::io;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};

/// How long a caller waits for a store, and how often it retries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// The longest time for a request for a piece of 8 MiB, including all retries.
    pub request: Duration,
    /// The number of attempts at reading a piece that arrived incomplete or not at all.
    pub attempts: u32,
    /// The pause before the second attempt. Each further pause is twice as long.
    pub pause: Duration,
}

impl Default for RetryPolicy {
    /// Defaults: 60 s for a request, four attempts, and an initial pause of 200 ms.
    fn default() -> Self {
        Self {
            request: Duration::from_secs(60),
            attempts: 4,
            pause: Duration::from_millis(200),
        }
    }
}

/// The threads on which requests run. Callers may run in another runtime, or in none.
#[derive(Debug)]
pub(crate) struct Requests {
    runtime: Option<Runtime>,
}

impl Requests {
    pub(crate) fn new() -> io::Result<Self> {
        let mut builder = Builder::new_multi_thread();
        builder
            .worker_threads(1)
            .thread_name("objects")
            .enable_all();
        let runtime = Some(builder.build()?);
        Ok(Self { runtime })
    }

    /// Begins a request.
    pub(crate) fn begin<T: Send + 'static>(
        &self,
        limit: Duration,
        request: impl Future<Output = io::Result<T>> + Send + 'static,
    ) -> Waiting<T> {
        let (done, result) = mpsc::sync_channel(1);
        if let Some(runtime) = &self.runtime {
            runtime.spawn(async move {
                let result = tokio::time::timeout(limit, request).await;
                let result = result.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
                // The send fails if the caller has failed elsewhere and no longer waits.
                drop(done.send(result));
            });
        }
        Waiting { result, limit }
    }

    /// Runs a request to its end.
    pub(crate) fn run<T: Send + 'static>(
        &self,
        limit: Duration,
        request: impl Future<Output = io::Result<T>> + Send + 'static,
    ) -> io::Result<T> {
        self.begin(limit, request).end()
    }
}

impl Drop for Requests {
    fn drop(&mut self) {
        // The thread that drops this may belong to a runtime, and must not block there.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// A request in progress.
#[derive(Debug)]
pub(crate) struct Waiting<T> {
    result: Receiver<io::Result<T>>,
    limit: Duration,
}

impl<T> Waiting<T> {
    /// Waits for its end.
    pub(crate) fn end(self) -> io::Result<T> {
        // The request has its own time limit. This one is for a runtime that no longer runs it.
        match self.result.recv_timeout(self.limit * 2) {
            Ok(result) => result,
            Err(RecvTimeoutError::Timeout) => Err(io::ErrorKind::TimedOut.into()),
            Err(RecvTimeoutError::Disconnected) => Err(io::Error::other("the request was dropped")),
        }
    }
}
