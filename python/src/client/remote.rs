//! Searches over a network.

use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock};

use rand::rngs::StdRng;
use sordino_net::{Connection, Endpoint};
use sordino_search::{Cache, Client, Error, Found, Id, Question, ReaderKeys};

use super::failed::{Failed, Payloads, Searched, rng};
use super::jobs::shared;
use super::patience::{Patience, is_busy};
use super::{Known, connect};
use crate::transport::{Counted, Moved};

/// Connections of one client, which its searches share.
const CONNECTIONS: usize = 8;

/// Attempts at a search while the index changes under it.
const ATTEMPTS: usize = 3;

/// A server, and connections to it that no search is using.
pub(super) struct Remote {
    endpoint: Endpoint,
    cache: Option<Cache>,
    patience: Patience,
    idle: Mutex<Vec<Connection>>,
    /// Bytes over TCP of connections that are closed.
    closed: Mutex<(u64, u64)>,
}

impl Remote {
    pub(super) fn open(
        endpoint: Endpoint,
        keys: &ReaderKeys,
        known: Option<&Known>,
        cache: Option<Cache>,
        patience: Patience,
        stop: &AtomicBool,
    ) -> Result<(Self, Client), Failed> {
        let mut connection = Connection::open(endpoint.clone())?;
        let client = patience.asking(stop, || {
            connect(&mut connection, keys, known, cache.as_ref())
        })?;
        trim(cache.as_ref());
        let remote = Self {
            endpoint,
            cache,
            patience,
            idle: Mutex::new(vec![connection]),
            closed: Mutex::default(),
        };
        Ok((remote, client))
    }

    /// Searches over as many connections as help: the server answers those that come together in one scan.
    pub(super) fn search_all(
        &self,
        client: &RwLock<Client>,
        questions: &[Question<'_>],
        stop: &AtomicBool,
    ) -> Result<Vec<(Found, Moved)>, Failed> {
        let jobs = vec![(); questions.len().min(CONNECTIONS)];
        shared(jobs, questions.len(), stop, |(), at| {
            self.search(client, &questions[at], stop)
        })
    }

    /// One search.
    pub(super) fn search(
        &self,
        client: &RwLock<Client>,
        question: &Question<'_>,
        stop: &AtomicBool,
    ) -> Searched {
        self.following(client, stop, |client, rng, transport| {
            client.ask(rng, transport, question)
        })
    }

    /// The payloads of records, and what moved.
    pub(super) fn payloads(
        &self,
        client: &RwLock<Client>,
        ids: &[Id],
        stop: &AtomicBool,
    ) -> Result<(Payloads, Moved), Failed> {
        self.following(client, stop, |client, rng, transport| {
            client.payloads(rng, transport, ids)
        })
    }

    /// Does `work` over a connection, and again with fresh secrets if the index has changed meanwhile, or the server has too
    /// many requests.
    ///
    /// # Security
    /// It is done again for the index's version and for refusals alone, never for the query.
    fn following<T>(
        &self,
        client: &RwLock<Client>,
        stop: &AtomicBool,
        work: impl Fn(&Client, &mut StdRng, &mut Counted<'_, Connection>) -> Result<T, Error>,
    ) -> Result<(T, Moved), Failed> {
        let mut rng = rng()?;
        let mut connection = self.connection()?;
        let (mut attempt, mut wrong, mut refused) = (1, false, None);
        let done = loop {
            self.patience.wait(stop);
            let mut counted = Counted::new(&mut connection);
            let (found, version) = {
                let client = client.read().unwrap_or_else(PoisonError::into_inner);
                let found = work(&client, &mut rng, &mut counted);
                (found, client.manifest().version)
            };
            wrong |= matches!(found, Err(Error::Wrong(_)));
            let error = match found {
                Ok(_) if wrong => break Err(Error::Search.into()),
                Ok(found) => {
                    self.patience.answered();
                    break Ok((found, counted.moved));
                }
                Err(error)
                    if matches!(error.seen(), Some(Error::Stale { .. })) && attempt < ATTEMPTS =>
                {
                    attempt += 1;
                    match follow(client, &mut connection, version) {
                        Ok(_) => continue,
                        Err(error) => error,
                    }
                }
                Err(error) => error,
            };
            if error.seen().is_some_and(is_busy) && self.patience.refused(&mut refused, stop) {
                continue;
            }
            let error = Failed::from(error);
            break Err(match wrong {
                true => error.after_wrong(),
                false => error,
            });
        };
        self.give_back(connection);
        done
    }

    pub(super) fn refresh(
        &self,
        client: &RwLock<Client>,
        stop: &AtomicBool,
    ) -> Result<bool, Failed> {
        let mut connection = self.connection()?;
        let version = client
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .manifest()
            .version;
        let followed = self
            .patience
            .asking(stop, || follow(client, &mut connection, version));
        self.give_back(connection);
        trim(self.cache.as_ref());
        Ok(followed?)
    }

    /// Bytes over TCP of connections that are not in use.
    pub(super) fn wire(&self) -> (u64, u64) {
        let (mut up, mut down) = *self.closed.lock().unwrap_or_else(PoisonError::into_inner);
        for connection in self.idle().iter() {
            up += connection.traffic().wire_up;
            down += connection.traffic().wire_down;
        }
        (up, down)
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Connection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn connection(&self) -> Result<Connection, Failed> {
        let idle = self.idle().pop();
        match idle {
            Some(connection) => Ok(connection),
            None => Ok(Connection::open(self.endpoint.clone())?),
        }
    }

    fn give_back(&self, connection: Connection) {
        let mut idle = self.idle();
        if idle.len() < CONNECTIONS {
            idle.push(connection);
            return;
        }
        drop(idle);
        let traffic = connection.traffic();
        let mut closed = self.closed.lock().unwrap_or_else(PoisonError::into_inner);
        closed.0 += traffic.wire_up;
        closed.1 += traffic.wire_down;
    }
}

/// Follows the index to its version now. True if that is another than `version`.
fn follow(
    client: &RwLock<Client>,
    connection: &mut Connection,
    version: u64,
) -> Result<bool, Error> {
    let mut client = client.write().unwrap_or_else(PoisonError::into_inner);
    // Another thread may have followed it already.
    if client.manifest().version != version {
        return Ok(true);
    }
    let mut refreshed = client.refresh(connection);
    for _ in 1..ATTEMPTS {
        if matches!(refreshed, Err(Error::Stale { .. })) {
            refreshed = client.refresh(connection);
        }
    }
    refreshed.map_err(|error| match error {
        // It is no search that failed: others would fetch it again, and fail.
        Error::Search => Error::Malformed {
            what: "new version",
            why: "what is sealed in it does not open with this key".to_owned(),
        },
        error => error,
    })
}

/// Removes what exceeds a cache's limit. A folder that cannot be tidied up is no reason to fail.
fn trim(cache: Option<&Cache>) {
    if let Some(cache) = cache {
        drop(cache.trim());
    }
}
