//! Collects work into batches, which cost less than single items.

use std::panic::{AssertUnwindSafe, catch_unwind};

use tokio::sync::{mpsc, oneshot};

use crate::Refusal;

/// A job, and the channel for its result.
type Job<T, R> = (T, oneshot::Sender<R>);

/// A thread that takes all waiting jobs and runs them together.
///
/// An idle thread starts a single job at once. Jobs that arrive while it works form the next batch.
#[derive(Debug)]
pub(crate) struct Batcher<T, R> {
    jobs: mpsc::Sender<Job<T, R>>,
}

impl<T: Send + 'static, R: Send + 'static> Batcher<T, R> {
    /// Starts the thread. At most `waiting` jobs wait, and `work` gets at most `most` at a time and
    /// returns a result for each. The thread ends when the batcher is dropped.
    pub(crate) fn start(
        name: &str,
        waiting: usize,
        most: usize,
        mut work: impl FnMut(Vec<T>) -> Vec<R> + Send + 'static,
    ) -> std::io::Result<Self> {
        let (jobs, mut queue) = mpsc::channel::<Job<T, R>>(waiting);
        let run = move || {
            while let Some(first) = queue.blocking_recv() {
                let rest = std::iter::from_fn(|| queue.try_recv().ok());
                let (batch, results): (Vec<T>, Vec<oneshot::Sender<R>>) = std::iter::once(first)
                    .chain(rest.take(most - 1))
                    // A client that has gone needs no answer.
                    .filter(|(_, result)| !result.is_closed())
                    .unzip();
                if batch.is_empty() {
                    continue;
                }
                // A batch that panics must not affect later ones. Its results are dropped, which the waiting clients
                // notice.
                let done = catch_unwind(AssertUnwindSafe(|| work(batch)));
                for (result, place) in done.unwrap_or_default().into_iter().zip(results) {
                    // A client that has gone needs no answer.
                    let _ = place.send(result);
                }
            }
        };
        let thread = std::thread::Builder::new().name(name.to_owned());
        thread.spawn(run)?;
        Ok(Self { jobs })
    }

    /// Runs a job, and waits for its result.
    pub(crate) async fn ask(&self, job: T) -> Result<R, Refusal> {
        let (place, result) = oneshot::channel();
        self.jobs
            .try_send((job, place))
            .map_err(|_| Refusal::Busy)?;
        result.await.map_err(|_| Refusal::Stopping)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc as blocking;

    fn runtime() -> tokio::runtime::Runtime {
        tokio::runtime::Builder::new_current_thread()
            .build()
            .expect("a runtime")
    }

    #[test]
    fn what_waits_is_done_together_and_results_find_their_jobs() {
        let (go, gate) = blocking::channel::<()>();
        let (report, batches) = blocking::channel();
        let batcher = Batcher::start("test", 100, 4, move |jobs: Vec<u32>| {
            gate.recv().unwrap();
            report.send(jobs.clone()).unwrap();
            jobs.iter().map(|job| job * 10).collect()
        })
        .unwrap();
        runtime().block_on(async {
            let asked = (0..11).map(|job| batcher.ask(job)).collect::<Vec<_>>();
            let mut asked: Vec<_> = asked.into_iter().map(Box::pin).collect();
            // Polls each future once, so that all jobs are queued before the thread works.
            for ask in &mut asked {
                assert!(tokio_test(ask).is_none());
            }
            for _ in 0..11 {
                go.send(()).unwrap();
            }
            for (job, ask) in (0..).zip(asked) {
                assert_eq!(ask.await, Ok(job * 10));
            }
        });
        let sizes: Vec<usize> = batches.try_iter().map(|batch| batch.len()).collect();
        assert_eq!(sizes.iter().sum::<usize>(), 11);
        assert!(
            sizes.iter().all(|&size| size <= 4) && sizes.len() <= 5,
            "{sizes:?}"
        );
    }

    /// The result of polling a future once.
    fn tokio_test<F: Future + Unpin>(future: &mut F) -> Option<F::Output> {
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        match std::pin::Pin::new(future).poll(&mut context) {
            std::task::Poll::Ready(output) => Some(output),
            std::task::Poll::Pending => None,
        }
    }

    #[test]
    fn a_full_queue_refuses_and_a_failed_batch_is_not_the_last() {
        let (go, gate) = blocking::channel::<()>();
        let batcher = Batcher::start("test", 2, 1, move |jobs: Vec<u32>| {
            gate.recv().unwrap();
            assert_ne!(jobs[0], 13, "the job that fails");
            jobs
        })
        .unwrap();
        runtime().block_on(async {
            let mut asked = Vec::new();
            let mut refused = 0;
            for _ in 0..20 {
                let mut ask = Box::pin(batcher.ask(1));
                match tokio_test(&mut ask) {
                    Some(result) => {
                        assert_eq!(result, Err(Refusal::Busy));
                        refused += 1;
                    }
                    None => asked.push(ask),
                }
            }
            // Two jobs wait, and the thread may have taken one.
            assert!((17..=18).contains(&refused), "{refused}");
            for ask in asked {
                go.send(()).unwrap();
                assert_eq!(ask.await, Ok(1));
            }
            go.send(()).unwrap();
            assert_eq!(batcher.ask(13).await, Err(Refusal::Stopping));
            go.send(()).unwrap();
            assert_eq!(batcher.ask(2).await, Ok(2));
        });
    }
}
