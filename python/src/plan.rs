//! Predicts costs before an index is built.

use std::time::Duration;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use sordino_search::plan::{Plan, Speed, Table, Terms, Wish};

use crate::compute::computing;
use crate::errors;

/// The wishes of the owner, with their bounds.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Settings {
    k: usize,
    recall: f64,
    queries: u64,
    payload_bytes: Option<usize>,
    client_ms: Option<f64>,
    server_sees_vectors: bool,
    measure: bool,
}

/// The costs of every mode as a dict, and the same as a printed table.
#[pyfunction]
pub(crate) fn plan<'py>(
    py: Python<'py>,
    n: usize,
    dim: usize,
    settings: Settings,
) -> PyResult<(Bound<'py, PyDict>, String)> {
    let client = settings
        .client_ms
        .map(|ms| Duration::try_from_secs_f64(ms / 1e3));
    let client = client.transpose().map_err(|error| {
        let text = format!("client_ms = {:?}: {error}", settings.client_ms);
        errors::raise(py, "InputError", text)
    })?;
    let (wish, longest, measure) = (settings.wish(), settings.payload_bytes, settings.measure);
    let planned = computing(py, || {
        let mut plan = Plan::new(n, dim, wish)?;
        if let Some(longest) = longest {
            plan = plan.with_payloads(longest)?;
        }
        let speed = if measure {
            Speed::measure()?
        } else {
            Speed::ZEN5
        };
        let terms = Terms {
            client,
            server_sees_vectors: settings.server_sees_vectors,
            speed,
            ..Terms::default()
        };
        Ok::<_, sordino_search::Error>((plan.table(terms), speed))
    })?;
    let (table, speed) = planned.map_err(|error| errors::search(py, &error))?;
    let dict = PyDict::new(py);
    dict.set_item("n", n)?;
    dict.set_item("dim", dim)?;
    dict.set_item("k", wish.k)?;
    dict.set_item("recall", wish.recall)?;
    dict.set_item("queries", wish.queries)?;
    dict.set_item(
        "recommended",
        table.recommended().map(|row| row.mode.name()),
    )?;
    dict.set_item("modes", modes(py, &table, wish.queries)?)?;
    dict.set_item("payloads", payloads(py, &table, &speed)?)?;
    let text = format!(
        "{n} x {dim}, recall@{} {}, {} queries per client and version\n{table}",
        wish.k, wish.recall, wish.queries
    );
    Ok((dict, text))
}

impl Settings {
    fn wish(&self) -> Wish {
        Wish::default()
            .k(self.k)
            .recall(self.recall)
            .queries(self.queries)
    }
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn modes<'py>(py: Python<'py>, table: &Table, queries: u64) -> PyResult<Bound<'py, PyList>> {
    let modes = PyList::empty(py);
    for row in table.rows() {
        let mode = PyDict::new(py);
        mode.set_item("mode", row.mode.name())?;
        mode.set_item("form", row.form)?;
        mode.set_item("bytes_once", row.cost.once)?;
        mode.set_item("bytes_up", row.cost.up)?;
        mode.set_item("bytes_down", row.cost.down)?;
        mode.set_item("bytes_in_all", row.cost.total(queries))?;
        mode.set_item("server_ms", ms(row.server))?;
        mode.set_item("client_ms", ms(row.client))?;
        mode.set_item("break_even_queries", row.break_even)?;
        mode.set_item("server_does_not_see", row.hides)?;
        mode.set_item("ruled_out", row.refusal.map(|refusal| refusal.name()))?;
        modes.append(mode)?;
    }
    Ok(modes)
}

fn payloads<'py>(
    py: Python<'py>,
    table: &Table,
    speed: &Speed,
) -> PyResult<Option<Bound<'py, PyDict>>> {
    let Some(planned) = table.payloads() else {
        return Ok(None);
    };
    let (server, client) = planned.times(speed);
    let payloads = PyDict::new(py);
    payloads.set_item("form", planned.way.name())?;
    payloads.set_item("fetched", planned.fetched)?;
    payloads.set_item("pages", planned.pages)?;
    payloads.set_item("page_bytes", planned.form.page_len)?;
    payloads.set_item("bytes_once", planned.cost.once)?;
    payloads.set_item("bytes_up", planned.cost.up)?;
    payloads.set_item("bytes_down", planned.cost.down)?;
    payloads.set_item("server_bytes", planned.way.memory())?;
    payloads.set_item("server_ms", ms(server))?;
    payloads.set_item("client_ms", ms(client))?;
    Ok(Some(payloads))
}
