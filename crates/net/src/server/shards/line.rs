//! The servers of one shard, each of which can answer for it.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use bytes::Bytes;
use sordino_index::shard::{HEAD_LEN, Head, Shard};
use sordino_index::wire::{Message, message_len};
use tokio::runtime::Runtime;
use tonic::Request;
use tonic::transport::Channel;

use super::hedge::Hedge;
use crate::caller::{ask, calls, wait};
use crate::schema::CallRequest;
use crate::schema::search_client::SearchClient;
use crate::{Deadlines, Endpoint, Error, Refusal};

/// The time for which a server that failed is asked after the others.
const DOUBT: Duration = Duration::from_secs(5);

/// The number of consecutive answers that another server gave first, after which a server is asked last.
const LOSSES: usize = 3;

/// A shard, and the servers that hold it.
pub(super) struct Line {
    pub(super) shard: Shard,
    replicas: RwLock<Vec<Arc<Replica>>>,
    /// The number of requests so far. The servers take turns by it.
    turn: AtomicUsize,
    /// Decides when a second server is asked.
    pub(super) hedge: Hedge,
}

/// A server that holds a shard.
pub(super) struct Replica {
    pub(super) address: String,
    calls: SearchClient<Channel>,
    deadlines: Deadlines,
    failed: Mutex<Option<Instant>>,
    /// The number of consecutive answers that came from another server first.
    losses: AtomicUsize,
    /// True if the server's version is not the served one.
    other: AtomicBool,
    /// The last reported fault, until the server answers well again.
    said: Mutex<Option<String>>,
}

/// A server that answers, and its shard and version.
pub(super) type Found = (Arc<Replica>, Head);

impl Line {
    pub(super) fn new(shard: Shard) -> Self {
        Self {
            shard,
            replicas: RwLock::default(),
            turn: AtomicUsize::new(0),
            hedge: Hedge::default(),
        }
    }

    /// Replaces the servers. Connections to servers that stay are kept. New connections are made when they are needed,
    /// by the runtime that calls this.
    pub(super) fn reach(
        &self,
        endpoints: impl IntoIterator<Item = Endpoint>,
        part: Duration,
    ) -> Result<(), Error> {
        let before = self.replicas();
        let replicas = endpoints.into_iter().map(|endpoint| {
            let same = |replica: &&Arc<Replica>| replica.address == endpoint.address;
            match before.iter().find(same) {
                Some(replica) => Ok(Arc::clone(replica)),
                None => Replica::new(endpoint, part).map(Arc::new),
            }
        });
        let replicas = replicas.collect::<Result<_, Error>>()?;
        let mut place = self
            .replicas
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        *place = replicas;
        Ok(())
    }

    fn replicas(&self) -> Vec<Arc<Replica>> {
        let replicas = self.replicas.read();
        replicas.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The addresses of its servers.
    pub(super) fn addresses(&self) -> Vec<String> {
        let replicas = self.replicas();
        replicas.iter().map(|one| one.address.clone()).collect()
    }

    /// The servers in the order in which a request asks them, which rotates. Servers with another version, or that
    /// failed recently, come last. A `fetch` asks the first server, which has the keys of sessions.
    ///
    /// # Security
    /// The rotation is a count of requests, so nothing of a query decides which server gets it.
    pub(super) fn order(&self, fetch: bool) -> Vec<Arc<Replica>> {
        let mut replicas = self.replicas();
        if !replicas.is_empty() && !fetch {
            let turn = self.turn.fetch_add(1, Ordering::Relaxed) % replicas.len();
            replicas.rotate_left(turn);
        }
        replicas.sort_by_cached_key(|replica| (replica.is_other(), replica.is_doubtful()));
        replicas
    }

    /// Sends one message and waits for the reply. If a server fails, it asks the next one.
    pub(super) fn exchange(
        &self,
        runtime: &Runtime,
        request: &[u8],
        limit: usize,
    ) -> Result<Vec<u8>, sordino_index::Error> {
        let mut failed = none();
        for replica in self.order(false) {
            match replica.exchange(runtime, request, limit) {
                Ok(reply) => return Ok(reply),
                Err(error) => failed = error,
            }
        }
        Err(failed)
    }

    /// The servers that answer, at least one, and what each has. The flag is true if these are all
    /// servers.
    pub(super) fn found(
        &self,
        runtime: &Runtime,
    ) -> Result<(Vec<Found>, bool), sordino_index::Error> {
        let (mut failed, mut found) = (none(), Vec::new());
        let replicas = self.order(false);
        let all = replicas.len();
        for replica in replicas {
            // `order` puts doubtful replicas last. They are not asked once another replica has answered.
            if !found.is_empty() && replica.is_doubtful() {
                continue;
            }
            match replica.head(runtime, self.shard) {
                Ok(head) => found.push((replica, head)),
                Err(error) => {
                    // A server that answers but lacks this shard is not used for now.
                    let of_network = matches!(error, sordino_index::Error::Transport { .. });
                    let no_shard =
                        !of_network || matches!(Error::of(&error), Some(Error::Reply(_)));
                    replica.other.fetch_or(no_shard, Ordering::Relaxed);
                    failed = error;
                }
            }
        }
        let whole = found.len() == all;
        match found.is_empty() {
            true => Err(failed),
            false => Ok((found, whole)),
        }
    }
}

/// True if two shards have the same version.
fn same(a: Head, b: Head) -> bool {
    (a.index, a.edition) == (b.index, b.edition)
}

/// True if this version is gone: all servers of some shard have answered, and no server of this shard has it. A server
/// that did not answer may have it.
pub(super) fn is_gone(before: Head, found: &[(Vec<Found>, bool)]) -> bool {
    let has = |shard: &[Found]| shard.iter().any(|(_, head)| same(before, *head));
    found.iter().any(|(shard, whole)| *whole && !has(shard))
}

/// The newest version that at least one server of each shard has. A server with an older or a newer version does not
/// prevent this.
pub(super) fn newest(found: &[(Vec<Found>, bool)]) -> Option<Head> {
    let (first, others) = found.split_first()?;
    let mut heads: Vec<Head> = first.0.iter().map(|(_, head)| *head).collect();
    heads.sort_by_key(|head| std::cmp::Reverse(head.edition.version));
    heads.into_iter().find(|&head| {
        let has = |shard: &[Found]| shard.iter().any(|(_, other)| same(head, *other));
        others.iter().all(|(shard, _)| has(shard))
    })
}

/// The error of a server that answers, but has the whole index or none of it.
const NO_SHARD: &str = "it holds no shard: a server of one is started with --shard NUMBER/OF";

/// The error of a shard that no server has now.
fn none() -> sordino_index::Error {
    Error::Unreachable("to any server of the shard".to_owned()).into()
}

impl Replica {
    fn new(endpoint: Endpoint, part: Duration) -> Result<Self, Error> {
        let (http, connector) = endpoint.build()?;
        // A server of a shard has only one index, so no name is needed.
        if endpoint.index()?.is_some() {
            let address = endpoint.address;
            return Err(Error::Address { address });
        }
        Ok(Self {
            address: endpoint.address,
            calls: calls(http.connect_with_connector_lazy(connector)),
            deadlines: Deadlines {
                part,
                ..endpoint.deadlines
            },
            failed: Mutex::default(),
            losses: AtomicUsize::new(0),
            other: AtomicBool::new(false),
            said: Mutex::default(),
        })
    }

    /// Records that a server that was asked later answered first. If this happens again and again, this server is
    /// asked last for a while, as if it had failed. It may not answer at all any more, and no request waits to find
    /// out.
    pub(super) fn lost(&self) {
        if self.losses.fetch_add(1, Ordering::Relaxed) + 1 >= LOSSES {
            self.note(true);
        }
    }

    /// Records whether the server has the served version. Logs it when the server no longer has it.
    pub(super) fn is_at(&self, shard: Shard, found: Head, served: Head) {
        let other = !same(found, served);
        if other && !self.other.swap(other, Ordering::Relaxed) {
            let (address, version) = (&self.address, found.edition.version);
            let served = served.edition.version;
            tracing::warn!(%shard, address, version, served, "a server of a shard does not have the version that is served: it is asked last");
        }
        self.other.store(other, Ordering::Relaxed);
    }

    /// True if this fault differs from the last reported one.
    pub(super) fn is_news(&self, fault: &sordino_index::Error) -> bool {
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        let fault = Some(fault.to_string());
        std::mem::replace(&mut *said, fault.clone()) != fault
    }

    fn is_other(&self) -> bool {
        self.other.load(Ordering::Relaxed)
    }

    /// True if the server failed a moment ago.
    pub(super) fn is_doubtful(&self) -> bool {
        let failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        failed.is_some_and(|when| when.elapsed() < DOUBT)
    }

    /// Records whether the server gave a good answer.
    fn note(&self, failed: bool) {
        let mut when = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        *when = failed.then(Instant::now);
        self.losses.store(0, Ordering::Relaxed);
    }

    fn exchange(
        &self,
        runtime: &Runtime,
        request: &[u8],
        limit: usize,
    ) -> Result<Vec<u8>, sordino_index::Error> {
        let (calls, deadlines) = (self.calls.clone(), self.deadlines);
        let message = Bytes::copy_from_slice(request);
        let asked = async move { ask(calls, unsigned(message), limit, deadlines).await };
        let reply = wait(runtime, asked).map(|(reply, _)| reply);
        let reply = reply.map_err(sordino_index::Error::from);
        self.note(reply.as_ref().is_err_and(is_fault));
        reply
    }

    /// The server's shard and version.
    fn head(&self, runtime: &Runtime, shard: Shard) -> Result<Head, sordino_index::Error> {
        let request = Message::GetShard.with(&[]);
        let reply = self.exchange(runtime, &request, message_len(HEAD_LEN));
        let reply = reply.map_err(|error| match status_of(&error) {
            Some("InvalidArgument") => Error::Reply(NO_SHARD.to_owned()).into(),
            _ => error,
        })?;
        let (head, _) = Head::read(Message::Partial.expect(&reply, Some(HEAD_LEN))?)?;
        head.check(Head { shard, ..head })?;
        Ok(head)
    }

    /// The server's part of a reply to a query, if `check` accepts it.
    pub(super) async fn part(
        &self,
        request: Bytes,
        limit: usize,
        check: impl FnOnce(&[u8]) -> Result<(), sordino_index::Error>,
    ) -> Result<Vec<u8>, sordino_index::Error> {
        // This is the time limit of the whole part, however it arrives.
        let deadlines = Deadlines {
            slowest: u32::MAX,
            ..self.deadlines
        };
        let asked = ask(self.calls.clone(), unsigned(request), limit, deadlines).await;
        let part = asked.map_err(sordino_index::Error::from);
        let part = part.and_then(|(part, _)| check(&part).map(|()| part));
        self.note(part.as_ref().is_err_and(is_fault));
        if part.is_ok() {
            *self.said.lock().unwrap_or_else(PoisonError::into_inner) = None;
        }
        part
    }
}

fn unsigned(message: Bytes) -> Request<CallRequest> {
    Request::new(CallRequest { message, tag: None })
}

/// The code of a status, unless it is a refusal.
fn status_of(error: &sordino_index::Error) -> Option<&str> {
    match Error::of(error)? {
        Error::Status { code, .. } => Some(code),
        _ => None,
    }
}

/// True if another server may do better. This excludes errors that a client may have caused, and a server that is
/// busy.
fn is_fault(error: &sordino_index::Error) -> bool {
    if matches!(error, sordino_index::Error::Session) {
        return false;
    }
    match Error::of(error) {
        Some(Error::Refused(refusal)) => *refusal == Refusal::Stopping,
        Some(Error::Status { code, .. }) => code != "InvalidArgument",
        _ => true,
    }
}
