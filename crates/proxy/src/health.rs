//! The health of a proxy: whether it can answer searches.

use crate::error::Error;
use crate::problem::Problem;
use sordino_reader::{Error as Search, Kind};
use std::time::{Duration, Instant};

/// How long the proxy is not ready after a search that failed permanently. A load balancer sends no searches to a proxy that is
/// not ready, so without a limit nothing would show that the fault is gone.
const TROUBLE: Duration = Duration::from_secs(60);

/// The health of a proxy.
///
/// # Security
/// It has no state for a bad reply, because `/health` would tell a server that a reply was refused. The session remembers that.
pub(crate) enum Health {
    /// The proxy answers searches.
    Serving,
    /// The last search failed for a reason that only a person can fix. Other searches are still tried.
    Trouble { since: Instant, problem: Problem },
    /// The server could not be reached. Searches are still tried, and a watch notices its return.
    Absent,
    /// The last check for a new version failed for a reason that only a person can fix. The client holds this index as
    /// a whole. Searches fail with this message until a check succeeds.
    Outage {
        problem: Problem,
        message: String,
        kind: Kind,
    },
    /// No thread searches any more. This is permanent.
    Dead,
}

impl Health {
    /// The health after a search. `None` if the next search may end differently: the question was wrong, or a retry may succeed.
    pub(crate) fn after_search<T>(found: &Result<T, Search>) -> Option<Self> {
        // A server that sent a bad reply must not see from the health that the reply was noticed.
        match found.as_ref().err().filter(|error| error.seen().is_some()) {
            None => Some(Self::Serving),
            Some(error) if error.kind() == Kind::Away => Some(Self::Absent),
            Some(error) => Some(Self::Trouble {
                since: Instant::now(),
                problem: Problem::lasting(error)?,
            }),
        }
    }

    /// The health after the server was asked for its version. `None` if the answer says nothing about the next search.
    pub(crate) fn after_watch(seen: &Result<bool, Search>) -> Option<Self> {
        let error = seen.as_ref().err()?;
        (error.kind() == Kind::Away).then_some(Self::Absent)
    }

    /// The health after a check for a new version. `None` if the next check may end differently.
    pub(crate) fn after_look(look: &Result<bool, Search>) -> Option<Self> {
        match look {
            Ok(_) => Some(Self::Serving),
            Err(error) => Some(Self::Outage {
                problem: Problem::lasting(error)?,
                message: error.to_string(),
                kind: Error::search_kind(error),
            }),
        }
    }
}

/// The health, according to the call that began last among the calls that say something about the next one.
pub(crate) struct Condition {
    begun: Instant,
    health: Health,
}

impl Default for Condition {
    fn default() -> Self {
        Self {
            begun: Instant::now(),
            health: Health::Serving,
        }
    }
}

impl Condition {
    pub(crate) fn is_dead(&self) -> bool {
        matches!(self.health, Health::Dead)
    }

    /// The reason why the proxy cannot answer searches, if there is one.
    pub(crate) fn problem(&self) -> Option<Problem> {
        match &self.health {
            Health::Serving => None,
            Health::Trouble { since, problem } => {
                (since.elapsed() < TROUBLE).then(|| problem.clone())
            }
            Health::Absent => Some(Problem::absent()),
            Health::Outage { problem, .. } => Some(problem.clone()),
            Health::Dead => Some(Problem::ended()),
        }
    }

    /// The error for searches that are not tried.
    pub(crate) fn outage(&self) -> Option<Error> {
        match &self.health {
            Health::Outage { message, kind, .. } => Some(Error::Outage {
                message: message.clone(),
                kind: *kind,
            }),
            _ => None,
        }
    }

    /// Records the health after a call that began at that time. Returns true if the proxy cannot answer searches from now on, for
    /// a new reason.
    pub(crate) fn note(&mut self, begun: Instant, health: Health) -> bool {
        if begun < self.begun || self.is_dead() {
            return false;
        }
        let before = self.problem();
        *self = Self { begun, health };
        let now = self.problem();
        now.is_some() && now != before
    }

    /// True if the server could not be reached.
    pub(crate) fn is_absent(&self) -> bool {
        matches!(self.health, Health::Absent)
    }

    /// Notes that the server answered a call that began at this time.
    pub(crate) fn answered(&mut self, begun: Instant) {
        if self.is_absent() {
            self.note(begun, Health::Serving);
        }
    }

    /// Records that no thread searches any more.
    pub(crate) fn end(&mut self) {
        self.health = Health::Dead;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn revoked() -> Option<Health> {
        Health::after_search::<()>(&Err(Search::NoReader))
    }

    #[test]
    fn the_call_that_began_last_says_it() {
        let mut condition = Condition::default();
        let (early, late) = (Instant::now(), Instant::now() + Duration::from_secs(1));
        assert!(condition.note(late, revoked().unwrap()));
        assert!(!condition.note(late, revoked().unwrap()));
        assert!(!condition.note(early, Health::Serving));
        assert!(condition.problem().is_some() && condition.outage().is_none());
        assert!(!condition.note(late, Health::Serving));
        assert_eq!(condition.problem(), None);
    }

    #[test]
    fn a_failed_look_ends_searches_until_one_succeeds() {
        let mut condition = Condition::default();
        let outage = Health::after_look(&Err(Search::NoReader)).unwrap();
        assert!(condition.note(Instant::now(), outage));
        let error = condition.outage().unwrap();
        assert_eq!(error.to_string(), Search::NoReader.to_string());
        assert_eq!(error.kind(), Kind::Local);
        let serving = Health::after_look(&Ok(false)).unwrap();
        assert!(!condition.note(Instant::now(), serving));
        assert!(condition.outage().is_none());
    }

    #[test]
    fn a_bad_reply_changes_nothing_that_is_seen() {
        let bad = Health::after_search::<()>(&Err(Search::BadReply));
        assert!(matches!(bad, Some(Health::Serving)));
        assert!(Health::after_look(&Err(Search::BadReply)).is_none());
        let busy = Search::transport(Kind::Busy, "busy");
        assert!(Health::after_search::<()>(&Err(busy)).is_none());
    }

    #[test]
    fn a_server_that_is_absent_is_known_until_it_answers() {
        let away = || Err(Search::transport(Kind::Away, "gone"));
        let mut condition = Condition::default();
        let absent = Health::after_search::<()>(&away().map(|_: bool| ())).unwrap();
        assert!(condition.note(Instant::now(), absent));
        assert!(condition.is_absent() && condition.outage().is_none());
        assert_eq!(condition.problem(), Some(Problem::absent()));
        condition.answered(Instant::now());
        assert_eq!(condition.problem(), None);
        let absent = Health::after_watch(&away()).unwrap();
        assert!(condition.note(Instant::now(), absent));
        let begun = Instant::now();
        assert!(!condition.note(begun, Health::Serving));
        // An answer shows that the server can be reached, and repairs no other fault.
        assert!(condition.note(Instant::now(), revoked().unwrap()));
        condition.answered(Instant::now());
        assert!(condition.problem().is_some());
        assert!(Health::after_watch(&Ok(true)).is_none());
        assert!(Health::after_watch(&Err(Search::NoReader)).is_none());
    }

    #[test]
    fn threads_that_ended_do_not_come_back() {
        let mut condition = Condition::default();
        condition.end();
        assert!(!condition.note(Instant::now(), Health::Serving));
        assert!(condition.is_dead());
        assert_eq!(condition.problem(), Some(Problem::ended()));
    }
}
