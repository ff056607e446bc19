//! `sordino index get`: records by id, from an index on this disk or from a server.

use super::export::line::{line, stored};
use super::ids::{Ids, parsed};
use super::list::{List, Part, QUOTING};
use super::values::attributes;
use crate::cache::CacheArgs;
use crate::endpoint::EndpointArgs;
use crate::pin::PinArgs;
use crate::place::Place;
use crate::stdio::stdout;
use crate::{Error, Output, keys};
use indicatif::ProgressBar;
use sordino_search::{Error as Search, Id, IdKind, ReaderKeys, Retry, Session};
use std::collections::HashMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Arguments of `sordino index get`.
#[derive(clap::Args, Debug)]
#[command(after_help = format!("{NOTE}\n\n{QUOTING}"), mut_arg("pin", |pin| pin.conflicts_with("index")))]
pub(super) struct Args {
    /// The index.
    #[arg(value_name = "INDEX", required_unless_present = "connect")]
    index: Option<PathBuf>,
    /// Fetch the payloads from this server, https://host:port. The server does not learn which ones.
    #[arg(long, value_name = "URL", conflicts_with = "index")]
    connect: Option<String>,
    /// Record ids, separated by commas: see below for one that has a comma.
    #[arg(
        long,
        alias = "id",
        value_name = "IDS",
        allow_hyphen_values = true,
        required_unless_present = "ids_file"
    )]
    ids: Vec<List<Part>>,
    /// Record ids from a file: .npy of integers, or text with one a line, as `sordino query` prints them.
    #[arg(long, value_name = "FILE", conflicts_with = "ids")]
    ids_file: Option<PathBuf>,
    /// A reader's key file, or the owner's.
    #[arg(long, value_name = "READER_KEY")]
    key: PathBuf,
    /// Show the vectors too.
    #[arg(long, conflicts_with = "connect")]
    vectors: bool,
    #[command(flatten)]
    endpoint: EndpointArgs,
    /// Seconds to keep trying while the server cannot be reached or is busy; 0 means one attempt.
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = 10,
        requires = "connect"
    )]
    wait: u32,
    #[command(flatten)]
    pin: PinArgs,
    #[command(flatten)]
    cache: CacheArgs,
}

const NOTE: &str = "\
Each record is a line with a JSON object: id, payload with payload_form (json, text, or base64 for other bytes),
attributes, label (from a folder, with the owner's key) and vector. Vectors come back as precisely as the index stores
them: under cosine only their directions, and with the precision of the mode's codes.

With --connect, ids and attributes are downloaded once and kept in the cache, as for a search. Payloads are fetched
like the payloads of search results. The server learns about how many records you ask for, and not which: each takes
the pages of the longest record. A server has no vectors to give.";

pub(super) fn run(args: &Args, output: Output) -> Result<(), Error> {
    let keys = keys::reader(&args.key)?;
    match (&args.index, &args.connect) {
        (Some(dir), _) => args.on_disk(dir, &keys),
        (None, address) => args.on_server(address.as_deref().unwrap_or_default(), &keys, output),
    }
}

impl Args {
    fn ids(&self, kind: IdKind, is_there: impl Fn(&Id) -> bool) -> Result<Vec<Id>, Error> {
        match &self.ids_file {
            Some(path) => Ok(Ids::open(path, kind)?.list),
            None => parsed(&self.ids, kind, is_there),
        }
    }

    fn on_disk(&self, dir: &Path, keys: &ReaderKeys) -> Result<(), Error> {
        let named = Error::index(dir);
        let mut ids = None;
        let found = Place::of(dir)?.read(keys, |contents| {
            // The ids are read once, because their file may be a pipe.
            let ids = ids.get_or_insert_with(|| {
                let is_there = |id: &Id| contents.get(std::slice::from_ref(id)).next().is_some();
                self.ids(contents.manifest().ids, is_there)
            });
            let Ok(ids) = ids else {
                return Ok(HashMap::new());
            };
            let mut found = HashMap::new();
            for some in contents.get(ids) {
                let some = some?;
                for (at, id) in some.ids.iter().enumerate() {
                    found.insert(id.clone(), stored(&some, at, self.vectors));
                }
            }
            Ok(found)
        });
        let found = found.map_err(&named)?;
        let ids = ids.unwrap_or(Ok(Vec::new()))?;
        print(&ids, |_, id| found.get(id).cloned(), named)
    }

    fn on_server(&self, address: &str, keys: &ReaderKeys, output: Output) -> Result<(), Error> {
        let bar = output.waiting("connecting");
        let found = self.fetched(address, keys, &bar);
        bar.finish_and_clear();
        let (ids, records) = found?;
        print(&ids, |at, _| records[at].clone(), Error::from)
    }

    /// The ids, and for each the record, if it exists.
    fn fetched(
        &self,
        address: &str,
        keys: &ReaderKeys,
        bar: &ProgressBar,
    ) -> Result<(Vec<Id>, Vec<Option<String>>), Error> {
        let (endpoint, named) = self.endpoint.at(address)?;
        let retry = Retry::all(Duration::from_secs(self.wait.into()));
        let options = self.pin.session(self.cache.open(), retry)?;
        let session = Session::open(endpoint, keys, options).map_err(&named)?;
        let ids = {
            let client = session.client();
            self.ids(client.manifest().ids, |id| client.attributes(id).is_some())?
        };
        bar.set_message(format!("fetching {} records", ids.len()));
        let batch = session.batch()?;
        let records = session.call(&batch, |client, rng, connection| {
            let payloads = client.payloads(rng, connection, &ids)?;
            let records = ids.iter().zip(payloads).map(|(id, payload)| {
                let known = client.attributes(id)?;
                let attributes = attributes(&known, 0);
                Some(line(id, payload.as_deref(), attributes, (None, None)))
            });
            Ok(records.collect::<Vec<_>>())
        });
        Ok((ids, records.map_err(named)?))
    }
}

/// Prints the existing records in the requested order. The first missing record is the error.
fn print(
    ids: &[Id],
    record: impl Fn(usize, &Id) -> Option<String>,
    named: impl Fn(Search) -> Error,
) -> Result<(), Error> {
    let mut out = stdout()?.lock();
    let mut missing = None;
    for (at, id) in ids.iter().enumerate() {
        match record(at, id) {
            Some(record) => writeln!(out, "{record}")?,
            None => missing = missing.or(Some(id)),
        }
    }
    out.flush()?;
    match missing {
        None => Ok(()),
        Some(id) => Err(named(Search::UnknownId { id: id.clone() })),
    }
}
