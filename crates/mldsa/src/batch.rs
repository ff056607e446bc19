//! Verifies many signatures at once.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;
use core::marker::PhantomData;

use crate::Backend;
use crate::cache::Cache;
use crate::error::{BatchError, Error};
use crate::item::Item;
use crate::kernels::Kernels;
use crate::params::Params;
use crate::verify::{Slot, TILE, Work, verify_tile};

/// Verifies batches of signatures. It keeps its working memory and recently used keys.
///
/// ML-DSA has no algebraic batching. Each item is verified exactly as if it were alone, so its verdict does not
/// depend on the others. A batch saves time because it hashes for eight signatures at a time, and expands keys
/// that occur more than once only once.
///
/// After its memory has grown to the size that a batch needs, verifying allocates nothing.
pub struct BatchVerifier<P> {
    backend: Backend,
    capacity: usize,
    /// One worker per thread. The sequential methods use the first.
    workers: Vec<Worker>,
    set: PhantomData<P>,
}

/// Working memory of one thread.
pub(crate) struct Worker {
    cache: Cache,
    slots: Box<[Slot]>,
    work: Box<Work>,
}

impl Worker {
    fn new(capacity: usize) -> Self {
        let slots = vec![Slot::NEW; TILE].into();
        Self {
            cache: Cache::new(capacity),
            slots,
            work: Box::new(Work::NEW),
        }
    }

    /// Verifies a tile of at most [`TILE`] items, and writes a verdict for each.
    pub(crate) fn tile<P: Params>(
        &mut self,
        kernels: Kernels,
        items: &[Item<'_, P>],
        verdicts: &mut [Result<(), Error>],
    ) {
        verify_tile(
            kernels,
            items,
            &mut self.cache,
            &mut self.slots,
            &mut self.work,
            verdicts,
        );
    }

    /// The first invalid item.
    pub(crate) fn first_failure<P: Params>(
        &mut self,
        kernels: Kernels,
        items: &[Item<'_, P>],
    ) -> Option<(usize, Error)> {
        items.chunks(TILE).enumerate().find_map(|(tile, items)| {
            let mut verdicts = [Ok(()); TILE];
            let verdicts = &mut verdicts[..items.len()];
            self.tile(kernels, items, verdicts);
            let invalid = verdicts.iter().position(Result::is_err)?;
            Some((tile * TILE + invalid, verdicts[invalid].err()?))
        })
    }
}

impl<P: Params> BatchVerifier<P> {
    /// The number of expanded keys that a new verifier keeps: 64, at most 4 MiB per thread for ML-DSA-87.
    pub const DEFAULT_KEYS: usize = 64;

    /// The largest number of keys that a verifier can keep.
    pub const MAX_KEYS: usize = 4096;

    /// A verifier on the fastest backend, which keeps [`DEFAULT_KEYS`](Self::DEFAULT_KEYS) keys.
    #[must_use]
    pub fn new() -> Self {
        Self::with_keys(Self::DEFAULT_KEYS)
    }

    /// A verifier on the fastest backend, which keeps `keys` expanded keys per thread. It keeps at least 16 and
    /// at most [`MAX_KEYS`](Self::MAX_KEYS).
    #[must_use]
    pub fn with_keys(keys: usize) -> Self {
        Self::with_keys_on(Backend::detect(), keys)
    }

    /// Like [`with_keys`](Self::with_keys), on a backend that the caller chooses, for tests and benchmarks.
    #[must_use]
    pub fn with_keys_on(backend: Backend, keys: usize) -> Self {
        let capacity = keys.clamp(TILE, Self::MAX_KEYS);
        Self {
            backend,
            capacity,
            workers: vec![Worker::new(capacity)],
            set: PhantomData,
        }
    }

    /// The backend in use.
    #[must_use]
    pub fn backend(&self) -> Backend {
        self.backend
    }

    /// Verifies every item. Verdict `i` belongs to `items[i]`, with the reason if the item is invalid.
    #[must_use]
    pub fn verify_each(&mut self, items: &[Item<'_, P>]) -> Vec<Result<(), Error>> {
        let mut verdicts = vec![Err(Error::Mismatch); items.len()];
        self.tiles(items, &mut verdicts);
        verdicts
    }

    /// Like [`verify_each`](Self::verify_each), but writes the verdicts to memory of the caller.
    ///
    /// # Errors
    /// [`BatchError::Verdicts`] if the numbers of verdicts and items differ. No verdict is written then.
    pub fn verify_each_into(
        &mut self,
        items: &[Item<'_, P>],
        verdicts: &mut [Result<(), Error>],
    ) -> Result<(), BatchError> {
        check_verdicts(items, verdicts)?;
        self.tiles(items, verdicts);
        Ok(())
    }

    fn tiles(&mut self, items: &[Item<'_, P>], verdicts: &mut [Result<(), Error>]) {
        let (kernels, worker) = (Kernels::of(self.backend), &mut self.workers[0]);
        for (items, verdicts) in items.chunks(TILE).zip(verdicts.chunks_mut(TILE)) {
            worker.tile(kernels, items, verdicts);
        }
    }

    /// Verifies items up to the first invalid one.
    ///
    /// # Errors
    /// [`BatchError::Invalid`] with the first invalid item. All items before it are valid, and the items after
    /// it are not checked. [`BatchError::Empty`] if there are no items.
    pub fn verify_all(&mut self, items: &[Item<'_, P>]) -> Result<(), BatchError> {
        if items.is_empty() {
            return Err(BatchError::Empty);
        }
        match self.workers[0].first_failure(Kernels::of(self.backend), items) {
            Some((index, reason)) => Err(BatchError::Invalid { index, reason }),
            None => Ok(()),
        }
    }

    /// The kernels, and workers for `threads` threads.
    #[cfg(feature = "rayon")]
    pub(crate) fn workers(&mut self, threads: usize) -> (Kernels, &mut [Worker]) {
        while self.workers.len() < threads {
            self.workers.push(Worker::new(self.capacity));
        }
        (Kernels::of(self.backend), &mut self.workers[..threads])
    }
}

/// Checks that the number of verdicts is the number of items.
pub(crate) fn check_verdicts<P: Params>(
    items: &[Item<'_, P>],
    verdicts: &[Result<(), Error>],
) -> Result<(), BatchError> {
    let (expected, found) = (items.len(), verdicts.len());
    if found == expected {
        Ok(())
    } else {
        Err(BatchError::Verdicts { found, expected })
    }
}

impl<P: Params> Default for BatchVerifier<P> {
    fn default() -> Self {
        Self::new()
    }
}

impl<P: Params> fmt::Debug for BatchVerifier<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BatchVerifier")
            .field("set", &P::NAME)
            .field("backend", &self.backend.name())
            .field("keys", &self.capacity)
            .finish_non_exhaustive()
    }
}
