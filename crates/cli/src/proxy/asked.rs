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
            Err(error) if !error.is_unseen() => Err(error),
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
