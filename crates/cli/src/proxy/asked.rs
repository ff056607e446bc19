//! A request while it is searched for: its vectors one by one, and who waits for them.

use super::request::Wanted;
use super::results::Hit;
use crate::Error;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use tokio::sync::oneshot;

/// The results for each vector of a request, and the oldest version that any of them is of.
pub(super) struct Answer {
    pub(super) version: u64,
    pub(super) found: Vec<Vec<Hit>>,
}

pub(super) type Reply = Result<Answer, Error>;

/// A request, some of whose vectors may be searched for already.
pub(super) struct Asked {
    pub(super) wanted: Wanted,
    pub(super) end: Instant,
    state: Mutex<State>,
}

/// The results for a vector, and the version that they are of; or that what the server sent was wrong.
type Found = Result<(Vec<Hit>, u64), Error>;

struct State {
    /// The vector that is searched for next.
    next: usize,
    found: Vec<Option<Found>>,
    /// None when it is answered.
    reply: Option<oneshot::Sender<Reply>>,
}

impl Asked {
    /// A request for which nothing was searched yet, and where its answer comes.
    pub(super) fn new(wanted: Wanted, end: Instant) -> (Self, oneshot::Receiver<Reply>) {
        let (reply, answer) = oneshot::channel();
        let state = State {
            next: 0,
            found: wanted.vectors.iter().map(|_| None).collect(),
            reply: Some(reply),
        };
        let state = Mutex::new(state);
        (Self { wanted, end, state }, answer)
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

    /// Keeps what was found for a vector, and answers if it was the last, or failed. Where the server does not know that it
    /// failed the other vectors are searched for all the same, or it would see which one it was.
    pub(super) fn put(&self, at: usize, found: Found) {
        let mut state = self.state();
        let answer = match found {
            Err(error) if !error.is_unseen() => {
                let wrong = |found: &Option<Found>| matches!(found, Some(Err(_)));
                Err(match state.found.iter().any(wrong) {
                    true => error.after_wrong(),
                    false => error,
                })
            }
            found => {
                state.found[at] = Some(found);
                if !state.found.iter().all(Option::is_some) {
                    return;
                }
                let found = state.found.drain(..).flatten();
                found.collect::<Result<Vec<_>, _>>().map(|found| {
                    let (found, versions): (Vec<_>, Vec<_>) = found.into_iter().unzip();
                    let version = versions.into_iter().min().unwrap_or_default();
                    Answer { version, found }
                })
            }
        };
        if let Some(reply) = state.reply.take() {
            // Whoever waited may be gone.
            drop(reply.send(answer));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proxy::request::Shape;
    use sordino_search::Error as Search;

    fn asked() -> (Asked, oneshot::Receiver<Reply>) {
        let body = br#"{"vectors": [[1.0], [2.0], [3.0]]}"#;
        let wanted = Wanted::read(body, Shape { dim: 1, k: 1 });
        Asked::new(wanted.unwrap(), Instant::now())
    }

    #[test]
    fn a_wrong_reply_ends_a_request_when_all_its_vectors_were_searched_for() {
        let (asked, mut answer) = asked();
        asked.put(1, Err(Error::Search(Search::Search)));
        assert!(!asked.is_over());
        asked.put(0, Ok((Vec::new(), 3)));
        assert!(!asked.is_over() && answer.try_recv().is_err());
        asked.put(2, Ok((Vec::new(), 3)));
        assert!(asked.is_over());
        let error = answer.try_recv().unwrap().err();
        assert!(matches!(error, Some(Error::Search(Search::Search))));
    }

    #[test]
    fn a_refusal_ends_it_at_once() {
        let refused = || Search::Transport("busy".into());
        for error in [refused(), Search::Wrong(Box::new(refused()))] {
            let (asked, mut answer) = asked();
            asked.put(1, Err(Error::Search(error)));
            assert!(asked.is_over());
            assert!(answer.try_recv().unwrap().is_err());
        }
    }
}
