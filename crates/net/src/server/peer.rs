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

/// Requests that prove nothing and need no budget of the address: on each connection this number at
/// once, and then one a second. A client needs one to ask for the server's run, and one to log in, which it gets back.
const ALLOWANCE: f64 = 2.0;

/// A client's connection.
#[derive(Debug)]
pub(crate) struct Peer {
    /// The address that the connection is counted for.
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
    /// The time since which it has had nothing to do.
    idle_since: Instant,
    trust: Trust,
    /// The number of requests so far.
    requests: u64,
    in_flight: Vec<Flight>,
    /// The remaining requests that need not prove a key.
    allowance: Rate,
}

/// The trust that a connection has.
#[derive(Clone, Copy, Debug)]
enum Trust {
    /// Anyone may ask, so clients have no keys to prove. An owner may have proven its own, which no refusal brings into doubt.
    Anyone { owner: Option<Asker> },
    /// No key is proven since the connection was opened, or since the last proof came into doubt.
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
    /// The time by which it must be over.
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

    /// A known key has signed a login on this connection, or a login of one has tagged a request.
    pub(crate) fn has_proven(&self) -> bool {
        self.holder().is_some()
    }

    /// The key of `holder` has shown itself. From now on no stranger takes the connection's place, and the request does
    /// not count among requests that prove nothing.
    pub(crate) fn prove(&self, holder: Asker) {
        let mut state = self.lock();
        let before = state.trust.holder();
        let (owner, at) = (Some(holder), Instant::now());
        state.trust = match state.trust {
            Trust::Anyone { .. } => Trust::Anyone { owner },
            _ => Trust::Proven { holder, at },
        };
        // Under the lock, so that a doubt comes before or after all of it.
        if before.is_none() {
            self.connections.keep_for(self.number, holder);
            state.allowance.give_back();
        }
    }

    /// A request on this connection was refused for this. The next one counts as a stranger's, unless the reason can
    /// meet a client's good request at any time.
    pub(crate) fn heed(&self, reason: Refusal) {
        // Keys of a session may be forgotten.
        if !reason.is_passing() && reason != Refusal::Session {
            self.doubt();
        }
    }

    /// A request on this connection proved nothing, where it should have: it is a stranger's again until the next proof.
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

    /// Takes one of the requests that prove nothing.
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
            // Requests that prove nothing keep no connection.
            (_, Trust::Proven { at, .. }) => (at, self.idle),
            // A client signs at once, or again as soon as the server says so.
            (_, Trust::Stranger { since }) => (since, self.first_request),
        };
        if self.stopping.load(Ordering::Relaxed) {
            limit = limit.min(STOPPING);
        }
        let end = since + limit;
        // A client that begins requests and does not end them keeps no connection by that.
        let goes_on = |request: &Flight| request.whole || request.begun < end;
        now >= end && !state.in_flight.iter().any(goes_on)
    }

    /// A request begins, and must be over at `end`; its number.
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

    /// A whole request has come.
    pub(crate) fn whole(&self, number: u64) {
        self.change(number, |request| request.whole = true);
    }

    /// A request may take until `end`.
    pub(crate) fn extend(&self, number: u64, end: Instant) {
        self.change(number, |request| request.end = end);
    }

    fn change(&self, number: u64, to: impl FnOnce(&mut Flight)) {
        let mut state = self.lock();
        let mut all = state.in_flight.iter_mut();
        all.find(|request| request.number == number).map(to);
    }

    /// A request is over.
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

    /// A client that has proven a key is refused within its rate for what can happen to anyone, and else as a stranger.
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
        // Nor does another prove for it: a doubt takes the place's protection.
        peer.prove(Asker::Key(1));
        assert!(!shares.make_room());
        peer.heed(Refusal::Login);
        assert!(shares.make_room());
    }
}
