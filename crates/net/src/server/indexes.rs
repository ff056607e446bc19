//! Indexes by name, as one service.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use sordino_index::OwnerPublicKey;
use sordino_server::Server;

use super::changes::Changes;
use super::metrics::Metrics;
use super::served_index::ServedIndex;
use super::service_state::{Served, ServiceState};
use super::terms::{Policy, Terms};
use crate::{Access, Error, IndexName, Limits};

/// Indexes that are served to clients by name, and can be opened, replaced and closed meanwhile.
///
/// Clients name an index after the address, `https://host:port/name`. All indexes have the same list of clients. A
/// token's indexes and the index's [`Policy`] decide which of these clients may ask an index. Others get the same
/// reply as for an index that does not exist. Strangers are refused before the name is looked up. Clones are
/// handles to the same service.
#[derive(Clone, Debug)]
pub struct Indexes {
    pub(crate) shared: Arc<ServiceState>,
}

/// The directory of an index that its owner may change over the network.
#[derive(Debug)]
pub struct Accepting(Changes);

impl Indexes {
    /// The largest number of indexes of one service, since each has a thread.
    pub const MOST: usize = 1024;

    /// Prepares a service without an index. Nothing listens yet.
    ///
    /// # Errors
    /// - [`Error::Limits`] if a limit is zero or limits contradict each other
    /// - [`Error::KeyLength`] if a client's key has a wrong length
    /// - [`Error::Start`] if the system refuses threads
    pub fn new(access: &Access, limits: Limits) -> Result<Self, Error> {
        limits.check()?;
        let served = Served::new(true, &limits);
        let shared = ServiceState::new(served, access, limits, Metrics::new())?;
        Ok(Self {
            shared: Arc::new(shared),
        })
    }

    /// Serves an index under this name, instead of the one that has it. Without a policy it is for all clients that may
    /// ask. Requests that have begun are answered from the index that they began with.
    ///
    /// # Errors
    /// [`Error::Indexes`] if there is no place for another index; [`Error::Start`] if the system refuses a thread.
    pub fn open(
        &self,
        name: &IndexName,
        server: Server,
        policy: Option<Policy>,
    ) -> Result<(), Error> {
        self.open_with(name, server, policy, None)
    }

    /// Like [`open`](Self::open), and the owner may change the index over the network until it is closed. A change by
    /// any other client is refused as at an index that does not exist.
    ///
    /// # Errors
    /// The errors of [`open`](Self::open).
    pub fn open_to_changes(
        &self,
        name: &IndexName,
        server: Server,
        policy: Option<Policy>,
        accepting: Accepting,
    ) -> Result<(), Error> {
        self.open_with(name, server, policy, Some(accepting))
    }

    fn open_with(
        &self,
        name: &IndexName,
        server: Server,
        policy: Option<Policy>,
        accepting: Option<Accepting>,
    ) -> Result<(), Error> {
        let shared = &self.shared;
        let served = &shared.served;
        if served.get(Some(name)).is_none() && served.all().len() >= Self::MOST {
            return Err(Error::Indexes { most: Self::MOST });
        }
        let counts = shared.metrics.by_index.opens(name);
        let (number, rate) = (served.number(), served.rate());
        let terms = Terms::new(name.clone(), number, policy, rate, &served.places, counts);
        let hosted = ServedIndex::new(server, None, Some(terms), &shared.limits, &shared.metrics);
        let hosted = hosted.inspect_err(|_| shared.metrics.by_index.closes(name))?;
        if let Some(Accepting(mut changes)) = accepting {
            changes.after(served.steps(name, &shared.limits));
            // The index is new, so no changes were set before.
            drop(hosted.changes.set(changes));
        }
        drop(served.set(Some(name), Some(Arc::clone(&hosted))));
        if let Some(terms) = &hosted.terms {
            // The rate of all indexes may have changed since it was read.
            terms.set_rate(served.rate());
        }
        tracing::info!(%name, "index opened");
        Ok(())
    }

    /// Replaces the version of an index; false if there is no index of this name.
    #[expect(
        clippy::must_use_candidate,
        reason = "nothing is to be done for an index that was closed"
    )]
    pub fn replace(&self, name: &IndexName, server: Server) -> bool {
        let hosted = self.shared.served.get(Some(name));
        if let Some(hosted) = &hosted {
            hosted.replace(server);
            self.shared.served.measure();
        }
        hosted.is_some()
    }

    /// Replaces the version `before` of an index, as [`Service::replace_after`](crate::Service::replace_after) does;
    /// false also if there is no index of this name.
    #[must_use]
    pub fn replace_after(&self, name: &IndexName, before: &Server, server: Server) -> bool {
        let hosted = self.shared.served.get(Some(name));
        let replaced = hosted.is_some_and(|hosted| hosted.replace_after(before, server));
        if replaced {
            self.shared.served.measure();
        }
        replaced
    }

    /// Holds the directory of an index, for [`open_to_changes`](Self::open_to_changes): nothing else changes it from now on. The owner signs
    /// each step of a change; the index may have `most` bytes.
    ///
    /// # Errors
    /// The errors of [`Service::accept_changes`](crate::Service::accept_changes).
    pub fn accepting(
        &self,
        dir: impl AsRef<Path>,
        owner: &OwnerPublicKey,
        most: u64,
    ) -> Result<Accepting, sordino_server::Error> {
        self.shared.served.changing.store(true, Ordering::Relaxed);
        let changes = Changes::new(dir.as_ref(), owner, most, &self.shared.limits);
        changes.map(Accepting)
    }

    /// Changes the clients that an index is for, from the next request on; false if there is no index of this name.
    #[expect(
        clippy::must_use_candidate,
        reason = "nothing is to be done for an index that was closed"
    )]
    pub fn set_policy(&self, name: &IndexName, policy: Option<Policy>) -> bool {
        let hosted = self.shared.served.get(Some(name));
        if let Some(terms) = hosted.as_ref().and_then(|hosted| hosted.terms.as_ref()) {
            terms.set_policy(policy);
        }
        hosted.is_some()
    }

    /// Stops serving an index; false if there is no index of this name. Requests that have begun are still answered.
    pub fn close(&self, name: &IndexName) -> bool {
        let before = self.shared.served.set(Some(name), None);
        if before.is_some() {
            self.shared.metrics.by_index.closes(name);
            tracing::info!(%name, "index closed");
        }
        before.is_some()
    }

    /// The names of all indexes, in their order.
    #[must_use]
    pub fn names(&self) -> Vec<IndexName> {
        let all = self.shared.served.all().into_iter();
        all.filter_map(|(name, _)| name).collect()
    }

    /// The version of an index that is served now.
    #[must_use]
    pub fn server(&self, name: &IndexName) -> Option<Arc<Server>> {
        self.shared
            .served
            .get(Some(name))
            .map(|hosted| hosted.index())
    }

    /// Changes the clients that may ask, and the rates, as [`Service::change`](crate::Service::change) does.
    ///
    /// # Errors
    /// The errors of [`Service::change`](crate::Service::change).
    pub fn change(&self, access: &Access, limits: &Limits) -> Result<(), Error> {
        self.shared.change(access, limits)
    }

    /// All counts in the OpenMetrics text form, as the metrics port gives them out.
    #[must_use]
    pub fn metrics(&self) -> String {
        self.shared.metrics.text()
    }
}
