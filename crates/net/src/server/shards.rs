//! The servers of an index's shards, as seen by the server that answers for them.

mod hedge;
mod line;
mod question;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use line::{Found, Line};
use question::Question;
use sordino_index::OwnerPublicKey;
use sordino_index::shard::{Head, Shard};
use sordino_index::wire::{Message, Request};
use sordino_server::Server;
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

use super::metrics::Metrics;
use super::rejection::Rejection;
use crate::{Endpoint, Error, Limits, Refusal};

/// The number of threads that transport shards' replies.
const THREADS: usize = 2;

/// The servers that hold the shards of an index, in their order: one or more for each shard, and one connection to each.
///
/// # Security
/// This type holds no key. Shards let in everyone who reaches them, so only this process may reach them. The public
/// part of a shard's replies is checked: its index, version and place, lengths, and the owner's signature on all that
/// clients download. Clients notice a shard that computes wrong scores, like a server that does.
pub struct Shards {
    runtime: Option<Runtime>,
    lines: Vec<Arc<Line>>,
    /// The time limit of a shard's answer.
    part: Duration,
    owner: OwnerPublicKey,
    /// True if a second server is asked when the first is late.
    hedged: bool,
}

impl Shards {
    /// Names the servers, one of each shard, the first shard's first. Nothing is asked yet. A shard must answer within
    /// a third of a request's time in `limits`, so it can be asked twice within that time.
    ///
    /// # Errors
    /// - [`Error::Shards`] if an index cannot be cut into this number of shards
    /// - [`Error::Address`] if an address is malformed
    /// - [`Error::Roots`] if roots or a name are given for an `http` address
    /// - [`Error::Certificate`] if a certificate or its key cannot be used
    /// - [`Error::Start`] if the system refuses threads
    pub fn new(
        endpoints: impl IntoIterator<Item = Endpoint>,
        owner: &OwnerPublicKey,
        limits: &Limits,
    ) -> Result<Self, Error> {
        Self::replicated(endpoints.into_iter().map(|one| [one]), owner, limits)
    }

    /// Like [`new`](Self::new), with several servers for each shard. They take requests in turns; if one fails, the
    /// next is asked.
    ///
    /// # Errors
    /// The errors of [`new`](Self::new).
    pub fn replicated<L: IntoIterator<Item = Endpoint>>(
        shards: impl IntoIterator<Item = L>,
        owner: &OwnerPublicKey,
        limits: &Limits,
    ) -> Result<Self, Error> {
        let shards: Vec<L> = shards.into_iter().collect();
        let (found, most) = (shards.len(), Shard::MOST);
        let of = u16::try_from(found)
            .ok()
            .filter(|of| (1..=most).contains(of));
        let of = of.ok_or(Error::Shards { found, most })?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(THREADS)
            .thread_name("sordino-shards")
            .enable_all()
            .build()
            .map_err(Error::Start)?;
        let all = Self {
            runtime: Some(runtime),
            lines: Shard::all(of)
                .map(|shard| Arc::new(Line::new(shard)))
                .collect(),
            part: limits.request / 3,
            owner: owner.clone(),
            hedged: false,
        };
        for (shard, endpoints) in Shard::all(of).zip(shards) {
            all.reach(shard.number(), endpoints)?;
        }
        Ok(all)
    }

    /// Lets a shard's next server get a query too, once the first server has taken longer than 95 of 100 answers did.
    /// The first whole answer counts. At most one request in ten goes to two servers. Payloads are fetched
    /// from one server, which has the keys of sessions.
    #[must_use]
    pub fn hedged(mut self) -> Self {
        self.hedged = true;
        self
    }

    /// The number of shards.
    pub(crate) fn count(&self) -> u16 {
        u16::try_from(self.lines.len()).unwrap_or(Shard::MOST)
    }

    /// Replaces the servers of one shard. While the shard has no server, requests are refused.
    pub(crate) fn reach(
        &self,
        shard: u16,
        endpoints: impl IntoIterator<Item = Endpoint>,
    ) -> Result<(), Error> {
        let missing = Error::NoShard {
            found: shard,
            most: self.count(),
        };
        let line = usize::from(shard).checked_sub(1);
        let line = line.and_then(|at| self.lines.get(at)).ok_or(missing)?;
        // This runtime serves the connections.
        let _inside = self.runtime()?.enter();
        line.reach(endpoints, self.part)
    }

    fn runtime(&self) -> Result<&Runtime, Error> {
        let closed = || Error::Broken("it is closed".to_owned());
        self.runtime.as_ref().ok_or_else(closed)
    }

    /// A server of the version that all shards have, for [`Service::over`](crate::Service::over): it fetches what clients
    /// download.
    ///
    /// # Errors
    /// [`Error::Shard`]: with [`Stale`](sordino_server::Error::Stale) if the shards have several versions, as for a
    /// while after a change. The same error if a shard is of another index, is in another place, cannot be reached, or
    /// sends something that the owner did not sign.
    pub fn open(&self) -> Result<Server, Error> {
        let opened = self.gather(None)?;
        opened.ok_or_else(|| Error::Reply("of no version".to_owned()))
    }

    /// The version that all shards have, if it differs from this one.
    pub(crate) fn follow(&self, before: &Server) -> Result<Option<Server>, Error> {
        self.gather(Some(before))
    }

    fn gather(&self, before: Option<&Server>) -> Result<Option<Server>, Error> {
        let runtime = self.runtime()?;
        // Shards are asked one after the other, so an error is about the last one asked.
        let mut last = &self.lines[0];
        let found = self.lines.iter().map(|line| {
            last = line;
            line.found(runtime)
        });
        let found = found.collect::<Result<Vec<(Vec<Found>, bool)>, _>>();
        let gathered = found.and_then(|found| {
            let held = before.map(|before| Head::new(before.manifest(), self.lines[0].shard));
            let newest = line::newest(&found);
            // Goes back, or to another index, only if the current version is gone from a shard, not if one of its servers
            // is silent.
            let back = |held: &Head| newest.is_some_and(|newest| !newest.follows(*held));
            let served = match held.filter(back) {
                Some(held) if !line::is_gone(held, &found) => Some(held),
                _ => newest,
            };
            let mut ask = |shard: Shard, request: &[u8], limit: usize| {
                last = self.line(shard);
                if request != Message::GetShard.with(&[]) {
                    return last.exchange(runtime, request, limit);
                }
                // If no version is on all shards, the first differences are reported.
                let first = found[usize::from(shard.number()) - 1].0[0].1;
                let head = served.map_or(first, |served| Head { shard, ..served });
                Ok(Message::Partial.with(&head.to_bytes()))
            };
            let gathered = Server::gather(self.count(), &self.owner, before, &mut ask);
            // Servers that have the served version are asked first.
            let served = if gathered.is_ok() { served } else { held };
            if let Some(served) = served {
                for (line, (replicas, _)) in self.lines.iter().zip(&found) {
                    for (replica, head) in replicas {
                        replica.is_at(line.shard, *head, served);
                    }
                }
            }
            gathered
        });
        gathered.map_err(|source| Error::Shard {
            number: last.shard.number(),
            address: last.addresses().join(", "),
            source: Box::new(source),
        })
    }

    fn line(&self, shard: Shard) -> &Arc<Line> {
        &self.lines[usize::from(shard.number()) - 1]
    }

    /// Lets the shards answer a request, and joins their parts.
    pub(crate) async fn answer(
        &self,
        server: &Arc<Server>,
        request: Request<Bytes>,
        metrics: &Arc<Metrics>,
    ) -> Result<Bytes, Rejection> {
        let asked = server.ask(request.borrowed());
        let asked = asked.map_err(Rejection::Message)?;
        let request = request.into_bytes();
        // If the client goes away, or one shard refuses, the requests to the other shards end too.
        let mut asking = JoinSet::new();
        for (at, shard) in asked.shards().enumerate() {
            let question = Question {
                line: Arc::clone(self.line(shard)),
                server: Arc::clone(server),
                asked,
                request: request.clone(),
                metrics: Arc::clone(metrics),
                hedged: self.hedged,
            };
            asking.spawn(async move { (at, question.part().await) });
        }
        let mut parts = vec![Vec::new(); asking.len()];
        while let Some(done) = asking.join_next().await {
            let (at, part) = done.map_err(|_| Refusal::Shard)?;
            parts[at] = part?;
        }
        let joined = server.join(asked, &parts).map_err(|error| {
            tracing::warn!(%error, "the parts of the shards do not fit together");
            Refusal::Shard
        })?;
        Ok(Bytes::from(joined))
    }
}

impl Drop for Shards {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl fmt::Debug for Shards {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let addresses = self.lines.iter().map(|line| line.addresses());
        f.debug_list().entries(addresses).finish()
    }
}
