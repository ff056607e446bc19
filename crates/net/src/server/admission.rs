//! The path of a request from its first byte to its answer, and the places that it takes in each phase.
//!
//! A request that has only its headers so far holds a place among the requests that are being received. Other requests
//! can take this place. It gets a place in flight only when it is whole and, where keys are asked for, proves a known
//! key.

use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use super::address::Budgets;
use super::counts::GaugeGuard;
use super::metrics::Metrics;
use super::peer::Peer;
use super::places::{Asker, InFlight, Places};
use super::rate::{Rate, Reservation, SharedRate};
use super::shares::{Newcomer, Place, Shares};
use super::terms::Hold;
use crate::{Limits, Refusal};

/// The budgets and places that requests use.
#[derive(Debug)]
pub(crate) struct Admission {
    /// True if anyone may send requests, so that no client proves a key.
    pub(crate) anyone: bool,
    receiving: Arc<Shares>,
    by_address: Budgets,
    strangers: Mutex<Rate>,
    answered: SharedRate,
    in_flight: Arc<Places>,
    metrics: Arc<Metrics>,
    limits: Limits,
}

impl Admission {
    pub(crate) fn new(anyone: bool, limits: &Limits, metrics: &Arc<Metrics>) -> Self {
        let now = Instant::now();
        Self {
            anyone,
            receiving: Shares::new(limits.receiving, limits.receiving_per_address, true),
            by_address: Budgets::new(limits.rate_per_address, now),
            strangers: Mutex::new(Rate::new(limits.rate, now)),
            answered: Arc::new(Mutex::new(Rate::new(limits.rate, now))),
            in_flight: Places::new(limits.in_flight),
            metrics: Arc::clone(metrics),
            limits: *limits,
        }
    }

    /// Changes the rates to the rates of `limits`.
    pub(crate) fn set_rates(&self, limits: &Limits) {
        let now = Instant::now();
        self.by_address.set(limits.rate_per_address, now);
        for rate in [&self.strangers, &*self.answered] {
            let mut rate = rate.lock().unwrap_or_else(PoisonError::into_inner);
            rate.set(limits.rate, now);
        }
    }

    /// Admits a request of at most `longest` bytes before its body arrives.
    pub(crate) fn enter(
        self: &Arc<Self>,
        peer: &Arc<Peer>,
        hello: bool,
        longest: usize,
    ) -> Result<Arc<Call>, Refusal> {
        let now = Instant::now();
        if hello || !peer.has_proven() {
            self.stranger(peer, now)?;
        }
        let place = self.receiving.admit(Newcomer {
            address: peer.address,
            connection: Some(peer.number),
            holder: peer.holder(),
        });
        let place = place.ok_or(Refusal::Busy)?;
        let receive = self.limits.receiving_time(longest);
        let all = receive + self.limits.request;
        Ok(Arc::new(Call {
            door: Arc::clone(self),
            peer: Arc::clone(peer),
            number: peer.begin(now + all),
            displaced: Arc::clone(&place.displaced),
            receive,
            stage: Mutex::new(Stage::Receiving(Receiving {
                _gauge: GaugeGuard::new(&self.metrics.receiving),
                place,
            })),
        }))
    }

    /// Admits a request of a client that has proven nothing. It uses the budget of the connection, or otherwise the
    /// budgets of its address and of all strangers together. If anyone may send requests, all clients are strangers,
    /// and their common rate is the rate in [`Call::begin`].
    fn stranger(&self, peer: &Peer, now: Instant) -> Result<(), Refusal> {
        let enough = if self.anyone {
            self.by_address.take(peer.address, now)
        } else {
            peer.allow(now)
                || (self.by_address.take(peer.address, now) && self.take_of_strangers(now))
        };
        enough.then_some(()).ok_or(Refusal::Rate)
    }

    fn take_of_strangers(&self, now: Instant) -> bool {
        let strangers = self.strangers.lock();
        strangers.unwrap_or_else(PoisonError::into_inner).take(now)
    }

    /// The number of requests in flight.
    pub(crate) fn busy(&self) -> usize {
        self.in_flight.taken()
    }
}

/// A request in progress: its places, and its time on its connection. They are released with it.
#[derive(Debug)]
pub(crate) struct Call {
    door: Arc<Admission>,
    pub(crate) peer: Arc<Peer>,
    /// The request's number on its connection.
    number: u64,
    displaced: Arc<Notify>,
    /// The time for receiving the body.
    receive: Duration,
    stage: Mutex<Stage>,
}

/// The phase of a request, with the places that it holds in this phase.
#[derive(Debug)]
enum Stage {
    /// The body is still to come, and other requests can take this place.
    Receiving(Receiving),
    /// The complete request has arrived, and keeps its place.
    Whole { _held: Receiving },
    /// The request is being answered.
    InFlight {
        _gauge: GaugeGuard,
        _place: InFlight,
        /// The place of the request's index, if there are several indexes.
        _of_index: Option<Hold>,
    },
    /// Another request took this request's place, which is not the client's fault.
    GaveWay,
}

/// A place among the requests that are being received, counted.
#[derive(Debug)]
struct Receiving {
    _gauge: GaugeGuard,
    place: Place,
}

impl Call {
    /// The request is complete, so its place is no longer taken away.
    pub(crate) fn received(&self) {
        let mut stage = self.stage();
        *stage = match mem::replace(&mut *stage, Stage::GaveWay) {
            Stage::Receiving(held) => {
                self.peer.whole(self.number);
                held.place.keep();
                Stage::Whole { _held: held }
            }
            later => later,
        };
    }

    /// Ends when the request must be given up, and says why.
    pub(crate) async fn given_up(&self) -> Refusal {
        let early = tokio::time::timeout(self.receive, self.displaced.notified()).await;
        if let Some(refusal) = self.not_received(early.is_ok()) {
            return refusal;
        }
        tokio::time::sleep(self.door.limits.request).await;
        Refusal::Slow
    }

    /// The refusal of an incomplete request: it lost its place, or it took too long.
    fn not_received(&self, displaced: bool) -> Option<Refusal> {
        let mut stage = self.stage();
        match (&*stage, displaced) {
            (Stage::Receiving(_), true) => {
                *stage = Stage::GaveWay;
                Some(Refusal::Busy)
            }
            (Stage::Receiving(_), false) => Some(Refusal::Slow),
            _ => None,
        }
    }

    /// Replaces the place for receiving by a place in flight, and spends the reserved tokens. If there are several indexes,
    /// `of_index` is the place among the requests of its index.
    pub(crate) fn begin(
        &self,
        asker: Asker,
        of_index: Option<Hold>,
        mut reserved: Reservation,
    ) -> Result<(), Refusal> {
        // Steps of a change have their own rate.
        let counts = !matches!(asker, Asker::Owner(_));
        if counts && !reserved.take(&self.door.answered, Instant::now()) {
            return Err(Refusal::Rate);
        }
        let place = self.door.in_flight.take(asker);
        let in_flight = Stage::InFlight {
            _place: place.ok_or(Refusal::Busy)?,
            _gauge: GaugeGuard::new(&self.door.metrics.in_flight),
            _of_index: of_index,
        };
        drop(mem::replace(&mut *self.stage(), in_flight));
        reserved.spend();
        Ok(())
    }

    /// Each statement leaves a stage consistent, so a panic in another place does not affect it.
    fn stage(&self) -> MutexGuard<'_, Stage> {
        self.stage.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The reply begins. The client may read it for as long as the reply's length allows.
    pub(crate) fn replying(&self, len: usize) {
        let limits = &self.door.limits;
        let end = Instant::now() + limits.request + limits.moving(len);
        self.peer.extend(self.number, end);
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        let unfinished = matches!(*self.stage(), Stage::Receiving(_));
        if unfinished {
            // This request proved nothing, so the next one counts as a stranger's.
            self.peer.doubt();
        }
        self.peer.end(self.number);
    }
}
