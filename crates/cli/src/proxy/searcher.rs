//! The searches: threads that take turns at the vectors of all requests.
//!
//! A request that waits has a place in a queue. The thread that takes its next vector puts it back at the end, so that requests of many
//! vectors are searched for by all threads and do not keep others waiting.

use super::health::{Condition, Health};
use super::job::Job;
pub(super) use super::job::{Rejection, Reply};
use super::problem::Problem;
use super::request::{Shape, Wanted};
use super::results;
use crate::Error;
use sordino_net::Endpoint;
use sordino_search::manifest::ModeKind;
use sordino_search::{Error as Search, Question, ReaderKeys, Session, SessionOptions};
use std::{
    collections::VecDeque,
    sync::atomic::{AtomicUsize, Ordering},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak},
    time::{Duration, Instant},
};
use tokio::sync::oneshot;

/// Searches at a time, each on a connection of its own: the server answers them in one pass.
const SEARCHES: usize = 8;

/// The pause between two looks for a new version. It does not depend on searches, so that the server learns nothing of when they are.
const LOOK: Duration = Duration::from_secs(2);

/// Requests that wait.
const WAITING: usize = 64;

/// The threads that search.
pub(super) struct Searcher {
    shared: Arc<Shared>,
}

pub(super) struct Shared {
    session: Session<Endpoint>,
    waiting: Mutex<VecDeque<Arc<Job>>>,
    more: Condvar,
    seen: Mutex<Seen>,
    condition: Condition,
    /// The threads that search. One ends only by a fault.
    threads: AtomicUsize,
}

/// The version that the proxy is at.
#[derive(Clone, Copy)]
struct Seen {
    version: u64,
    shape: Shape,
}

impl Searcher {
    /// Connects, and starts the threads.
    pub(super) fn start(
        endpoint: Endpoint,
        keys: &ReaderKeys,
        options: SessionOptions,
    ) -> Result<Self, Failed> {
        let session = Session::open(endpoint, keys, options).map_err(Failed::Search)?;
        let seen = Seen {
            version: 0,
            shape: Shape { dim: 0, k: 0 },
        };
        let shared = Arc::new(Shared {
            session,
            waiting: Mutex::default(),
            more: Condvar::new(),
            seen: Mutex::new(seen),
            condition: Condition::default(),
            threads: AtomicUsize::new(0),
        });
        shared.notice();
        if shared.is_local() {
            let weak = Arc::downgrade(&shared);
            let thread = std::thread::Builder::new().name("sordino-look".to_owned());
            thread.spawn(move || Shared::look(&weak))?;
        }
        for _ in 0..SEARCHES {
            let counted = Counted::of(&shared);
            let thread = std::thread::Builder::new().name("sordino-proxy".to_owned());
            thread.spawn(move || {
                loop {
                    counted.0.search();
                }
            })?;
        }
        Ok(Self { shared })
    }

    /// Why no search can be answered: of the last one, if waiting does not help against it and it was not long ago.
    pub(super) fn trouble(&self) -> Option<Problem> {
        match self.is_dead() {
            true => Some(Problem::ended()),
            false => self.shared.condition.trouble(),
        }
    }

    fn is_dead(&self) -> bool {
        self.shared.threads.load(Ordering::Relaxed) == 0
    }

    /// The newest version that it has seen.
    pub(super) fn version(&self) -> u64 {
        self.shared.seen().version
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
    ) -> Result<oneshot::Receiver<Reply>, Rejection> {
        if self.is_dead() {
            return Err(Rejection::Ended);
        }
        let batch = self.shared.session.batch().map_err(|_| Rejection::Wrong)?;
        let mut waiting = self.shared.waiting();
        waiting.retain(|asked| !asked.is_over());
        if waiting.len() == WAITING {
            return Err(Rejection::Busy);
        }
        let (asked, answer) = Job::new(wanted, batch.until(end));
        waiting.push_back(Arc::new(asked));
        self.shared.more.notify_one();
        Ok(answer)
    }
}

/// The reason why the searches did not start.
pub(super) enum Failed {
    Search(Search),
    Thread(std::io::Error),
}

impl From<std::io::Error> for Failed {
    fn from(error: std::io::Error) -> Self {
        Self::Thread(error)
    }
}

/// The state of a thread that searches, which counts it.
struct Counted(Arc<Shared>);

impl Counted {
    fn of(shared: &Arc<Shared>) -> Self {
        shared.threads.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(shared))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.threads.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Shared {
    /// True if all of the index is here.
    fn is_local(&self) -> bool {
        self.session.client().manifest().mode.kind() == ModeKind::Local
    }

    fn waiting(&self) -> MutexGuard<'_, VecDeque<Arc<Job>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks for new versions of an index that is here as a whole, for whose searches no server is asked, until the searches have ended.
    fn look(shared: &Weak<Self>) {
        loop {
            std::thread::sleep(LOOK);
            let Some(shared) = shared.upgrade() else {
                return;
            };
            let begun = Instant::now();
            let batch = shared.session.batch();
            // A look that fails is followed by the next.
            let looked = batch.and_then(|batch| shared.session.refresh_in(&batch.until(begun)));
            if looked.is_ok() {
                shared.notice();
            }
            shared.condition.looked(begun, looked);
        }
    }

    /// Waits for the next vector to be searched for.
    fn take(&self) -> (Arc<Job>, usize) {
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

    /// Searches for the next vector.
    fn search(&self) {
        let (asked, at) = self.take();
        if let Health::Lapsed { message, code, .. } = self.condition.now() {
            return asked.end(Error::Lapsed { message, code });
        }
        let begun = Instant::now();
        let wanted = &asked.wanted;
        let mut question = Question::new(&wanted.vectors[at]);
        question.k = Some(wanted.k);
        question.threshold = wanted.min_score;
        question.filter = wanted.filter.as_ref();
        let found = self.session.call(&asked.batch, |client, rng, connection| {
            let found = client.ask(rng, connection, &question)?;
            Ok((results::hits(client, found), client.manifest().version))
        });
        if found.is_ok() {
            self.notice();
        }
        self.condition.searched(begun, &found);
        asked.put(at, found);
    }

    /// Notices the version that the session is at, so that nobody who asks for it waits for a newer one.
    fn notice(&self) {
        let client = self.session.client();
        let manifest = client.manifest();
        let new = Seen {
            version: manifest.version,
            shape: Shape {
                dim: manifest.dim as usize,
                k: manifest.k as usize,
            },
        };
        drop(client);
        let mut seen = self.seen();
        if seen.version < new.version {
            if seen.version > 0 {
                tracing::info!(version = new.version, "following");
            }
            *seen = new;
        }
    }
}
