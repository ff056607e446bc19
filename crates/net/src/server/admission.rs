//! The way of a request from its first byte to its answer, and what it may take up on each stretch.
//!
//! A request of which only the headers are there holds a place among those that are being received,
//! which others can take from it. Not before it is whole, and signed by a known key where that is
//! asked for, it gets a place in flight.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use super::address::Budgets;
use super::metrics::Metrics;
use super::peer::Peer;
use super::places::{Asker, InFlight, Places};
use super::rate::Rate;
use super::shares::{Newcomer, Place, Shares};
use super::terms::Hold;
use crate::{Limits, Refusal};

/// The budgets and places that requests draw on.
#[derive(Debug)]
pub(crate) struct Admission {
    /// Where anyone may ask, nobody proves a key.
    pub(crate) anyone: bool,
    receiving: Arc<Shares>,
    by_address: Budgets,
    strangers: Mutex<Rate>,
    answered: Mutex<Rate>,
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
            answered: Mutex::new(Rate::new(limits.rate, now)),
            in_flight: Places::new(limits.in_flight),
            metrics: Arc::clone(metrics),
            limits: *limits,
        }
    }

    /// Changes the rates to those of `limits`.
    pub(crate) fn set_rates(&self, limits: &Limits) {
        let now = Instant::now();
        self.by_address.set(limits.rate_per_address, now);
        for rate in [&self.strangers, &self.answered] {
            let mut rate = rate.lock().unwrap_or_else(PoisonError::into_inner);
            rate.set(limits.rate, now);
        }
    }

    /// Lets a request in whose body is still to come: at most `longest` bytes.
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
            receiving: Mutex::new(Some(Receiving::new(place, &self.metrics))),
            whole: OnceLock::new(),
            gave_way: OnceLock::new(),
            in_flight: OnceLock::new(),
            of_index: OnceLock::new(),
        }))
    }

    /// A request of somebody who has proven nothing: one of the connection's own, or else of the
    /// address's and of all strangers together. Where anyone may ask there are no others, and their
    /// common rate is that of [`Call::begin`].
    fn stranger(&self, peer: &Peer, now: Instant) -> Result<(), Refusal> {
        let enough = if self.anyone {
            self.by_address.take(peer.address, now)
        } else {
            peer.allow(now)
                || (self.by_address.take(peer.address, now) && take(&self.strangers, now))
        };
        enough.then_some(()).ok_or(Refusal::Rate)
    }

    /// Requests in flight.
    pub(crate) fn busy(&self) -> usize {
        self.in_flight.taken()
    }
}

fn take(rate: &Mutex<Rate>, now: Instant) -> bool {
    let mut rate = rate.lock().unwrap_or_else(PoisonError::into_inner);
    rate.take(now)
}

/// A request on its way: its places, and its time on its connection. All end with it.
#[derive(Debug)]
pub(crate) struct Call {
    door: Arc<Admission>,
    pub(crate) peer: Arc<Peer>,
    /// Among the requests of its connection.
    number: u64,
    displaced: Arc<Notify>,
    /// The time for receiving.
    receive: Duration,
    receiving: Mutex<Option<Receiving>>,
    whole: OnceLock<()>,
    /// Somebody else has its place, which is no fault of its own.
    gave_way: OnceLock<()>,
    in_flight: OnceLock<Answering>,
    /// The place of its index, where there are several.
    of_index: OnceLock<Hold>,
}

impl Call {
    /// The request is whole: nobody takes its place from now on.
    pub(crate) fn received(&self) {
        if self.whole.set(()).is_ok() {
            self.peer.whole(self.number);
            let receiving = self.receiving.lock();
            if let Some(held) = &*receiving.unwrap_or_else(PoisonError::into_inner) {
                held.place.keep();
            }
        }
    }

    /// Ends when the request must be given up, and says why.
    pub(crate) async fn given_up(&self) -> Refusal {
        let early = tokio::time::timeout(self.receive, self.displaced.notified()).await;
        if self.whole.get().is_none() {
            return match early {
                Ok(()) => {
                    let _ = self.gave_way.set(());
                    Refusal::Busy
                }
                Err(_) => Refusal::Slow,
            };
        }
        tokio::time::sleep(self.door.limits.request).await;
        Refusal::Slow
    }

    /// Changes the place of a request that is being received for one in flight.
    pub(crate) fn begin(&self, asker: Asker) -> Result<(), Refusal> {
        // Steps of a change have a rate of their own.
        let counts = !matches!(asker, Asker::Owner(_));
        if counts && !take(&self.door.answered, Instant::now()) {
            return Err(Refusal::Rate);
        }
        let Some(place) = self.door.in_flight.take(asker) else {
            // Others may be answered in its stead.
            if counts {
                let answered = self.door.answered.lock();
                answered.unwrap_or_else(PoisonError::into_inner).give_back();
            }
            return Err(Refusal::Busy);
        };
        // A call begins once, so there is none yet.
        let _ = self
            .in_flight
            .set(Answering::new(place, &self.door.metrics));
        let receiving = self.receiving.lock();
        drop(receiving.unwrap_or_else(PoisonError::into_inner).take());
        Ok(())
    }

    /// Holds a place of the index until the call ends.
    pub(crate) fn hold(&self, place: Hold) {
        // A call begins once, so there is none yet.
        let _ = self.of_index.set(place);
    }

    /// The reply begins: taking it may last as long as its length allows.
    pub(crate) fn replying(&self, len: usize) {
        let limits = &self.door.limits;
        let end = Instant::now() + limits.request + limits.moving(len);
        self.peer.extend(self.number, end);
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        if self.whole.get().is_none() && self.gave_way.get().is_none() {
            // It proved nothing, so the next costs as much as a stranger's.
            self.peer.doubt();
        }
        self.peer.end(self.number);
    }
}

/// A place among the requests that are being received, counted.
#[derive(Debug)]
struct Receiving {
    place: Place,
    metrics: Arc<Metrics>,
}

impl Receiving {
    fn new(place: Place, metrics: &Arc<Metrics>) -> Self {
        metrics.receiving.inc();
        Self {
            place,
            metrics: Arc::clone(metrics),
        }
    }
}

impl Drop for Receiving {
    fn drop(&mut self) {
        self.metrics.receiving.dec();
    }
}

/// A place in flight, counted.
#[derive(Debug)]
struct Answering {
    _place: InFlight,
    metrics: Arc<Metrics>,
}

impl Answering {
    fn new(place: InFlight, metrics: &Arc<Metrics>) -> Self {
        metrics.in_flight.inc();
        Self {
            _place: place,
            metrics: Arc::clone(metrics),
        }
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        self.metrics.in_flight.dec();
    }
}
