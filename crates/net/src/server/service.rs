//! A service: an index, who may ask it, and how much at a time.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};
use std::time::Instant;

use bytes::Bytes;
use sordino_index::OwnerPublicKey;
use sordino_server::Server;

use super::askers::Askers;
use super::batcher::Batcher;
use super::changes::Changes;
use super::door::Door;
use super::metrics::Metrics;
use super::signed::ADDED_LEN;
use crate::schema::HelloReply;
use crate::signature::shown;
use crate::{Access, Endpoint, Error, Limits, Shards};

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
        Self::build(server, None, access, limits)
    }

    /// Prepares a service over the servers that hold an index's shards, of the version that they
    /// [have](Shards::open) now. Each query goes to all of them, and to one that fails once more; clients get whole
    /// answers of one version, or one refusal that does not say which shard failed.
    ///
    /// # Security
    /// A client must never send the same encrypted query twice, since whoever sees both learns that it is one search.
    /// Here the service sends it, within itself: a shard that gets it twice learns no more than that the service asked
    /// twice, and the answer to it is what it could have computed again by itself. Nothing of the query decides
    /// when or how often.
    ///
    /// # Errors
    /// Those of [`new`](Self::new).
    pub fn over(
        shards: Shards,
        server: Server,
        access: &Access,
        limits: Limits,
    ) -> Result<Self, Error> {
        Self::build(server, Some(shards), access, limits)
    }

    fn build(
        server: Server,
        shards: Option<Shards>,
        access: &Access,
        limits: Limits,
    ) -> Result<Self, Error> {
        limits.check()?;
        let metrics = Metrics::new();
        let keys = access.asked();
        let keys = keys.map(|asked| Askers::new(asked, &limits, &metrics));
        let keys = keys.transpose()?;
        metrics.serves(server.manifest());
        metrics.gathers(shards.as_ref().map_or(0, Shards::count));
        let instance = shown(&mut rand::rng(), b"instance");
        let shared = Shared {
            versions: RwLock::new(Versions {
                now: Arc::new(server),
                before: None,
            }),
            shards,
            instance,
            door: Arc::new(Door::new(keys.is_none(), &limits, &metrics)),
            keys,
            changes: OnceLock::new(),
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
        self.shared.index()
    }

    /// Puts the version in place that all shards have now, if it is another: true if it is. While not all have the next,
    /// the version before is answered by those that have it too.
    ///
    /// # Errors
    /// [`Error::Shard`].
    pub fn follow_shards(&self) -> Result<bool, Error> {
        let Some(shards) = &self.shared.shards else {
            return Ok(false);
        };
        let Some(new) = shards.follow(&self.server())? else {
            return Ok(false);
        };
        self.replace(new);
        Ok(true)
    }

    /// Names the servers that hold one of the shards anew, the first shard being 1: requests from now on go to these, in
    /// turns, and where one fails, to the next. While there are none, requests are refused.
    ///
    /// # Errors
    /// [`Error::Shards`] if there is no such shard; [`Error::Address`], [`Error::Roots`], [`Error::Certificate`].
    pub fn reach(
        &self,
        shard: u16,
        endpoints: impl IntoIterator<Item = Endpoint>,
    ) -> Result<(), Error> {
        match &self.shared.shards {
            Some(shards) => shards.reach(shard, endpoints),
            None => Err(Error::Shards {
                found: shard.into(),
                most: 0,
            }),
        }
    }

    /// Puts another version of the index in place. Requests that have begun are answered from the
    /// one they began with. A shard answers requests about the version before on, since not all shards change at
    /// one moment.
    pub fn replace(&self, server: Server) {
        self.shared.replace(server);
    }

    /// Accepts changes of the index by its owner, over the network: the directory that the served version was
    /// read from is from now on changed by this service alone. The owner signs each step; an index may have
    /// `most` bytes.
    ///
    /// # Errors
    /// [`sordino_server::Error::Locked`] if another process changes the directory; if it cannot be read.
    pub fn accept_changes(
        &self,
        dir: impl AsRef<Path>,
        owner: &OwnerPublicKey,
        most: u64,
    ) -> Result<(), sordino_server::Error> {
        let changes = Changes::new(dir.as_ref(), owner, most, &self.shared.limits)?;
        // Where they are accepted already, they stay so.
        drop(self.shared.changes.set(changes));
        Ok(())
    }

    /// Changes who may ask, and the rates of `limits`: of all, of a key and of an address. The other bounds
    /// stay those that the service was made with. Requests that were accepted before are remembered, so that
    /// none is accepted again.
    ///
    /// # Errors
    /// [`Error::Limits`] and [`Error::KeyLength`], and [`Error::Access`] if it would begin or cease to ask for
    /// keys. Nothing is changed then.
    pub fn change(&self, access: &Access, limits: &Limits) -> Result<(), Error> {
        limits.check()?;
        match (access.asked(), &self.shared.keys) {
            (None, None) => (),
            (Some(asked), Some(askers)) => askers.renew(asked, limits)?,
            _ => return Err(Error::Access),
        }
        self.shared.door.set_rates(limits);
        Ok(())
    }

    /// All counts in the OpenMetrics text form, as the metrics port gives them out.
    #[must_use]
    pub fn metrics(&self) -> String {
        self.shared.metrics.text()
    }
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

type Scans = Batcher<Scan, Result<Bytes, sordino_server::Error>>;

/// A request that takes a pass over the index.
#[derive(Debug)]
pub(crate) struct Scan {
    pub(crate) index: Arc<Server>,
    pub(crate) request: Bytes,
}

/// The version in place, and of a shard the one before.
#[derive(Debug)]
struct Versions {
    now: Arc<Server>,
    before: Option<Arc<Server>>,
}

/// The state that all handles of a service share.
#[derive(Debug)]
pub(crate) struct Shared {
    versions: RwLock<Versions>,
    /// The servers that have the data, if it is not here.
    pub(crate) shards: Option<Shards>,
    /// Drawn for this run: signatures are made for it, so none from before the start is accepted.
    pub(crate) instance: [u8; 32],
    pub(crate) keys: Option<Askers>,
    pub(crate) changes: OnceLock<Changes>,
    pub(crate) door: Arc<Door>,
    pub(crate) scans: Scans,
    pub(crate) stopping: Arc<AtomicBool>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) limits: Limits,
}

impl Shared {
    /// The version in place.
    pub(crate) fn index(&self) -> Arc<Server> {
        let versions = self.versions.read();
        Arc::clone(&versions.unwrap_or_else(PoisonError::into_inner).now)
    }

    /// The version that a request is about, if it is here, or else the one in place.
    pub(crate) fn index_of(&self, request: &[u8]) -> Arc<Server> {
        let versions = self.versions.read();
        let versions = versions.unwrap_or_else(PoisonError::into_inner);
        let before = versions
            .before
            .as_ref()
            .filter(|before| versions.now.is_other(request) && !before.is_other(request));
        Arc::clone(before.unwrap_or(&versions.now))
    }

    /// Puts another version in place.
    pub(crate) fn replace(&self, server: Server) {
        let version = server.manifest().version;
        self.metrics.serves(server.manifest());
        let versions = self.versions.write();
        let mut versions = versions.unwrap_or_else(PoisonError::into_inner);
        let before = std::mem::replace(&mut versions.now, Arc::new(server));
        let before = before.shard().is_some().then_some(before);
        let older = std::mem::replace(&mut versions.before, before);
        drop(versions);
        // Not under the lock: letting go of much memory takes a while.
        drop(older);
        self.metrics.replaced.inc();
        tracing::info!(version, "index replaced");
    }

    /// The names of this run.
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
        // The tag and the length of the message.
        const FIELD: usize = 1 + 10;
        let versions = self.versions.read();
        let versions = versions.unwrap_or_else(PoisonError::into_inner);
        let all = std::iter::once(&versions.now).chain(&versions.before);
        let longest = all.filter_map(|version| version.longest_request().ok());
        longest.max().unwrap_or(0) + FIELD + ADDED_LEN
    }
}
