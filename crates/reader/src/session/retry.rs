//! Decides when a call is repeated.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rand::RngExt;
use sordino_index::{Error, Kind};

use crate::latch::Latch;

/// The first pause, and the longest. Each pause is twice the one before.
const FIRST: Duration = Duration::from_millis(50);
const LONGEST: Duration = Duration::from_secs(2);

/// A pause may end later than planned, by at most this time.
const TICK: Duration = Duration::from_millis(20);

/// The number of changes of the index and restarts of the server that a call follows at once. After more of them, the server
/// counts as busy or away, so that it cannot keep a client occupied for ever.
const CHANGES: usize = 5;

/// How long a call is repeated, from its beginning on.
#[derive(Clone, Copy, Debug, Default)]
pub struct Retry {
    /// The time while the server has too many requests, in total or from this client.
    pub busy: Duration,
    /// The time while the client cannot reach the server.
    pub away: Duration,
}

impl Retry {
    /// Retries for the same time, whether the server is busy or cannot be reached.
    #[must_use]
    pub fn all(time: Duration) -> Self {
        Self {
            busy: time,
            away: time,
        }
    }
}

impl Retry {
    /// Does `work`, and repeats it while the error may pass and time is left. `work` must draw fresh secrets each time.
    ///
    /// # Errors
    /// The error of the last attempt.
    pub fn call<T>(self, mut work: impl FnMut() -> Result<T, Error>) -> Result<T, Error> {
        let (pauses, mut attempts) = (Pauses::new(self), Attempts::new());
        let mut latch = Latch::default();
        loop {
            let done = work();
            latch.ended(&done);
            let kind = done.as_ref().err().map(Error::kind);
            let again = kind.is_some_and(|kind| pauses.again(kind, &mut attempts, None, || false));
            if !again {
                return latch.outcome(done);
            }
        }
    }
}

/// The attempts at one call.
pub(crate) struct Attempts {
    begun: Instant,
    changes: usize,
}

impl Attempts {
    pub(crate) fn new() -> Self {
        Self {
            begun: Instant::now(),
            changes: 0,
        }
    }
}

/// The pauses of one session. Its calls share them: while one waits, the others do not use up the server's allowance.
///
/// # Security
/// They depend on the [kind](Kind) of errors that the server knows, never on a query or on a bad reply. An attempt draws fresh
/// secrets, so only its time links it to the one before.
pub(crate) struct Pauses {
    retry: Retry,
    pause: Mutex<Pause>,
}

struct Pause {
    length: Duration,
    end: Instant,
}

impl Pauses {
    pub(crate) fn new(retry: Retry) -> Self {
        let pause = Pause {
            length: FIRST,
            end: Instant::now(),
        };
        Self {
            retry,
            pause: Mutex::new(pause),
        }
    }

    fn pause(&self) -> MutexGuard<'_, Pause> {
        self.pause.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the end of a pause, if there is one. Returns false if the call must stop.
    pub(crate) fn wait(&self, is_stopped: impl Fn() -> bool) -> bool {
        loop {
            let left = self.pause().end.saturating_duration_since(Instant::now());
            if is_stopped() {
                return false;
            }
            if left.is_zero() {
                return true;
            }
            sleep(left.min(TICK));
        }
    }

    /// Called after an attempt that failed with an error of this kind. Waits, and returns true if the call is repeated. It does
    /// not wait beyond `end`, if there is one.
    pub(crate) fn again(
        &self,
        kind: Kind,
        attempts: &mut Attempts,
        end: Option<Instant>,
        is_stopped: impl Fn() -> bool,
    ) -> bool {
        if matches!(kind, Kind::Stale | Kind::Restarted) {
            attempts.changes += 1;
            if attempts.changes < CHANGES {
                return !is_stopped();
            }
        }
        if !kind.is_passing() {
            return false;
        }
        let now = Instant::now();
        let limit = match (end, kind) {
            (Some(end), _) => end,
            (None, Kind::Away | Kind::Restarted) => attempts.begun + self.retry.away,
            (None, _) => attempts.begun + self.retry.busy,
        };
        let left = limit.saturating_duration_since(now);
        if left.is_zero() {
            return false;
        }
        {
            let mut pause = self.pause();
            // Requests that were sent before the pause began are refused within it, and do not make it longer.
            if now >= pause.end {
                // The random part keeps clients that were refused together from coming back together.
                let part = rand::rng().random_range(0.5..1.0);
                pause.end = now + pause.length.mul_f64(part).min(left);
                pause.length = (pause.length * 2).min(LONGEST);
            }
        }
        self.wait(is_stopped)
    }

    /// After an answer, the next pause is shorter.
    pub(crate) fn answered(&self) {
        let mut pause = self.pause();
        pause.length = (pause.length / 2).max(FIRST);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn again(retry: Retry, kind: Kind, end: Option<Instant>) -> bool {
        Pauses::new(retry).again(kind, &mut Attempts::new(), end, || false)
    }

    #[test]
    fn only_what_may_pass_is_done_again_and_for_as_long_as_it_was_told() {
        let (long, none) = (Duration::from_secs(3600), Duration::ZERO);
        let (busy, away) = (
            Retry {
                busy: long,
                away: none,
            },
            Retry {
                busy: none,
                away: long,
            },
        );
        for (kind, with_busy, with_away) in [
            (Kind::Busy, true, false),
            (Kind::Away, false, true),
            (Kind::Stale, true, true),
            (Kind::Restarted, true, true),
            (Kind::Refused, false, false),
            (Kind::Untrusted, false, false),
            (Kind::Local, false, false),
        ] {
            assert_eq!(again(busy, kind, None), with_busy, "{kind:?}");
            assert_eq!(again(away, kind, None), with_away, "{kind:?}");
        }
        let now = Instant::now();
        assert!(again(Retry::default(), Kind::Away, Some(now + long)));
        assert!(!again(busy, Kind::Busy, Some(now)));
    }

    #[test]
    fn an_index_that_changes_is_followed_a_few_times_at_once() {
        let changes = |kind| {
            let (pauses, mut attempts) = (Pauses::new(Retry::default()), Attempts::new());
            (0..100)
                .take_while(|_| pauses.again(kind, &mut attempts, None, || false))
                .count()
        };
        assert_eq!(changes(Kind::Stale), CHANGES - 1);
        assert_eq!(changes(Kind::Restarted), CHANGES - 1);
    }

    #[test]
    fn a_pause_ends_when_the_call_is_to_stop() {
        let pauses = Pauses::new(Retry::all(Duration::from_secs(3600)));
        assert!(!pauses.again(Kind::Busy, &mut Attempts::new(), None, || true));
    }
}
