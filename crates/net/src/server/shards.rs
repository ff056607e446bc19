//! The servers that hold an index's shards, to the server that is asked in their place.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use sordino_index::OwnerPublicKey;
use sordino_index::shard::Shard;
use sordino_server::{Asked, Server};
use tokio::runtime::Runtime;
use tokio::task::JoinSet;
use tonic::Request;
use tonic::transport::Channel;

use super::metrics::Metrics;
use super::refused::Refused;
use crate::caller::{ask, calls, wait};
use crate::schema::CallRequest;
use crate::schema::search_client::SearchClient;
use crate::{Deadlines, Endpoint, Error, Limits, Refusal};

/// Times that a shard is asked for its part of a reply.
const TRIES: u32 = 2;

/// Threads that carry replies of shards.
const THREADS: usize = 2;

/// The servers that hold the shards of an index, in their order, one connection to each.
///
/// # Security
/// There is no key here: shards let in whoever reaches them, and are to be reached from here alone. What a shard says
/// is checked as far as it is public: its index, version and place, lengths, and the owner's signature on all that clients
/// download. A shard that computes wrong scores is noticed by clients, like a server that does.
pub struct Shards {
    runtime: Option<Runtime>,
    lines: Vec<Line>,
    owner: OwnerPublicKey,
}

/// The way to a shard.
#[derive(Clone)]
struct Line {
    shard: Shard,
    address: String,
    calls: SearchClient<Channel>,
    deadlines: Deadlines,
}

impl Shards {
    /// Names the servers, the first shard's first. Nothing is asked yet. Within a request's time of `limits` a shard can be
    /// asked twice, so each time it has a third.
    ///
    /// # Errors
    /// [`Error::Shards`], [`Error::Address`], [`Error::Roots`], [`Error::Certificate`], [`Error::Start`].
    pub fn new(
        endpoints: impl IntoIterator<Item = Endpoint>,
        owner: &OwnerPublicKey,
        limits: &Limits,
    ) -> Result<Self, Error> {
        let endpoints: Vec<Endpoint> = endpoints.into_iter().collect();
        let (found, most) = (endpoints.len(), Shard::MOST);
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
        // Connections are served by this runtime; they are made when they are needed.
        let inside = runtime.enter();
        let lines = Shard::all(of).zip(endpoints).map(|(shard, endpoint)| {
            let (http, connector) = endpoint.build()?;
            // A shard's server has one index.
            if endpoint.index()?.is_some() {
                let address = endpoint.address;
                return Err(Error::Address { address });
            }
            Ok(Line {
                shard,
                address: endpoint.address,
                calls: calls(http.connect_with_connector_lazy(connector)),
                deadlines: Deadlines {
                    part: limits.request / (TRIES + 1),
                    ..endpoint.deadlines
                },
            })
        });
        let lines = lines.collect::<Result<_, Error>>();
        drop(inside);
        Ok(Self {
            lines: lines?,
            runtime: Some(runtime),
            owner: owner.clone(),
        })
    }

    /// A server of the version that all shards have, for [`Service::over`](crate::Service::over): it fetches what clients
    /// download.
    ///
    /// # Errors
    /// [`Error::Shard`]: with [`Stale`](sordino_server::Error::Stale) if they have several versions, as for a while after a
    /// change; if one is of another index, in another place, cannot be reached, or gives out what the owner did not sign.
    pub fn open(&self) -> Result<Server, Error> {
        let opened = self.gather(None)?;
        opened.ok_or_else(|| Error::Reply("of no version".to_owned()))
    }

    /// The version that all shards have, if it is another than this one.
    pub(crate) fn follow(&self, before: &Server) -> Result<Option<Server>, Error> {
        self.gather(Some(before))
    }

    fn gather(&self, before: Option<&Server>) -> Result<Option<Server>, Error> {
        let of = self.lines.len();
        let of = u16::try_from(of).map_err(|_| Error::Shards {
            found: of,
            most: Shard::MOST,
        })?;
        // Shards are asked one after the other, so an error is about the last.
        let mut last = &self.lines[0];
        let mut ask = |shard: Shard, request: &[u8], limit: usize| {
            last = self.line(shard);
            Ok(self.exchange(last, request, limit)?)
        };
        let gathered = Server::gather(of, &self.owner, before, &mut ask);
        gathered.map_err(|source| Error::Shard {
            number: last.shard.number(),
            address: last.address.clone(),
            source: Box::new(source),
        })
    }

    /// Sends one message and waits for the reply.
    fn exchange(&self, line: &Line, request: &[u8], limit: usize) -> Result<Vec<u8>, Error> {
        let (calls, deadlines) = (line.calls.clone(), line.deadlines);
        let message = Bytes::copy_from_slice(request);
        let asked = async move { ask(calls, unsigned(message), limit, deadlines).await };
        let closed = || Error::Broken("it is closed".to_owned());
        let (reply, _) = wait(self.runtime.as_ref().ok_or_else(closed)?, asked)?;
        Ok(reply)
    }

    fn line(&self, shard: Shard) -> &Line {
        &self.lines[usize::from(shard.number()) - 1]
    }

    /// Has the shards answer a request, and joins what they say.
    pub(crate) async fn answer(
        &self,
        server: &Arc<Server>,
        request: Bytes,
        metrics: &Arc<Metrics>,
    ) -> Result<Bytes, Refused> {
        let asked = server.ask(&request).map_err(Refused::Message)?;
        // Who goes away, or is refused because of one shard, takes the requests to the others along.
        let mut asking = JoinSet::new();
        for (at, shard) in asked.shards().enumerate() {
            let question = Question {
                line: self.line(shard).clone(),
                server: Arc::clone(server),
                asked,
                request: request.clone(),
                metrics: Arc::clone(metrics),
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
        let addresses = self.lines.iter().map(|line| &line.address);
        f.debug_list().entries(addresses).finish()
    }
}

/// A request to one shard.
struct Question {
    line: Line,
    server: Arc<Server>,
    asked: Asked,
    request: Bytes,
    metrics: Arc<Metrics>,
}

impl Question {
    /// The shard's part of the reply. Where it fails, it is asked once more: behind its address there may be another
    /// process by then.
    async fn part(self) -> Result<Vec<u8>, Refusal> {
        let (shard, address) = (self.line.shard, &self.line.address);
        let limit = self.server.longest_part(self.asked, shard);
        let limit = limit.map_err(|_| Refusal::Shard)?;
        for try_number in 1..=TRIES {
            let start = Instant::now();
            let error = match self.once(limit).await {
                Ok(part) => {
                    self.metrics.shard(shard.number(), start.elapsed());
                    return Ok(part);
                }
                Err(error) => error,
            };
            let last = try_number == TRIES;
            if let Some(refusal) = of_client(self.asked, &error, last) {
                return Err(refusal);
            }
            self.metrics.shard_failed(shard.number(), last);
            tracing::warn!(%shard, address, %error, last, "a shard did not do its part");
            if !last {
                tokio::time::sleep(PAUSE).await;
            }
        }
        Err(Refusal::Shard)
    }

    async fn once(&self, limit: usize) -> Result<Vec<u8>, sordino_server::Error> {
        let request = unsigned(self.request.clone());
        let line = &self.line;
        // The time is that of the whole part, however it comes.
        let deadlines = Deadlines {
            slowest: u32::MAX,
            ..line.deadlines
        };
        let (reply, _) = ask(line.calls.clone(), request, limit, deadlines).await?;
        self.server.check_part(self.asked, line.shard, &reply)?;
        Ok(reply)
    }
}

/// The pause before a shard is asked again: a process that is gone refuses at once, and another may take its place.
const PAUSE: Duration = Duration::from_millis(50);

fn unsigned(message: Bytes) -> Request<CallRequest> {
    Request::new(CallRequest {
        message,
        signature: None,
        tag: None,
    })
}

/// A refusal that is the client's to act on: a fetch lacks a session's keys, or the message is not one that the index
/// answers, if the shard says so when it is asked again too.
fn of_client(asked: Asked, error: &sordino_server::Error, last: bool) -> Option<Refusal> {
    match error {
        sordino_server::Error::Session if asked.is_fetch() => Some(Refusal::Session),
        sordino_server::Error::Transport(error) => match error.downcast_ref::<Error>() {
            Some(Error::Status { code, .. }) if last && code == "InvalidArgument" => {
                Some(Refusal::Message)
            }
            _ => None,
        },
        _ => None,
    }
}
