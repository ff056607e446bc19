//! A client with its connection to an index, and the work of one call.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use pyo3::prelude::*;
use sordino_search::vectors::Error as Wrong;
use sordino_search::{Client as Reader, Error, Found, Id, IdKind, Metric, Question, ReaderKeys};

use super::here::Here;
use super::query::Asked;
use super::remote::Remote;
use super::{Payloads, Searched};
use crate::compute::{computing, stoppable};
use crate::errors;
use crate::transport::Moved;

/// A client with its connection to a server.
///
/// Threads release Python's lock before they wait for these locks, since another thread may hold one until a
/// server answers.
pub(super) struct Open {
    server: Server,
    total: RwLock<Total>,
}

pub(super) enum Server {
    Here(Box<Here>),
    Remote(Box<Remote>),
}

/// The sums over all calls.
#[derive(Clone, Copy, Default)]
pub(super) struct Total {
    pub(super) searches: u64,
    pub(super) moved: Moved,
}

/// Facts about the index, from its manifest.
pub(super) struct Facts {
    pub(super) index: [u8; 16],
    pub(super) version: u64,
    pub(super) mode: &'static str,
    pub(super) metric: Metric,
    pub(super) dim: usize,
    pub(super) k: usize,
    pub(super) ids: IdKind,
    pub(super) payloads: bool,
    /// True if a search may return shortened payloads.
    pub(super) shortens: bool,
    pub(super) bytes_once: usize,
}

impl Open {
    pub(super) fn new(server: Server) -> Self {
        Self {
            server,
            total: RwLock::default(),
        }
    }

    fn reader(&self) -> RwLockReadGuard<'_, Reader> {
        match &self.server {
            Server::Here(here) => here.client(),
            Server::Remote(remote) => remote.session.client(),
        }
    }

    /// Runs `work` with the client while no other call uses it.
    pub(super) fn asked<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&Reader) -> T + Send,
    ) -> T {
        py.detach(|| work(&self.reader()))
    }

    pub(super) fn facts(&self, py: Python<'_>) -> Facts {
        self.asked(py, |reader| {
            let manifest = reader.manifest();
            Facts {
                index: manifest.index,
                version: manifest.version,
                mode: manifest.mode.kind().name(),
                metric: manifest.metric,
                dim: manifest.dim as usize,
                k: manifest.k as usize,
                ids: manifest.ids,
                payloads: manifest.has_payloads(),
                shortens: reader.shortens(),
                bytes_once: reader.bytes_once(),
            }
        })
    }

    /// Runs a call that Ctrl-C ends at once if the server is slow or gone.
    pub(super) fn doing<T: Send + 'static>(
        self: &Arc<Self>,
        py: Python<'_>,
        work: impl FnOnce(&Self, &Arc<AtomicBool>) -> Result<T, Error> + Send + 'static,
    ) -> PyResult<T> {
        let done = match self.server {
            Server::Here(_) => computing(py, || work(self, &Arc::default()))?,
            Server::Remote(_) => {
                let open = Arc::clone(self);
                stoppable(py, move |stop| work(&open, stop))?
            }
        };
        done.map_err(|error| errors::search(py, &error))
    }

    /// Searches for several rows of `dim` numbers, which were checked before.
    pub(super) fn search(
        self: &Arc<Self>,
        py: Python<'_>,
        rows: Vec<f32>,
        dim: usize,
        asked: Asked,
    ) -> PyResult<Vec<(Found, Moved)>> {
        if rows.is_empty() {
            return Ok(Vec::new());
        }
        if rows.len() == dim {
            return self.doing(py, move |open, stop| {
                Ok(vec![open.search_one(&asked.of(&rows), stop)?])
            });
        }
        let open = Arc::clone(self);
        let found = stoppable(py, move |stop| {
            let questions = rows.chunks_exact(dim).map(|row| asked.of(row));
            open.search_all(&questions.collect::<Vec<_>>(), stop)
        })?;
        found.map_err(|error| errors::search(py, &error))
    }

    fn search_one(&self, question: &Question<'_>, stop: &Arc<AtomicBool>) -> Searched {
        match &self.server {
            Server::Here(here) => here.search(question),
            Server::Remote(remote) => remote.search(question, stop),
        }
    }

    fn search_all(
        &self,
        questions: &[Question<'_>],
        stop: &Arc<AtomicBool>,
    ) -> Result<Vec<(Found, Moved)>, Error> {
        match &self.server {
            Server::Here(here) => here.search_all(questions, stop),
            Server::Remote(remote) => remote.search_all(questions, stop),
        }
    }

    pub(super) fn payloads(
        &self,
        ids: &[Id],
        stop: &Arc<AtomicBool>,
    ) -> Result<(Payloads, Moved), Error> {
        match &self.server {
            Server::Here(here) => here.payloads(ids),
            Server::Remote(remote) => remote.payloads(ids, stop),
        }
    }

    /// True if an index in this process has a newer version in its directory. A client of a server learns of a newer version
    /// by a search.
    pub(super) fn is_outdated(&self) -> bool {
        match &self.server {
            Server::Here(here) => here.is_outdated(),
            Server::Remote(_) => false,
        }
    }

    pub(super) fn refresh(&self, keys: &ReaderKeys, stop: &Arc<AtomicBool>) -> Result<bool, Error> {
        match &self.server {
            Server::Here(here) => here.refresh(keys),
            Server::Remote(remote) => remote.refresh(stop),
        }
    }

    pub(super) fn count(&self, searches: usize, moved: Moved) {
        let mut total = self.total.write().unwrap_or_else(PoisonError::into_inner);
        total.searches += searches as u64;
        total.moved += moved;
    }

    pub(super) fn total(&self) -> Total {
        *self.total.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// The bytes sent and received over TCP on all connections to a server.
    pub(super) fn wire(&self) -> Option<(u64, u64)> {
        match &self.server {
            Server::Here(_) => None,
            Server::Remote(remote) => Some(remote.wire()),
        }
    }
}

/// Refuses a query that no search accepts; the error names its row.
pub(super) fn check(py: Python<'_>, rows: &[f32], facts: &Facts) -> PyResult<()> {
    let dim = facts.dim;
    if let Some(at) = rows.iter().position(|x| !x.is_finite()) {
        let (row, column) = (at / dim, at % dim);
        return Err(errors::vectors(py, &Wrong::NotFinite { row, column }));
    }
    if facts.metric == Metric::Cosine {
        let mut rows = rows.chunks_exact(dim);
        if let Some(row) = rows.position(|row| row.iter().all(|&x| x == 0.0)) {
            return Err(errors::vectors(py, &Wrong::ZeroVector { row }));
        }
    }
    Ok(())
}
