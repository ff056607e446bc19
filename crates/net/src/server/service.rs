//! A service: an index, the clients that may ask it, and the limits.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use sordino_index::OwnerPublicKey;
use sordino_server::Server;

use super::metrics::Metrics;
use super::served_index::ServedIndex;
use super::service_state::{Served, ServiceState};
use crate::{Access, Endpoint, Error, Limits, Shards};

/// An index that is served to clients, and can be replaced meanwhile.
///
/// Clones are handles to the same service.
#[derive(Clone, Debug)]
pub struct Service {
    pub(crate) shared: Arc<ServiceState>,
    hosted: Arc<ServedIndex>,
}

impl Service {
    /// Prepares a service. Nothing listens yet.
    ///
    /// # Errors
    /// - [`Error::Limits`] if a limit is zero or limits contradict each other
    /// - [`Error::KeyLength`] if a client's key has a wrong length
    /// - [`Error::Start`] if the system refuses threads
    pub fn new(server: Server, access: &Access, limits: Limits) -> Result<Self, Error> {
        Self::build(server, None, access, limits)
    }

    /// Prepares a service over the servers that hold an index's shards, of the version that they [have](Shards::open)
    /// now. Each query goes to all shards, and once more to a shard that fails. Clients get whole answers of one
    /// version, or one refusal that does not say which shard failed.
    ///
    /// # Security
    /// A client must never send the same encrypted query twice, since an observer of both learns that it is one search.
    /// Here the service repeats a query only to its own shards. A shard that gets it twice learns only that the service
    /// asked twice: it could have computed the answer again by itself. Nothing in the query decides when or how often
    /// the service asks.
    ///
    /// # Errors
    /// The errors of [`new`](Self::new).
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
        metrics.gathers(shards.as_ref().map_or(0, Shards::count));
        let hosted = ServedIndex::new(server, shards, None, &limits, &metrics)?;
        let served = Served::new(false, &limits);
        drop(served.set(None, Some(Arc::clone(&hosted))));
        let shared = ServiceState::new(served, access, limits, metrics)?;
        Ok(Self {
            shared: Arc::new(shared),
            hosted,
        })
    }

    /// The version that is served now.
    #[must_use]
    pub fn server(&self) -> Arc<Server> {
        self.hosted.index()
    }

    /// Replaces the served version with the version that all shards have now. Returns true if that is another version.
    /// While some shards lack the next version, servers that still have the version before answer about it.
    ///
    /// # Errors
    /// [`Error::Shard`] if a server of a shard cannot be used.
    pub fn follow_shards(&self) -> Result<bool, Error> {
        let Some(shards) = &self.hosted.shards else {
            return Ok(false);
        };
        let Some(new) = shards.follow(&self.server())? else {
            return Ok(false);
        };
        self.replace(new);
        Ok(true)
    }

    /// Replaces the servers that hold one of the shards, the first shard being 1. Requests from now on go to these in
    /// turn and, if one fails, to the next. While a shard has no server, requests are refused.
    ///
    /// # Errors
    /// - [`Error::GathersNothing`] if the index is here
    /// - [`Error::NoShard`] if there is no such shard
    /// - [`Error::Address`] if the address is malformed
    /// - [`Error::Roots`] if roots or a name are given for an `http` address
    /// - [`Error::Certificate`] if a certificate or its key cannot be used
    pub fn reach(
        &self,
        shard: u16,
        endpoints: impl IntoIterator<Item = Endpoint>,
    ) -> Result<(), Error> {
        match &self.hosted.shards {
            Some(shards) => shards.reach(shard, endpoints),
            None => Err(Error::GathersNothing),
        }
    }

    /// Replaces the version of the index. The service still answers requests that have begun from the version that they
    /// began with. A shard still answers requests about the version before, since not all shards change at one moment.
    pub fn replace(&self, server: Server) {
        self.hosted.replace(server);
        self.shared.served.measure();
    }

    /// Replaces the version `before` with `server`'s, which follows from it. If another version is in place by now,
    /// returns false and does nothing. If `server`'s version is in place already, returns true and does nothing.
    #[must_use]
    pub fn replace_after(&self, before: &Server, server: Server) -> bool {
        let replaced = self.hosted.replace_after(before, server);
        self.shared.served.measure();
        replaced
    }

    /// Accepts changes of the index by its owner, over the network. From now on this service alone changes the
    /// directory that the served version was read from. The owner signs each step; an index may have `most` bytes.
    ///
    /// # Errors
    /// [`sordino_server::Error::Locked`] if another process changes the directory. Other errors if the directory cannot
    /// be read.
    pub fn accept_changes(
        &self,
        dir: impl AsRef<Path>,
        owner: &OwnerPublicKey,
        most: u64,
    ) -> Result<(), sordino_server::Error> {
        let shared = &self.shared;
        self.hosted
            .accept_changes(dir.as_ref(), owner, most, &shared.limits)?;
        shared.served.changing.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Changes which clients may send requests, and the three rates of `limits`: for all clients together, for each key
    /// and for each address. The service's other limits stay as they were. Requests that were accepted before are
    /// remembered, so that no request is accepted again.
    ///
    /// # Errors
    /// - [`Error::Limits`] if a limit is zero or limits contradict each other
    /// - [`Error::KeyLength`] if a client's key has a wrong length
    /// - [`Error::Access`] if the service would begin or cease to ask for keys
    ///
    /// After an error nothing is changed.
    pub fn change(&self, access: &Access, limits: &Limits) -> Result<(), Error> {
        self.shared.change(access, limits)
    }

    /// All counts in the OpenMetrics text form, as the metrics port gives them out.
    #[must_use]
    pub fn metrics(&self) -> String {
        self.shared.metrics.text()
    }
}
