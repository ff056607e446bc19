//! Requests that run elsewhere, and callers that wait for them.

use std::future::Future;
use std::io;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};

/// The time that a caller waits for a store, and the times that it asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// The longest time for a request: for a piece of 8 MiB, all its repetitions included.
    pub request: Duration,
    /// Attempts at reading a piece that came in part or not at all.
    pub attempts: u32,
    /// The pause before the second attempt; twice as long before each that follows.
    pub pause: Duration,
}

impl Default for RetryPolicy {
    /// A minute, four attempts, a fifth of a second.
    fn default() -> Self {
        Self {
            request: Duration::from_secs(60),
            attempts: 4,
            pause: Duration::from_millis(200),
        }
    }
}

/// The threads on which requests run: callers may be in a runtime of their own, and need none.
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
                // No one waits any more, where the caller has failed elsewhere.
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
        // The thread that drops this may belong to a runtime, which must not wait.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// A request that has begun.
#[derive(Debug)]
pub(crate) struct Waiting<T> {
    result: Receiver<io::Result<T>>,
    limit: Duration,
}

impl<T> Waiting<T> {
    /// Waits for its end.
    pub(crate) fn end(self) -> io::Result<T> {
        // The request ends itself; this is for a runtime that no longer does.
        match self.result.recv_timeout(self.limit * 2) {
            Ok(result) => result,
            Err(RecvTimeoutError::Timeout) => Err(io::ErrorKind::TimedOut.into()),
            Err(RecvTimeoutError::Disconnected) => Err(io::Error::other("the request was dropped")),
        }
    }
}
