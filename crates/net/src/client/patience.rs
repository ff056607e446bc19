//! Waiting for a server that is not there yet, or busy, or that has had too many requests.

use std::thread::sleep;
use std::time::{Duration, Instant};

use sordino_reader::Error as Search;

use crate::Error;

/// The first pause, and the longest: each is twice the one before.
const FIRST: Duration = Duration::from_millis(50);
const LONGEST: Duration = Duration::from_secs(1);

/// Tries work again while what it fails for may pass: the server cannot be reached, is busy, or refuses for a rate. A batch of
/// searches, each done so, waits for its turn at a server whose rate is lower.
///
/// # Security
/// The work draws fresh secrets each time, so nothing links two attempts but the time. Pauses and attempts
/// depend on the errors of the network alone, which the server knows: never on the query, nor on a reply that was wrong.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    wait: Duration,
}

/// An error of work that may be done again: that of a search, or one that has it inside.
pub trait Attempted: Sized {
    /// The same work, done again with fresh secrets, may well succeed a little later.
    fn is_passing(&self) -> bool;

    /// A reply was wrong, whatever came after it.
    fn is_wrong(&self) -> bool;

    /// This error after a reply that was wrong.
    fn after_wrong(self) -> Self;

    /// The error of a reply that was wrong.
    fn wrong() -> Self;
}

impl Attempted for Search {
    fn is_passing(&self) -> bool {
        match self.seen() {
            Some(Self::Transport(error)) => error.downcast_ref().is_some_and(Error::is_passing),
            _ => false,
        }
    }

    fn is_wrong(&self) -> bool {
        matches!(self, Self::Search | Self::Wrong(_))
    }

    fn after_wrong(self) -> Self {
        match self.is_wrong() {
            true => self,
            false => Self::Wrong(Box::new(self)),
        }
    }

    fn wrong() -> Self {
        Self::Search
    }
}

impl Patience {
    /// Gives up once this time has passed since the work began first. With none it is done once.
    #[must_use]
    pub fn new(wait: Duration) -> Self {
        Self { wait }
    }

    /// Does the work until it succeeds, cannot succeed, or has taken too long. Where a reply was wrong before a refusal it is
    /// done again all the same, and has then failed, however it ends.
    ///
    /// # Errors
    /// The last error of the work; [`Attempted::wrong`], if a reply was wrong before it succeeded.
    pub fn with<T, E: Attempted>(self, mut work: impl FnMut() -> Result<T, E>) -> Result<T, E> {
        let (start, mut pause) = (Instant::now(), FIRST);
        let mut wrong = false;
        loop {
            let error = match work() {
                Ok(_) if wrong => return Err(E::wrong()),
                Ok(done) => return Ok(done),
                Err(error) => error,
            };
            wrong |= error.is_wrong();
            let left = self.wait.saturating_sub(start.elapsed());
            if !error.is_passing() || left.is_zero() {
                return Err(match wrong {
                    true => error.after_wrong(),
                    false => error,
                });
            }
            // So many clients that were refused together do not come back together.
            let part = rand::random_range(0.5..1.0);
            sleep(pause.mul_f64(part).min(left));
            pause = (2 * pause).min(LONGEST);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Refusal;

    fn refused(refusal: Refusal) -> Search {
        Error::Refused(refusal).into()
    }

    #[test]
    fn work_is_done_again_while_its_error_may_pass() {
        let attempts = |wait: Duration, passing: usize, error: fn() -> Search| {
            let mut count = 0;
            let done = Patience::new(wait).with(|| {
                count += 1;
                if count > passing {
                    Ok(())
                } else {
                    Err(error())
                }
            });
            (done.is_ok(), count)
        };
        let long = Duration::from_secs(3600);
        assert_eq!(attempts(long, 3, || refused(Refusal::Rate)), (true, 4));
        assert_eq!(attempts(long, 1, || refused(Refusal::Busy)), (true, 2));
        let once = attempts(Duration::ZERO, 3, || refused(Refusal::Rate));
        assert_eq!(once, (false, 1));
        for error in [
            || Search::Signature,
            || Search::Search,
            || refused(Refusal::Share),
        ] {
            assert_eq!(attempts(long, 3, error), (false, 1), "{}", error());
        }
    }

    /// The server knows of the refusal alone, so the work is done again; it has failed all the same.
    #[test]
    fn a_wrong_reply_before_a_refusal_changes_no_attempt() {
        for wrong in [false, true] {
            let mut count = 0;
            let done = Patience::new(Duration::from_secs(3600)).with(|| {
                count += 1;
                match (count, wrong) {
                    (1, true) => Err(refused(Refusal::Rate).after_wrong()),
                    (1, false) => Err(refused(Refusal::Rate)),
                    _ => Ok(()),
                }
            });
            assert_eq!((done.is_err(), count), (wrong, 2));
        }
    }
}
