//! Results, printed as they come.

use crate::index::{known_attributes, shown};
use crate::json_line::{ENDS, json_line};
use crate::stdio::stdout;
use crate::{Error, Output};
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use sordino_search::plan::Bytes;
use sordino_search::{Client, Found, Id};
use std::{
    collections::BTreeMap,
    io::{self, Write},
    time::Duration,
};

/// The form of results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// Lines of query, rank, id and score.
    Text,
    /// A line of JSON for each query.
    Lines,
    /// One JSON object for all queries, at the end.
    Object,
}

/// The results of one search, or its error if the other searches continue.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Line {
    Found(Answer),
    Failed {
        query: usize,
        #[serde(skip_serializing_if = "Option::is_none")]
        query_id: Option<Id>,
        error: String,
    },
}

/// The results of one search.
#[derive(Debug, Serialize)]
pub(super) struct Answer {
    pub(super) query: usize,
    /// The query's id in the file of queries.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) query_id: Option<Id>,
    pub(super) hits: Vec<Hit>,
}

#[derive(Debug, Serialize)]
pub(super) struct Hit {
    id: Id,
    score: f32,
    /// The payload, if records have any, and its form: json, text or base64.
    #[serde(skip_serializing_if = "Option::is_none")]
    payload: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    payload_form: Option<&'static str>,
    /// True if the payload is longer than a search returns: `index get` returns all of it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
    /// The attributes, if the index has any.
    #[serde(skip_serializing_if = "Map::is_empty")]
    attributes: Map<String, Value>,
}

/// The hits, with all that the client knows about them.
pub(super) fn hits(client: &Client, found: Found) -> Vec<Hit> {
    // Payloads are present for all hits or for none.
    let mut payloads = found.payloads.iter();
    let hits = found.hits.into_iter().map(|hit| {
        let shown = payloads.next().map(|payload| shown(payload));
        let (payload_form, payload) = shown.unzip();
        Hit {
            attributes: known_attributes(client, &hit.id),
            id: hit.id,
            score: hit.score,
            payload,
            payload_form,
            truncated: hit.truncated,
        }
    });
    hits.collect()
}

/// The index that was searched, and the time and bytes that connecting took.
pub(super) struct Summary<'a> {
    client: &'a Client,
    connect: Duration,
    elapsed: Duration,
}

impl<'a> Summary<'a> {
    pub(super) fn new(client: &'a Client, connect: Duration, elapsed: Duration) -> Self {
        Self {
            client,
            connect,
            elapsed,
        }
    }
}

#[derive(Serialize)]
struct Report<'a> {
    index: String,
    version: u64,
    mode: &'static str,
    n: u32,
    dim: u32,
    metric: &'static str,
    /// The size in bytes of messages that were downloaded before the first search, or because the index changed.
    bytes_once: usize,
    connect_ms: f64,
    search_ms_median: f64,
    search_ms_p99: f64,
    searches_per_second: f64,
    queries: Vec<&'a Line>,
}

/// Prints answers in the order of their queries, each as soon as all earlier ones are printed.
#[derive(Debug)]
pub(super) struct Printer {
    form: Form,
    /// The query whose answer is printed next.
    next: usize,
    /// The answers that wait for earlier ones, or for the end.
    waiting: BTreeMap<usize, Line>,
    times: Vec<Duration>,
}

impl Printer {
    pub(super) fn new(form: Form) -> Self {
        Self {
            form,
            next: 0,
            waiting: BTreeMap::new(),
            times: Vec::new(),
        }
    }

    pub(super) fn print(&mut self, answer: Answer, time: Duration) -> Result<(), Error> {
        self.times.push(time);
        self.put(answer.query, Line::Found(answer))
    }

    /// Prints a query's line. If its search failed and others continue, that line has the error. So a program that
    /// waits for a query's line before it sends the next query does not wait forever.
    pub(super) fn put(&mut self, query: usize, line: Line) -> Result<(), Error> {
        self.waiting.insert(query, line);
        if self.form == Form::Object {
            return Ok(());
        }
        let mut out = stdout()?.lock();
        while let Some(line) = self.waiting.remove(&self.next) {
            self.next += 1;
            write(&mut out, self.form, &line)?;
        }
        Ok(out.flush()?)
    }

    /// Prints the waiting answers and the summary. There are gaps if searches failed.
    pub(super) fn finish(mut self, summary: &Summary<'_>, output: Output) -> Result<(), Error> {
        let manifest = summary.client.manifest();
        self.times.sort();
        let quantile = |percent: usize| {
            let last = self.times.len().checked_sub(1);
            last.map_or(0.0, |last| {
                let at = (self.times.len() * percent / 100).min(last);
                milliseconds(self.times[at])
            })
        };
        let report = Report {
            index: hex::encode(manifest.index),
            version: manifest.version,
            mode: manifest.mode.kind().name(),
            n: manifest.n,
            dim: manifest.dim,
            metric: manifest.metric.name(),
            bytes_once: summary.client.bytes_once(),
            connect_ms: milliseconds(summary.connect),
            search_ms_median: quantile(50),
            search_ms_p99: quantile(99),
            searches_per_second: self.times.len() as f64 / summary.elapsed.as_secs_f64(),
            queries: self.waiting.values().collect(),
        };
        let note = format!(
            "{} {}, version {}, {} x {}: {} once in {:.0} ms, {} searches of {:.1} ms (median), \
             {:.1} a second",
            report.mode,
            &report.index[..8],
            report.version,
            report.n,
            report.dim,
            Bytes(report.bytes_once as u64),
            report.connect_ms,
            self.times.len(),
            report.search_ms_median,
            report.searches_per_second,
        );
        if !self.times.is_empty() {
            output.note(&note);
        }
        if self.form == Form::Object {
            return output.report(&report, String::new);
        }
        let mut out = stdout()?.lock();
        for line in self.waiting.values() {
            write(&mut out, self.form, line)?;
        }
        Ok(out.flush()?)
    }
}

/// A text on one line of columns. Characters that would end a line or a column, or control a terminal, are escaped.
/// So `--ids-file` can read an id from a line.
fn escaped(text: &str) -> String {
    let escape = |c: char| match c {
        // The byte-order mark is invisible, and at the start of a file of ids it would name an
        // encoding.
        '\\' | '\u{feff}' => c.escape_default().collect::<String>(),
        c if c.is_control() || ENDS.contains(&c) => c.escape_default().collect(),
        c => c.into(),
    };
    text.chars().map(escape).collect()
}

/// JSON in which characters that control a terminal are escaped. JSON itself escapes those below a
/// space.
fn visible(json: &str) -> String {
    let escape = |c: char| match c {
        '\u{7f}'..='\u{9f}' => format!("\\u{:04x}", u32::from(c)),
        c => c.into(),
    };
    json.chars().map(escape).collect()
}

/// A score for columns, with at most six digits. JSON has all digits.
fn six_digits(score: f32) -> String {
    if score == 0.0 {
        return "0".to_owned();
    }
    let trimmed = |text: &str| text.trim_end_matches('0').trim_end_matches('.').to_owned();
    let scientific = format!("{score:.5e}");
    let parts = scientific.split_once('e');
    let Some((digits, power)) =
        parts.and_then(|(digits, power)| Some((digits, power.parse::<i32>().ok()?)))
    else {
        return scientific;
    };
    match (power, usize::try_from(5 - power)) {
        (..-4 | 9.., _) => format!("{}e{power}", trimmed(digits)),
        (_, Ok(places @ 1..)) => trimmed(&format!("{score:.places$}")),
        _ => format!("{score:.0}"),
    }
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn write(out: &mut impl Write, form: Form, line: &Line) -> io::Result<()> {
    if form == Form::Lines {
        return writeln!(out, "{}", json_line(line)?);
    }
    // In columns, a failed search has no line, because it was reported already.
    let Line::Found(answer) = line else {
        return Ok(());
    };
    let query = match &answer.query_id {
        Some(id) => escaped(&id.to_string()),
        None => answer.query.to_string(),
    };
    for (rank, hit) in (1..).zip(&answer.hits) {
        let Hit { id, score, .. } = hit;
        let (id, score) = (escaped(&id.to_string()), six_digits(*score));
        write!(out, "{query}\t{rank}\t{id}\t{score}")?;
        if let Some(value) = &hit.payload {
            match serde_json::from_str::<String>(value.get()) {
                Ok(text) => write!(out, "\t{}", escaped(&text))?,
                Err(_) => write!(out, "\t{}", visible(value.get()))?,
            }
        }
        // A last column says if `index get` returns more of the payload.
        writeln!(out, "{}", if hit.truncated { "\ttruncated" } else { "" })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::six_digits;

    #[test]
    fn scores_have_six_digits_at_most() {
        for (score, text) in [
            (0.0, "0"),
            (-0.0, "0"),
            (1.0, "1"),
            (0.999_999_94, "1"),
            (0.906_727_25, "0.906727"),
            (-0.1, "-0.1"),
            (1.17e-15, "1.17e-15"),
            (f32::MIN_POSITIVE, "1.17549e-38"),
            (0.000_123_456_78, "0.000123457"),
            (12_345.678, "12345.7"),
            (1_234_567.0, "1234567"),
            (3.4e38, "3.4e38"),
        ] {
            assert_eq!(six_digits(score), text);
        }
    }
}
