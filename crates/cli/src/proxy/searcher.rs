//! The client of the index: one thread with one connection, which searches for one request after another.

use super::request::{Shape, Wanted};
use crate::patience::{Patience, while_it_changes};
use crate::query::pin::PinFile;
use crate::{Error, random};
use rand::rngs::StdRng;
use sordino_net::{Connection, Endpoint};
use sordino_search::{Cache, Client, Error as Search, Found, ReaderKeys};
use std::{
    sync::atomic::{AtomicU64, Ordering},
    sync::mpsc::{self, SyncSender, TrySendError},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};
use tokio::sync::oneshot;

/// Requests that wait for the one that is being searched for.
const WAITING: usize = 64;

/// The most attempts at a search while the index changes under it.
const ATTEMPTS: usize = 5;

/// All that a client is made of.
pub(super) struct Start {
    pub(super) keys: ReaderKeys,
    pub(super) endpoint: Endpoint,
    pub(super) pin: Option<PinFile>,
    pub(super) cache: Option<Cache>,
    /// The time that a request may take.
    pub(super) time: Duration,
}

/// The results for each vector of a request, and the version that was searched.
pub(super) struct Answer {
    pub(super) version: u64,
    pub(super) found: Vec<Found>,
}

type Reply = Result<Answer, Error>;

struct Job {
    wanted: Wanted,
    end: Instant,
    reply: oneshot::Sender<Reply>,
}

/// The thread that searches.
pub(super) struct Searcher {
    jobs: SyncSender<Job>,
    version: Arc<AtomicU64>,
    shape: Arc<Mutex<Shape>>,
}

/// There are too many requests, or no thread any more.
pub(super) enum Refused {
    Busy,
    Ended,
}

impl Searcher {
    /// Connects, and starts the thread.
    pub(super) fn start(
        start: Start,
        named: impl Fn(sordino_net::Error) -> Error,
    ) -> Result<Self, Error> {
        let (connection, client) = Patience::new(start.time).with(|| {
            let mut connection = Connection::open(start.endpoint.clone()).map_err(&named)?;
            let seen = start.pin.as_ref().and_then(PinFile::seen);
            let client = while_it_changes(|| {
                Client::connect_cached(&mut connection, &start.keys, seen, start.cache.as_ref())
            })?;
            Ok((connection, client))
        })?;
        let mut worker = Worker {
            connection,
            client,
            rng: random()?,
            pin: start.pin,
            cache: start.cache,
            version: Arc::default(),
            shape: Arc::new(Mutex::new(Shape { dim: 0, k: 0 })),
        };
        worker.followed()?;
        let (jobs, queue) = mpsc::sync_channel::<Job>(WAITING);
        let searcher = Self {
            jobs,
            version: Arc::clone(&worker.version),
            shape: Arc::clone(&worker.shape),
        };
        let thread = std::thread::Builder::new().name("sordino-proxy".to_owned());
        thread.spawn(move || {
            for job in queue {
                worker.answer(job);
            }
        })?;
        Ok(searcher)
    }

    /// The newest version that it has seen.
    pub(super) fn version(&self) -> u64 {
        self.version.load(Ordering::Relaxed)
    }

    /// The shape of what can be asked for.
    pub(super) fn shape(&self) -> Shape {
        *self.shape.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has a request searched for until `end`.
    pub(super) fn ask(
        &self,
        wanted: Wanted,
        end: Instant,
    ) -> Result<oneshot::Receiver<Reply>, Refused> {
        let (reply, answer) = oneshot::channel();
        let sent = self.jobs.try_send(Job { wanted, end, reply });
        sent.map_err(|error| match error {
            TrySendError::Full(_) => Refused::Busy,
            TrySendError::Disconnected(_) => Refused::Ended,
        })?;
        Ok(answer)
    }
}

struct Worker {
    connection: Connection,
    client: Client,
    rng: StdRng,
    pin: Option<PinFile>,
    cache: Option<Cache>,
    version: Arc<AtomicU64>,
    shape: Arc<Mutex<Shape>>,
}

impl Worker {
    fn answer(&mut self, job: Job) {
        let Job { wanted, end, reply } = job;
        let mut found = Vec::new();
        for vector in &wanted.vectors {
            // Nobody waits any more for a request whose time is over.
            if reply.is_closed() {
                return;
            }
            let patience = Patience::new(end.saturating_duration_since(Instant::now()));
            match patience.with(|| self.search(vector)) {
                Ok(one) => found.push(one),
                Err(error) => {
                    tracing::warn!(%error, "a search failed");
                    drop(reply.send(Err(error)));
                    return;
                }
            }
        }
        let version = self.client.manifest().version;
        drop(reply.send(Ok(Answer { version, found })));
    }

    /// One search, made anew with fresh secrets if the index has changed meanwhile.
    ///
    /// # Security
    /// It is made anew for the index's version alone, never for the query.
    fn search(&mut self, vector: &[f32]) -> Result<Found, Error> {
        let mut attempt = 1;
        loop {
            let found = self
                .client
                .search(&mut self.rng, &mut self.connection, vector);
            let error = match found {
                Ok(found) => return Ok(found),
                Err(error) => error,
            };
            // A server may say that the version is another as it says that a message is wrong, so it is
            // asked for its manifest.
            let moved = matches!(error, Search::Stale { .. } | Search::Transport(_));
            let error = Error::from(error);
            if !moved || error.is_passing() || attempt == ATTEMPTS || !self.follow()? {
                return Err(error);
            }
            attempt += 1;
        }
    }

    /// Follows the index to its version now; true if that is another.
    fn follow(&mut self) -> Result<bool, Error> {
        let (client, connection) = (&mut self.client, &mut self.connection);
        let newer = while_it_changes(|| client.refresh(connection))?;
        if newer {
            self.followed()?;
            tracing::info!(version = self.client.manifest().version, "following");
        }
        Ok(newer)
    }

    /// The client has come to another version.
    fn followed(&mut self) -> Result<(), Error> {
        let manifest = self.client.manifest();
        self.version.store(manifest.version, Ordering::Relaxed);
        *self.shape.lock().unwrap_or_else(PoisonError::into_inner) = Shape {
            dim: manifest.dim as usize,
            k: manifest.k as usize,
        };
        if let Some(cache) = &self.cache {
            // A folder that cannot be tidied up is no reason to stop.
            drop(cache.trim());
        }
        match &mut self.pin {
            Some(pin) => pin.remember(self.client.pin()),
            None => Ok(()),
        }
    }
}
