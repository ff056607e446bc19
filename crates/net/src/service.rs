//! A service: an index, who may ask it, and how much at a time.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Instant;

use bytes::Bytes;
use sordino_server::Server;

use crate::batcher::Batcher;
use crate::door::Door;
use crate::metrics::Metrics;
use crate::signature::{ADDED_LEN, shown};
use crate::verifier::{self, Claimed, KnownKeys, Verifier};
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
        let keys = match access {
            Access::Anyone => None,
            Access::Keys(keys) => Some(Keys {
                known: KnownKeys::new(keys),
                verifier: verifier(keys, &limits, &metrics)?,
            }),
        };
        let instance = shown(&mut rand::rng(), b"instance");
        let shared = Shared {
            index: RwLock::new(Arc::new(server)),
            instance,
            door: Arc::new(Door::new(keys.is_none(), &limits, &metrics)),
            keys,
            scans: scans(&limits, &metrics)?,
            stopping: Arc::new(AtomicBool::new(false)),
            metrics,
            limits,
        };
        Ok(Self {
            shared: Arc::new(shared),
        })
    }

    /// The version that is served now.
    #[must_use]
    pub fn server(&self) -> Arc<Server> {
        let index = self.shared.index.read();
        Arc::clone(&index.unwrap_or_else(PoisonError::into_inner))
    }

    /// Puts another version of the index in place. Requests that have begun are answered from the
    /// one they began with.
    pub fn replace(&self, server: Server) {
        let version = server.manifest().version;
        let mut index = self
            .shared
            .index
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        *index = Arc::new(server);
        drop(index);
        self.shared.metrics.replaced.inc();
        tracing::info!(version, "index replaced");
    }

    /// All counts in the OpenMetrics text form, as the metrics port gives them out.
    #[must_use]
    pub fn metrics(&self) -> String {
        self.shared.metrics.text()
    }
}

/// Starts the thread that verifies signatures. As many requests wait for it as are let in to be
/// received, so its queue is never full.
fn verifier(
    keys: &[crate::ClientPublicKey],
    limits: &Limits,
    metrics: &Arc<Metrics>,
) -> Result<Verifying, Error> {
    let mut verifier = Verifier::new(keys, limits)?;
    let metrics = Arc::clone(metrics);
    let verify = move |claimed: Vec<Claimed>| {
        let start = Instant::now();
        let verdicts = verifier.verify(&claimed);
        metrics.verified(start.elapsed());
        verdicts
    };
    Batcher::start("sordino-verify", limits.receiving, verifier::BATCH, verify)
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

type Verifying = Batcher<Claimed, Result<(), Refusal>>;
type Scans = Batcher<Scan, Result<Bytes, sordino_server::Error>>;

/// The keys that may ask, and the thread that verifies what they sign.
#[derive(Debug)]
pub(crate) struct Keys {
    pub(crate) known: KnownKeys,
    pub(crate) verifier: Verifying,
}

/// A request that takes a pass over the index.
#[derive(Debug)]
pub(crate) struct Scan {
    pub(crate) index: Arc<Server>,
    pub(crate) request: Bytes,
}

/// The state that all handles of a service share.
#[derive(Debug)]
pub(crate) struct Shared {
    index: RwLock<Arc<Server>>,
    /// Drawn for this run: signatures are made for it, so none from before the start is accepted.
    pub(crate) instance: [u8; 32],
    pub(crate) keys: Option<Keys>,
    pub(crate) door: Arc<Door>,
    pub(crate) scans: Scans,
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
        self.index().longest_request().unwrap_or(0) + FIELD + ADDED_LEN
    }
}
