//! Batches split over rayon's threads.

use core::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;

use crate::batch::BatchVerifier;
use crate::error::{BatchError, Error};
use crate::item::Item;
use crate::params::Params;
use crate::verify::TILE;

/// Items per thread: an equal share, in whole rounds of the eight hashing lanes, so that a share
/// leaves no lane empty that a sequential run would fill.
fn share(items: usize) -> usize {
    items
        .div_ceil(rayon::current_num_threads())
        .next_multiple_of(8)
        .max(8)
}

impl<P: Params> BatchVerifier<P> {
    /// As [`verify_each`](Self::verify_each), on the threads of the current rayon pool. Each thread
    /// has its own cache of keys; [`ExpandedKey`](crate::ExpandedKey)s are shared.
    ///
    /// # Panics
    /// If there are not as many verdicts as items.
    pub fn par_verify_each(&mut self, items: &[Item<'_, P>], verdicts: &mut [Result<(), Error>]) {
        assert_eq!(items.len(), verdicts.len(), "as many verdicts as items");
        let share = share(items.len());
        let (backend, workers) = self.workers(items.len().div_ceil(share));
        workers
            .par_iter_mut()
            .zip(items.par_chunks(share))
            .zip(verdicts.par_chunks_mut(share))
            .with_max_len(1)
            .for_each(|((worker, items), verdicts)| {
                for (items, verdicts) in items.chunks(TILE).zip(verdicts.chunks_mut(TILE)) {
                    worker.tile(backend, items, verdicts);
                }
            });
    }

    /// As [`verify_all`](Self::verify_all), on the threads of the current rayon pool. The failure
    /// reported is the first in the order of the items, not the first found.
    ///
    /// # Errors
    /// As [`verify_all`](Self::verify_all).
    pub fn par_verify_all(&mut self, items: &[Item<'_, P>]) -> Result<(), BatchError> {
        if items.is_empty() {
            return Err(BatchError::Empty);
        }
        let share = share(items.len());
        let (backend, workers) = self.workers(items.len().div_ceil(share));
        // the lowest index known to be invalid: shares behind it may stop
        let lowest = AtomicUsize::new(usize::MAX);
        let first = workers
            .par_iter_mut()
            .zip(items.par_chunks(share))
            .enumerate()
            .with_max_len(1)
            .filter_map(|(part, (worker, items))| {
                items.chunks(TILE).enumerate().find_map(|(tile, items)| {
                    let start = part * share + tile * TILE;
                    if lowest.load(Ordering::Relaxed) < start {
                        return None;
                    }
                    let (index, reason) = worker.first_failure(backend, items)?;
                    lowest.fetch_min(start + index, Ordering::Relaxed);
                    Some((start + index, reason))
                })
            })
            .min_by_key(|(index, _)| *index);
        match first {
            Some((index, reason)) => Err(BatchError::Invalid { index, reason }),
            None => Ok(()),
        }
    }
}
