//! A request in progress. Its vectors are searched one by one, and its caller waits for the answer.

use crate::error::Error;
use crate::request::SearchRequest;
use crate::results::{Answer, Hit};
use sordino_reader::{Error as Search, SearchBatch};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::oneshot;

pub(crate) type Reply = Result<Answer, Error>;

/// A request. Some of its vectors may already be in progress.
pub(crate) struct Job {
    pub(crate) request: SearchRequest,
    pub(crate) batch: SearchBatch,
    state: Mutex<State>,
}

/// The results for a vector, and the index version that they belong to.
type Outcome = Result<(Vec<Hit>, u64), Search>;

struct State {
    /// The number of the next vector to search for.
    next: usize,
    outcomes: Vec<Option<Outcome>>,
    /// `None` after the request was answered.
    reply: Option<oneshot::Sender<Reply>>,
}

impl Job {
    /// A new request, and the channel that receives its answer.
    pub(crate) fn new(
        request: SearchRequest,
        batch: SearchBatch,
    ) -> (Self, oneshot::Receiver<Reply>) {
        let (reply, answer) = oneshot::channel();
        let state = State {
            next: 0,
            outcomes: request.vectors.iter().map(|_| None).collect(),
            reply: Some(reply),
        };
        let job = Self {
            request,
            batch,
            state: Mutex::new(state),
        };
        (job, answer)
    }

    /// The position of the next vector to search for.
    pub(crate) fn next(&self) -> usize {
        let mut state = self.state();
        state.next += 1;
        state.next - 1
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// True if no one waits for the answer any more.
    pub(crate) fn is_over(&self) -> bool {
        let state = self.state();
        state.reply.as_ref().is_none_or(oneshot::Sender::is_closed)
    }

    /// Stores the results for a vector. Answers the request if this was its last vector, or if the search failed and
    /// the server knows about the failure. After any other failure, the threads still search for the other vectors.
    pub(crate) fn put(&self, at: usize, outcome: Outcome) {
        let mut state = self.state();
        let failed = outcome
            .as_ref()
            .err()
            .is_some_and(|error| error.seen().is_some());
        state.outcomes[at] = Some(outcome);
        if !failed && !state.outcomes.iter().all(Option::is_some) {
            return;
        }
        let outcomes: Vec<_> = state.outcomes.iter_mut().map(Option::take).collect();
        let answer = self.batch.outcome(outcomes.into_iter().flatten());
        let answer = answer.map(|found| {
            let (found, versions): (Vec<_>, Vec<_>) = found.into_iter().unzip();
            let version = versions.into_iter().min().unwrap_or_default();
            Answer { version, found }
        });
        let answer = answer.map_err(|error| self.request.error(at, error.into()));
        self.answer(&mut state, answer);
    }

    /// Answers without a search.
    pub(crate) fn end(&self, error: Error) {
        self.answer(&mut self.state(), Err(error));
    }

    fn answer(&self, state: &mut State, answer: Reply) {
        // The batch is closed before the caller can send another request.
        self.batch.close();
        if let Some(reply) = state.reply.take() {
            // The send fails if the caller is gone.
            drop(reply.send(answer));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::Shape;
    use sordino_reader::Kind;

    fn busy() -> Search {
        Search::transport(Kind::Busy, "busy")
    }

    fn job() -> (Job, oneshot::Receiver<Reply>) {
        let body = br#"{"vectors": [[1.0], [2.0], [3.0]]}"#;
        let request = SearchRequest::read(body, Shape { dim: 1, k: 1 });
        Job::new(request.unwrap(), SearchBatch::default())
    }

    #[test]
    fn a_bad_reply_ends_a_request_when_all_its_vectors_were_searched_for() {
        let (job, mut answer) = job();
        job.put(1, Err(Search::BadReply));
        assert!(!job.is_over());
        job.put(0, Ok((Vec::new(), 3)));
        assert!(!job.is_over() && answer.try_recv().is_err());
        job.put(2, Ok((Vec::new(), 3)));
        assert!(job.is_over());
        let error = answer.try_recv().unwrap().err();
        assert!(matches!(error, Some(Error::Search(Search::BadReply))));
    }

    #[test]
    fn a_refusal_ends_it_at_once_and_a_bad_reply_before_it_is_told() {
        for bad in [false, true] {
            let (job, mut answer) = job();
            if bad {
                job.put(0, Err(Search::BadReply));
            }
            job.put(1, Err(busy()));
            assert!(job.is_over());
            let Err(Error::Search(error)) = answer.try_recv().unwrap() else {
                panic!("expected an error of the search");
            };
            assert_eq!((error.kind(), error.is_bad_reply()), (Kind::Busy, bad));
        }
    }
}
