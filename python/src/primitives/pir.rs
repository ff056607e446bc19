//! SimplePIR: fetches a record from a server that does not learn which record it is.
//!
//! All records of a database have one length. Here each record keeps its own length: an end mark follows it, then zeros
//! (ISO/IEC 7816-4). A query begins with a digest of its client's downloads, so that a server with other records can refuse
//! it.

use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use sordino_pir::simple::{Answer, Client, Database, Hint, Params, Query, Secret, Server};
use sordino_pir::{Error, Seed};

use super::{borrowed, wrong};
use crate::compute::{computing, random};
use crate::errors;

/// The byte after the end of a record.
const END: u8 = 0x80;

/// A digest of the parameters, the seed and the hint. It identifies the records and their layout.
type Version = [u8; 16];

const CONTEXT: &str = "sordino 2026 python pir version";

fn version(params: &Params, seed: &Seed, hint: &[u8]) -> Version {
    let mut hasher = blake3::Hasher::new_derive_key(CONTEXT);
    hasher.update(&params.to_bytes());
    hasher.update(&seed.0);
    hasher.update(hint);
    let mut version = [0; size_of::<Version>()];
    hasher.finalize_xof().fill(&mut version);
    version
}

/// A server of records of one length.
#[pyclass(module = "sordino._sordino", frozen)]
pub(crate) struct PirServer {
    server: Server,
    params: Params,
    seed: Seed,
    hint: Vec<u8>,
    version: Version,
}

/// A client of one database.
#[pyclass(module = "sordino._sordino", frozen)]
pub(crate) struct PirClient {
    client: Client,
    params: Params,
    version: Version,
}

/// The secret that opens one answer, once.
#[pyclass(module = "sordino._sordino", frozen)]
pub(crate) struct PirSecret(Mutex<Option<Secret>>);

/// Refuses a database that does not fit into memory. Otherwise a later allocation would end the process.
fn check_memory(py: Python<'_>, params: &Params) -> PyResult<()> {
    // Rows are padded to whole vectors. The hint is stored both as words and as bytes.
    let row = params.columns().next_multiple_of(64) + 8 * params.n();
    let bytes = params.rows().saturating_mul(row);
    Vec::<u8>::new().try_reserve_exact(bytes).map_err(|_| {
        let (records, len) = (params.records(), params.record_len() - 1);
        let text =
            format!("{records} records of {len} bytes: {bytes} bytes of memory cannot be had");
        wrong(py, &text)
    })
}

#[pymethods]
impl PirServer {
    #[new]
    fn new(py: Python<'_>, records: Vec<Bound<'_, PyBytes>>, record_len: usize) -> PyResult<Self> {
        let mut rng = random()?;
        let records = borrowed(&records);
        let too_long = |record: &&[u8]| record.len() > record_len;
        if let Some(at) = records.iter().position(too_long) {
            let found = records[at].len();
            let text = format!("record {at} of {found} bytes: expected at most {record_len}");
            return Err(wrong(py, &text));
        }
        let params = Params::for_database(records.len(), record_len.saturating_add(1));
        let params = params.map_err(|error| wrong(py, &error))?;
        check_memory(py, &params)?;
        let made = computing(py, || {
            let seed = Seed::random(&mut rng);
            let ended = records.iter().map(|record| [record, &[END][..]].concat());
            let database = Database::from_records(&params, ended)?;
            let (server, hint) = Server::setup(database, &params, &seed)?;
            let hint = hint.to_bytes();
            Ok::<_, Error>(Self {
                version: version(&params, &seed, &hint),
                server,
                params,
                seed,
                hint,
            })
        })?;
        made.map_err(|error| wrong(py, &error))
    }

    fn params<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.params.to_bytes())
    }

    fn seed<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.seed.0)
    }

    fn hint<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.hint)
    }

    /// Answers queries in one pass over the records.
    fn answer<'py>(
        &self,
        py: Python<'py>,
        queries: Vec<Bound<'py, PyBytes>>,
    ) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let queries = borrowed(&queries);
        let mut own = Vec::with_capacity(queries.len());
        for (at, message) in queries.into_iter().enumerate() {
            let (theirs, query) = message.split_first_chunk().ok_or_else(|| {
                let found = message.len();
                wrong(
                    py,
                    &format!("query {at} of {found} bytes: it was cut short"),
                )
            })?;
            if *theirs != self.version {
                let text = format!(
                    "query {at} was made with the hint of other records: its client must download params, seed and hint \
                     again"
                );
                return Err(errors::raise(py, "StaleHintError", text));
            }
            own.push(query);
        }
        let queries = own;
        let answers = computing(py, || {
            let read = |query: &&[u8]| Query::from_bytes(&self.params, query);
            let queries: Vec<Query> = queries.iter().map(read).collect::<Result<_, _>>()?;
            self.server.answer_batch(&queries)
        })?;
        let answers = answers.map_err(|error| wrong(py, &error))?;
        let bytes = answers
            .iter()
            .map(|answer| PyBytes::new(py, &answer.to_bytes()));
        Ok(bytes.collect())
    }
}

#[pymethods]
impl PirClient {
    #[new]
    fn new(
        py: Python<'_>,
        params: &Bound<'_, PyBytes>,
        seed: [u8; 32],
        hint: &Bound<'_, PyBytes>,
    ) -> PyResult<Self> {
        let (params, hint) = (params.as_bytes(), hint.as_bytes());
        let made = computing(py, || {
            let params = Params::from_bytes(params)?;
            let version = version(&params, &Seed(seed), hint);
            let hint = Hint::from_bytes(&params, hint)?;
            let client = Client::new(&params, &Seed(seed), &hint)?;
            Ok::<_, Error>(Self {
                client,
                params,
                version,
            })
        })?;
        made.map_err(|error| wrong(py, &error))
    }

    /// The number of records.
    #[getter]
    fn records(&self) -> usize {
        self.params.records()
    }

    /// Makes a query for one record, and the secret that opens its answer.
    fn query<'py>(
        &self,
        py: Python<'py>,
        index: usize,
    ) -> PyResult<(PirSecret, Bound<'py, PyBytes>)> {
        let mut rng = random()?;
        let made = computing(py, || self.client.query(&mut rng, index))?;
        let (secret, query) = made.map_err(|error| wrong(py, &error))?;
        let query = [&self.version[..], &query.to_bytes()].concat();
        let query = PyBytes::new(py, &query);
        Ok((PirSecret(Mutex::new(Some(secret))), query))
    }

    /// Opens an answer and returns the record.
    fn recover<'py>(
        &self,
        py: Python<'py>,
        secret: &Bound<'py, PirSecret>,
        answer: &Bound<'py, PyBytes>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let (secret, answer) = (secret.get(), answer.as_bytes());
        let read = computing(py, || Answer::from_bytes(&self.params, answer))?;
        let answer = read.map_err(|error| wrong(py, &error))?;
        let taken = secret
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        let Some(secret) = taken else {
            let text =
                "this query was already used to open an answer: make a new query for each answer";
            return Err(wrong(py, &text));
        };
        let record = computing(py, || self.client.recover(secret, &answer))?;
        let record = record.map_err(|error| wrong(py, &error))?;
        // An answer about other records than the hint's would decrypt to arbitrary bytes.
        let end = record.iter().rposition(|&byte| byte != 0);
        let Some(end) = end.filter(|&end| record[end] == END) else {
            return Err(wrong(
                py,
                &"the answer holds no record: it is not an answer of this server",
            ));
        };
        Ok(PyBytes::new(py, &record[..end]))
    }
}
