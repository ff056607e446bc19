//! The terms of one of several indexes: the clients that may use it, and its limits.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Instant;

use sordino_token::{Action, Grant};

use super::counts::Counts;
use super::counts::GaugeGuard;
use super::places::{Asker, InFlight, Places};
use super::rate::{Rate, Reservation, SharedRate};
use crate::signature::now;
use crate::{IndexName, Refusal};

/// The actions that a client can request.
const ASKED: [Action; 3] = [Action::Search, Action::Payload, Action::Download];

/// The lowest rate of steps of changes, per second. The burst is five times this. A push makes a step for each version
/// and each piece.
const STEPS: f64 = 100.0;

type Decide = dyn Fn(Option<&[u8; 32]>, Action) -> bool + Send + Sync;

/// The authorization policy of one index: what each client may do with it.
///
/// It is asked about each request, so it has to be quick. Look a decision up; do not ask another service for it.
#[derive(Clone)]
pub struct Policy(Arc<Decide>);

impl Policy {
    /// A policy that allows what `decide` says. `decide` gets the action and the digest of the client's public key, or
    /// `None` where anyone may ask. If a client shows a token that was handed on, `decide` is asked about each holder's
    /// key, and has to allow all. Actions are [`Search`](Action::Search), [`Payload`](Action::Payload) or
    /// [`Download`](Action::Download). A download of payloads needs the last two.
    #[must_use]
    pub fn new(decide: impl Fn(Option<&[u8; 32]>, Action) -> bool + Send + Sync + 'static) -> Self {
        Self(Arc::new(decide))
    }
}

impl fmt::Debug for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Policy").finish_non_exhaustive()
    }
}

/// The terms of one index.
#[derive(Debug)]
pub(crate) struct Terms {
    pub(crate) name: IndexName,
    /// A number that is unique for each opening.
    number: u64,
    policy: RwLock<Option<Policy>>,
    rate: SharedRate,
    /// The rate of steps of changes, separate from the rate of searches.
    steps: SharedRate,
    /// The places that all indexes share.
    places: Arc<Places>,
    pub(crate) counts: Counts,
}

/// A place of an index among the requests in flight.
#[derive(Debug)]
pub(crate) struct Hold {
    _place: InFlight,
    _gauge: GaugeGuard,
}

impl Terms {
    pub(crate) fn new(
        name: IndexName,
        number: u64,
        policy: Option<Policy>,
        rate: f64,
        places: &Arc<Places>,
        counts: Counts,
    ) -> Self {
        let now = Instant::now();
        let steps = Rate::with_burst(rate.max(STEPS), 5.0 * STEPS, now);
        Self {
            name,
            number,
            policy: RwLock::new(policy),
            rate: Arc::new(Mutex::new(Rate::new(rate, now))),
            steps: Arc::new(Mutex::new(steps)),
            places: Arc::clone(places),
            counts,
        }
    }

    /// A number that is unique for each opening.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Changes the requests per second.
    pub(crate) fn set_rate(&self, per_second: f64) {
        for (rate, per_second) in [
            (&self.rate, per_second),
            (&self.steps, per_second.max(STEPS)),
        ] {
            let mut rate = rate.lock().unwrap_or_else(PoisonError::into_inner);
            rate.set(per_second, Instant::now());
        }
    }

    pub(crate) fn set_policy(&self, policy: Option<Policy>) {
        *self.policy.write().unwrap_or_else(PoisonError::into_inner) = policy;
    }

    /// Refuses a client that may not use this index, before it looks at the message. The refusal is the same as for an
    /// index that does not exist.
    pub(crate) fn admit(
        &self,
        index: &[u8; 16],
        clients: Option<&[[u8; 32]]>,
        grant: Option<&Grant>,
        action: Result<Option<Action>, Refusal>,
    ) -> Result<(), Refusal> {
        if let Some(grant) = grant {
            let named = grant.check_index(index, now() / 1000);
            named.map_err(|error| {
                tracing::debug!(%error, name = %self.name, "request refused by its token");
                Refusal::Index
            })?;
        }
        let policy = self.policy.read().unwrap_or_else(PoisonError::into_inner);
        let Some(Policy(decide)) = policy.clone() else {
            return Ok(());
        };
        drop(policy);
        // A narrowed token allows only what the policy allows each of the holders in its chain.
        let decide = |action| match clients {
            None => decide(None, action),
            Some(clients) => clients.iter().all(|client| decide(Some(client), action)),
        };
        let allowed = match action {
            Ok(Some(action)) => decide(action),
            // Every client that may use the index in some way gets the manifest. Bytes that are not a message are
            // refused later, with the same answer.
            Ok(None) | Err(_) => ASKED.into_iter().any(decide),
        };
        allowed.then_some(()).ok_or(Refusal::Index)
    }

    /// A place for a request of `asker`, if the index's rate and both shares of places allow one.
    pub(crate) fn take(&self, asker: Asker, reserved: &mut Reservation) -> Result<Hold, Refusal> {
        // The rates of an owner's steps and of searches are separate, so that neither delays the other.
        let rate = match asker {
            Asker::Owner(_) => &self.steps,
            _ => &self.rate,
        };
        if !reserved.take(rate, Instant::now()) {
            return Err(Refusal::Rate);
        }
        let place = self.places.take_within(Asker::Index(self.number), asker);
        Ok(Hold {
            _place: place.ok_or(Refusal::Busy)?,
            _gauge: self.counts.answering(),
        })
    }
}
