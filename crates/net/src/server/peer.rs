//! A connection above TLS and HTTP/2: its client's address, the key that it has proven, and its requests.

use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::places::Asker;
use super::rate::Rate;
use super::shares::Shares;
use crate::{Limits, Refusal};

/// When a server stops, connections without requests are closed after this time.
const STOPPING: Duration = Duration::from_millis(200);

/// The number of requests without proof that each connection may send at once, with one more per second. They use no
/// budget of the address. A client needs one to ask for the server's run and one to log in; the login gives this one
/// back.
const ALLOWANCE: f64 = 2.0;

/// A client's connection.
#[derive(Debug)]
pub(crate) struct Peer {
    /// The address for which the connection is counted.
    pub(crate) address: IpAddr,
    /// The number of its place among the connections.
    pub(crate) number: u64,
    /// The time between two checks of the clock.
    pub(crate) tick: Duration,
    connections: Arc<Shares>,
    stopping: Arc<AtomicBool>,
    first_request: Duration,
    idle: Duration,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    opened: Instant,
    /// The time since which the connection has no request.
    idle_since: Instant,
    trust: Trust,
    /// The number of requests so far.
    requests: u64,
    in_flight: Vec<Flight>,
    /// The remaining requests without proof of a key.
    allowance: Rate,
}

/// The trust in a connection.
#[derive(Clone, Copy, Debug)]
enum Trust {
    /// Anyone may send requests, so clients have no keys to prove. An owner may have proven its key, which no refusal puts
    /// in doubt.
    Anyone { owner: Option<Asker> },
    /// No key was proven since the connection was opened, or since the last proof was put in doubt.
    Stranger { since: Instant },
    /// A key was proven.
    Proven { holder: Asker, at: Instant },
}

impl Trust {
    fn holder(self) -> Option<Asker> {
        match self {
            Self::Anyone { owner } => owner,
            Self::Stranger { .. } => None,
            Self::Proven { holder, .. } => Some(holder),
        }
    }

    fn is_anyone(self) -> bool {
        matches!(self, Self::Anyone { .. })
    }
}

/// A request in flight.
#[derive(Debug)]
struct Flight {
    /// The request's number on its connection.
    number: u64,
    begun: Instant,
    /// The time by which the request must end.
    end: Instant,
    /// True if the whole request has arrived.
    whole: bool,
}

impl Peer {
    pub(crate) fn new(
        address: IpAddr,
        number: u64,
        connections: &Arc<Shares>,
        anyone: bool,
        limits: &Limits,
        stopping: &Arc<AtomicBool>,
    ) -> Arc<Self> {
        let shortest = limits.first_request.min(limits.idle).min(limits.request);
        let now = Instant::now();
        Arc::new(Self {
            address,
            number,
            tick: (shortest / 8).clamp(Duration::from_millis(5), STOPPING),
            connections: Arc::clone(connections),
            stopping: Arc::clone(stopping),
            first_request: limits.first_request,
            idle: limits.idle,
            state: Mutex::new(State {
                opened: now,
                idle_since: now,
                trust: match anyone {
                    true => Trust::Anyone { owner: None },
                    false => Trust::Stranger { since: now },
                },
                requests: 0,
                in_flight: Vec::new(),
                allowance: Rate::with_burst(1.0, ALLOWANCE, now),
            }),
        })
    }

    /// True if a known key has signed a login on this connection, or a login of such a key has
    /// tagged a request.
    pub(crate) fn has_proven(&self) -> bool {
        self.holder().is_some()
    }

    /// Records that the holder proved its key. From now on no stranger takes the connection's place, and the request
    /// does not count among requests without proof.
    pub(crate) fn prove(&self, holder: Asker) {
        let mut state = self.lock();
        let before = state.trust.holder();
        let (owner, at) = (Some(holder), Instant::now());
        state.trust = match state.trust {
            Trust::Anyone { .. } => Trust::Anyone { owner },
            _ => Trust::Proven { holder, at },
        };
        // This happens under the lock, so a doubt comes either before or after all of it.
        if before.is_none() {
            self.connections.keep_for(self.number, holder);
            state.allowance.give_back();
        }
    }

    /// Records that a request on this connection was refused for this reason. The next request counts as a
    /// stranger's, unless a client's good request can get this refusal at any time.
    pub(crate) fn heed(&self, reason: Refusal) {
        // The server may have dropped the keys of a session.
        if !reason.is_passing() && reason != Refusal::Session {
            self.doubt();
        }
    }

    /// Records that a request did not prove what it should have. The connection counts as a stranger's until the next
    /// proof.
    pub(crate) fn doubt(&self) {
        let mut state = self.lock();
        if let Trust::Proven { .. } = state.trust {
            let since = Instant::now();
            state.trust = Trust::Stranger { since };
            self.connections.release(self.number);
        }
    }

    /// The client that has proven a key here.
    pub(crate) fn holder(&self) -> Option<Asker> {
        self.lock().trust.holder()
    }

    /// Takes one of the requests without proof, if any is left.
    pub(crate) fn allow(&self, now: Instant) -> bool {
        self.lock().allowance.take(now)
    }

    /// True if the connection has used up its time.
    pub(crate) fn is_over(&self, now: Instant) -> bool {
        let state = self.lock();
        if state.in_flight.iter().any(|request| now >= request.end) {
            return true;
        }
        let (since, mut limit) = match (state.requests, state.trust) {
            (0, _) => (state.opened, self.first_request),
            (_, Trust::Anyone { .. }) => (state.idle_since, self.idle),
            // Requests without proof do not keep a connection open.
            (_, Trust::Proven { at, .. }) => (at, self.idle),
            // A client signs at once, and again as soon as the server asks for it.
            (_, Trust::Stranger { since }) => (since, self.first_request),
        };
        if self.stopping.load(Ordering::Relaxed) {
            limit = limit.min(STOPPING);
        }
        let end = since + limit;
        // A client that begins requests and does not complete them does not keep a connection open
        // by this.
        let goes_on = |request: &Flight| request.whole || request.begun < end;
        now >= end && !state.in_flight.iter().any(goes_on)
    }

    /// Records that a request begins, which must end by `end`. Returns its number.
    pub(crate) fn begin(&self, end: Instant) -> u64 {
        let mut state = self.lock();
        state.requests += 1;
        let number = state.requests;
        state.in_flight.push(Flight {
            number,
            begun: Instant::now(),
            end,
            whole: false,
        });
        let first = state.in_flight.len() == 1 && state.trust.is_anyone();
        drop(state);
        if first {
            self.connections.keep(self.number, true);
        }
        number
    }

    /// Records that the complete request has arrived.
    pub(crate) fn whole(&self, number: u64) {
        self.change(number, |request| request.whole = true);
    }

    /// Extends a request's time until `end`.
    pub(crate) fn extend(&self, number: u64, end: Instant) {
        self.change(number, |request| request.end = end);
    }

    fn change(&self, number: u64, to: impl FnOnce(&mut Flight)) {
        let mut state = self.lock();
        let mut all = state.in_flight.iter_mut();
        all.find(|request| request.number == number).map(to);
    }

    /// Records that a request has ended.
    pub(crate) fn end(&self, number: u64) {
        let mut state = self.lock();
        state.in_flight.retain(|request| request.number != number);
        state.idle_since = Instant::now();
        if state.trust.is_anyone() && state.in_flight.is_empty() {
            self.connections.keep(self.number, false);
        }
    }

    /// Each statement leaves the state consistent, so a panic in another place does not affect it.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A client with a proven key is refused within its rate for reasons that can affect any client. For other reasons
    /// it becomes a stranger again.
    #[test]
    fn who_is_refused_for_its_own_fault_is_a_stranger_again() {
        let limits = Limits::default();
        let (shares, stopping) = (Shares::new(4, 4, true), Arc::default());
        let address = IpAddr::from([192, 0, 2, 1]);
        let place = shares.admit(super::super::shares::Newcomer::from(address));
        let number = place.as_ref().map_or(0, |place| place.number);
        let peer = Peer::new(address, number, &shares, false, &limits, &stopping);
        for reason in Refusal::ALL {
            peer.prove(Asker::Key(1));
            peer.heed(reason);
            let usual = matches!(
                reason,
                Refusal::Rate
                    | Refusal::Busy
                    | Refusal::Stopping
                    | Refusal::Slow
                    | Refusal::Shard
                    | Refusal::Session
            );
            assert_eq!(peer.has_proven(), usual, "{reason:?}");
        }
        // Another key's proof does not help either, because a doubt has removed the protection of the place.
        peer.prove(Asker::Key(1));
        assert!(!shares.make_room());
        peer.heed(Refusal::Login);
        assert!(shares.make_room());
    }
}
