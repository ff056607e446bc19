//! Searches over a network.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use rand::rngs::StdRng;
use sordino_net::{Connection, Endpoint};
use sordino_search::{
    Cache, Client, Dial, Error, Found, Id, Question, ReaderKeys, Retry, SearchBatch, Session,
    SessionOptions, Transport,
};

use super::{Known, Payloads, Searched};
use crate::transport::{Counted, Moved};

/// The connections of one client, which its searches share.
const CONNECTIONS: usize = 8;

/// A session with a server.
pub(super) struct Remote {
    pub(super) session: Session<Counting>,
    wire: Arc<Wire>,
}

/// The bytes sent and received over TCP on all connections.
#[derive(Default)]
struct Wire {
    up: AtomicU64,
    down: AtomicU64,
}

/// Makes connections that count their bytes.
pub(super) struct Counting {
    endpoint: Endpoint,
    wire: Arc<Wire>,
}

/// A connection that counts its bytes, and its counts.
pub(super) struct Line {
    connection: Connection,
    counted: (u64, u64),
    wire: Arc<Wire>,
}

impl Dial for Counting {
    type Transport = Line;

    fn dial(&self) -> Result<Line, Error> {
        Ok(Line {
            connection: self.endpoint.dial()?,
            counted: (0, 0),
            wire: Arc::clone(&self.wire),
        })
    }
}

impl Transport for Line {
    fn call(&mut self, request: &[u8], limit: usize) -> Result<Vec<u8>, Error> {
        let reply = self.connection.call(request, limit);
        let traffic = self.connection.traffic();
        let (up, down) = self.counted;
        let add = |sum: &AtomicU64, more| sum.fetch_add(more, Ordering::Relaxed);
        add(&self.wire.up, traffic.wire_up.saturating_sub(up));
        add(&self.wire.down, traffic.wire_down.saturating_sub(down));
        self.counted = (traffic.wire_up, traffic.wire_down);
        reply
    }
}

impl Remote {
    pub(super) fn open(
        endpoint: Endpoint,
        keys: &ReaderKeys,
        known: Option<&Known>,
        cache: Option<Cache>,
        retry: Retry,
        stop: &Arc<AtomicBool>,
    ) -> Result<Self, Error> {
        let wire = Arc::default();
        let dial = Counting {
            endpoint,
            wire: Arc::clone(&wire),
        };
        let options = SessionOptions::default()
            .pins(Box::new(known.map(|known| known.pin)))
            .over_gap(known.is_some_and(|known| known.over_gap))
            .cache(cache)
            .retry(retry)
            .transports(CONNECTIONS);
        let batch = SearchBatch::default().stopped_by(stop);
        let session = Session::open_in(&batch, dial, keys, options)?;
        Ok(Self { session, wire })
    }

    /// Runs searches over several connections, since the server answers simultaneous searches in one scan.
    pub(super) fn search_all(
        &self,
        questions: &[Question<'_>],
        stop: &Arc<AtomicBool>,
    ) -> Result<Vec<(Found, Moved)>, Error> {
        let batch = self.session.batch()?.stopped_by(stop);
        let connections = vec![(); questions.len().min(CONNECTIONS)];
        batch.all(connections, questions.len(), |(), at| {
            self.counted(&batch, |client, rng, transport| {
                client.ask(rng, transport, &questions[at])
            })
        })
    }

    /// Runs one search.
    pub(super) fn search(&self, question: &Question<'_>, stop: &Arc<AtomicBool>) -> Searched {
        let batch = self.session.batch()?.stopped_by(stop);
        self.counted(&batch, |client, rng, transport| {
            client.ask(rng, transport, question)
        })
    }

    /// The payloads of records, and the bytes moved.
    pub(super) fn payloads(
        &self,
        ids: &[Id],
        stop: &Arc<AtomicBool>,
    ) -> Result<(Payloads, Moved), Error> {
        let batch = self.session.batch()?.stopped_by(stop);
        self.counted(&batch, |client, rng, transport| {
            client.payloads(rng, transport, ids)
        })
    }

    /// Runs `work`, and counts the bytes that it moves.
    fn counted<T>(
        &self,
        batch: &SearchBatch,
        work: impl Fn(&Client, &mut StdRng, &mut Counted<'_, Line>) -> Result<T, Error>,
    ) -> Result<(T, Moved), Error> {
        self.session.call(batch, |client, rng, transport| {
            let mut counted = Counted::new(transport);
            let done = work(client, rng, &mut counted)?;
            Ok((done, counted.moved))
        })
    }

    pub(super) fn refresh(&self, stop: &Arc<AtomicBool>) -> Result<bool, Error> {
        let batch = self.session.batch()?.stopped_by(stop);
        self.session.refresh_in(&batch)
    }

    /// The bytes sent and received over TCP.
    pub(super) fn wire(&self) -> (u64, u64) {
        let sum = |sum: &AtomicU64| sum.load(Ordering::Relaxed);
        (sum(&self.wire.up), sum(&self.wire.down))
    }
}
