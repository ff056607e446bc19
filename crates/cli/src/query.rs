//! `sordino query`: searches, on a server or in this process.

mod input;
mod pin;

use crate::{Error, Output, keys, random};
use clap::Args as ClapArgs;
use pin::PinFile;
use serde::Serialize;
use sordino_net::{Connection, Endpoint};
use sordino_search::plan::Bytes;
use sordino_search::{
    Client, Error as Search, InProcess, Index, ReaderKeys, Server, Transport, Vectors,
};
use std::{
    fs,
    path::PathBuf,
    sync::atomic::{AtomicUsize, Ordering},
    sync::{PoisonError, RwLock},
    time::{Duration, Instant},
};

/// How often a search is made anew because the index changed under it.
const ATTEMPTS: usize = 3;

/// Arguments of `sordino query`.
#[derive(ClapArgs, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The server, https://host:port, or http://host:port without TLS.
    #[arg(long, value_name = "URL", required_unless_present = "index")]
    connect: Option<String>,
    /// Search an index on this disk, without a server.
    #[arg(long, value_name = "DIR", conflicts_with = "connect")]
    index: Option<PathBuf>,
    /// A reader's key file, or the owner's.
    #[arg(long, value_name = "READER_KEY")]
    key: PathBuf,
    /// Sign requests with this client's key.
    #[arg(long, value_name = "CLIENT_KEY", requires = "connect")]
    client_key: Option<PathBuf>,
    /// The certificates, in PEM, of which one must have signed the server's; for https.
    #[arg(long, value_name = "PEM", requires = "connect")]
    roots: Option<PathBuf>,
    /// The name that the server's certificate must have, if it is not the URL's host.
    #[arg(long, requires = "roots")]
    server_name: Option<String>,
    /// Remember the newest version seen in this file, and refuse older ones and other indexes.
    #[arg(long, value_name = "FILE")]
    pin: Option<PathBuf>,
    /// One vector: numbers separated by commas or spaces. Other users of this machine may see it;
    /// without this or --file, vectors are read from standard input, one a line.
    #[arg(long, allow_hyphen_values = true, conflicts_with = "file")]
    vector: Option<String>,
    /// A file of vectors: .npy, .fvecs, .bvecs, .fbin, .u8bin, .i8bin, .parquet or .arrow.
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Searches at a time, each on a connection of its own: the server answers them in one pass.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=64))]
    jobs: u16,
}

const EXAMPLES: &str = "\
Examples:
  sordino query --connect http://127.0.0.1:7700 --key reader.key --file queries.npy
  echo '0.1 0.4 -0.2 0.9' | sordino query --connect https://search.example:7700 \\
      --roots ca.pem --key reader.key --client-key alice.key --pin search.pin
  sordino query --index base.index --key reader.key --file queries.npy --json

Results are lines of query, rank, id and score, separated by tabs; scores must not go back to the
server. The number and sizes of messages are the same whatever is searched for.";

/// One search's results.
#[derive(Serialize)]
struct Answer {
    query: usize,
    hits: Vec<Hit>,
}

#[derive(Serialize)]
struct Hit {
    id: u32,
    score: f32,
}

#[derive(Serialize)]
struct Report<'a> {
    index: String,
    version: u64,
    mode: &'static str,
    n: u32,
    dim: u32,
    metric: &'static str,
    /// Bytes of messages that were downloaded before the first search, or because the index changed.
    bytes_once: usize,
    connect_ms: f64,
    search_ms_median: f64,
    search_ms_p99: f64,
    searches_per_second: f64,
    queries: Vec<&'a Answer>,
}

/// Runs `sordino query`.
///
/// # Errors
/// If the queries cannot be read, the server cannot be reached or refuses, or what it sends is not
/// the owner's index.
pub fn run(args: &Args, output: Output) -> Result<(), Error> {
    let keys = keys::reader(&args.key)?;
    let queries = input::queries(args.vector.as_deref(), args.file.as_deref())?;
    match (&args.index, &args.connect) {
        (Some(dir), _) => {
            let index = Index::open_dir(dir, keys.owner())?;
            let server = Server::new(index)?;
            search(args, &keys, &queries, output, || {
                Ok(InProcess::new(&server))
            })
        }
        (None, address) => {
            let endpoint = endpoint(args, address.as_deref().unwrap_or_default())?;
            search(args, &keys, &queries, output, || {
                Ok(Connection::open(endpoint.clone())?)
            })
        }
    }
}

fn endpoint(args: &Args, address: &str) -> Result<Endpoint, Error> {
    let mut endpoint = Endpoint::new(address);
    if let Some(path) = &args.client_key {
        endpoint = endpoint.key(keys::client(path)?);
    }
    if let Some(path) = &args.roots {
        endpoint = endpoint.roots(fs::read(path).map_err(Error::at(path))?);
    }
    if let Some(name) = &args.server_name {
        endpoint = endpoint.name(name);
    }
    Ok(endpoint)
}

/// Makes every search and reports.
fn search<T: Transport + Send>(
    args: &Args,
    keys: &ReaderKeys,
    queries: &Vectors,
    output: Output,
    open: impl Fn() -> Result<T, Error>,
) -> Result<(), Error> {
    let mut pin = args.pin.as_deref().map(PinFile::read).transpose()?;
    let start = Instant::now();
    let mut transports = vec![open()?];
    let pinned = pin.as_ref().and_then(PinFile::seen);
    let client = Client::connect(&mut transports[0], keys, pinned)?;
    let connect = start.elapsed();
    if let Some(pin) = &mut pin {
        pin.remember(client.pin())?;
    }
    for _ in 1..usize::from(args.jobs).min(queries.len()) {
        transports.push(open()?);
    }

    let client = RwLock::new(client);
    let bar = output.progress(Some(queries.len() as u64), "searching");
    let next = AtomicUsize::new(0);
    let start = Instant::now();
    let work = |mut transport: T| -> Result<Vec<(Answer, Duration)>, Error> {
        let mut rng = random()?;
        let mut done = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            if at >= queries.len() {
                return Ok(done);
            }
            let answer = one(&client, &mut transport, &mut rng, queries.row(at));
            let (hits, time) = answer.inspect_err(|_| {
                // The others end after the search that they are at.
                next.store(queries.len(), Ordering::Relaxed);
            })?;
            done.push((Answer { query: at, hits }, time));
            bar.inc(1);
        }
    };
    let done: Result<Vec<_>, Error> = std::thread::scope(|scope| {
        let threads: Vec<_> = transports
            .into_iter()
            .map(|transport| scope.spawn(|| work(transport)))
            .collect();
        threads
            .into_iter()
            .map(|thread| {
                thread
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            })
            .collect()
    });
    let elapsed = start.elapsed();
    bar.finish_and_clear();
    let mut done: Vec<_> = done?.into_iter().flatten().collect();
    done.sort_by_key(|(answer, _)| answer.query);
    let client = client.into_inner().unwrap_or_else(PoisonError::into_inner);
    if let Some(pin) = &mut pin {
        pin.remember(client.pin())?;
    }
    report(&client, &done, connect, elapsed, output)
}

/// One search, made anew with fresh secrets if the index has changed meanwhile.
///
/// Whether it is made anew depends on the index's version alone, never on the query.
fn one<T: Transport>(
    client: &RwLock<Client>,
    transport: &mut T,
    rng: &mut rand::rngs::StdRng,
    query: &[f32],
) -> Result<(Vec<Hit>, Duration), Error> {
    let lock = || client.read().unwrap_or_else(PoisonError::into_inner);
    for attempt in 1..=ATTEMPTS {
        let (version, start) = (lock().manifest().version, Instant::now());
        let error = match lock().search(rng, transport, query) {
            Ok(found) => return Ok((hits(found), start.elapsed())),
            Err(error) => error,
        };
        // A server on a network says that the version is another as it says that a message is
        // wrong, so it is asked for its manifest.
        let moved = matches!(error, Search::Stale { .. } | Search::Transport(_));
        if !moved || attempt == ATTEMPTS || !follow(client, transport, version)? {
            return Err(error.into());
        }
    }
    unreachable!("the last attempt returns")
}

/// Whether the client is at another version than `version` now, after asking the server.
fn follow<T: Transport>(
    client: &RwLock<Client>,
    transport: &mut T,
    version: u64,
) -> Result<bool, Error> {
    let mut client = client.write().unwrap_or_else(PoisonError::into_inner);
    // Another thread may have followed the index already.
    Ok(client.manifest().version != version || client.refresh(transport)?)
}

fn hits(found: sordino_search::Found) -> Vec<Hit> {
    let hits = found.hits.iter();
    hits.map(|hit| Hit {
        id: hit.id,
        score: hit.score,
    })
    .collect()
}

fn report(
    client: &Client,
    done: &[(Answer, Duration)],
    connect: Duration,
    elapsed: Duration,
    output: Output,
) -> Result<(), Error> {
    let mut times: Vec<Duration> = done.iter().map(|(_, time)| *time).collect();
    times.sort();
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    let last = times.len() - 1;
    let manifest = client.manifest();
    let report = Report {
        index: hex::encode(manifest.index),
        version: manifest.version,
        mode: manifest.mode.name(),
        n: manifest.n,
        dim: manifest.dim,
        metric: manifest.metric.name(),
        bytes_once: client.bytes_once(),
        connect_ms: ms(connect),
        search_ms_median: ms(times[last / 2]),
        search_ms_p99: ms(times[(times.len() * 99 / 100).min(last)]),
        searches_per_second: done.len() as f64 / elapsed.as_secs_f64(),
        queries: done.iter().map(|(answer, _)| answer).collect(),
    };
    output.note(&format!(
        "{} {}, version {}, {} x {}: {} once in {:.0} ms, {} searches of {:.1} ms (median), \
         {:.1} a second",
        report.mode,
        &report.index[..8],
        report.version,
        report.n,
        report.dim,
        Bytes(report.bytes_once as u64),
        report.connect_ms,
        done.len(),
        report.search_ms_median,
        report.searches_per_second,
    ));
    output.report(&report, || {
        let lines = report.queries.iter().flat_map(|answer| {
            let ranked = (1..).zip(&answer.hits);
            ranked
                .map(|(rank, Hit { id, score })| format!("{}\t{rank}\t{id}\t{score}", answer.query))
        });
        lines.collect::<Vec<_>>().join("\n")
    })
}
