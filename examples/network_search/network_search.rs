//! Private search with a real server process. For every mode this program starts itself once more as a server, and
//! searches it from here. The server is on loopback with TLS and answers one client key.
//!
//! `--load` measures the server instead: eight clients at once against one.

mod load;
mod party;
mod processor;
mod serve;

use std::error::Error;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;
use rand::SeedableRng;
use rand::rngs::StdRng;
use sordino_net::Traffic;
use sordino_search::manifest::Packing;
use sordino_search::recall::{self, Truth};
use sordino_search::{
    Client, Index, OwnerKeys, Plan, Routing, Transport, Vectors, Wish, build, synthetic,
};

use party::Party;

/// The number of results of a search.
const K: usize = 10;

/// Private nearest-neighbour search over a network, measured.
#[derive(Parser)]
struct Args {
    /// Vectors to index; 4,000, or 100,000 under load.
    #[arg(long)]
    n: Option<usize>,
    /// Dimensions of a vector.
    #[arg(long, default_value_t = 128)]
    dim: usize,
    /// Queries to search for.
    #[arg(long, default_value_t = 20)]
    queries: usize,
    /// Measure throughput and latency under eight clients.
    #[arg(long)]
    load: bool,
    /// Requests of each measurement under load.
    #[arg(long, default_value_t = 400)]
    requests: usize,
    /// Print one JSON object a line, and nothing else.
    #[arg(long)]
    json: bool,
    /// The server's side, which this program starts itself: the folder of what it serves.
    #[arg(long, hide = true)]
    serve: Option<std::path::PathBuf>,
}

#[derive(Clone, Copy)]
pub(crate) enum Mode {
    Sealed,
    Local,
    Open,
    Masked,
}

impl Mode {
    const ALL: [Self; 4] = [Self::Sealed, Self::Local, Self::Open, Self::Masked];

    fn build(self, keys: &OwnerKeys, base: &Vectors) -> Result<Index, sordino_search::Error> {
        let rng = &mut rand::rng();
        match self {
            Self::Sealed => {
                let wish = Wish::default()
                    .k(K)
                    .recall(0.95)
                    .queries(100)
                    .routing(Some(Routing::Downloaded));
                let plan = Plan::new(base.len(), base.dim(), wish)?;
                build::sealed(rng, keys, base, &plan, &mut |_| ()).map(|built| built.index)
            }
            Self::Local => build::local(rng, keys, base, K, &mut |_| ()),
            Self::Open => build::open(rng, keys, base, K, Packing::T8, &mut |_| ()),
            Self::Masked => build::masked(rng, keys, base, K, Packing::T8, &mut |_| ()),
        }
    }

    /// A server's view of a search, and of the index, in this mode.
    fn seen(self) -> &'static str {
        match self {
            Self::Sealed => "number, sizes and times of messages; sealed buckets of one size",
            Self::Local => "that the index was downloaded; sealed chunks",
            Self::Open => "number, sizes and times of messages; the vectors",
            Self::Masked => "number, sizes and times of messages; vectors under pads",
        }
    }
}

fn main() -> ExitCode {
    let args = Args::parse();
    let done = match &args.serve {
        Some(folder) => serve::serve(folder),
        None if args.load => load::measure(&args),
        None => search_all(&args),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn search_all(args: &Args) -> Result<(), Box<dyn Error>> {
    let n = args.n.unwrap_or(4000);
    let (base, queries) = synthetic::clustered(n, args.queries, args.dim, 7);
    let truth = recall::exact(&base, &queries, K);
    let keys = OwnerKeys::generate(&mut rand::rng());
    if !args.json {
        println!(
            "{n} vectors of {} dimensions, {} queries, TLS 1.3, every request signed (ML-DSA-65).",
            args.dim, args.queries
        );
        println!("No server saw a query, a score, a hit, or which vectors were near.");
        println!(
            "mode    recall@10  ms/search  once kB  up kB  down kB  on the wire kB  seen by the server"
        );
    }
    for mode in Mode::ALL {
        let index = mode.build(&keys, &base)?;
        let name = index.manifest().mode.kind().name();
        let party = Party::start(&index, &keys)?;
        let measured = searches(&party, &keys, &queries, &truth)?;
        let metrics = party.metrics()?;
        party.end()?;
        measured.print(args.json, name, mode, &metrics);
    }
    Ok(())
}

/// The mean time and bytes of a mode's searches.
struct Measurement {
    recall: f64,
    time: Duration,
    once: usize,
    traffic: Traffic,
    searches: u64,
}

fn searches(
    party: &Party,
    keys: &OwnerKeys,
    queries: &Vectors,
    truth: &Truth,
) -> Result<Measurement, Box<dyn Error>> {
    let mut connection = party.connect()?;
    let client = Client::connect(&mut connection, &keys.reader(), None)?;
    let before = connection.traffic();
    let start = Instant::now();
    let mut recall = 0.0;
    let rng = &mut StdRng::from_rng(&mut rand::rng());
    for (at, query) in queries.rows().enumerate() {
        let found = client.search(rng, &mut connection, query)?;
        recall += truth.recall(at, K, found.numbers()) / queries.len() as f64;
    }
    let time = start.elapsed();
    let now = connection.traffic();
    Ok(Measurement {
        recall,
        time: time / u32::try_from(queries.len())?,
        once: client.bytes_once(),
        traffic: Traffic {
            calls: now.calls - before.calls,
            up: now.up - before.up,
            down: now.down - before.down,
            wire_up: now.wire_up - before.wire_up,
            wire_down: now.wire_down - before.wire_down,
        },
        searches: queries.len() as u64,
    })
}

impl Measurement {
    fn print(&self, json: bool, name: &str, mode: Mode, metrics: &str) {
        let each = |bytes: u64| bytes.div_ceil(self.searches) as f64 / 1e3;
        let (up, down) = (each(self.traffic.up), each(self.traffic.down));
        let wire = each(self.traffic.wire_up + self.traffic.wire_down);
        let (once, ms) = (self.once as f64 / 1e3, self.time.as_secs_f64() * 1e3);
        let recall = self.recall;
        if json {
            let line = serde_json::json!({
                "mode": name, "recall": recall, "ms": ms, "once_kb": once, "up_kb": up,
                "down_kb": down, "wire_kb": wire, "messages": self.traffic.calls / self.searches,
                "seen": mode.seen(),
            });
            println!("{line}");
            return;
        }
        println!(
            "{name:<7} {recall:>9.3} {ms:>10.2} {once:>8.1} {up:>6.1} {down:>8.1} {wire:>15.1}  {}",
            mode.seen()
        );
        let answered = metrics
            .lines()
            .find_map(|line| line.strip_prefix("sordino_answered_total "));
        println!(
            "        it also saw the client's key; its metrics say {} requests answered",
            answered.unwrap_or("no")
        );
    }
}

/// Keeps requests instead of sending them: queries made beforehand.
pub(crate) struct Capture(pub(crate) Vec<(Vec<u8>, usize)>);

impl Transport for Capture {
    fn call(&mut self, request: &[u8], limit: usize) -> Result<Vec<u8>, sordino_search::Error> {
        self.0.push((request.to_vec(), limit));
        Err(sordino_search::Error::BadReply)
    }
}
