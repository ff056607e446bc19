//! A request while it is searched for: its vectors one by one, and who waits for them.

use super::request::Wanted;
use super::results::{Answer, Hit};
use crate::Error;
use sordino_search::{Error as Search, SearchBatch};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::oneshot;

pub(super) type Reply = Result<Answer, Error>;

/// There are too many requests, a reply was bad, or there is no thread any more.
pub(super) enum Rejection {
    Busy,
    Wrong,
    Ended,
}

/// A request, some of whose vectors may be searched for already.
pub(super) struct Job {
    pub(super) wanted: Wanted,
    pub(super) batch: SearchBatch,
    state: Mutex<State>,
}

/// The results for a vector, and the version that they are of.
type Found = Result<(Vec<Hit>, u64), Search>;

struct State {
    /// The vector that is searched for next.
    next: usize,
    found: Vec<Option<Found>>,
    /// None when it is answered.
    reply: Option<oneshot::Sender<Reply>>,
}

impl Job {
    /// A request for which nothing was searched yet, and where its answer comes.
    pub(super) fn new(wanted: Wanted, batch: SearchBatch) -> (Self, oneshot::Receiver<Reply>) {
        let (reply, answer) = oneshot::channel();
        let state = State {
            next: 0,
            found: wanted.vectors.iter().map(|_| None).collect(),
            reply: Some(reply),
        };
        let asked = Self {
            wanted,
            batch,
            state: Mutex::new(state),
        };
        (asked, answer)
    }

    /// The place of the next vector to be searched for.
    pub(super) fn next(&self) -> usize {
        let mut state = self.state();
        state.next += 1;
        state.next - 1
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// True if nobody waits for it any more.
    pub(super) fn is_over(&self) -> bool {
        let state = self.state();
        state.reply.as_ref().is_none_or(oneshot::Sender::is_closed)
    }

    /// Keeps what was found for a vector, and answers if it was the last, or failed in a way that the server knows of. For any other
    /// failure the other vectors are searched for all the same.
    pub(super) fn put(&self, at: usize, found: Found) {
        let mut state = self.state();
        let failed = found
            .as_ref()
            .err()
            .is_some_and(|error| error.seen().is_some());
        state.found[at] = Some(found);
        if !failed && !state.found.iter().all(Option::is_some) {
            return;
        }
        let found: Vec<_> = state.found.iter_mut().map(Option::take).collect();
        let answer = self.batch.outcome(found.into_iter().flatten());
        let answer = answer.map(|found| {
            let (found, versions): (Vec<_>, Vec<_>) = found.into_iter().unzip();
            let version = versions.into_iter().min().unwrap_or_default();
            Answer { version, found }
        });
        let answer = answer.map_err(|error| self.wanted.named(at, error.into()));
        self.answer(&mut state, answer);
    }

    /// Answers without a search.
    pub(super) fn end(&self, error: Error) {
        self.answer(&mut self.state(), Err(error));
    }

    fn answer(&self, state: &mut State, answer: Reply) {
        // Before anybody can ask for more.
        self.batch.close();
        if let Some(reply) = state.reply.take() {
            // The one who waited may be gone.
            drop(reply.send(answer));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proxy::request::Shape;
    use sordino_search::Kind;

    fn busy() -> Search {
        Search::transport(Kind::Busy, "busy")
    }

    fn asked() -> (Job, oneshot::Receiver<Reply>) {
        let body = br#"{"vectors": [[1.0], [2.0], [3.0]]}"#;
        let wanted = Wanted::read(body, Shape { dim: 1, k: 1 });
        Job::new(wanted.unwrap(), SearchBatch::default())
    }

    #[test]
    fn a_bad_reply_ends_a_request_when_all_its_vectors_were_searched_for() {
        let (asked, mut answer) = asked();
        asked.put(1, Err(Search::BadReply));
        assert!(!asked.is_over());
        asked.put(0, Ok((Vec::new(), 3)));
        assert!(!asked.is_over() && answer.try_recv().is_err());
        asked.put(2, Ok((Vec::new(), 3)));
        assert!(asked.is_over());
        let error = answer.try_recv().unwrap().err();
        assert!(matches!(error, Some(Error::Search(Search::BadReply))));
    }

    #[test]
    fn a_refusal_ends_it_at_once_and_a_bad_reply_before_it_is_told() {
        for bad in [false, true] {
            let (asked, mut answer) = asked();
            if bad {
                asked.put(0, Err(Search::BadReply));
            }
            asked.put(1, Err(busy()));
            assert!(asked.is_over());
            let Err(Error::Search(error)) = answer.try_recv().unwrap() else {
                panic!("expected an error of the search");
            };
            assert_eq!((error.kind(), error.is_bad_reply()), (Kind::Busy, bad));
        }
    }
}
