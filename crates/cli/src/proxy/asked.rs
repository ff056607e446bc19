//! A request while it is searched for: its vectors one by one, and who waits for them.

use super::request::Wanted;
use super::results::Hit;
use crate::Error;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use tokio::sync::oneshot;

/// The results for each vector of a request, and the oldest version that any of them is of.
pub(super) struct Answer {
    pub(super) version: u64,
    pub(super) found: Vec<Vec<Hit>>,
}

pub(super) type Reply = Result<Answer, Error>;

/// There are too many requests, a reply was wrong, or there is no thread any more.
pub(super) enum Refused {
    Busy,
    Wrong,
    Ended,
}

/// A request, some of whose vectors may be searched for already.
pub(super) struct Asked {
    pub(super) wanted: Wanted,
    pub(super) end: Instant,
    state: Mutex<State>,
    /// Set when it ends after a reply that was wrong, and not before: a server would see of which vector it was.
    refused: Arc<AtomicBool>,
}

/// The results for a vector, and the version that they are of; or that what the server sent was wrong.
type Found = Result<(Vec<Hit>, u64), Error>;

struct State {
    /// The vector that is searched for next.
    next: usize,
    found: Vec<Option<Found>>,
    /// A reply was wrong.
    wrong: bool,
    /// None when it is answered.
    reply: Option<oneshot::Sender<Reply>>,
}

impl Asked {
    /// A request for which nothing was searched yet, and where its answer comes.
    pub(super) fn new(
        wanted: Wanted,
        end: Instant,
        refused: Arc<AtomicBool>,
    ) -> (Self, oneshot::Receiver<Reply>) {
        let (reply, answer) = oneshot::channel();
        let state = State {
            next: 0,
            found: wanted.vectors.iter().map(|_| None).collect(),
            wrong: false,
            reply: Some(reply),
        };
        let asked = Self {
            wanted,
            end,
            state: Mutex::new(state),
            refused,
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

    /// Keeps what was found for a vector, and answers if it was the last, or failed. Where the server does not know that it
    /// failed the other vectors are searched for all the same, or it would see which one it was.
    pub(super) fn put(&self, at: usize, found: Found) {
        let mut state = self.state();
        state.wrong |= found.as_ref().is_err_and(Error::is_wrong);
        let answer = match found {
            Err(error) if !error.is_unseen() => Err(match state.wrong {
                true => error.after_wrong(),
                false => error,
            }),
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
        self.ended(&state);
        if let Some(reply) = state.reply.take() {
            // Whoever waited may be gone.
            drop(reply.send(answer));
        }
    }

    /// Remembers a wrong reply when there is nothing more to be sent.
    fn ended(&self, state: &State) {
        if state.wrong && !self.refused.swap(true, Ordering::Relaxed) {
            tracing::error!(
                "a reply was refused: nothing is searched any more until the proxy is started anew"
            );
        }
    }
}

impl Drop for Asked {
    /// Whoever asked may have gone before the last vector was searched for.
    fn drop(&mut self) {
        self.ended(&self.state());
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
        Asked::new(wanted.unwrap(), Instant::now(), Arc::default())
    }

    #[test]
    fn a_wrong_reply_ends_a_request_when_all_its_vectors_were_searched_for() {
        let (asked, mut answer) = asked();
        asked.put(1, Err(Error::Search(Search::Search)));
        assert!(!asked.is_over());
        asked.put(0, Ok((Vec::new(), 3)));
        assert!(!asked.is_over() && answer.try_recv().is_err());
        assert!(!asked.refused.load(Ordering::Relaxed));
        asked.put(2, Ok((Vec::new(), 3)));
        assert!(asked.is_over() && asked.refused.load(Ordering::Relaxed));
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

    #[test]
    fn a_wrong_reply_is_remembered_when_its_request_has_ended_in_any_way() {
        let busy = || Error::Search(Search::Transport("busy".into()));
        for (then, wrong) in [
            (None, false),
            (None, true),
            (Some(busy()), false),
            (Some(busy()), true),
        ] {
            let (asked, answer) = asked();
            let refused = Arc::clone(&asked.refused);
            let reply = match wrong {
                true => Err(Error::Search(Search::Search)),
                false => Ok((Vec::new(), 3)),
            };
            asked.put(0, reply);
            match then {
                Some(error) => asked.put(1, Err(error)),
                None => drop(answer),
            }
            drop(asked);
            assert_eq!(refused.load(Ordering::Relaxed), wrong);
        }
    }
}
