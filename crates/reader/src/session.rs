//! A session with a server: what a client keeps between searches, and when it retries.

mod dial;
mod pin_store;
mod retry;
mod search_batch;
mod session_options;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard};

use rand::rngs::StdRng;
use sordino_index::{Error, Kind, Pin};
use sordino_vault::ReaderKeys;

use crate::cache::Cache;
use crate::client::{Client, ConnectOptions};
use crate::latch::{Latch, graver};
use crate::question::{Found, Question};
use crate::transport::Transport;
pub use dial::Dial;
use dial::{Line, Pool};
pub use pin_store::PinStore;
pub use retry::Retry;
use retry::{Attempts, Pauses};
pub use search_batch::SearchBatch;
pub use session_options::SessionOptions;

/// A client of one index with its server, for several threads. It follows the index, repeats calls that may succeed, and
/// remembers the versions that it has seen.
///
/// # Security
/// No message reveals that a reply was bad: `latch.rs` has the rule and its proof. After a batch with a bad reply the session
/// begins no other batch.
///
/// ```
/// use sordino_reader::{Error, SessionOptions, Question, ReaderKeys, Session, Transport};
///
/// fn nearest<T: Transport>(
///     dial: impl Fn() -> Result<T, Error>,
///     keys: &ReaderKeys,
///     vector: &[f32],
/// ) -> Result<(), Error> {
///     let session = Session::open(dial, keys, SessionOptions::default())?;
///     for hit in session.ask(&Question::new(vector))?.hits {
///         println!("{} {}", hit.id, hit.score);
///     }
///     Ok(())
/// }
/// ```
pub struct Session<D: Dial> {
    client: RwLock<Client>,
    link: Link<D>,
    cache: Option<Cache>,
    /// Locked while a version is remembered, which may involve the server.
    memory: Mutex<Memory>,
    /// True if a reply of an ended batch was bad.
    distrusted: Arc<AtomicBool>,
}

struct Memory {
    pins: Box<dyn PinStore>,
    newest: Pin,
}

/// How to reach the server.
struct Link<D: Dial> {
    pool: Pool<D>,
    pauses: Pauses,
}

impl<D: Dial> Link<D> {
    /// Makes attempts until one succeeds or no further one is allowed.
    fn call<T>(
        &self,
        batch: &SearchBatch,
        mut attempt: impl FnMut(&mut Line<D::Transport>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let is_stopped = || batch.is_stopped();
        let (mut latch, mut attempts) = (Latch::default(), Attempts::new());
        loop {
            self.pauses.wait(is_stopped);
            let done = self.pool.take().and_then(|mut line| {
                let done = attempt(&mut line);
                self.pool.give_back(line);
                done
            });
            latch.ended(&done);
            match &done {
                Ok(_) => self.pauses.answered(),
                Err(error) => {
                    let kind = error.kind();
                    if self
                        .pauses
                        .again(kind, &mut attempts, batch.end, is_stopped)
                    {
                        continue;
                    }
                }
            }
            return latch.outcome(done);
        }
    }
}

impl<D: Dial> Session<D> {
    /// Connects, downloads what searching needs, and remembers the version.
    ///
    /// # Errors
    /// The errors of [`Client::connect`], of the [`Dial`] and of the [`PinStore`].
    pub fn open(dial: D, keys: &ReaderKeys, options: SessionOptions) -> Result<Self, Error> {
        Self::open_in(&SearchBatch::default(), dial, keys, options)
    }

    /// Like [`open`](Self::open), within the time of a batch, or until it is stopped.
    ///
    /// # Errors
    /// The errors of [`open`](Self::open).
    pub fn open_in(
        batch: &SearchBatch,
        dial: D,
        keys: &ReaderKeys,
        options: SessionOptions,
    ) -> Result<Self, Error> {
        let SessionOptions {
            pins,
            over_gap,
            cache,
            retry,
            transports,
        } = options;
        let link = Link {
            pool: Pool::new(dial, transports),
            pauses: Pauses::new(retry),
        };
        let known = pins.newest();
        let connect = ConnectOptions::default().pin(known.as_ref());
        let connect = connect.over_gap(over_gap).cache(cache.as_ref());
        let client = link.call(batch, |line| {
            Client::connect_with(&mut line.transport, keys, connect)
        })?;
        let unknown = || Pin {
            version: 0,
            ..client.pin()
        };
        let newest = known.unwrap_or_else(unknown);
        let session = Self {
            client: RwLock::new(client),
            link,
            cache,
            memory: Mutex::new(Memory { pins, newest }),
            distrusted: Arc::default(),
        };
        session.remember(batch)?;
        session.trim();
        Ok(session)
    }

    /// The current client. The session cannot update it while a caller holds it.
    pub fn client(&self) -> RwLockReadGuard<'_, Client> {
        self.client.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a batch of searches that belong together.
    ///
    /// # Errors
    /// [`Error::BadReply`] if a reply to an earlier batch was bad: do not ask the server again.
    pub fn batch(&self) -> Result<SearchBatch, Error> {
        match self.distrusted.load(Ordering::Relaxed) {
            true => Err(Error::BadReply),
            false => Ok(SearchBatch::of(&self.distrusted)),
        }
    }

    /// One search, as its own batch.
    ///
    /// # Errors
    /// The errors of [`Client::ask`] and of [`batch`](Self::batch).
    pub fn ask(&self, question: &Question<'_>) -> Result<Found, Error> {
        let batch = self.batch()?;
        self.call(&batch, |client, rng, transport| {
            client.ask(rng, transport, question)
        })
    }

    /// A call of a batch: `work` with the client. It is repeated with fresh secrets if the index has changed meanwhile, and while
    /// the server is busy or away. Then the client's version is remembered, even if the call failed. The reason is that the
    /// client names its remembered version when it connects again.
    ///
    /// # Security
    /// `work` may ask the server only by one of the client's own calls.
    ///
    /// # Errors
    /// The errors of `work`, of updating the index and of remembering its version.
    pub fn call<T>(
        &self,
        batch: &SearchBatch,
        mut work: impl FnMut(&Client, &mut StdRng, &mut D::Transport) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let done = self.link.call(batch, |line| {
            let Line { transport, rng } = line;
            let client = self.client();
            let version = client.manifest().version;
            let done = work(&client, rng, transport);
            drop(client);
            match done {
                Err(error) if error.kind() == Kind::Stale => {
                    match self.follow(transport, version) {
                        Ok(_) => Err(error),
                        Err(then) if error.is_bad_reply() => Err(then.after_bad_reply()),
                        Err(then) => Err(then),
                    }
                }
                done => done,
            }
        });
        self.remembered(batch, done)
    }

    /// Updates the index to the server's version. Returns true if that is another version. Searches continue meanwhile. Clients
    /// that hold a whole index send no other requests.
    ///
    /// # Errors
    /// The errors of [`Client::refresh`] and of [`batch`](Self::batch).
    pub fn refresh(&self) -> Result<bool, Error> {
        self.refresh_in(&self.batch()?)
    }

    /// Like [`refresh`](Self::refresh), as a call of a batch.
    ///
    /// # Errors
    /// The errors of [`Client::refresh`].
    pub fn refresh_in(&self, batch: &SearchBatch) -> Result<bool, Error> {
        let done = self.link.call(batch, |line| {
            let client = self.client();
            let version = client.manifest().version;
            let outdated = client.is_outdated(&mut line.transport)?;
            drop(client);
            Ok(outdated && self.follow(&mut line.transport, version)?)
        });
        self.remembered(batch, done)
    }

    /// Updates the index to its newest version. Returns true if that differs from `version`.
    fn follow(&self, transport: &mut impl Transport, version: u64) -> Result<bool, Error> {
        let mut client = self.client.write().unwrap_or_else(PoisonError::into_inner);
        // Another thread may have updated the index already.
        if client.manifest().version != version {
            return Ok(true);
        }
        client.refresh(transport).map_err(|error| match error {
            // No search failed here, so this is another error: callers would otherwise repeat a search and fail again.
            Error::BadReply => Error::Malformed {
                what: "new version",
                why: "what is sealed in it does not open with this key".to_owned(),
            },
            error => error,
        })
    }

    /// Remembers the client's version after a call, and records how both ended.
    fn remembered<T>(&self, batch: &SearchBatch, done: Result<T, Error>) -> Result<T, Error> {
        let done = match (done, self.remember(batch)) {
            (done, Ok(())) => done,
            (Ok(_), Err(then)) => Err(then),
            (Err(error), Err(then)) => Err(graver(error, then)),
        };
        batch.note(&done);
        done
    }

    /// Remembers the client's version, if it is newer than the remembered one.
    fn remember(&self, batch: &SearchBatch) -> Result<(), Error> {
        let new = self.client().pin();
        let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        let Memory { pins, newest } = &mut *memory;
        if *newest == new || newest.version > new.version {
            return Ok(());
        }
        pins.remember(new, &mut |other| {
            self.link.call(batch, |line| {
                self.client().check_pin(&mut line.transport, other)
            })
        })?;
        *newest = new;
        drop(memory);
        self.trim();
        Ok(())
    }

    /// Removes what exceeds the cache's limit.
    fn trim(&self) {
        if let Some(cache) = &self.cache {
            // A folder that cannot be cleaned up is no reason to fail.
            drop(cache.trim());
        }
    }
}

impl<D: Dial> std::fmt::Debug for Session<D> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session")
            .field("client", &*self.client())
            .finish_non_exhaustive()
    }
}
