//! The searching threads, which take turns at the vectors of all requests.
//!
//! Waiting requests are in a queue. A thread that takes a request's next vector puts the request back at the end. So several
//! threads search for the vectors of a long request, and it does not delay others.

use crate::error::Error;
use crate::health::{Condition, Health};
use crate::job::{Job, Reply};
use crate::problem::Problem;
use crate::request::{SearchRequest, Shape};
use crate::results;
use sordino_index::manifest::ModeKind;
use sordino_net::Endpoint;
use sordino_reader::{Error as Search, Question, ReaderKeys, Session, SessionOptions};
use std::{
    collections::VecDeque,
    fmt,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak},
    time::{Duration, Instant},
};
use tokio::sync::oneshot;

/// The number of simultaneous searches, each on its own connection. The server answers them in one pass.
const SEARCHES: usize = 8;

/// The pause between two checks for a new version. The pause does not depend on searches, so it does not tell the
/// server when searches happen.
const LOOK: Duration = Duration::from_secs(2);

/// Pauses from one watch of a server to the next, while it answers.
const PAUSES: u64 = 5;

/// The largest number of waiting requests.
const WAITING: usize = 64;

/// The client of an index, and its searching threads. The threads end when it is dropped.
pub struct Searcher {
    shared: Arc<Shared>,
}

struct Shared {
    session: Session<Endpoint>,
    state: Mutex<State>,
    /// Signals that there is a vector to search for, or that the searches must end.
    call: Condvar,
}

struct State {
    /// Requests with vectors for which no search has begun.
    queue: VecDeque<Arc<Job>>,
    snapshot: Snapshot,
    condition: Condition,
    /// The number of searching threads.
    threads: usize,
}

/// The newest version that the proxy has seen. The session's own version cannot be read while the session updates it.
#[derive(Clone, Copy)]
pub(crate) struct Snapshot {
    pub(crate) version: u64,
    pub(crate) shape: Shape,
}

impl Snapshot {
    fn of(session: &Session<Endpoint>) -> Self {
        let client = session.client();
        let manifest = client.manifest();
        Self {
            version: manifest.version,
            shape: Shape {
                dim: manifest.dim as usize,
                k: manifest.k as usize,
            },
        }
    }
}

impl Searcher {
    /// Connects, downloads what searching needs, and starts the threads. It takes at most the time of the session's `retry`.
    ///
    /// # Errors
    /// [`Error::Search`] and [`Error::Changing`] if the session cannot be opened. [`Error::Start`] if the system refuses threads.
    pub fn start(
        endpoint: Endpoint,
        keys: &ReaderKeys,
        options: SessionOptions,
    ) -> Result<Self, Error> {
        let session = Session::open(endpoint, keys, options)?;
        let state = State {
            queue: VecDeque::new(),
            snapshot: Snapshot::of(&session),
            condition: Condition::default(),
            threads: 0,
        };
        let shared = Arc::new(Shared {
            session,
            state: Mutex::new(state),
            call: Condvar::new(),
        });
        // If a thread cannot start, the function drops the searcher, which ends the threads that have started.
        let searcher = Self { shared };
        let shared = &searcher.shared;
        let look: fn(&Weak<Shared>) = match shared.is_local() {
            true => Shared::look,
            false => Shared::watch,
        };
        let weak = Arc::downgrade(shared);
        let thread = std::thread::Builder::new().name("sordino-look".to_owned());
        let started = thread.spawn(move || look(&weak));
        started.map_err(Error::Start)?;
        for _ in 0..SEARCHES {
            let worker = Worker::new(shared);
            let thread = std::thread::Builder::new().name("sordino-proxy".to_owned());
            let started = thread.spawn(move || while worker.0.search() {});
            started.map_err(Error::Start)?;
        }
        Ok(searcher)
    }

    /// The newest version of the index that the proxy has seen.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.snapshot().version
    }

    /// The id of the index that the server serves. It stays the same: the session refuses any other.
    #[must_use]
    pub fn index(&self) -> [u8; 16] {
        self.shared.session.client().manifest().index
    }

    /// The newest version that the proxy has seen.
    pub(crate) fn snapshot(&self) -> Snapshot {
        self.shared.state().snapshot
    }

    /// The reason why the proxy cannot answer searches, if there is one that waiting does not fix.
    pub(crate) fn problem(&self) -> Option<Problem> {
        self.shared.state().condition.problem()
    }

    /// Submits a request for searches until `end`.
    pub(crate) fn ask(
        &self,
        request: SearchRequest,
        end: Instant,
    ) -> Result<oneshot::Receiver<Reply>, Problem> {
        let mut state = self.shared.state();
        if state.condition.is_dead() {
            return Err(Problem::ended());
        }
        let batch = self.shared.session.batch();
        let batch = batch.map_err(|_| Problem::refused())?;
        state.queue.retain(|job| !job.is_over());
        if state.queue.len() == WAITING {
            return Err(Problem::busy());
        }
        let (job, answer) = Job::new(request, batch.until(end));
        state.queue.push_back(Arc::new(job));
        self.shared.call.notify_one();
        Ok(answer)
    }
}

impl Drop for Searcher {
    fn drop(&mut self) {
        self.shared.state().condition.end();
        self.shared.call.notify_all();
    }
}

impl fmt::Debug for Searcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Searcher")
            .field("version", &self.version())
            .finish_non_exhaustive()
    }
}

/// A searching thread. The searcher counts its threads, because a thread that ends before the searcher has a fault.
struct Worker(Arc<Shared>);

impl Worker {
    fn new(shared: &Arc<Shared>) -> Self {
        shared.state().threads += 1;
        Self(Arc::clone(shared))
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.threads -= 1;
        if state.threads == 0 {
            state.condition.end();
        }
    }
}

impl Shared {
    /// True if the client holds the whole index.
    fn is_local(&self) -> bool {
        self.session.client().manifest().mode.kind() == ModeKind::Local
    }

    /// The state is valid between any two statements, so a poisoned lock is harmless.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Checks for new versions until the searches end. The proxy runs this if the client holds the whole index, since
    /// such a client's searches send no requests.
    fn look(shared: &Weak<Self>) {
        loop {
            std::thread::sleep(LOOK);
            let Some(shared) = shared.upgrade() else {
                return;
            };
            let begun = Instant::now();
            let batch = shared.session.batch();
            // The next check follows a failed one.
            let look = batch.and_then(|batch| shared.session.refresh_in(&batch.until(begun)));
            if look.is_ok() {
                shared.follow();
            }
            shared.note(begun, Health::after_look(&look), look.as_ref().err());
        }
    }

    /// Asks the server for its version at intervals until the searches end, if the client does not hold the whole
    /// index. So the proxy notices an absent server without a search.
    fn watch(shared: &Weak<Self>) {
        for pause in 1.. {
            std::thread::sleep(LOOK);
            let Some(shared) = shared.upgrade() else {
                return;
            };
            if pause % PAUSES > 0 && !shared.state().condition.is_absent() {
                continue;
            }
            let begun = Instant::now();
            let batch = shared.session.batch();
            let seen = batch.and_then(|batch| {
                let batch = batch.until(begun);
                shared.session.call(&batch, |client, _, connection| {
                    client.is_outdated(connection)
                })
            });
            if seen.is_ok() {
                shared.state().condition.answered(begun);
            }
            shared.note(begun, Health::after_watch(&seen), seen.as_ref().err());
        }
    }

    /// Waits for the next vector to search for. `None` if the searches must end.
    fn take(&self) -> Option<(Arc<Job>, usize)> {
        let mut state = self.state();
        while !state.condition.is_dead() {
            let Some(job) = state.queue.pop_front() else {
                let woken = self.call.wait(state);
                state = woken.unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            if job.is_over() {
                continue;
            }
            let at = job.next();
            if at + 1 < job.request.vectors.len() {
                state.queue.push_back(Arc::clone(&job));
                self.call.notify_one();
            }
            return Some((job, at));
        }
        None
    }

    /// Searches for the next vector. Returns false if the searches must end.
    fn search(&self) -> bool {
        let Some((job, at)) = self.take() else {
            return false;
        };
        let outage = self.state().condition.outage();
        if let Some(error) = outage {
            job.end(error);
            return true;
        }
        let begun = Instant::now();
        let request = &job.request;
        let mut question = Question::new(&request.vectors[at]);
        question.k = Some(request.k);
        question.threshold = request.min_score;
        question.filter = request.filter.as_ref();
        let found = self.session.call(&job.batch, |client, rng, connection| {
            let found = client.ask(rng, connection, &question)?;
            Ok((results::hits(client, found), client.manifest().version))
        });
        if found.is_ok() {
            self.follow();
        }
        self.note(begun, Health::after_search(&found), found.as_ref().err());
        job.put(at, found);
        true
    }

    /// Records the health after a call that began at that time.
    fn note(&self, begun: Instant, health: Option<Health>, error: Option<&Search>) {
        let is_news = health.is_some_and(|health| self.state().condition.note(begun, health));
        if let Some(error) = error.filter(|_| is_news) {
            // The caller may be gone, so the log has the reason.
            tracing::warn!(%error, "not ready");
        }
    }

    /// Copies the session's version, so that questions about it do not wait for an update.
    fn follow(&self) {
        let new = Snapshot::of(&self.session);
        let mut state = self.state();
        let is_newer = state.snapshot.version < new.version;
        if is_newer {
            state.snapshot = new;
        }
        drop(state);
        if is_newer {
            tracing::info!(version = new.version, "following");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{SeedableRng, rngs::StdRng};
    use sordino_net::{Access, Limits, Listen, Service};
    use sordino_search::{OwnerKeys, Server, build, manifest::Packing, synthetic};

    #[test]
    fn its_threads_end_with_it() {
        let rng = &mut StdRng::seed_from_u64(1);
        let vectors = synthetic::uniform(300, 4, 7);
        let owner = OwnerKeys::generate(rng);
        let index = build::masked(rng, &owner, &vectors, 3, Packing::T4, &mut |_| ()).unwrap();
        let server = Server::new(index).unwrap();
        let service = Service::new(server, &Access::Anyone, Limits::default()).unwrap();
        let running = service
            .listen(&Listen::on(([127, 0, 0, 1], 0).into()))
            .unwrap();
        let endpoint = Endpoint::new(format!("http://{}", running.address()));
        let options = SessionOptions::default();
        let searcher = Searcher::start(endpoint, &owner.reader(), options).unwrap();
        assert_eq!(searcher.version(), 1);
        assert!(searcher.problem().is_none());
        let shared = Arc::downgrade(&searcher.shared);
        drop(searcher);
        let start = Instant::now();
        while shared.strong_count() > 0 {
            assert!(start.elapsed().as_secs() < 60, "they do not end");
            std::thread::sleep(Duration::from_millis(10));
        }
        running.stop().unwrap();
    }
}
