//! One private search after another, on real cryptography, with every number that matters next to the answer. It prints
//! the texts that a search brings, recall against exact search, bytes, time, and what the server could see.
//!
//! Without arguments it searches two built-in sets of 100,000 vectors of 128 dimensions: one
//! uniform on the sphere, one clustered as real data is. `--help` lists what else it can do.

mod report;
mod run;
mod texts;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use sordino_search::manifest::Packing;
use sordino_search::recall::{self, Truth};
use sordino_search::{Error, Metric, Plan, Routing, Vectors, Wish, synthetic};

/// Private nearest-neighbour search, measured.
#[derive(Parser)]
struct Args {
    /// Vectors to index: .npy (f32, f16, u8, i8), .fvecs or .bvecs. Without it: two built-in sets.
    #[arg(long, requires = "queries")]
    data: Option<PathBuf>,
    /// Queries to search for, in the same formats.
    #[arg(long, requires = "data")]
    queries: Option<PathBuf>,
    /// The queries' true nearest rows by cosine (.npy of i32 or .ivecs); computed if not given.
    #[arg(long, requires = "data")]
    truth: Option<PathBuf>,
    /// Only this mode.
    #[arg(long, value_enum)]
    mode: Option<Mode>,
    /// Open and masked mode: coordinates that share a polynomial, 4, 8, 16, 32 or 64 (more: shorter queries, a
    /// longer hint). Without it, what --session makes cheaper.
    #[arg(long, value_parser = packing)]
    t: Option<Packing>,
    /// Results of a search.
    #[arg(long, default_value_t = 10)]
    k: usize,
    /// Recall to plan for.
    #[arg(long, default_value_t = 0.95)]
    recall: f64,
    /// Searches that a client makes before the index changes: what the plan minimises bytes for.
    #[arg(long, default_value_t = 100)]
    session: u64,
    /// Index only the first N vectors (built-in sets: generate N).
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    n: Option<u32>,
    /// Print one JSON object per set and mode, a line each, and nothing else.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, PartialEq, clap::ValueEnum)]
enum Mode {
    /// A fixed number of sealed buckets by private information retrieval.
    Sealed,
    /// The whole index downloaded once.
    Local,
    /// Encrypted scores of all vectors, which the server holds in the clear.
    Open,
    /// Encrypted scores of all vectors, which the server holds under pads.
    Masked,
    /// Encrypted scores of one cluster in each of some groups, under pads.
    Routed,
}

/// A set to search.
struct Set {
    name: String,
    base: Vectors,
    queries: Vectors,
    truth: Truth,
}

/// The vectors and queries of a built-in set.
const BUILT_IN: (usize, usize, usize) = (100_000, 128, 100);

fn main() -> ExitCode {
    let args = Args::parse();
    match search_all(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn search_all(args: &Args) -> Result<(), Error> {
    let wish = Wish::default()
        .k(args.k)
        .recall(args.recall)
        .queries(args.session);
    match (&args.data, &args.queries) {
        (Some(data), Some(queries)) => {
            let mut base = Vectors::open(data)?;
            // Neighbours computed for the whole set are wrong for a part of it.
            let whole = args.n.is_none_or(|n| n as usize >= base.len());
            if let Some(n) = args.n {
                base = base.truncated(n as usize)?;
            }
            let queries = Vectors::open(queries)?;
            if queries.dim() != base.dim() {
                return Err(Error::Dimension {
                    found: queries.dim(),
                    expected: base.dim(),
                });
            }
            let truth = match &args.truth {
                Some(truth) if whole => Truth::open(truth)?,
                _ => recall::nearest(Metric::Cosine, &base, &queries, args.k.min(base.len())),
            };
            truth.check(queries.len(), args.k, base.len())?;
            let name = data
                .file_stem()
                .unwrap_or(data.as_os_str())
                .to_string_lossy()
                .into_owned();
            let set = Set {
                name,
                base,
                queries,
                truth,
            };
            search(&set, wish, args, true)?;
            Ok(())
        }
        _ => {
            let (default_n, dim, count) = BUILT_IN;
            let n = args.n.map_or(default_n, |n| n as usize);
            let uniform = (
                synthetic::uniform(n, dim, 42),
                synthetic::uniform(count, dim, 43),
            );
            let clustered = synthetic::clustered(n, count, dim, 42);
            let mut all = Vec::new();
            for (name, (base, queries)) in [("uniform", uniform), ("clustered", clustered)] {
                let truth = recall::nearest(Metric::Cosine, &base, &queries, args.k.min(n));
                let set = Set {
                    name: name.to_owned(),
                    base,
                    queries,
                    truth,
                };
                // Sets of the same size have the same plan.
                let measured = search(&set, wish, args, all.is_empty())?;
                all.push((name, measured));
            }
            if !args.json {
                report::summary(&all);
            }
            Ok(())
        }
    }
}

/// Searches one set in every requested mode, and reports the results. Also prints the plan if it was not printed
/// before.
fn search(
    set: &Set,
    wish: Wish,
    args: &Args,
    shows_plan: bool,
) -> Result<Vec<run::Measurement>, Error> {
    let wanted = |mode| args.mode.is_none_or(|only| only == mode);
    let plan = Plan::new(set.base.len(), set.base.dim(), wish)?;
    if !args.json {
        if wanted(Mode::Masked) {
            let planned = plan.masked().map(|scoring| scoring.packing);
            texts::show(set, wish, args.t.or(planned).unwrap_or(Packing::T4))?;
        }
        if shows_plan {
            println!("\n{plan}\n");
        }
    }
    let mut measured = Vec::new();
    if wanted(Mode::Masked) {
        let planned = plan.masked().map(|scoring| scoring.packing);
        let packing = args.t.or(planned).unwrap_or(Packing::T4);
        measured.push(run::masked(set, wish.k, packing)?);
    }
    if wanted(Mode::Routed) {
        measured.push(run::routed(set, wish)?);
    }
    if wanted(Mode::Open) {
        let planned = plan.open().map(|scoring| scoring.packing);
        let packing = args.t.or(planned).unwrap_or(Packing::T4);
        measured.push(run::open(set, wish.k, packing)?);
    }
    for routing in Routing::ALL {
        if wanted(Mode::Sealed) {
            let wish = wish.routing(Some(routing));
            measured.push(run::sealed(set, wish)?);
        }
    }
    if wanted(Mode::Local) {
        measured.push(run::local(set, wish.k)?);
    }
    for measured in &mut measured {
        measured.download_all = plan.download().once;
    }
    if args.json {
        measured
            .iter()
            .for_each(|measured| println!("{}", report::json(set, measured)));
    } else {
        report::print(set, &measured);
    }
    Ok(measured)
}

fn packing(t: &str) -> Result<Packing, &'static str> {
    let packing = t.parse().ok().and_then(Packing::of);
    packing.ok_or("expected 4, 8, 16, 32 or 64")
}
