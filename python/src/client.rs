//! Searches, in this process or over a network.

use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock, TryLockError};
use std::time::Duration;

use numpy::{PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use sordino_net::Endpoint;
use sordino_search::{Cache, Error, Filter, Found, Pin, ReaderKeys, Retry};

use crate::attributes;
use crate::compute::{computing, forked, stoppable};
use crate::errors;
use crate::ids::{self, Given};
use crate::keys::{self, ClientKey};
use crate::transport::Moved;
use crate::vectors::metric_name;

mod answer;
mod here;
mod open;
mod query;
mod remote;

use answer::{Answer, answer};
use here::Here;
use open::{Open, Server, check};
use query::Asked;
use remote::Remote;

/// The largest number of bytes of downloads that a cache keeps.
const CACHE: u64 = 4 << 30;

/// The results of one search, and the bytes that it moved.
type Searched = Result<(Found, Moved), Error>;

/// The payloads of records; `None` for a record that does not exist.
type Payloads = Vec<Option<Vec<u8>>>;

/// A client of one index. Several threads may use it.
#[pyclass(module = "sordino._sordino", frozen)]
pub(crate) struct Client {
    keys: ReaderKeys,
    open: RwLock<Option<Arc<Open>>>,
}

#[pymethods]
impl Client {
    /// A client of the index in a directory, which is loaded into this process.
    #[staticmethod]
    #[pyo3(signature = (path, key, known=None))]
    fn here(
        py: Python<'_>,
        path: PathBuf,
        key: &Bound<'_, PyAny>,
        known: Option<KnownParts>,
    ) -> PyResult<Self> {
        let keys = keys::reader_of(key)?;
        let known = known.map(Known::from);
        let opened = computing(py, || {
            let here = Here::open(path, &keys, known.as_ref())?;
            Ok(Open::new(Server::Here(Box::new(here))))
        })?;
        Ok(Self::of(
            keys,
            opened.map_err(|error: Error| errors::search(py, &error))?,
        ))
    }

    /// A client of a server. It waits `wait.0` seconds for a busy server, and `wait.1` for one that cannot be reached.
    #[staticmethod]
    #[pyo3(signature = (url, key, client_key=None, token=None, roots=None, known=None, cache=None, wait=(0.0, 0.0)))]
    #[expect(clippy::too_many_arguments, reason = "they are Python's")]
    fn remote(
        py: Python<'_>,
        url: String,
        key: &Bound<'_, PyAny>,
        client_key: Option<&Bound<'_, ClientKey>>,
        token: Option<Vec<u8>>,
        roots: Option<Vec<u8>>,
        known: Option<KnownParts>,
        cache: Option<PathBuf>,
        wait: (f64, f64),
    ) -> PyResult<Self> {
        let keys = keys::reader_of(key)?;
        let mut endpoint = Endpoint::new(url);
        if let Some(key) = client_key {
            endpoint = endpoint.key(Arc::clone(&key.get().0));
        }
        if let Some(token) = token {
            endpoint = endpoint.token(token);
        }
        if let Some(roots) = roots {
            endpoint = endpoint.roots(roots);
        }
        let known = known.map(Known::from);
        let cache = cache.map(|folder| Cache::new(folder, CACHE));
        let theirs = keys.clone();
        let time = |wait| Duration::try_from_secs_f64(wait).unwrap_or(Duration::MAX);
        let retry = Retry {
            busy: time(wait.0),
            away: time(wait.1),
        };
        let opened = stoppable(py, move |stop| {
            let remote = Remote::open(endpoint, &theirs, known.as_ref(), cache, retry, stop)?;
            Ok(Open::new(Server::Remote(Box::new(remote))))
        })?;
        Ok(Self::of(
            keys,
            opened.map_err(|error: Error| errors::search(py, &error))?,
        ))
    }

    /// Searches for every row of an array, among the records that pass a filter and a threshold.
    #[pyo3(signature = (queries, k, filter=None, threshold=None))]
    fn search<'py>(
        &self,
        py: Python<'py>,
        queries: PyReadonlyArray2<'py, f32>,
        k: usize,
        filter: Option<&str>,
        threshold: Option<f32>,
    ) -> PyResult<Answer<'py>> {
        let open = self.followed(py)?;
        let asked = Asked::new(k, filter, threshold).map_err(|error| errors::search(py, &error))?;
        let (n, dim) = (queries.shape()[0], queries.shape()[1]);
        let rows = queries.as_slice()?.to_vec();
        let facts = open.facts(py);
        if dim != facts.dim {
            let (found, expected) = (dim, facts.dim);
            return Err(errors::search(py, &Error::Dimension { found, expected }));
        }
        if !(1..=facts.k).contains(&k) {
            let most = facts.k;
            let text = format!(
                "k = {k}: expected 1 to {most}; for more results build the index with a larger k"
            );
            return Err(errors::raise(py, "KError", text));
        }
        check(py, &rows, &facts)?;
        let answers = open.search(py, rows, dim, asked)?;
        let mut moved = Moved::default();
        let mut found = Vec::with_capacity(n);
        for (hits, one) in answers {
            moved += one;
            found.push(hits);
        }
        open.count(n, moved);
        // The index may have changed during the search, and may have payloads now.
        let facts = open.facts(py);
        answer(py, &found, (k, facts.ids), facts.payloads, moved)
    }

    /// The payloads of records; None for a record that does not exist.
    fn payloads<'py>(
        &self,
        py: Python<'py>,
        ids: Given<'py>,
    ) -> PyResult<Vec<Option<Bound<'py, PyBytes>>>> {
        let open = self.followed(py)?;
        let ids = ids.of(py, open.facts(py).ids)?;
        let (payloads, moved) = open.doing(py, move |open, stop| open.payloads(&ids, stop))?;
        open.count(0, moved);
        let bytes = payloads.into_iter();
        Ok(bytes
            .map(|payload| payload.map(|bytes| PyBytes::new(py, &bytes)))
            .collect())
    }

    /// The attributes of records: a dict of its values for each, and None for a record that does not exist.
    fn attributes<'py>(
        &self,
        py: Python<'py>,
        ids: Given<'py>,
    ) -> PyResult<Vec<Option<Bound<'py, PyDict>>>> {
        let open = self.followed(py)?;
        let ids = ids.of(py, open.facts(py).ids)?;
        let rows = open.asked(py, |reader| {
            let rows = ids.iter().map(|id| reader.attributes(id));
            rows.collect::<Vec<_>>()
        });
        let rows = rows.iter();
        rows.map(|row| row.as_ref().map(|row| attributes::one(py, row)).transpose())
            .collect()
    }

    /// One attribute of all records that have it and pass a filter: a dict of values by id.
    #[pyo3(signature = (name, filter=None))]
    fn column<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        filter: Option<&str>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let open = self.followed(py)?;
        let found = open.asked(py, |reader| {
            let filter = filter.map(Filter::parse).transpose()?;
            reader.column(name, filter.as_ref())
        });
        let found = found.map_err(|error| errors::search(py, &error))?;
        let values = PyDict::new(py);
        for (ids, column) in found {
            for (row, id) in ids.iter().enumerate() {
                if let Some(value) = attributes::value(py, &column, row)? {
                    values.set_item(ids::one(py, id)?, value)?;
                }
            }
        }
        Ok(values)
    }

    /// The largest number of results of a search.
    #[getter]
    fn k(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.open(py)?.facts(py).k)
    }

    /// True if a search may return shortened payloads.
    #[getter]
    fn shortens(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.open(py)?.facts(py).shortens)
    }

    /// The kind of record ids.
    #[getter]
    fn id_kind(&self, py: Python<'_>) -> PyResult<&'static str> {
        Ok(ids::kind_name(self.open(py)?.facts(py).ids))
    }

    /// Follows the index to its newest version; returns True if there was one.
    fn refresh(&self, py: Python<'_>) -> PyResult<bool> {
        let keys = self.keys.clone();
        self.open(py)?
            .doing(py, move |open, stop| open.refresh(&keys, stop))
    }

    /// The version, and the sums of bytes moved so far, as a dict.
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let open = self.open(py)?;
        let (facts, total) = (open.facts(py), open.total());
        let stats = PyDict::new(py);
        stats.set_item("index", hex::encode(facts.index))?;
        stats.set_item("version", facts.version)?;
        stats.set_item("mode", facts.mode)?;
        stats.set_item("metric", metric_name(facts.metric))?;
        stats.set_item("dim", facts.dim)?;
        stats.set_item("k", facts.k)?;
        stats.set_item("bytes_once", facts.bytes_once)?;
        stats.set_item("searches", total.searches)?;
        stats.set_item("bytes_up", total.moved.up)?;
        stats.set_item("bytes_down", total.moved.down)?;
        stats.set_item("server_ms", total.moved.waited.as_secs_f64() * 1e3)?;
        if let Some((up, down)) = open.wire() {
            stats.set_item("wire_up", up)?;
            stats.set_item("wire_down", down)?;
        }
        Ok(stats)
    }

    /// The client's version, which the next client can take as `pin`.
    fn pin(&self, py: Python<'_>) -> PyResult<PinParts> {
        let pin = self.open(py)?.asked(py, sordino_search::Client::pin);
        Ok((pin.index, pin.version, pin.manifest))
    }

    /// Releases the connection or the index.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        if forked() {
            return Ok(());
        }
        // Calls of other threads that are in progress end normally.
        computing(py, || {
            let open = self.open.write();
            drop(open.unwrap_or_else(PoisonError::into_inner).take());
        })
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        if forked() {
            // Its connections would wait for threads that this process does not have.
            let open = self.open.get_mut();
            std::mem::forget(open.unwrap_or_else(PoisonError::into_inner).take());
        }
    }
}

/// A pin's index, version and digest.
type PinParts = ([u8; 16], u64, [u8; 32]);

/// A pin, and true if the server need not prove that its version follows from it.
type KnownParts = (PinParts, bool);

/// The version that a client knows before it connects.
struct Known {
    pin: Pin,
    over_gap: bool,
}

impl From<KnownParts> for Known {
    fn from(((index, version, manifest), over_gap): KnownParts) -> Self {
        let pin = Pin {
            index,
            version,
            manifest,
        };
        Self { pin, over_gap }
    }
}

impl Client {
    fn of(keys: ReaderKeys, open: Open) -> Self {
        Self {
            keys,
            open: RwLock::new(Some(Arc::new(open))),
        }
    }

    /// The client, if it is open, at the newest version of an index in this process.
    fn followed(&self, py: Python<'_>) -> PyResult<Arc<Open>> {
        let open = self.open(py)?;
        if open.is_outdated() {
            let keys = self.keys.clone();
            open.doing(py, move |open, stop| open.refresh(&keys, stop))?;
        }
        Ok(open)
    }

    /// The client, if it is open.
    fn open(&self, py: Python<'_>) -> PyResult<Arc<Open>> {
        let open = match self.open.try_read() {
            Ok(open) => open.clone(),
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner().clone(),
            // Another thread is closing it.
            Err(TryLockError::WouldBlock) => None,
        };
        open.ok_or_else(|| errors::raise(py, "ClosedError", "this client is closed"))
    }
}
