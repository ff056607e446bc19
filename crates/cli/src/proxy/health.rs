//! The health of a proxy: it can answer searches, or not.

use super::problem::Problem;
use crate::Error;
use sordino_search::Error as Search;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The time for which the proxy is not ready after a search that failed for good. A balancer sends no more searches to
/// what is not ready, and nothing would see it mended otherwise.
const TROUBLE: Duration = Duration::from_secs(60);

/// The health of a proxy.
#[derive(Clone)]
pub(super) enum Health {
    Serving,
    /// The last search failed for what only a person mends. Others are tried all the same.
    Trouble {
        since: Instant,
        problem: Problem,
    },
    /// The same, of an index that is here as a whole, as long as looks for a new version find it: searches fail with this message
    /// and exit code.
    Lapsed {
        problem: Problem,
        message: String,
        code: u8,
    },
}

/// The health by the call that began last, of those that say something of the next.
pub(super) struct Condition(Mutex<(Instant, Health)>);

impl Default for Condition {
    fn default() -> Self {
        Self(Mutex::new((Instant::now(), Health::Serving)))
    }
}

impl Condition {
    fn lock(&self) -> MutexGuard<'_, (Instant, Health)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn now(&self) -> Health {
        self.lock().1.clone()
    }

    /// Why no search can be answered.
    pub(super) fn trouble(&self) -> Option<Problem> {
        match self.now() {
            Health::Serving => None,
            Health::Trouble { since, problem } => (since.elapsed() < TROUBLE).then_some(problem),
            Health::Lapsed { problem, .. } => Some(problem),
        }
    }

    /// Notes how a search ended. One that is the question's fault, or that may do better when it is asked again, says nothing of
    /// the next.
    pub(super) fn searched<T>(&self, begun: Instant, found: &Result<T, Search>) {
        // A server knows no more of a bad reply than that it answered.
        match found.as_ref().err().filter(|error| error.seen().is_some()) {
            None => self.put(begun, Health::Serving),
            Some(error) => {
                let problem = Problem::lasting(error);
                let trouble = problem.map(|problem| Health::Trouble {
                    since: Instant::now(),
                    problem,
                });
                self.failed(begun, trouble, error);
            }
        }
    }

    /// Notes how a look for a new version ended.
    pub(super) fn looked(&self, begun: Instant, looked: Result<bool, Search>) {
        match looked {
            Ok(_) => self.put(begun, Health::Serving),
            Err(error) => {
                let problem = Problem::lasting(&error);
                let text = error.to_string();
                let lapsed = problem.map(|problem| {
                    let error = Error::from(error);
                    Health::Lapsed {
                        problem,
                        message: error.to_string(),
                        code: error.exit_code(),
                    }
                });
                self.failed(begun, lapsed, &text);
            }
        }
    }

    fn failed(&self, begun: Instant, health: Option<Health>, error: &dyn std::fmt::Display) {
        let Some(health) = health else {
            return;
        };
        let before = self.trouble();
        self.put(begun, health);
        if self.trouble() != before {
            // A caller may be gone, and the log is where the reason is then.
            tracing::warn!(%error, "not ready");
        }
    }

    fn put(&self, begun: Instant, health: Health) {
        let mut last = self.lock();
        if last.0 <= begun {
            *last = (begun, health);
        }
    }
}
