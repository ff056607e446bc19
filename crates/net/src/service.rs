//! What is served: an index, to whom, and how much at a time.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use bytes::Bytes;
use sordino_search::Server;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::batcher::Batcher;
use crate::incoming::Activity;
use crate::metrics::Metrics;
use crate::proof::{Claim, PROOF_LEN};
use crate::rate::Rate;
use crate::verifier::{self, Verifier};
use crate::{Access, Error, Limits, Refusal};

/// An index that is served to clients, and can be replaced while it is.
///
/// Clones are handles to the same service.
#[derive(Clone, Debug)]
pub struct Service {
    pub(crate) shared: Arc<Shared>,
}

impl Service {
    /// Prepares a service. Nothing listens yet.
    ///
    /// # Errors
    /// [`Error::Limits`], [`Error::KeyLength`], and [`Error::Start`] if the system refuses threads.
    pub fn new(server: Server, access: &Access, limits: Limits) -> Result<Self, Error> {
        limits.check()?;
        let metrics = Metrics::new();
        let claims = match access {
            Access::Anyone => None,
            Access::Keys(keys) => Some(claims(keys, &limits, &metrics)?),
        };
        let mut instance = [0; 32];
        rand::Rng::fill_bytes(&mut rand::rng(), &mut instance);
        let shared = Shared {
            index: RwLock::new(Arc::new(server)),
            instance,
            claims,
            scans: scans(&limits, &metrics)?,
            in_flight: Arc::new(Semaphore::new(limits.in_flight)),
            rate: Mutex::new(Rate::new(limits.rate, Instant::now())),
            stopping: Arc::new(AtomicBool::new(false)),
            metrics,
            limits,
        };
        Ok(Self {
            shared: Arc::new(shared),
        })
    }

    /// Puts another version of the index in place. Requests that have begun are answered from the
    /// one they began with.
    pub fn replace(&self, server: Server) {
        let mut index = self
            .shared
            .index
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        *index = Arc::new(server);
        self.shared.metrics.replaced.inc();
    }

    /// All counts in the OpenMetrics text form, as the metrics port gives them out.
    #[must_use]
    pub fn metrics(&self) -> String {
        self.shared.metrics.text()
    }
}

/// Starts the thread that verifies proofs.
fn claims(
    keys: &[crate::ClientPublicKey],
    limits: &Limits,
    metrics: &Arc<Metrics>,
) -> Result<Claims, Error> {
    let mut verifier = Verifier::new(keys, limits)?;
    let metrics = Arc::clone(metrics);
    let verify = move |claims: Vec<Claim>| {
        let start = Instant::now();
        let verdicts = verifier.verify(&claims);
        metrics.verified(start.elapsed());
        verdicts
    };
    Batcher::start("sordino-verify", limits.in_flight, verifier::BATCH, verify)
        .map_err(Error::Start)
}

/// Starts the thread that scans. The scan itself uses rayon's threads.
fn scans(limits: &Limits, metrics: &Arc<Metrics>) -> Result<Scans, Error> {
    let metrics = Arc::clone(metrics);
    let scan = move |scans: Vec<Scan>| {
        let mut replies = Vec::with_capacity(scans.len());
        // Around a replacement, a batch may be for two versions.
        for same in scans.chunk_by(|a, b| Arc::ptr_eq(&a.index, &b.index)) {
            let start = Instant::now();
            let requests: Vec<&[u8]> = same.iter().map(|scan| &scan.request[..]).collect();
            let answers = same[0].index.handle_batch(&requests);
            replies.extend(answers.into_iter().map(|answer| answer.map(Bytes::from)));
            metrics.scanned(same.len(), start.elapsed());
        }
        replies
    };
    Batcher::start("sordino-scan", limits.in_flight, limits.batch, scan).map_err(Error::Start)
}

type Claims = Batcher<Claim, Result<(), Refusal>>;
type Scans = Batcher<Scan, Result<Bytes, sordino_search::Error>>;

/// A request that takes a pass over the index.
#[derive(Debug)]
pub(crate) struct Scan {
    pub(crate) index: Arc<Server>,
    pub(crate) request: Bytes,
}

/// What all handles of a service share.
#[derive(Debug)]
pub(crate) struct Shared {
    index: RwLock<Arc<Server>>,
    /// Drawn for this run: proofs are made for it, so none from before the start is accepted.
    pub(crate) instance: [u8; 32],
    pub(crate) claims: Option<Claims>,
    pub(crate) scans: Scans,
    in_flight: Arc<Semaphore>,
    rate: Mutex<Rate>,
    pub(crate) stopping: Arc<AtomicBool>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) limits: Limits,
}

impl Shared {
    /// The version in place.
    pub(crate) fn index(&self) -> Arc<Server> {
        Arc::clone(&self.index.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The longest request that the version in place answers, as an encoded call.
    pub(crate) fn longest_call(&self) -> usize {
        // The tag and the length of the message.
        const FIELD: usize = 1 + 10;
        self.index().longest_request().unwrap_or(0) + FIELD + PROOF_LEN
    }

    /// Lets a request in, before a byte of its body is read.
    pub(crate) fn admit(
        self: &Arc<Self>,
        activity: Option<Arc<Activity>>,
    ) -> Result<Call, Refusal> {
        if self.stopping.load(Ordering::Relaxed) {
            return Err(Refusal::Stopping);
        }
        let now = Instant::now();
        let mut rate = self.rate.lock().unwrap_or_else(PoisonError::into_inner);
        if !rate.take(now) {
            return Err(Refusal::Rate);
        }
        drop(rate);
        let place = Arc::clone(&self.in_flight).try_acquire_owned();
        let place = place.map_err(|_| Refusal::Busy)?;
        self.metrics.in_flight.inc();
        let end = now + self.limits.request;
        let activity = activity.map(|activity| (activity.begin(end), activity));
        Ok(Call {
            shared: Arc::clone(self),
            activity,
            _place: place,
        })
    }

    /// Requests in flight.
    pub(crate) fn busy(&self) -> usize {
        self.limits.in_flight - self.in_flight.available_permits()
    }
}

/// A request in flight: its place among all, and its time on its connection. Both end with it.
#[derive(Debug)]
pub(crate) struct Call {
    shared: Arc<Shared>,
    activity: Option<(u64, Arc<Activity>)>,
    _place: OwnedSemaphorePermit,
}

impl Call {
    /// The reply begins: taking it may last as long as its length allows.
    pub(crate) fn replying(&self, len: usize) {
        let limits = &self.shared.limits;
        #[expect(clippy::cast_precision_loss, reason = "a time for many bytes")]
        let seconds = len as f64 / f64::from(limits.slowest);
        if let Some((number, activity)) = &self.activity {
            let end = Instant::now() + limits.request + Duration::from_secs_f64(seconds);
            activity.extend(*number, end);
        }
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        self.shared.metrics.in_flight.dec();
        if let Some((number, activity)) = &self.activity {
            activity.end(*number);
        }
    }
}
