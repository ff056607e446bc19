//! The searches: threads with a connection each, which take turns at the vectors of all requests.
//!
//! A request that waits has a place in a queue. Whoever takes its next vector puts it back at the end, so that requests of many
//! vectors are searched for by all threads and do not keep others waiting.

use super::asked::Asked;
pub(super) use super::asked::{Answer, Refused, Reply};
use super::looking::Looking;
use super::problem::Problem;
use super::request::{Shape, Wanted};
use super::results::{self, Hit};
use crate::following::Following;
use crate::patience::Patience;
use crate::pin::{self, PinFile};
use crate::{Error, random};
use rand::rngs::StdRng;
use sordino_net::{Connection, Endpoint};
use sordino_search::manifest::ModeKind;
use sordino_search::{Cache, Pin, Question, ReaderKeys};
use std::{
    collections::VecDeque,
    sync::atomic::{AtomicBool, Ordering},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};
use tokio::sync::oneshot;

/// Searches at a time, each on a connection of its own: the server answers them in one pass.
const SEARCHES: usize = 8;

/// The time for which the proxy is not ready after a search that failed for good. Whoever sends no more searches to
/// what is not ready would not see it mended otherwise.
const TROUBLE: Duration = Duration::from_secs(60);

/// Requests that wait.
const WAITING: usize = 64;

/// All that a client is made of.
pub(super) struct Start<N> {
    pub(super) keys: ReaderKeys,
    pub(super) endpoint: Endpoint,
    pub(super) pin: Option<PinFile>,
    pub(super) cache: Option<Cache>,
    /// The time that a request may take.
    pub(super) time: Duration,
    /// Names the files that an error of the connection is about.
    pub(super) named: N,
}

/// The threads that search.
pub(super) struct Searcher {
    shared: Arc<Shared>,
}

pub(super) struct Shared {
    pub(super) client: Following,
    /// A reply was wrong. Refusals that a server notices help it to forge, so it gets no more searches to answer.
    refused: Arc<AtomicBool>,
    waiting: Mutex<VecDeque<Arc<Asked>>>,
    more: Condvar,
    seen: Mutex<Seen>,
    /// Held while a version is remembered, which may take a server's time.
    pin: Mutex<Option<PinFile>>,
    cache: Option<Cache>,
    ended: Mutex<Ended>,
    /// Message and exit code of what only a person mends, while looks for a new version find it: searches fail with them.
    pub(super) lapsed: Mutex<Option<(String, u8)>>,
}

/// The end of the search that began last, of those that say something of the next.
struct Ended {
    begun: Instant,
    /// Why searches fail until a person does something, and when it was seen.
    trouble: Option<(Instant, Problem)>,
}

/// The version that the proxy is at.
#[derive(Clone, Copy)]
struct Seen {
    version: u64,
    shape: Shape,
}

impl Searcher {
    /// Connects, and starts the threads.
    pub(super) fn start<N>(start: Start<N>) -> Result<Self, Error>
    where
        N: Fn(sordino_net::Error) -> Error + Clone + Send + 'static,
    {
        let open = {
            let (endpoint, named) = (start.endpoint, start.named);
            move || Connection::open(endpoint.clone()).map_err(&named)
        };
        let (mut connection, client) = Patience::new(start.time).with(|| {
            let mut connection = open()?;
            let (pin, cache) = (start.pin.as_ref(), start.cache.as_ref());
            let client = pin::connect(&mut connection, &start.keys, pin, cache)?;
            Ok((connection, client))
        })?;
        let seen = Seen {
            version: 0,
            shape: Shape { dim: 0, k: 0 },
        };
        let shared = Arc::new(Shared {
            client: Following::new(client),
            refused: Arc::default(),
            waiting: Mutex::default(),
            more: Condvar::new(),
            seen: Mutex::new(seen),
            pin: Mutex::new(start.pin),
            cache: start.cache,
            lapsed: Mutex::default(),
            ended: Mutex::new(Ended {
                begun: Instant::now(),
                trouble: None,
            }),
        });
        shared.followed(|other| shared.client.check_pin(&mut connection, other))?;
        let mut connection = Some(connection);
        if shared.is_local() {
            let looking = Looking::new(&shared, open.clone());
            let thread = std::thread::Builder::new().name("sordino-look".to_owned());
            thread.spawn(move || looking.all())?;
        }
        for _ in 0..SEARCHES {
            let mut worker = Worker {
                shared: Arc::clone(&shared),
                // The others connect when there is work for them.
                connection: connection.take(),
                open: open.clone(),
                rng: random()?,
            };
            let thread = std::thread::Builder::new().name("sordino-proxy".to_owned());
            thread.spawn(move || {
                loop {
                    worker.next();
                }
            })?;
        }
        Ok(Self { shared })
    }

    /// Why no search can be answered: of the last one, if waiting does not help against it and it was not long ago.
    pub(super) fn trouble(&self) -> Option<Problem> {
        if self.is_ended() {
            return Some(Problem::ended());
        }
        let (at, problem) = self.shared.last().trouble.clone()?;
        let lapsed = self.shared.lapsed.lock();
        let lasts = lapsed.unwrap_or_else(PoisonError::into_inner).is_some();
        (lasts || at.elapsed() < TROUBLE).then_some(problem)
    }

    /// True if no thread is left that searches: each holds the shared state, until it dies of a fault.
    fn is_ended(&self) -> bool {
        Arc::strong_count(&self.shared) == 1
    }

    /// The newest version that it has seen.
    pub(super) fn version(&self) -> u64 {
        self.shared.version()
    }

    /// The shape of what can be asked for.
    pub(super) fn shape(&self) -> Shape {
        self.shared.seen().shape
    }

    /// Has a request searched for until `end`.
    pub(super) fn ask(
        &self,
        wanted: Wanted,
        end: Instant,
    ) -> Result<oneshot::Receiver<Reply>, Refused> {
        if self.is_ended() {
            return Err(Refused::Ended);
        }
        if self.shared.refused.load(Ordering::Relaxed) {
            return Err(Refused::Wrong);
        }
        let mut waiting = self.shared.waiting();
        waiting.retain(|asked| !asked.is_over());
        if waiting.len() == WAITING {
            return Err(Refused::Busy);
        }
        let (asked, answer) = Asked::new(wanted, end, Arc::clone(&self.shared.refused));
        waiting.push_back(Arc::new(asked));
        self.shared.more.notify_one();
        Ok(answer)
    }
}

impl Shared {
    /// True if all of the index is here.
    fn is_local(&self) -> bool {
        self.client.client().manifest().mode.kind() == ModeKind::Local
    }

    fn waiting(&self) -> MutexGuard<'_, VecDeque<Arc<Asked>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn last(&self) -> MutexGuard<'_, Ended> {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes how a search ended, unless one that began after it has. One that is the question's fault, or that may do
    /// better when it is asked again, says nothing of the next.
    pub(super) fn ended<T>(&self, begun: Instant, found: &Result<T, Error>) {
        // A server knows no more of a wrong reply than that it answered.
        let failed = found.as_ref().err().filter(|error| !error.is_unseen());
        let trouble = match failed.map(Problem::lasting) {
            None => None,
            Some(None) => return,
            Some(Some(problem)) => Some((Instant::now(), problem)),
        };
        let mut last = self.last();
        if last.begun <= begun {
            let was = last.trouble.as_ref().map(|(_, problem)| problem);
            if let (Err(error), Some((_, problem))) = (found, &trouble)
                && was != Some(problem)
            {
                // Whoever asked may be gone, and the log is where the reason is then.
                tracing::warn!(%error, "not ready");
            }
            *last = Ended { begun, trouble };
        }
    }

    /// Waits for the next vector to be searched for.
    fn take(&self) -> (Arc<Asked>, usize) {
        let mut waiting = self.waiting();
        loop {
            let Some(asked) = waiting.pop_front() else {
                let woken = self.more.wait(waiting);
                waiting = woken.unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            if asked.is_over() {
                continue;
            }
            let at = asked.next();
            if at + 1 < asked.wanted.vectors.len() {
                waiting.push_back(Arc::clone(&asked));
                self.more.notify_one();
            }
            return (asked, at);
        }
    }

    /// Remembers the version that the client is at, if it is newer than what was seen before. It is the newest. `check` refuses
    /// what another process has stored, if it is of another history: then nothing is answered until a person has looked.
    pub(super) fn followed(
        &self,
        check: impl FnMut(&Pin) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let client = self.client.client();
        let (manifest, pin) = (client.manifest(), client.pin());
        let shape = Shape {
            dim: manifest.dim as usize,
            k: manifest.k as usize,
        };
        // Whoever asks for the version must not wait for one that is being followed to, or remembered.
        drop(client);
        let newer = || Some(self.seen().version).filter(|&seen| seen < pin.version);
        if newer().is_none() {
            return Ok(());
        }
        let mut file = self.pin.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(before) = newer() else {
            return Ok(());
        };
        if let Some(file) = &mut *file {
            file.remember(pin, check)?;
        }
        let version = pin.version;
        *self.seen() = Seen { version, shape };
        if before > 0 {
            tracing::info!(version, "following");
        }
        if let Some(cache) = &self.cache {
            // A folder that cannot be tidied up is no reason to stop.
            drop(cache.trim());
        }
        Ok(())
    }

    fn version(&self) -> u64 {
        self.seen().version
    }
}

struct Worker<O> {
    shared: Arc<Shared>,
    connection: Option<Connection>,
    open: O,
    rng: StdRng,
}

impl<O: Fn() -> Result<Connection, Error>> Worker<O> {
    /// Searches for the next vector.
    fn next(&mut self) {
        let (asked, at) = Arc::clone(&self.shared).take();
        let begun = Instant::now();
        let patience = Patience::new(asked.end.saturating_duration_since(begun));
        let found = patience.with(|| self.search(&asked.wanted, at));
        let followed = self.shared.followed(|other| {
            let connection = connected(&mut self.connection, &self.open)?;
            self.shared.client.check_pin(connection, other)
        });
        let found = Error::followed(found, followed);
        self.shared.ended(begun, &found);
        asked.put(at, found.map_err(|error| asked.wanted.named(at, error)));
    }

    /// The results for a vector, and the version that they are of.
    fn search(&mut self, wanted: &Wanted, at: usize) -> Result<(Vec<Hit>, u64), Error> {
        let connection = connected(&mut self.connection, &self.open)?;
        let lapsed = self.shared.lapsed.lock();
        if let Some((message, code)) = lapsed.unwrap_or_else(PoisonError::into_inner).clone() {
            return Err(Error::Lapsed { message, code });
        }
        let mut question = Question::new(&wanted.vectors[at]);
        question.k = Some(wanted.k);
        question.threshold = wanted.min_score;
        question.filter = wanted.filter.as_ref();
        self.shared.client.ask(connection, |client, connection| {
            let found = client.ask(&mut self.rng, connection, &question)?;
            Ok((results::hits(client, found), client.manifest().version))
        })
    }
}

/// A thread's connection, which is opened when it is needed.
pub(super) fn connected(
    connection: &mut Option<Connection>,
    open: impl Fn() -> Result<Connection, Error>,
) -> Result<&mut Connection, Error> {
    Ok(match connection {
        Some(connection) => connection,
        none => none.insert(open()?),
    })
}
