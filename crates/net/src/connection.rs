//! The client's end: a transport for searches.

use std::fmt;
use std::sync::atomic::Ordering;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use prost::Message;
use sordino_search::Transport;
use tokio::runtime::Runtime;
use tokio::time::{timeout, timeout_at};
use tonic::transport::Channel;

use crate::counted::Connector;
use crate::error::chain;
use crate::grpc::CHUNK;
use crate::proof::now;
use crate::schema::search_client::SearchClient;
use crate::schema::{CallReply, CallRequest, HelloRequest};
use crate::{Deadlines, Endpoint, Error, Refusal};

/// More than a chunk's tags and lengths.
const CHUNK_HEAD: usize = 64;

/// A connection to a server, for [`sordino_search::Client`].
///
/// Calls block. The connection has a thread of its own for pings and for what the server sends
/// unasked. After an error the next call connects anew if it has to.
///
/// # Security
/// A request is sent once. If its reply is lost, the same encrypted query must not go again: the
/// server would learn that it is the same, and a second answer to it would be a second equation about
/// one secret. A search that is tried again is a new [`search`](sordino_search::Client::search), which
/// draws fresh secrets. Whether and when to try again must not depend on what was searched for.
pub struct Connection {
    runtime: Option<Runtime>,
    endpoint: Endpoint,
    calls: SearchClient<Channel>,
    connector: Connector,
    /// The run of the server that proofs are made for.
    instance: Option<[u8; 32]>,
    traffic: Traffic,
}

/// What has gone over a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Messages of the search protocol, with a reply each.
    pub calls: u64,
    /// Bytes of requests, proofs included, as gRPC carries them.
    pub up: u64,
    /// Bytes of replies, as gRPC carries them.
    pub down: u64,
    /// Bytes sent over TCP: all of it, with HTTP/2, TLS and their handshakes.
    pub wire_up: u64,
    /// Bytes received over TCP.
    pub wire_down: u64,
}

impl Connection {
    /// Connects to a server.
    ///
    /// # Errors
    /// [`Error::Address`], [`Error::Roots`], [`Error::Certificate`], [`Error::Connect`],
    /// [`Error::Start`].
    pub fn open(endpoint: Endpoint) -> Result<Self, Error> {
        let http = endpoint.build()?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("sordino-connection")
            .enable_all()
            .build()
            .map_err(Error::Start)?;
        let connector = Connector::default();
        let connect = {
            let (connector, time) = (connector.clone(), endpoint.deadlines.connect);
            async move {
                match timeout(time, http.connect_with_connector(connector)).await {
                    Ok(channel) => channel.map_err(|error| Error::Connect(chain(&error))),
                    Err(_) => Err(Error::Deadline { after: time }),
                }
            }
        };
        let channel = wait(&runtime, connect)?;
        let calls = SearchClient::new(channel).max_decoding_message_size(CHUNK + CHUNK_HEAD);
        Ok(Self {
            runtime: Some(runtime),
            endpoint,
            calls,
            connector,
            instance: None,
            traffic: Traffic::default(),
        })
    }

    /// What has gone over this connection so far.
    #[must_use]
    pub fn traffic(&self) -> Traffic {
        let count = &self.connector.count;
        Traffic {
            wire_up: count.up.load(Ordering::Relaxed),
            wire_down: count.down.load(Ordering::Relaxed),
            ..self.traffic
        }
    }

    /// Sends one message and waits for the reply, which has at most `limit` bytes.
    ///
    /// # Errors
    /// [`Error::Refused`], [`Error::Status`], [`Error::Reply`], [`Error::Deadline`].
    pub fn exchange(&mut self, message: &[u8], limit: usize) -> Result<Vec<u8>, Error> {
        let deadlines = self.endpoint.deadlines;
        let mut proof = None;
        if let Some(key) = self.endpoint.key.clone() {
            let instance = self.instance()?;
            proof = Some(key.prove(&instance, message, now()));
        }
        let request = CallRequest {
            message: Bytes::copy_from_slice(message),
            proof,
        };
        self.traffic.calls += 1;
        self.traffic.up += request.encoded_len() as u64;
        let calls = self.calls.clone();
        let reply = self.wait(async move { ask(calls, request, limit, deadlines).await });
        match reply {
            Ok((reply, down)) => {
                self.traffic.down += down;
                Ok(reply)
            }
            Err(error) => {
                if matches!(
                    error,
                    Error::Refused(Refusal::Instance | Refusal::Signature)
                ) {
                    // The server may have been started anew: the next call finds out.
                    self.instance = None;
                }
                Err(error)
            }
        }
    }

    /// The run of the server that proofs are made for.
    fn instance(&mut self) -> Result<[u8; 32], Error> {
        if let Some(instance) = self.instance {
            return Ok(instance);
        }
        let (mut calls, time) = (self.calls.clone(), self.endpoint.deadlines.part);
        let hello = async move {
            let late = |_| Error::Deadline { after: time };
            let reply = timeout(time, calls.hello(HelloRequest {})).await;
            Ok(reply.map_err(late)??.into_inner().instance)
        };
        let found = self.wait(hello)?;
        let instance: [u8; 32] = found[..]
            .try_into()
            .map_err(|_| Error::Reply(format!("an instance of {} bytes", found.len())))?;
        self.instance = Some(instance);
        Ok(instance)
    }

    fn wait<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, Error>> + Send + 'static,
    ) -> Result<T, Error> {
        match &self.runtime {
            Some(runtime) => wait(runtime, work),
            None => Err(Error::Connect("the connection is closed".to_owned())),
        }
    }
}

/// Has `work` done by the runtime, so that blocking here is possible anywhere.
fn wait<T: Send + 'static>(
    runtime: &Runtime,
    work: impl Future<Output = Result<T, Error>> + Send + 'static,
) -> Result<T, Error> {
    let (done, result) = mpsc::sync_channel(1);
    runtime.spawn(async move {
        // Nobody waits any more only if the waiting thread is gone.
        let _ = done.send(work.await);
    });
    let gone = || Error::Connect("the connection's thread ended".to_owned());
    result.recv().unwrap_or_else(|_| Err(gone()))
}

/// One call. The reply may not be longer than `limit`, nor slower than the deadlines.
async fn ask(
    mut calls: SearchClient<Channel>,
    request: CallRequest,
    limit: usize,
    deadlines: Deadlines,
) -> Result<(Vec<u8>, u64), Error> {
    let whole = deadlines.whole(limit);
    let end = Instant::now() + whole;
    let receive = async {
        let mut stream = part(deadlines.part, calls.call(request))
            .await?
            .into_inner();
        let mut reply = Collected::new(limit);
        while let Some(next) = part(deadlines.part, stream.message()).await? {
            reply.push(&next)?;
        }
        reply.finish()
    };
    timeout_at(end.into(), receive)
        .await
        .map_err(|_| Error::Deadline { after: whole })?
}

/// A part of a reply, in time.
async fn part<T>(
    time: Duration,
    next: impl Future<Output = Result<T, tonic::Status>>,
) -> Result<T, Error> {
    match timeout(time, next).await {
        Ok(next) => Ok(next?),
        Err(_) => Err(Error::Deadline { after: time }),
    }
}

/// A reply so far.
struct Collected {
    limit: usize,
    /// The whole's length, from the first chunk.
    length: Option<usize>,
    bytes: Vec<u8>,
    down: u64,
}

impl Collected {
    fn new(limit: usize) -> Self {
        Self {
            limit,
            length: None,
            bytes: Vec::new(),
            down: 0,
        }
    }

    /// Takes the next chunk, if it is the one that an honest server sends. Memory grows with what
    /// has come, not with what was announced.
    fn push(&mut self, next: &CallReply) -> Result<(), Error> {
        let announced = usize::try_from(next.length).unwrap_or(usize::MAX);
        let length = *self.length.get_or_insert(announced);
        if announced != length || length > self.limit {
            let limit = self.limit;
            return Err(Error::Reply(format!(
                "{announced} bytes announced, expected at most {limit}"
            )));
        }
        let expected = CHUNK.min(length - self.bytes.len());
        if next.chunk.len() != expected || expected == 0 {
            let found = next.chunk.len();
            return Err(Error::Reply(format!(
                "a chunk of {found} bytes, expected {expected}"
            )));
        }
        self.bytes.extend_from_slice(&next.chunk);
        self.down += next.encoded_len() as u64;
        Ok(())
    }

    fn finish(self) -> Result<(Vec<u8>, u64), Error> {
        let found = self.bytes.len();
        match self.length {
            Some(length) if length == found => Ok((self.bytes, self.down)),
            _ => Err(Error::Reply(format!("it ends after {found} bytes"))),
        }
    }
}

impl Transport for Connection {
    fn call(&mut self, request: &[u8], limit: usize) -> Result<Vec<u8>, sordino_search::Error> {
        Ok(self.exchange(request, limit)?)
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection")
            .field("endpoint", &self.endpoint)
            .field("traffic", &self.traffic())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(length: usize, chunk: usize) -> CallReply {
        CallReply {
            length: length as u64,
            chunk: Bytes::from(vec![7; chunk]),
        }
    }

    #[test]
    fn only_an_honest_sequence_of_chunks_is_taken() {
        let collect = |limit: usize, chunks: &[(usize, usize)]| {
            let mut collected = Collected::new(limit);
            for &(length, chunk) in chunks {
                collected.push(&reply(length, chunk))?;
                assert!(collected.bytes.len() <= limit);
            }
            collected.finish().map(|(bytes, _)| bytes.len())
        };
        let (whole, last) = (2 * CHUNK + 5, (2 * CHUNK + 5, 5));
        let full = (whole, CHUNK);
        assert_eq!(collect(whole, &[full, full, last]).unwrap(), whole);
        assert_eq!(collect(10, &[(3, 3)]).unwrap(), 3);
        let wrong: [(usize, &[(usize, usize)]); 10] = [
            (whole, &[]),
            (whole, &[full, full]),
            (whole, &[full, full, last, last]),
            (whole, &[full, full, (whole, 6)]),
            (whole, &[full, full, (whole, 4), (whole, 1)]),
            (whole, &[full, (whole, 1)]),
            (whole, &[full, (whole + 1, CHUNK)]),
            (whole - 1, &[full, full, last]),
            (10, &[(usize::MAX, CHUNK)]),
            (10, &[(0, 0)]),
        ];
        for (limit, chunks) in wrong {
            assert!(collect(limit, chunks).is_err(), "{limit} {chunks:?}");
        }
    }
}
