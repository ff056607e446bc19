//! Searches that belong together, such as the searches of one command, one call or one request.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;

use sordino_index::{Error, Kind};

use crate::latch::{Latch, graver};

/// Searches that belong together.
///
/// # Security
/// After a bad reply the other searches of the batch are still made, and so are searches of other batches that have begun. So a
/// server cannot observe an end that it caused. When the batch is dropped, its session begins no other batch. The
/// caller drops the batch after the last search, whatever the outcomes.
#[derive(Debug, Default)]
pub struct SearchBatch {
    /// True if the server knows of the error for which the remaining searches are not made.
    failed: AtomicBool,
    stopped: Arc<AtomicBool>,
    bad: AtomicBool,
    /// The flag of the session.
    distrusted: Arc<AtomicBool>,
    /// The end of attempts, instead of the session's time.
    pub(super) end: Option<Instant>,
}

impl SearchBatch {
    pub(super) fn of(distrusted: &Arc<AtomicBool>) -> Self {
        let mut batch = Self::default();
        batch.distrusted = Arc::clone(distrusted);
        batch
    }

    /// Sets a moment at which attempts end, instead of the session's time.
    #[must_use]
    pub fn until(mut self, end: Instant) -> Self {
        self.end = Some(end);
        self
    }

    /// Ends the batch when this is set: no search begins from then on, and none is repeated.
    #[must_use]
    pub fn stopped_by(mut self, stop: &Arc<AtomicBool>) -> Self {
        self.stopped = Arc::clone(stop);
        self
    }

    /// True if no more searches of the batch may be made: it was stopped, or one has failed in a way that the server knows.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.is_stopped() || self.failed.load(Ordering::Relaxed)
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// Records how a search ended. A question that no index could answer does not end the batch.
    pub fn note<T>(&self, found: &Result<T, Error>) {
        let Err(error) = found else {
            return;
        };
        if error.is_bad_reply() {
            self.bad.store(true, Ordering::Relaxed);
        }
        if error.seen().is_some() && error.kind() != Kind::Local {
            self.failed.store(true, Ordering::Relaxed);
        }
    }

    /// The results of the searches, or the most serious of their errors.
    ///
    /// # Errors
    /// An error of a search: the first among the most serious. After a bad reply, the error reports that, too.
    pub fn outcome<T>(
        &self,
        found: impl IntoIterator<Item = Result<T, Error>>,
    ) -> Result<Vec<T>, Error> {
        let (mut all, mut told) = (Vec::new(), None);
        for one in found {
            match one {
                Ok(one) => all.push(one),
                Err(error) => {
                    told = Some(match told {
                        None => error,
                        Some(told) => graver(told, error),
                    });
                }
            }
        }
        let mut latch = Latch::default();
        if self.bad.load(Ordering::Relaxed) {
            latch.ended::<()>(&Err(Error::BadReply));
        }
        latch.outcome(told.map_or(Ok(all), Err))
    }

    /// If a reply of this batch was bad, the session begins no other batch. Dropping the batch calls this after the last search.
    pub fn close(&self) {
        if self.bad.load(Ordering::Relaxed) {
            self.distrusted.store(true, Ordering::Relaxed);
        }
    }

    /// Calls `search` for each number below `count`, on one thread for each of `rooms`, which it gets as working memory. Returns
    /// the results in order.
    ///
    /// # Errors
    /// The error of [`outcome`](Self::outcome); [`Error::Transport`] if the batch was stopped before the last search.
    pub fn all<S: Send, T: Send>(
        &self,
        rooms: Vec<S>,
        count: usize,
        search: impl Fn(&mut S, usize) -> Result<T, Error> + Sync,
    ) -> Result<Vec<T>, Error> {
        let next = AtomicUsize::new(0);
        let some = |mut room: S| {
            let mut found = Vec::new();
            while !self.is_over() {
                let at = next.fetch_add(1, Ordering::Relaxed);
                if at >= count {
                    break;
                }
                let one = search(&mut room, at);
                self.note(&one);
                if one.as_ref().is_err_and(|error| error.seen().is_some()) {
                    next.store(count, Ordering::Relaxed);
                }
                found.push((at, one));
            }
            found
        };
        let mut found: Vec<_> = std::thread::scope(|scope| {
            let some = &some;
            let threads: Vec<_> = rooms
                .into_iter()
                .map(|room| scope.spawn(move || some(room)))
                .collect();
            let found = threads.into_iter().map(|thread| {
                let found = thread.join();
                found.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            });
            found.flatten().collect()
        });
        found.sort_by_key(|(at, _)| *at);
        let found = self.outcome(found.into_iter().map(|(_, one)| one))?;
        match found.len() == count {
            true => Ok(found),
            false => Err(Error::transport(Kind::Local, "the searches were stopped")),
        }
    }
}

impl Drop for SearchBatch {
    fn drop(&mut self) {
        self.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn busy() -> Error {
        Error::transport(Kind::Busy, "busy")
    }

    #[test]
    fn a_bad_reply_ends_nothing_before_the_last_search() {
        let distrusted = Arc::default();
        let batch = SearchBatch::of(&distrusted);
        let found = batch.all(vec![(); 2], 20, |(), at| match at {
            3 => Err(Error::BadReply),
            at => Ok(at),
        });
        assert!(matches!(found, Err(Error::BadReply)));
        assert!(!batch.is_over() && !distrusted.load(Ordering::Relaxed));
        drop(batch);
        assert!(distrusted.load(Ordering::Relaxed));
    }

    #[test]
    fn an_error_that_the_server_knows_of_ends_it_and_is_told_with_a_bad_reply() {
        for (bad, first) in [(false, 4), (true, 4), (true, 1)] {
            let distrusted = Arc::default();
            let batch = SearchBatch::of(&distrusted);
            let searched = AtomicUsize::new(0);
            let found = batch.all(vec![()], 20, |(), at| {
                searched.fetch_add(1, Ordering::Relaxed);
                match at {
                    3 if bad => Err(Error::BadReply),
                    at if at == first => Err(busy()),
                    at => Ok(at),
                }
            });
            let error = found.unwrap_err();
            assert_eq!(error.kind(), Kind::Busy);
            assert_eq!(error.is_bad_reply(), bad && first > 3);
            assert_eq!(searched.into_inner(), first + 1);
            assert!(batch.is_over());
        }
    }

    #[test]
    fn a_question_that_is_no_question_ends_no_other() {
        let batch = SearchBatch::default();
        batch.note::<()>(&Err(Error::Results { k: 9, most: 3 }));
        assert!(!batch.is_over());
        batch.note::<()>(&Err(busy().after_bad_reply()));
        assert!(batch.is_over());
        assert!(batch.outcome([Ok(())]).unwrap_err().is_bad_reply());
    }

    #[test]
    fn a_batch_that_was_stopped_says_so() {
        let batch = SearchBatch::default().stopped_by(&Arc::new(true.into()));
        let found = batch.all(vec![()], 1, |(), _| Ok(()));
        assert!(found.unwrap_err().to_string().contains("stopped"));
    }
}
