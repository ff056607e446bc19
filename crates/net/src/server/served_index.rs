//! An index that the server serves: its current version and its scans.

use std::path::Path;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};
use std::time::Instant;

use bytes::Bytes;
use sordino_index::OwnerPublicKey;
use sordino_index::manifest::Manifest;
use sordino_index::wire::Request;
use sordino_server::Server;
use sordino_token::{Action, Grant};

use super::admission::Call;
use super::batcher::Batcher;
use super::bearers::{action, permit};
use super::changes::Changes;
use super::counts::Counts;
use super::metrics::Metrics;
use super::places::Asker;
use super::rate::Reservation;
use super::signed::ADDED_LEN;
use super::terms::Terms;
use crate::{Error, Limits, Refusal, Shards};

/// A request that needs a pass over an index.
#[derive(Debug)]
pub(crate) struct Scan {
    pub(crate) index: Arc<Server>,
    pub(crate) request: Request<Bytes>,
    /// The client, among clients that share what the index remembers.
    pub(crate) holder: u128,
}

type Scans = Batcher<Scan, Result<Bytes, sordino_server::Error>>;

/// The current version and, for a shard, the version before.
#[derive(Debug)]
struct Versions {
    now: Arc<Server>,
    before: Option<Arc<Server>>,
}

/// An index that the server serves.
#[derive(Debug)]
pub(crate) struct ServedIndex {
    versions: RwLock<Versions>,
    /// The servers of its shards, if the data is not here.
    pub(crate) shards: Option<Shards>,
    pub(crate) changes: OnceLock<Changes>,
    pub(crate) scans: Scans,
    /// The index's terms, if there are several indexes.
    pub(crate) terms: Option<Terms>,
    metrics: Arc<Metrics>,
}

impl ServedIndex {
    pub(crate) fn new(
        server: Server,
        shards: Option<Shards>,
        terms: Option<Terms>,
        limits: &Limits,
        metrics: &Arc<Metrics>,
    ) -> Result<Arc<Self>, Error> {
        let counts = terms.as_ref().map(|terms| terms.counts.clone());
        let hosted = Self {
            versions: RwLock::new(Versions {
                now: Arc::new(server),
                before: None,
            }),
            shards,
            changes: OnceLock::new(),
            scans: scans(limits, metrics, counts)?,
            terms,
            metrics: Arc::clone(metrics),
        };
        hosted.tell(hosted.index().manifest());
        Ok(Arc::new(hosted))
    }

    /// Reports the version to the metrics.
    fn tell(&self, manifest: &Manifest) {
        match &self.terms {
            None => self.metrics.serves(manifest),
            Some(terms) => terms.counts.serves(manifest),
        }
    }

    /// The current version.
    pub(crate) fn index(&self) -> Arc<Server> {
        let versions = self.versions.read();
        Arc::clone(&versions.unwrap_or_else(PoisonError::into_inner).now)
    }

    /// The version that a request is about, if the server has it, and otherwise the current one.
    fn index_of(&self, request: Option<Request<&[u8]>>) -> Arc<Server> {
        let versions = self.versions.read();
        let versions = versions.unwrap_or_else(PoisonError::into_inner);
        let older = |before: &&Arc<Server>| {
            request.is_some_and(|it| versions.now.is_other(it) && !before.is_other(it))
        };
        let before = versions.before.as_ref().filter(older);
        Arc::clone(before.unwrap_or(&versions.now))
    }

    /// Makes another version the current one.
    pub(crate) fn replace(&self, server: Server) {
        self.replace_if(server, |_| true);
    }

    /// Replaces the version `before`. Returns false if that is not the current version any more.
    pub(crate) fn replace_after(&self, before: &Server, server: Server) -> bool {
        let before = before.manifest().digest();
        self.replace_if(server, |now| now.manifest().digest() == before)
    }

    /// Replaces the current version by the version of `server`, if `may` returns true for the current one. If both are
    /// the same version, nothing changes.
    fn replace_if(&self, server: Server, may: impl FnOnce(&Server) -> bool) -> bool {
        let (version, digest) = (server.manifest().version, server.manifest().digest());
        let versions = self.versions.write();
        let mut versions = versions.unwrap_or_else(PoisonError::into_inner);
        if versions.now.manifest().digest() == digest {
            return true;
        }
        if !may(&versions.now) {
            return false;
        }
        let before = versions.now.manifest();
        let (was, is) = (before.index, server.manifest().index);
        if was != is {
            tracing::warn!(
                "another index replaces the one that was served: clients that have seen that one refuse it"
            );
        } else if version < before.version {
            let before = before.version;
            tracing::warn!(
                before,
                version,
                "an older version is put in place: clients that have seen the newer one refuse it"
            );
        }
        self.tell(server.manifest());
        let before = std::mem::replace(&mut versions.now, Arc::new(server));
        let before = before.shard().is_some().then_some(before);
        let older = std::mem::replace(&mut versions.before, before);
        drop(versions);
        // The drop happens outside the lock, because freeing a large amount of memory takes time.
        drop(older);
        self.metrics.replaced.inc();
        match &self.terms {
            None => tracing::info!(version, "index replaced"),
            Some(terms) => tracing::info!(version, name = %terms.name, "index replaced"),
        }
        true
    }

    /// Accepts changes by the owner from now on. If they are accepted already, nothing changes.
    pub(crate) fn accept_changes(
        &self,
        dir: &Path,
        owner: &OwnerPublicKey,
        most: u64,
        limits: &Limits,
    ) -> Result<(), sordino_server::Error> {
        let changes = Changes::new(dir, owner, most, limits)?;
        drop(self.changes.set(changes));
        Ok(())
    }

    /// The version that answers a request, unless the client may not send it. `request` is `None` if the bytes are no
    /// message. `clients` are the digests of the shown key and, with a token, of all its holders' keys. Meanwhile
    /// another index may replace this one, so the decision counts only for the returned version.
    pub(crate) fn admit(
        &self,
        clients: Option<&[[u8; 32]]>,
        grant: Option<&Grant>,
        request: Option<Request<&[u8]>>,
    ) -> Result<Arc<Server>, Refusal> {
        let answering = self.index_of(request);
        let action = action(request, answering.manifest().has_payloads());
        let index = &answering.manifest().index;
        self.permit(index, clients, grant, action)?;
        // A download of payloads also needs the right to payloads. This is checked only for clients that may download.
        let is_limited = grant.is_some() || self.terms.is_some();
        if is_limited && request.is_some_and(|request| answering.gives_payloads(request)) {
            self.permit(index, clients, grant, Ok(Some(Action::Payload)))?;
        }
        Ok(answering)
    }

    /// Refuses an action that the index's policy or a token does not allow.
    fn permit(
        &self,
        index: &[u8; 16],
        clients: Option<&[[u8; 32]]>,
        grant: Option<&Grant>,
        action: Result<Option<Action>, Refusal>,
    ) -> Result<(), Refusal> {
        if let Some(terms) = &self.terms {
            terms.admit(index, clients, grant, action)?;
        }
        let permitted = grant.map_or(Ok(()), |grant| permit(grant, index, action?));
        // A client that may use the index, but not in this way, counts as refused by the index.
        if let (Err(Refusal::Token), Some(terms)) = (permitted, &self.terms) {
            terms.counts.ended(false);
        }
        permitted
    }

    /// Takes the places of a request in flight.
    pub(crate) fn begin(&self, call: &Call, asker: Asker) -> Result<(), Refusal> {
        let mut reserved = Reservation::default();
        let hold = self
            .terms
            .as_ref()
            .map(|terms| terms.take(asker, &mut reserved));
        call.begin(asker, hold.transpose()?, reserved)
    }

    /// The longest request that is answered, as an encoded call.
    pub(crate) fn longest_call(&self) -> usize {
        // The tag and the length of the message. A client may also send a signature, which is longer than a request's
        // tag. The server then says that it does not read signatures.
        const FIELD: usize = 1 + 10;
        let versions = self.versions.read();
        let versions = versions.unwrap_or_else(PoisonError::into_inner);
        let all = std::iter::once(&versions.now).chain(&versions.before);
        let longest = all.filter_map(|version| version.longest_request().ok());
        longest.max().unwrap_or(0) + FIELD + ADDED_LEN
    }
}

/// Starts the thread that scans. The scan itself uses rayon's threads.
fn scans(limits: &Limits, metrics: &Arc<Metrics>, counts: Option<Counts>) -> Result<Scans, Error> {
    let metrics = Arc::clone(metrics);
    let scan = move |scans: Vec<Scan>| {
        let mut replies = Vec::with_capacity(scans.len());
        // Around a replacement, a batch may contain requests for two versions.
        for same in scans.chunk_by(|a, b| Arc::ptr_eq(&a.index, &b.index)) {
            let start = Instant::now();
            let requests = same
                .iter()
                .map(|scan| (scan.holder, scan.request.borrowed()));
            let requests: Vec<_> = requests.collect();
            let answers = same[0].index.handle_batch_of(&requests);
            replies.extend(answers.into_iter().map(|answer| answer.map(Bytes::from)));
            metrics.scanned(same.len(), start.elapsed());
            if let Some(counts) = &counts {
                counts.scanned(start.elapsed());
            }
        }
        replies
    };
    Batcher::start("sordino-scan", limits.in_flight, limits.batch, scan).map_err(Error::Start)
}
