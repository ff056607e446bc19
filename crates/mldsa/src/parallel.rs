//! Batches split over rayon's threads.

use core::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Mutex;

use crate::batch::BatchVerifier;
use crate::error::{BatchError, Error};
use crate::item::Item;
use crate::params::Params;
use crate::verify::TILE;

/// Items per thread: an equal share, of at least four. A share that leaves hashing lanes empty costs
/// processor time, not latency: arithmetic, two thirds of the work, goes signature by signature.
fn share(items: usize) -> usize {
    items
        .div_ceil(rayon::current_num_threads())
        .next_multiple_of(4)
        .max(4)
}

impl<P: Params> BatchVerifier<P> {
    /// As [`verify_each`](Self::verify_each), on this thread and those of the current rayon pool.
    /// Each thread has its own cache of keys; [`ExpandedKey`](crate::ExpandedKey)s are shared.
    ///
    /// # Panics
    /// If there are not as many verdicts as items.
    pub fn par_verify_each(&mut self, items: &[Item<'_, P>], verdicts: &mut [Result<(), Error>]) {
        assert_eq!(items.len(), verdicts.len(), "as many verdicts as items");
        let share = share(items.len());
        let (backend, workers) = self.workers(items.len().div_ceil(share));
        let shares = workers
            .iter_mut()
            .zip(items.chunks(share).zip(verdicts.chunks_mut(share)));
        spread(shares, |(worker, (items, verdicts))| {
            for (items, verdicts) in items.chunks(TILE).zip(verdicts.chunks_mut(TILE)) {
                worker.tile(backend, items, verdicts);
            }
        });
    }

    /// As [`verify_all`](Self::verify_all), on this thread and those of the current rayon pool. The
    /// failure reported is the first in the order of the items, not the first found.
    ///
    /// # Errors
    /// As [`verify_all`](Self::verify_all).
    ///
    /// # Panics
    /// If another thread panicked.
    pub fn par_verify_all(&mut self, items: &[Item<'_, P>]) -> Result<(), BatchError> {
        if items.is_empty() {
            return Err(BatchError::Empty);
        }
        let share = share(items.len());
        let (backend, workers) = self.workers(items.len().div_ceil(share));
        // the lowest index known to be invalid: shares behind it may stop
        let lowest = AtomicUsize::new(usize::MAX);
        let failure = Mutex::new(None);
        let shares = workers.iter_mut().zip(items.chunks(share)).enumerate();
        spread(shares, |(part, (worker, items))| {
            for (tile, items) in items.chunks(TILE).enumerate() {
                let start = part * share + tile * TILE;
                if lowest.load(Ordering::Relaxed) < start {
                    return;
                }
                let Some((index, reason)) = worker.first_failure(backend, items) else {
                    continue;
                };
                let index = start + index;
                let mut failure = failure.lock().expect("no thread panicked");
                if lowest.fetch_min(index, Ordering::Relaxed) > index {
                    *failure = Some(BatchError::Invalid { index, reason });
                }
                return;
            }
        });
        let failure = failure.into_inner().expect("no thread panicked");
        failure.map_or(Ok(()), Err)
    }
}

/// Does `work` for each share: the first on this thread, which saves waking another for it (about
/// 10 us, a tenth of a batch of 32), the others on the current rayon pool.
fn spread<S: Send>(mut shares: impl Iterator<Item = S>, work: impl Fn(S) + Sync) {
    rayon::in_place_scope(|scope| {
        let first = shares.next();
        let work = &work;
        for share in shares {
            scope.spawn(move |_| work(share));
        }
        if let Some(share) = first {
            work(share);
        }
    });
}
