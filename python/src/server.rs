//! An index on a port.

use std::fs;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use pyo3::prelude::*;
use sordino_net::{Access, Identity, Limits, Listen, Running, Service};
use sordino_search::Index;
use sordino_search::OwnerPublicKey;
use zeroize::Zeroizing;

use crate::compute::{computing, forked};
use crate::errors;
use crate::keys::{ClientPublicKey, PublicKey};

/// The pause between looks at the directory, whose index may have changed.
const TICK: Duration = Duration::from_millis(100);

/// An index that is served on a port by threads of its own.
#[pyclass(module = "sordino._sordino", frozen)]
pub(crate) struct Server {
    address: SocketAddr,
    tls: bool,
    running: Mutex<Option<Started>>,
}

struct Started {
    running: Running,
    follower: JoinHandle<()>,
    stop: Arc<AtomicBool>,
}

/// The choices that an operator has.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Settings {
    listen: String,
    cert: Option<Vec<u8>>,
    cert_key: Option<Vec<u8>>,
    metrics: Option<String>,
    batch: Option<usize>,
    rate: Option<f64>,
    rate_per_key: Option<f64>,
    rate_per_address: Option<f64>,
    max_connections: Option<usize>,
    max_connections_per_address: Option<usize>,
}

#[pymethods]
impl Server {
    /// Loads an index and listens. `clients` are those that may ask, none for anyone.
    #[new]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        public_key: &Bound<'_, PublicKey>,
        clients: Option<Vec<Bound<'_, ClientPublicKey>>>,
        settings: Settings,
    ) -> PyResult<Self> {
        let owner = public_key.get().0.clone();
        let access = match clients {
            None => Access::Anyone,
            Some(keys) => Access::Keys(keys.iter().map(|key| key.get().0.clone()).collect()),
        };
        let limits = settings.limits();
        let (listen, tls) = settings.listen(py)?;
        let current = current(&path);
        let service = computing(py, || {
            let server = sordino_search::Server::new(Index::open_dir(&path, &owner)?)?;
            Ok::<_, sordino_search::Error>(Service::new(server, &access, limits))
        })?;
        let service = service
            .map_err(|error| errors::search(py, &error))?
            .map_err(|error| errors::net(py, &error))?;
        let running = computing(py, || service.listen(&listen))?;
        let running = running.map_err(|error| errors::net(py, &error))?;
        let stop = Arc::new(AtomicBool::new(false));
        let follower = follow(path, owner, service, current, Arc::clone(&stop));
        let follower =
            follower.map_err(|error| errors::net(py, &sordino_net::Error::Start(error)))?;
        Ok(Self {
            address: running.address(),
            tls,
            running: Mutex::new(Some(Started {
                running,
                follower,
                stop,
            })),
        })
    }

    /// The address that clients connect to.
    #[getter]
    fn url(&self) -> String {
        let scheme = if self.tls { "https" } else { "http" };
        format!("{scheme}://{}", self.address)
    }

    /// All counts in the OpenMetrics text form.
    fn metrics(&self, py: Python<'_>) -> PyResult<String> {
        computing(py, || {
            let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
            let running = running.as_ref();
            running.map_or_else(String::new, |started| started.running.service().metrics())
        })
    }

    /// Takes no more requests, answers those in flight, closes. A second time it does nothing.
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
            // Its panic would be a bug, and nothing is left to be done about it.
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
            // It is the other process's, whose threads answer.
            std::mem::forget(started);
        } else if let Some(started) = started {
            // The thread ends by itself; waiting for it would hold Python up.
            started.stop.store(true, Ordering::Relaxed);
        }
    }
}

impl Settings {
    fn limits(&self) -> Limits {
        let all = Limits::default();
        Limits {
            batch: self.batch.unwrap_or(all.batch),
            rate: self.rate.unwrap_or(all.rate),
            rate_per_key: self.rate_per_key.unwrap_or(all.rate_per_key),
            rate_per_address: self.rate_per_address.unwrap_or(all.rate_per_address),
            connections: self.max_connections.unwrap_or(all.connections),
            per_address: self.max_connections_per_address.unwrap_or(all.per_address),
            ..all
        }
    }

    fn listen(&self, py: Python<'_>) -> PyResult<(Listen, bool)> {
        let mut listen = Listen::on(address(py, &self.listen)?);
        let tls = self.cert.is_some();
        if let (Some(cert), Some(key)) = (&self.cert, &self.cert_key) {
            let key = Zeroizing::new(key.clone());
            listen = listen.tls(Identity::from_pem(cert, &*key));
        }
        if let Some(metrics) = &self.metrics {
            listen = listen.metrics(address(py, metrics)?);
        }
        Ok((listen, tls))
    }
}

/// The address that text stands for; a host may be a name.
fn address(py: Python<'_>, text: &str) -> PyResult<SocketAddr> {
    let wrong = |why: &dyn std::fmt::Display| {
        let text = format!("{text:?}: {why}; expected HOST:PORT, for instance \"127.0.0.1:7700\"");
        errors::raise(py, "AddressError", text)
    };
    let found = text.to_socket_addrs().map_err(|error| wrong(&error))?;
    let mut found: Vec<SocketAddr> = found.collect();
    // A name of this machine may stand for both families; the older is what URLs are tried with first.
    found.sort_by_key(SocketAddr::is_ipv6);
    found.first().copied().ok_or_else(|| wrong(&"no such host"))
}

/// The directory's word for its newest version.
fn current(path: &Path) -> Option<Vec<u8>> {
    fs::read(path.join("CURRENT")).ok()
}

/// Starts a thread that puts new versions in place.
fn follow(
    path: PathBuf,
    owner: OwnerPublicKey,
    service: Service,
    mut seen: Option<Vec<u8>>,
    stop: Arc<AtomicBool>,
) -> std::io::Result<JoinHandle<()>> {
    let follow = move || {
        while !stop.load(Ordering::Relaxed) {
            std::thread::sleep(TICK);
            let now = current(&path);
            if now == seen || now.is_none() {
                continue;
            }
            // A damaged version is not served: the version before goes on, and this is tried again.
            let opened = Index::open_dir(&path, &owner).and_then(sordino_search::Server::new);
            if let Ok(server) = opened {
                service.replace(server);
                seen = now;
            }
        }
    };
    let thread = std::thread::Builder::new().name("sordino-follow".to_owned());
    thread.spawn(follow)
}
