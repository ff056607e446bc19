//! Splits batches over rayon's threads.

use core::hint;
use core::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Mutex;
use std::vec;
use std::vec::Vec;

use crate::batch::{BatchVerifier, Worker, check_verdicts};
use crate::error::{BatchError, Error};
use crate::item::Item;
use crate::keccak::LANES;
use crate::params::Params;
use crate::verify::TILE;

/// The smallest number of items of a share: half the number of hashing lanes. The empty lanes cost about 1 us. A share
/// of this size takes half as long as a whole one, since arithmetic goes signature by signature.
const LEAST: usize = LANES / 2;

/// The number of times that a finished thread checks whether the others have finished, before it goes to sleep. All
/// checks together take about as long as a share of four items. A sleeping thread also needs about this time to wake
/// up.
const LOOKS: usize = 1 << 12;

impl<P: Params> BatchVerifier<P> {
    /// Like [`verify_each`](Self::verify_each), on this thread and the threads of the current rayon pool. Each thread
    /// has its own cache of keys. [`ExpandedKey`](crate::ExpandedKey)s are shared.
    ///
    /// # Panics
    /// Panics if another thread panicked.
    #[must_use]
    pub fn par_verify_each(&mut self, items: &[Item<'_, P>]) -> Vec<Result<(), Error>> {
        let mut verdicts = vec![Err(Error::Mismatch); items.len()];
        self.shares(items, &mut verdicts);
        verdicts
    }

    /// Like [`par_verify_each`](Self::par_verify_each), but writes the verdicts to memory of the caller.
    ///
    /// # Errors
    /// [`BatchError::Verdicts`] if the numbers of verdicts and items differ. No verdict is written then.
    ///
    /// # Panics
    /// Panics if another thread panicked.
    pub fn par_verify_each_into(
        &mut self,
        items: &[Item<'_, P>],
        verdicts: &mut [Result<(), Error>],
    ) -> Result<(), BatchError> {
        check_verdicts(items, verdicts)?;
        self.shares(items, verdicts);
        Ok(())
    }

    fn shares(&mut self, items: &[Item<'_, P>], verdicts: &mut [Result<(), Error>]) {
        let threads = threads(items.len());
        let (kernels, workers) = self.workers(threads);
        let rest = Mutex::new((items, verdicts));
        spread(workers, |worker| {
            loop {
                let (items, verdicts) = {
                    let mut rest = rest.lock().expect("no thread panicked");
                    let (items, verdicts) = core::mem::take(&mut *rest);
                    let (now, later) = items.split_at(share(items.len(), threads));
                    let (verdicts, places) = verdicts.split_at_mut(now.len());
                    *rest = (later, places);
                    (now, verdicts)
                };
                if items.is_empty() {
                    return;
                }
                worker.tile(kernels, items, verdicts);
            }
        });
    }

    /// Like [`verify_all`](Self::verify_all), on this thread and the threads of the current rayon pool. The reported
    /// failure is the first in the order of the items, not the first that a thread finds.
    ///
    /// # Errors
    /// The errors of [`verify_all`](Self::verify_all).
    ///
    /// # Panics
    /// Panics if another thread panicked.
    pub fn par_verify_all(&mut self, items: &[Item<'_, P>]) -> Result<(), BatchError> {
        if items.is_empty() {
            return Err(BatchError::Empty);
        }
        let threads = threads(items.len());
        let (kernels, workers) = self.workers(threads);
        // Threads take shares in order. So all shares before an invalid item are finished or in progress, and no share
        // behind it needs to be started.
        let rest = Mutex::new((0, items));
        let failure = Mutex::new(None::<(usize, Error)>);
        spread(workers, |worker| {
            loop {
                let (start, items) = {
                    let mut rest = rest.lock().expect("no thread panicked");
                    let (start, items) = *rest;
                    let (now, later) = items.split_at(share(items.len(), threads));
                    *rest = (start + now.len(), later);
                    (start, now)
                };
                if items.is_empty() {
                    return;
                }
                let Some((index, reason)) = worker.first_failure(kernels, items) else {
                    continue;
                };
                rest.lock().expect("no thread panicked").1 = &[];
                let mut failure = failure.lock().expect("no thread panicked");
                if failure.is_none_or(|(lowest, _)| start + index < lowest) {
                    *failure = Some((start + index, reason));
                }
                return;
            }
        });
        match failure.into_inner().expect("no thread panicked") {
            Some((index, reason)) => Err(BatchError::Invalid { index, reason }),
            None => Ok(()),
        }
    }
}

/// The number of threads that have something to do.
fn threads(items: usize) -> usize {
    items.div_ceil(LEAST).clamp(1, rayon::current_num_threads())
}

/// The number of items of the next share when `left` are left. It is half of an equal share, since threads start at
/// unknown times and differ in speed. It fills the hashing lanes, except perhaps in the last share of each thread.
fn share(left: usize, threads: usize) -> usize {
    if left <= threads * LEAST {
        return left.min(LEAST);
    }
    (left / (2 * threads))
        .next_multiple_of(LANES)
        .clamp(LANES, TILE)
        .min(left)
}

/// Calls `work` with each worker. The first runs on this thread, which saves waking another thread for it (about 10 us,
/// a tenth of a batch of 32). The others run on the current rayon pool.
fn spread(workers: &mut [Worker], work: impl Fn(&mut Worker) + Sync) {
    let Some((first, others)) = workers.split_first_mut() else {
        return;
    };
    let under_way = AtomicUsize::new(others.len());
    rayon::in_place_scope(|scope| {
        let (work, under_way) = (&work, &under_way);
        for worker in others {
            scope.spawn(move |_| {
                work(worker);
                under_way.fetch_sub(1, Ordering::Release);
            });
        }
        work(first);
        for _ in 0..LOOKS {
            if under_way.load(Ordering::Acquire) == 0 {
                break;
            }
            hint::spin_loop();
        }
    });
}
