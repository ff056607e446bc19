//! One private vector search after another, on real cryptography, with every number that matters
//! beside the answer: recall against exact search, bytes, time, and what the server could see.
//!
//! Without arguments it searches two built-in sets of 100,000 vectors of 128 dimensions: one
//! uniform on the sphere, one clustered as real data is. `--help` lists what else it can do.

mod report;
mod run;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use sordino_search::recall::{self, Truth};
use sordino_search::{Error, Vectors, Wish, synthetic};

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
}

/// A set to search.
struct Set {
    name: String,
    base: Vectors,
    queries: Vectors,
    truth: Truth,
}

/// Vectors and queries of a built-in set.
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
    let wish = Wish {
        k: args.k,
        recall: args.recall,
        queries: args.session,
        ..Wish::default()
    };
    match (&args.data, &args.queries) {
        (Some(data), Some(queries)) => {
            let mut base = Vectors::open(data)?;
            // Neighbours that were computed for the whole set are not those of a part of it.
            let whole = args.n.is_none_or(|n| n as usize >= base.len());
            if let Some(n) = args.n {
                base = base.truncated(n as usize)?;
            }
            let queries = Vectors::open(queries)?.normalised()?;
            if queries.dim() != base.dim() {
                return Err(Error::Dimension {
                    found: queries.dim(),
                    expected: base.dim(),
                });
            }
            let base = base.normalised()?;
            let truth = match &args.truth {
                Some(truth) if whole => Truth::open(truth)?,
                _ => recall::exact(&base, &queries, args.k.min(base.len())),
            };
            truth.check(queries.len(), args.k, base.len())?;
            let name = data
                .file_stem()
                .unwrap_or(data.as_os_str())
                .to_string_lossy()
                .into_owned();
            search(
                &Set {
                    name,
                    base,
                    queries,
                    truth,
                },
                wish,
                args,
            )
        }
        _ => {
            let (default_n, dim, count) = BUILT_IN;
            let n = args.n.map_or(default_n, |n| n as usize);
            let uniform = (
                synthetic::uniform(n, dim, 42),
                synthetic::uniform(count, dim, 43),
            );
            let clustered = synthetic::clustered(n, count, dim, 42);
            for (name, (base, queries)) in [("uniform", uniform), ("clustered", clustered)] {
                let truth = recall::exact(&base, &queries, args.k.min(n));
                search(
                    &Set {
                        name: name.to_owned(),
                        base,
                        queries,
                        truth,
                    },
                    wish,
                    args,
                )?;
            }
            Ok(())
        }
    }
}

/// Searches one set in every mode asked for, and reports.
fn search(set: &Set, wish: Wish, args: &Args) -> Result<(), Error> {
    let mut measured = Vec::new();
    if args.mode != Some(Mode::Local) {
        for routing in [
            sordino_search::Routing::Downloaded,
            sordino_search::Routing::Encrypted,
        ] {
            let wish = Wish {
                routing: Some(routing),
                ..wish
            };
            measured.push(run::sealed(set, wish, args.json)?);
        }
    }
    if args.mode != Some(Mode::Sealed) {
        measured.push(run::local(set, wish.k)?);
    }
    if args.json {
        measured
            .iter()
            .for_each(|measured| println!("{}", report::json(set, measured)));
    } else {
        report::print(set, &measured);
    }
    Ok(())
}
