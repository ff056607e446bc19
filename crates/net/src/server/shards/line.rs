//! The way to a shard: the servers that hold it, each of which can do its part.

use std::sync::atomic::{AtomicUsize, Ordering};
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

/// Answers in a row that came from another server first, after which one is asked after the others.
const LOSSES: usize = 3;

/// A shard and the servers that hold it.
pub(super) struct Line {
    pub(super) shard: Shard,
    replicas: RwLock<Vec<Arc<Replica>>>,
    /// Requests so far, which the servers take in turns.
    turn: AtomicUsize,
    /// When a second server is asked.
    pub(super) hedge: Hedge,
}

/// One of the servers that hold a shard.
pub(super) struct Replica {
    pub(super) address: String,
    calls: SearchClient<Channel>,
    deadlines: Deadlines,
    failed: Mutex<Option<Instant>>,
    /// Times in a row that another answered before it.
    losses: AtomicUsize,
}

impl Line {
    pub(super) fn new(shard: Shard) -> Self {
        Self {
            shard,
            replicas: RwLock::default(),
            turn: AtomicUsize::new(0),
            hedge: Hedge::default(),
        }
    }

    /// Names its servers anew. Connections to those that stay are kept; new ones are made when they are needed, by the
    /// runtime that this is called in.
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

    /// The servers in the order in which a request asks them: in turns, and those that failed a moment ago last. A
    /// `fetch` asks the first, which has the keys of sessions.
    ///
    /// # Security
    /// The turn is a count of requests: nothing of a query decides where it goes.
    pub(super) fn order(&self, fetch: bool) -> Vec<Arc<Replica>> {
        let mut replicas = self.replicas();
        if !replicas.is_empty() && !fetch {
            let turn = self.turn.fetch_add(1, Ordering::Relaxed) % replicas.len();
            replicas.rotate_left(turn);
        }
        replicas.sort_by_cached_key(|replica| replica.is_doubtful());
        replicas
    }

    /// Sends one message, to the next server where one fails, and waits for the reply.
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

    /// The head that all its servers have that answer.
    pub(super) fn head(&self, runtime: &Runtime) -> Result<Vec<u8>, sordino_index::Error> {
        let request = Message::GetShard.with(&[]);
        let (mut failed, mut common) = (none(), None);
        for replica in self.order(false) {
            // One that is in doubt is asked last, and not waited for if another has answered.
            if common.is_some() && replica.is_doubtful() {
                continue;
            }
            match replica.exchange(runtime, &request, message_len(HEAD_LEN)) {
                Ok(reply) => {
                    let (head, _) = Head::read(Message::Partial.expect(&reply, Some(HEAD_LEN))?)?;
                    head.check(common.unwrap_or(head))?;
                    common = Some(head);
                }
                Err(error) => failed = error,
            }
        }
        let common = common.ok_or(failed)?;
        Ok(Message::Partial.with(&common.to_bytes()))
    }
}

/// The error of a shard that no server holds now.
fn none() -> sordino_index::Error {
    Error::Unreachable("to any server of the shard".to_owned()).into()
}

impl Replica {
    fn new(endpoint: Endpoint, part: Duration) -> Result<Self, Error> {
        let (http, connector) = endpoint.build()?;
        // A shard's server has one index.
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
        })
    }

    /// Another that was asked later answered first. One to which that happens again and again is asked last for a while, as
    /// one that failed: it may answer no more at all, and nobody waits to find that out.
    pub(super) fn lost(&self) {
        if self.losses.fetch_add(1, Ordering::Relaxed) + 1 >= LOSSES {
            self.note(true);
        }
    }

    /// True if it failed a moment ago.
    pub(super) fn is_doubtful(&self) -> bool {
        let failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        failed.is_some_and(|when| when.elapsed() < DOUBT)
    }

    /// Remembers whether it did what it was asked.
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

    /// Its part of a reply to a query, which `check` finds good.
    pub(super) async fn part(
        &self,
        request: Bytes,
        limit: usize,
        check: impl FnOnce(&[u8]) -> Result<(), sordino_index::Error>,
    ) -> Result<Vec<u8>, sordino_index::Error> {
        // The time is that of the whole part, however it comes.
        let deadlines = Deadlines {
            slowest: u32::MAX,
            ..self.deadlines
        };
        let asked = ask(self.calls.clone(), unsigned(request), limit, deadlines).await;
        let part = asked.map_err(sordino_index::Error::from);
        let part = part.and_then(|(part, _)| check(&part).map(|()| part));
        self.note(part.as_ref().is_err_and(is_fault));
        part
    }
}

fn unsigned(message: Bytes) -> Request<CallRequest> {
    Request::new(CallRequest {
        message,
        signature: None,
        tag: None,
    })
}

/// True if it is for another server to do better: what a client may have caused, and a server that is busy, is not.
fn is_fault(error: &sordino_index::Error) -> bool {
    let sordino_index::Error::Transport(error) = error else {
        return !matches!(error, sordino_index::Error::Session);
    };
    match error.downcast_ref() {
        Some(Error::Refused(refusal)) => *refusal == Refusal::Stopping,
        Some(Error::Status { code, .. }) => code != "InvalidArgument",
        _ => true,
    }
}
