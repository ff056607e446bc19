//! A client with a way to its server.

use std::sync::atomic::AtomicBool;
use std::sync::{PoisonError, RwLock, RwLockReadGuard};

use pyo3::prelude::*;
use sordino_search::{Client as Reader, Found, Id, ReaderKeys};

use super::failed::{Failed, Payloads, Searched};
use super::here::Here;
use super::remote::Remote;
use crate::errors;
use crate::transport::Moved;

/// A client, its server, and how much was asked of it.
pub(super) struct Open {
    pub(super) reader: RwLock<Reader>,
    pub(super) server: Server,
    pub(super) total: RwLock<Total>,
}

pub(super) enum Server {
    Here(Here),
    Remote(Remote),
}

#[derive(Clone, Copy, Default)]
pub(super) struct Total {
    pub(super) searches: u64,
    pub(super) moved: Moved,
}

impl Open {
    pub(super) fn new(server: Server, reader: Reader) -> Self {
        Self {
            reader: RwLock::new(reader),
            server,
            total: RwLock::default(),
        }
    }

    pub(super) fn reader(&self) -> RwLockReadGuard<'_, Reader> {
        self.reader.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Refuses what no search takes, with the number of the row.
    pub(super) fn check(&self, py: Python<'_>, rows: &[f32], dim: usize) -> PyResult<()> {
        use sordino_search::vectors::Error as Wrong;
        if let Some(at) = rows.iter().position(|x| !x.is_finite()) {
            let (row, column) = (at / dim, at % dim);
            return Err(errors::vectors(py, &Wrong::NotFinite { row, column }));
        }
        if self.reader().manifest().metric == sordino_search::Metric::Cosine {
            let mut rows = rows.chunks_exact(dim);
            if let Some(row) = rows.position(|row| row.iter().all(|&x| x == 0.0)) {
                return Err(errors::vectors(py, &Wrong::ZeroVector { row }));
            }
        }
        Ok(())
    }

    pub(super) fn search(&self, query: &[f32]) -> Searched {
        match &self.server {
            Server::Here(here) => here.search(&self.reader, query),
            Server::Remote(remote) => remote.search(&self.reader, query),
        }
    }

    pub(super) fn search_all(
        &self,
        queries: &[&[f32]],
        stop: &AtomicBool,
    ) -> Result<Vec<(Found, Moved)>, Failed> {
        match &self.server {
            Server::Here(here) => here.search_all(&self.reader, queries, stop),
            Server::Remote(remote) => remote.search_all(&self.reader, queries, stop),
        }
    }

    pub(super) fn payloads(&self, ids: &[Id]) -> Result<(Payloads, Moved), Failed> {
        match &self.server {
            Server::Here(here) => here.payloads(&self.reader, ids),
            Server::Remote(remote) => remote.payloads(&self.reader, ids),
        }
    }

    pub(super) fn refresh(&self, keys: &ReaderKeys) -> Result<bool, Failed> {
        match &self.server {
            Server::Here(here) => here.refresh(&self.reader, keys),
            Server::Remote(remote) => remote.refresh(&self.reader),
        }
    }
}
