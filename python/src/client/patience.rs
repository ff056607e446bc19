//! Waiting for a server that has too many requests, or that is asked too often.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use sordino_net::{Error as Net, Refusal};
use sordino_search::Error;

/// The pause after a first refusal, and the longest.
const FIRST: Duration = Duration::from_millis(50);
const LONGEST: Duration = Duration::from_secs(2);

/// The pause between looks for Ctrl-C.
const TICK: Duration = Duration::from_millis(20);

/// The pauses of one client, which its searches share: while one waits, the others save up what the server allows.
///
/// # Security
/// Refusals alone decide when a search is made again, and what it sends is drawn afresh.
pub(super) struct Patience {
    /// The time that one call waits at most, from its first refusal on.
    limit: Duration,
    pause: Mutex<Pause>,
}

struct Pause {
    length: Duration,
    end: Instant,
}

impl Patience {
    pub(super) fn new(limit: Duration) -> Self {
        let pause = Pause {
            length: FIRST,
            end: Instant::now(),
        };
        Self {
            limit,
            pause: Mutex::new(pause),
        }
    }

    fn pause(&self) -> MutexGuard<'_, Pause> {
        self.pause.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the end of a pause, if there is one. False if `stop` was set meanwhile.
    pub(super) fn wait(&self, stop: &AtomicBool) -> bool {
        loop {
            let left = self.pause().end.saturating_duration_since(Instant::now());
            if stop.load(Ordering::Relaxed) {
                return false;
            }
            if left.is_zero() {
                return true;
            }
            std::thread::sleep(left.min(TICK));
        }
    }

    /// After a refusal: begins a pause, and waits for its end. False where the call has waited as long as it may since
    /// `first`, the moment of its first refusal, or is to stop.
    pub(super) fn refused(&self, first: &mut Option<Instant>, stop: &AtomicBool) -> bool {
        let now = Instant::now();
        let waited = now.saturating_duration_since(*first.get_or_insert(now));
        if waited >= self.limit {
            return false;
        }
        {
            let mut pause = self.pause();
            // Requests that were under way when the pause began are refused within it.
            if now >= pause.end {
                // Clients that were refused together do not come back together.
                let part = rand::random_range(0.5..1.0);
                pause.end = now + pause.length.mul_f64(part).min(self.limit - waited);
                pause.length = (pause.length * 2).min(LONGEST);
            }
        }
        self.wait(stop)
    }

    /// Does `ask`, and again while the server refuses it for this.
    pub(super) fn asking<T>(
        &self,
        stop: &AtomicBool,
        mut ask: impl FnMut() -> Result<T, Error>,
    ) -> Result<T, Error> {
        let mut first = None;
        loop {
            self.wait(stop);
            match ask() {
                Err(error) if is_busy(&error) && self.refused(&mut first, stop) => (),
                done => return done,
            }
        }
    }

    /// After an answer: the next pause is shorter.
    pub(super) fn answered(&self) {
        let mut pause = self.pause();
        pause.length = (pause.length / 2).max(FIRST);
    }
}

/// True if the server has too many requests, of all or of this client.
pub(super) fn is_busy(error: &Error) -> bool {
    let Error::Transport(error) = error else {
        return false;
    };
    let error = error.downcast_ref::<Net>();
    matches!(error, Some(Net::Refused(Refusal::Rate | Refusal::Busy)))
}
