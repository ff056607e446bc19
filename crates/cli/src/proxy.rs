//! `sordino proxy`: gives programs on this machine a server's index, over plain HTTP and JSON.
//!
//! The crate `sordino-proxy` has the port and the searches. This file has arguments, signals and output.

mod attribute_columns;
mod listing;
mod owner_args;
mod records;
mod served_index;

use crate::cache::CacheArgs;
use crate::endpoint::EndpointArgs;
use crate::host::Host;
use crate::origin_args::OriginArgs;
use crate::pin::PinArgs;
use crate::{Error, Output, keys, log, notify};
use clap::Args as ClapArgs;
use owner_args::OwnerArgs;
use serde::Serialize;
use signal_hook::consts::TERM_SIGNALS;
use signal_hook::iterator::Signals;
use sordino_proxy::{Error as Fault, Proxy, ProxyOptions, Searcher, Token, Writing};
use sordino_search::Retry;
use std::{
    net::SocketAddr,
    path::PathBuf,
    sync::{Arc, mpsc},
    time::{Duration, Instant},
};

/// Arguments of `sordino proxy`.
#[derive(ClapArgs, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The server, https://host:port, or http://host:port without TLS.
    #[arg(long, value_name = "URL")]
    connect: String,
    /// A reader's key file, or the owner's.
    #[arg(long, value_name = "READER_KEY")]
    key: PathBuf,
    /// Read options from this file, in TOML: `connect = "https://search.example:7700"`. Options on the command line
    /// take precedence. File names are relative to the folder in which the proxy starts.
    #[arg(long, value_name = "TOML")]
    config: Option<PathBuf>,
    #[command(flatten)]
    endpoint: EndpointArgs,
    #[command(flatten)]
    pin: PinArgs,
    #[command(flatten)]
    cache: CacheArgs,
    /// Listen on this address, HOST:PORT. Port 0 takes a free port. Queries and results cross it in the clear.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7701", value_parser = Host::read)]
    listen: Host,
    /// The file of the token that programs show, `Authorization: Bearer TOKEN`. A missing file is made, readable by
    /// you alone.
    #[arg(long, value_name = "FILE")]
    token_file: PathBuf,
    /// Seconds that a request may take, including the wait for a busy or unreachable server.
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=3600))]
    timeout: u32,
    #[command(flatten)]
    owner: OwnerArgs,
    #[command(flatten)]
    pages: OriginArgs,
    /// The format of the log on standard error.
    #[arg(long, value_enum, default_value = "text")]
    log: log::Form,
    /// The least important events to log. The default is RUST_LOG, or else `info`.
    #[arg(long, value_enum, value_name = "LEVEL")]
    log_level: Option<log::Level>,
}

const EXAMPLES: &str = "\
Examples:
  sordino proxy --connect https://search.example:7700 --key reader.key --token-file token &
  curl http://127.0.0.1:7701/search -H \"Authorization: Bearer $(cat token)\" -d '{\"vector\": [0.1, 0.4]}'

POST /search takes {\"vector\": [...]} or {\"vectors\": [[...], ...]}, with \"k\" (at most the index's), \"min_score\" and
\"where\" as in `sordino query`.
GET /health names the version in use. It answers 503 until the index is there, while the server is away, and for a
minute after a search that failed for good. GET /healthz says that the process lives. GET /openapi.json describes all of this.

With --owner-key, --index and --write-token-file the proxy has more paths, which ask for that token:
PUT /records takes {\"records\": [{\"id\": 7, \"vector\": [...], \"payload\": \"text\", \"attributes\": {\"year\": 2020}}]} and
adds or replaces records; without vectors it changes payloads and attributes. DELETE /records takes {\"ids\": [7]}.
POST /records/scroll takes {\"after\": 7, \"limit\": 100} and lists records. GET /records/count counts them. A change after which much of
the index is out of use is followed by a compaction, which makes a version of its own; the answer has the last version.

Up to eight searches run at a time, on eight connections. Queries go to the server encrypted, as `sordino query` sends them.
Programs on this machine see them, and so does anyone on the way to a --listen address of a network.";

/// The time after which a start is logged as late.
const LATE: Duration = Duration::from_secs(3);

/// The time between two checks for signals.
const TICK: Duration = Duration::from_millis(100);

#[derive(Serialize)]
struct Listening<'a> {
    event: &'static str,
    address: SocketAddr,
    server: &'a str,
    version: u64,
}

/// Runs `sordino proxy` until a signal tells it to stop.
///
/// # Errors
/// Fails if the proxy cannot read its keys or token, reach the server, or listen on the address.
pub fn run(args: &Args, output: Output) -> Result<(), Error> {
    // The signals are collected before anything listens, so that none is lost.
    let mut signals = Signals::new(TERM_SIGNALS)?;
    let token = Token::of_file(&args.token_file)?;
    let time = Duration::from_secs(args.timeout.into());
    let keys = keys::reader(&args.key)?;
    let (endpoint, named) = args.endpoint.at(&args.connect)?;
    let options = args.pin.session(args.cache.open(), Retry::all(time))?;
    let writing = args.owner.writing(&token, &endpoint, output)?;
    let records = writing.as_ref().map(|(records, _)| Arc::clone(records));
    let terms = ProxyOptions {
        timeout: time,
        origins: args.pages.origins.clone(),
        writing: writing.map(|(records, token)| Writing { records, token }),
    };
    let proxy = Proxy::listen(args.listen.first(), token, terms)?;
    // Starting may take long, and a signal may end it.
    let (begun, mut is_late) = (Instant::now(), false);
    tracing::info!(server = %args.connect, seconds = args.timeout, "connecting; gives up after these seconds");
    let (done, started) = mpsc::channel();
    std::thread::spawn(move || done.send(Searcher::start(endpoint, &keys, options)));
    let searcher = loop {
        match started.recv_timeout(TICK) {
            Ok(Ok(searcher)) => break searcher,
            Ok(Err(Fault::Search(error))) => return Err(named(error)),
            Ok(Err(error)) => return Err(error.into()),
            Err(mpsc::RecvTimeoutError::Timeout) => (),
            Err(mpsc::RecvTimeoutError::Disconnected) => {
                return Err(std::io::Error::other("the start has failed").into());
            }
        }
        if signals.pending().next().is_some() {
            tracing::info!("stopping");
            return Ok(());
        }
        if begun.elapsed() > LATE && !is_late {
            tracing::warn!(server = %args.connect, "no index yet: the server cannot be reached, is busy, or sends much");
            is_late = true;
        }
    };
    let version = searcher.version();
    if let Some(records) = records {
        records.stand_before(searcher.index())?;
    }
    proxy.search_with(searcher);
    let address = proxy.address();
    if !address.ip().is_loopback() {
        tracing::warn!(%address, "queries and results cross a network in the clear");
    }
    let listening = Listening {
        event: "listening",
        address,
        server: &args.connect,
        version,
    };
    output.report(&listening, || {
        format!(
            "listening on http://{address}: version {version} of {}",
            args.connect
        )
    })?;
    tracing::info!(%address, "ready");
    notify::ready();
    while signals.pending().next().is_none() {
        std::thread::sleep(TICK);
    }
    tracing::info!("stopping");
    notify::stopping();
    proxy.stop();
    Ok(())
}

impl Args {
    /// The form of the log, and its level if that is set.
    #[must_use]
    pub fn log(&self) -> (log::Form, Option<log::Level>) {
        (self.log, self.log_level)
    }
}
