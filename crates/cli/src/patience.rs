//! Waiting for a server that is not there yet, or busy.

use crate::Error;
use sordino_search::Error as Search;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The first pause, and the longest: each is twice the one before.
const FIRST: Duration = Duration::from_millis(50);
const LONGEST: Duration = Duration::from_secs(1);

/// Changes of the index during which connecting begins anew.
const CHANGES: usize = 5;

/// Tries work again while what it fails for may pass: the server cannot be reached, is busy, refuses for a
/// rate, or has an index that changes faster than it is read.
///
/// # Security
/// The work draws fresh secrets each time, so nothing links two attempts but the time; the pauses
/// depend on the errors of the network alone.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    /// The time after which it gives up.
    wait: Duration,
}

impl Patience {
    pub(crate) fn new(wait: Duration) -> Self {
        Self { wait }
    }

    /// Does the work until it succeeds, cannot succeed, or has taken too long. Where a reply was wrong before a refusal it is
    /// done again all the same, and has then failed, however it ends.
    pub(crate) fn with<T>(self, mut work: impl FnMut() -> Result<T, Error>) -> Result<T, Error> {
        let (start, mut pause) = (Instant::now(), FIRST);
        let mut wrong = false;
        loop {
            let error = match work() {
                Ok(_) if wrong => return Err(Error::Search(Search::Search)),
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
            tracing::debug!(%error, "trying again");
            // So many clients that were refused together do not come back together.
            let part = rand::random_range(0.5..1.0);
            sleep(pause.mul_f64(part).min(left));
            pause = (2 * pause).min(LONGEST);
        }
    }
}

/// Connects, and begins anew if the index changes meanwhile.
pub(crate) fn while_it_changes<T>(
    mut connect: impl FnMut() -> Result<T, Search>,
) -> Result<T, Search> {
    for _ in 1..CHANGES {
        match connect() {
            Err(Search::Stale { .. }) => (),
            result => return result,
        }
    }
    connect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use sordino_net::Refusal;

    fn busy() -> Error {
        Error::Net(sordino_net::Error::Refused(Refusal::Busy))
    }

    #[test]
    fn work_is_done_again_while_its_error_may_pass() {
        let attempts = |wait: Duration, passing: usize, error: fn() -> Error| {
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
        assert_eq!(attempts(long, 3, busy), (true, 4));
        assert_eq!(attempts(Duration::ZERO, 3, busy), (false, 1));
        let wrong = || Error::Search(Search::Signature);
        assert_eq!(attempts(long, 3, wrong), (false, 1));
    }

    #[test]
    fn a_changing_index_is_connected_to_anew_a_few_times() {
        let connect = |changes: usize| {
            let mut count = 0;
            let done = while_it_changes(|| {
                count += 1;
                let (found, serving) = (1, 2);
                if count > changes {
                    Ok(())
                } else {
                    Err(Search::Stale { found, serving })
                }
            });
            (done.is_ok(), count)
        };
        assert_eq!(connect(0), (true, 1));
        assert_eq!(connect(4), (true, 5));
        assert_eq!(connect(1000), (false, 5));
    }
}
