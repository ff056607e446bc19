//! The state that all handles of a service share.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use bytes::Bytes;
use tonic::Status;
use tonic::body::Body;
use tonic::codegen::http::{self, HeaderMap};

use super::admission::Admission;
use super::askers::Askers;
use super::metrics::Metrics;
use super::peer::Peer;
use super::places::Places;
use super::rejection::{Lines, Rejection};
use super::served_index::ServedIndex;
use super::steps::Steps;
use crate::protocol::INDEX;
use crate::schema::HelloReply;
use crate::signature::shown;
use crate::{Access, Error, IndexName, Limits, Refusal};

/// A service: the clients that may send requests, its limits, and its indexes.
#[derive(Debug)]
pub(crate) struct ServiceState {
    pub(crate) served: Served,
    /// Random bytes of this run, for which signatures are made. So signatures from before the start
    /// are refused.
    pub(crate) instance: [u8; 32],
    pub(crate) keys: Option<Askers>,
    pub(crate) door: Arc<Admission>,
    pub(crate) stopping: Arc<AtomicBool>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) limits: Limits,
    pub(crate) lines: Lines,
}

/// The number of bytes that are read of a request if there is no index: enough for the refusal.
const SHORT: usize = 8192;

/// The indexes that are served: several by name, or one without a name.
#[derive(Debug)]
pub(crate) struct Served {
    /// True if requests name their index.
    pub(crate) named: bool,
    by_name: RwLock<HashMap<Option<IndexName>, Arc<ServedIndex>>>,
    pub(crate) places: Arc<Places>,
    next: AtomicU64,
    /// True if owners may change some of the indexes over the network.
    pub(crate) changing: AtomicBool,
    /// The requests per second about each index.
    rate: RwLock<f64>,
    /// The steps of changes by name. Closed indexes keep theirs, because the run for which the steps were signed continues.
    steps: Mutex<HashMap<IndexName, Arc<Steps>>>,
    /// The longest request of all indexes. There is one bound, so that a long request does not show which
    /// indexes exist.
    longest: RwLock<usize>,
}

impl Served {
    pub(crate) fn new(named: bool, limits: &Limits) -> Self {
        Self {
            named,
            by_name: RwLock::default(),
            places: Places::new(limits.in_flight),
            next: AtomicU64::new(0),
            changing: AtomicBool::new(false),
            rate: RwLock::new(limits.rate_per_index),
            steps: Mutex::default(),
            longest: RwLock::new(if named { SHORT } else { 0 }),
        }
    }

    /// A number that no other opening has.
    pub(crate) fn number(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    pub(crate) fn get(&self, name: Option<&IndexName>) -> Option<Arc<ServedIndex>> {
        let by_name = self.by_name.read();
        let by_name = by_name.unwrap_or_else(PoisonError::into_inner);
        by_name.get(&name.cloned()).cloned()
    }

    /// The requests per second about each index.
    pub(crate) fn rate(&self) -> f64 {
        *self.rate.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn set_rate(&self, per_second: f64) {
        *self.rate.write().unwrap_or_else(PoisonError::into_inner) = per_second;
        for (_, hosted) in self.all() {
            if let Some(terms) = &hosted.terms {
                terms.set_rate(per_second);
            }
        }
    }

    /// The accepted steps for an index with this name.
    pub(crate) fn steps(&self, name: &IndexName, limits: &Limits) -> Arc<Steps> {
        let mut all = self.steps.lock().unwrap_or_else(PoisonError::into_inner);
        for steps in all.values() {
            steps.forget();
        }
        let new = || Arc::new(Steps::new(limits));
        Arc::clone(all.entry(name.clone()).or_insert_with(new))
    }

    /// All indexes, by their names.
    pub(crate) fn all(&self) -> Vec<(Option<IndexName>, Arc<ServedIndex>)> {
        let by_name = self.by_name.read();
        let by_name = by_name.unwrap_or_else(PoisonError::into_inner);
        let mut all: Vec<_> = by_name
            .iter()
            .map(|(n, it)| (n.clone(), it.clone()))
            .collect();
        all.sort_by(|(a, _), (b, _)| a.cmp(b));
        all
    }

    /// Sets or removes the index with a name. Returns the index before.
    pub(crate) fn set(
        &self,
        name: Option<&IndexName>,
        to: Option<Arc<ServedIndex>>,
    ) -> Option<Arc<ServedIndex>> {
        let by_name = self.by_name.write();
        let mut by_name = by_name.unwrap_or_else(PoisonError::into_inner);
        let before = match to {
            Some(to) => by_name.insert(name.cloned(), to),
            None => by_name.remove(&name.cloned()),
        };
        drop(by_name);
        self.measure();
        before
    }

    /// Computes the longest request again, after a change of an index.
    pub(crate) fn measure(&self) {
        // The lock is held during the computation, so that the later one of two changes sees both.
        let longest = self.longest.write();
        let mut longest = longest.unwrap_or_else(PoisonError::into_inner);
        let all = self.all();
        let each = all.iter().map(|(_, hosted)| hosted.longest_call());
        // Requests for older versions are read too, so that their clients learn of the newer
        // version.
        *longest = each.fold(
            (*longest).max(if self.named { SHORT } else { 0 }),
            usize::max,
        );
    }
}

impl ServiceState {
    pub(crate) fn new(
        served: Served,
        access: &Access,
        limits: Limits,
        metrics: Arc<Metrics>,
    ) -> Result<Self, Error> {
        let keys = access.keys();
        let keys = keys.map(|keys| Askers::new(keys, &limits, &metrics));
        let keys = keys.transpose()?;
        Ok(Self {
            served,
            instance: shown(&mut rand::rng(), b"instance"),
            door: Arc::new(Admission::new(keys.is_none(), &limits, &metrics)),
            keys,
            stopping: Arc::new(AtomicBool::new(false)),
            metrics,
            limits,
            lines: Lines::new(),
        })
    }

    /// Changes the clients that may send requests, and the rates.
    pub(crate) fn change(&self, access: &Access, limits: &Limits) -> Result<(), Error> {
        limits.check()?;
        match (access.keys(), &self.keys) {
            (None, None) => (),
            (Some(keys), Some(askers)) => askers.renew(keys, limits)?,
            _ => return Err(Error::Access),
        }
        self.door.set_rates(limits);
        self.served.set_rate(limits.rate_per_index);
        Ok(())
    }

    /// The name of the index that a request is for; `None` if requests of this service name no index. The first refusal
    /// shows which of the two kinds a server is, but not which indexes it has.
    pub(crate) fn named(&self, headers: &HeaderMap) -> Result<Option<IndexName>, Refusal> {
        let mut names = headers.get_all(INDEX).iter();
        let name = names.next();
        match (self.served.named, name, names.next()) {
            (false, None, None) => Ok(None),
            (true, Some(name), None) => {
                let name = name
                    .to_str()
                    .ok()
                    .and_then(|name| IndexName::new(name).ok());
                name.map(Some).ok_or(Refusal::Index)
            }
            _ => Err(Refusal::Index),
        }
    }

    /// The index of this name, or the only one.
    pub(crate) fn hosted(&self, name: Option<&IndexName>) -> Result<Arc<ServedIndex>, Refusal> {
        self.served.get(name).ok_or(Refusal::Index)
    }

    /// True if the owner of an index may change it over the network.
    pub(crate) fn takes_changes(&self) -> bool {
        self.served.changing.load(Ordering::Relaxed)
    }

    /// The reply that names this run.
    pub(crate) fn hello(&self) -> HelloReply {
        let kem_key = self
            .keys
            .as_ref()
            .map(|keys| keys.logins.kem_key().to_vec());
        HelloReply {
            instance: Bytes::copy_from_slice(&self.instance),
            kem_key: kem_key.unwrap_or_default().into(),
        }
    }

    /// The longest request that is answered, as an encoded call.
    pub(crate) fn longest_call(&self) -> usize {
        let longest = self.served.longest.read();
        *longest.unwrap_or_else(PoisonError::into_inner)
    }
}

impl ServiceState {
    /// Counts and logs a refusal, and makes its reply.
    pub(super) fn refuse(&self, peer: &Peer, refusal: Refusal) -> http::Response<Body> {
        self.refused(peer, &Rejection::By(refusal)).into_http()
    }

    pub(super) fn refused(&self, peer: &Peer, refused: &Rejection) -> Status {
        let reason = refused.reason();
        self.metrics.refused(reason);
        // An index refuses only clients that may use it, and counts these requests against its rate.
        if let Rejection::By(reason) = refused {
            peer.heed(*reason);
        }
        let (address, name) = (peer.address, reason.name());
        if let Rejection::Message(error @ sordino_index::Error::File { .. }) = refused {
            tracing::error!(%error, "a file of an index could not be read or written");
        }
        if reason.is_passing() {
            tracing::debug!(reason = name, %address, "request refused");
        } else if let Some(left_out) = self.lines.take() {
            tracing::info!(reason = name, %address, left_out, "request refused");
        }
        refused.status()
    }
}
