//! Serves an index on a port.

mod settings;
mod source;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use settings::Settings;
use sordino_net::{Endpoint, Error, Running, Service, Shards};
use sordino_search::OpenOptions;
use source::{Folder, Source};

use crate::compute::{computing, forked, stoppable};
use crate::errors;
use crate::keys::PublicKey;

/// The time between two checks for a new version.
const TICK: Duration = Duration::from_millis(100);

/// The time before shards that have not started are asked again.
const RETRY: Duration = Duration::from_millis(200);

/// An index that threads of this process serve on a port.
#[pyclass(module = "sordino._sordino", frozen)]
pub(crate) struct Server {
    address: SocketAddr,
    tls: bool,
    /// The root certificates for the servers of shards.
    roots: Option<Vec<u8>>,
    behind: Behind,
    running: Mutex<Option<Started>>,
}

struct Started {
    running: Running,
    follower: JoinHandle<()>,
    stop: Arc<AtomicBool>,
}

/// The time since which a newer version could not be served.
type Behind = Arc<Mutex<Option<Instant>>>;

#[pymethods]
impl Server {
    /// Loads an index or a shard of it, and listens.
    #[new]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        public_key: &Bound<'_, PublicKey>,
        settings: Settings,
    ) -> PyResult<Self> {
        let owner = public_key.get().0.clone();
        let shard = settings.shard(py)?;
        let folder = Folder::new(&path, &owner);
        let options = OpenOptions::new(&owner).shard(shard);
        let server = computing(py, || options.open_dir(&path))?;
        let server = server.map_err(|error| errors::search(py, &error))?;
        let (access, limits) = (settings.access(), settings.limits());
        let service = computing(py, || Service::new(server, &access, limits))?;
        let service = service.map_err(|error| errors::net(py, &error))?;
        Self::start(py, service, Source::Folder(folder), &settings, None)
    }

    /// Joins the shards that other servers hold, and listens. `urls` has the addresses of each shard, shard by shard.
    /// Waits some seconds for shards that have not started.
    #[staticmethod]
    fn gather(
        py: Python<'_>,
        shards: Vec<Vec<String>>,
        public_key: &Bound<'_, PublicKey>,
        settings: Settings,
        roots: Option<Vec<u8>>,
        patience: (f64, bool),
    ) -> PyResult<Self> {
        let (wait, hedge) = patience;
        let owner = public_key.get().0.clone();
        let endpoints = shards.iter().map(|urls| endpoints(urls, roots.as_ref()));
        let shards = Shards::replicated(endpoints, &owner, &settings.limits());
        let shards = shards.map_err(|error| errors::net(py, &error))?;
        let shards = if hedge { shards.hedged() } else { shards };
        let wait = Duration::try_from_secs_f64(wait).unwrap_or(Duration::MAX);
        let opened = stoppable(py, move |stop| {
            let begin = Instant::now();
            loop {
                match shards.open() {
                    Ok(server) => return Ok((shards, server)),
                    Err(error) if error.is_passing() && begin.elapsed() < wait => (),
                    Err(error) => return Err(error),
                }
                if stop.load(Ordering::Relaxed) {
                    return Err(Error::Broken("it was stopped".to_owned()));
                }
                std::thread::sleep(RETRY);
            }
        })?;
        let (shards, server) = opened.map_err(|error| errors::net(py, &error))?;
        let (access, limits) = (settings.access(), settings.limits());
        let service = computing(py, || Service::over(shards, server, &access, limits))?;
        let service = service.map_err(|error| errors::net(py, &error))?;
        Self::start(py, service, Source::Shards, &settings, roots)
    }

    /// Replaces the list of a shard's servers; the first shard is 1.
    fn reach(&self, py: Python<'_>, shard: u16, urls: Vec<String>) -> PyResult<()> {
        let reached = computing(py, || {
            let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
            let endpoints = endpoints(&urls, self.roots.as_ref());
            running.as_ref().map_or(Ok(()), |started| {
                started.running.service().reach(shard, endpoints)
            })
        })?;
        reached.map_err(|error| errors::net(py, &error))
    }

    /// The address for clients.
    #[getter]
    fn url(&self) -> String {
        let scheme = if self.tls { "https" } else { "http" };
        format!("{scheme}://{}", self.address)
    }

    /// The version that is served; 0 after the server has stopped.
    #[getter]
    fn version(&self, py: Python<'_>) -> PyResult<u64> {
        computing(py, || {
            let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
            let running = running.as_ref();
            running.map_or(0, |started| {
                started.running.service().server().manifest().version
            })
        })
    }

    /// The seconds for which a newer version could not be served; 0 if there is none.
    #[getter]
    fn behind(&self) -> f64 {
        let behind = self.behind.lock().unwrap_or_else(PoisonError::into_inner);
        behind.map_or(0.0, |since| since.elapsed().as_secs_f64())
    }

    /// All counts in the OpenMetrics text form.
    fn metrics(&self, py: Python<'_>) -> PyResult<String> {
        computing(py, || {
            let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
            let running = running.as_ref();
            running.map_or_else(String::new, |started| started.running.service().metrics())
        })
    }

    /// Refuses new requests, answers those in progress, and closes. A second call does nothing.
    fn stop(&self, py: Python<'_>) -> PyResult<()> {
        if forked() {
            return Ok(());
        }
        let stopped = computing(py, || {
            let running = self.running.lock();
            let Some(started) = running.unwrap_or_else(PoisonError::into_inner).take() else {
                return Ok(());
            };
            started.stop.store(true, Ordering::Relaxed);
            // A panic of this thread would be a bug, and nothing more can be done here.
            drop(started.follower.join());
            started.running.stop()
        })?;
        stopped.map_err(|error| errors::net(py, &error))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let running = self
            .running
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner);
        let started = running.take();
        if forked() {
            // It belongs to the parent process, whose threads answer.
            std::mem::forget(started);
        } else if let Some(started) = started {
            // The thread ends by itself; waiting for it would block Python.
            started.stop.store(true, Ordering::Relaxed);
        }
    }
}

impl Server {
    /// Listens, and follows the index.
    fn start(
        py: Python<'_>,
        service: Service,
        source: Source,
        settings: &Settings,
        roots: Option<Vec<u8>>,
    ) -> PyResult<Self> {
        let (listen, tls) = settings.listen(py)?;
        let running = computing(py, || service.listen(&listen))?;
        let running = running.map_err(|error| errors::net(py, &error))?;
        let (stop, behind) = (Arc::new(AtomicBool::new(false)), Behind::default());
        let follower = follow(source, service, &stop, &behind);
        let follower = follower.map_err(|error| errors::net(py, &Error::Start(error)))?;
        Ok(Self {
            address: running.address(),
            tls,
            roots,
            behind,
            running: Mutex::new(Some(Started {
                running,
                follower,
                stop,
            })),
        })
    }
}

/// The servers of one shard.
fn endpoints(urls: &[String], roots: Option<&Vec<u8>>) -> Vec<Endpoint> {
    let endpoints = urls.iter().map(|url| {
        let endpoint = Endpoint::new(url);
        match roots {
            Some(roots) => endpoint.roots(roots.clone()),
            None => endpoint,
        }
    });
    endpoints.collect()
}

/// Starts a thread that loads new versions.
fn follow(
    mut source: Source,
    service: Service,
    stop: &Arc<AtomicBool>,
    behind: &Behind,
) -> std::io::Result<JoinHandle<()>> {
    let (stop, behind) = (Arc::clone(stop), Arc::clone(behind));
    let follow = move || {
        while !stop.load(Ordering::Relaxed) {
            std::thread::sleep(TICK);
            let served = source.follow(&service);
            let mut behind = behind.lock().unwrap_or_else(PoisonError::into_inner);
            *behind = match served {
                true => None,
                false => behind.or_else(|| Some(Instant::now())),
            };
        }
    };
    let thread = std::thread::Builder::new().name("sordino-follow".to_owned());
    thread.spawn(follow)
}
