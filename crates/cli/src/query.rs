//! `sordino query`: searches, on a server or in this process.

mod columns;
mod input;
mod report;
mod work;

use crate::cache::CacheArgs;
use crate::endpoint::EndpointArgs;
use crate::file_args::FileArgs;
use crate::pin::PinArgs;
use crate::place::Place;
use crate::{Error, Output, keys, numbers};
use clap::{ArgGroup, Args as ClapArgs};
use columns::Columns;
use input::Queries;
use report::Form;
use sordino_net::Deadlines;
use sordino_search::vectors::FileOptions;
use sordino_search::{Filter, InProcess, Retry, Server, SessionOptions};
use std::{path::PathBuf, time::Duration};
use work::{Wanted, Work};

/// Arguments of `sordino query`.
#[derive(ClapArgs, Debug)]
#[command(after_help = EXAMPLES, group(ArgGroup::new("place").required(true).args(["connect", "index"])))]
pub struct Args {
    /// The server, https://host:port, or http://host:port without TLS.
    #[arg(long, value_name = "URL")]
    connect: Option<String>,
    /// Search an index on this disk, without a server.
    #[arg(long, value_name = "DIR")]
    index: Option<PathBuf>,
    /// A reader's key file, or the owner's.
    #[arg(long, value_name = "READER_KEY")]
    key: PathBuf,
    #[command(flatten)]
    endpoint: EndpointArgs,
    /// Seconds to keep trying while the server cannot be reached or is busy, for connecting and for each search. Each
    /// attempt uses fresh secrets. 0 means one attempt.
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
    /// One vector: numbers separated by commas, semicolons or spaces. Other users of this machine may see it. Without
    /// this and --file, vectors are read from standard input, one on each line.
    #[arg(long, allow_hyphen_values = true, conflicts_with = "file")]
    vector: Option<String>,
    /// A file of vectors: .npy (one vector or more), .fvecs, .bvecs, .fbin, .u8bin, .i8bin, .parquet, .arrow, .jsonl,
    /// .json, .csv or .tsv. `-` is standard input, with --format.
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// The column of vectors, if the file is a table with several candidates.
    #[arg(long, alias = "vector-columns", value_name = "NAME", requires = "file")]
    vector_column: Option<String>,
    #[command(flatten)]
    file_args: FileArgs,
    /// The column of query ids, which are printed with the results. The default is the only column `id`.
    #[arg(long, value_name = "NAME", requires = "file")]
    id_column: Option<String>,
    /// Use only columns that are named, and the only column of vectors.
    #[arg(long, requires = "file")]
    no_guess: bool,
    /// Results of each search. The default and the most is the number for which the index was built.
    #[arg(long, short, value_parser = numbers::results)]
    k: Option<usize>,
    /// Leave out results with a lower score or, if the metric is Euclidean, with a higher distance.
    #[arg(long, value_name = "SCORE", allow_hyphen_values = true, value_parser = numbers::score)]
    min_score: Option<f32>,
    /// Find only records whose attributes pass this condition: =, !=, <, <=, >, >=, in (...), between ... and ..., like,
    /// has, is null, is not null, joined by and, or, not. Texts are in quotes. Sealed and routed mode apply it to the
    /// buckets or clusters that a search reads.
    #[arg(long = "where", value_name = "CONDITION", value_parser = Filter::parse)]
    filter: Option<Filter>,
    /// Searches at a time, each on its own connection. The server answers them in one pass.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=64))]
    jobs: u16,
    /// Print the results of each search as one JSON object, as soon as they arrive. A query that cannot be read or
    /// searched for has an object with its error, and the others go on.
    #[arg(long)]
    jsonl: bool,
}

const EXAMPLES: &str = "\
Examples:
  sordino query --connect http://127.0.0.1:7700 --key reader.key --file queries.npy
  echo '0.1 0.4 -0.2 0.9' | sordino query --connect https://search.example:7700 \\
      --roots ca.pem --key reader.key --client-key alice.key --pin search.pin
  sordino query --index base.index --key reader.key --file queries.npy --json
  sordino query --connect http://127.0.0.1:7700 --key reader.key --file queries.npy --jsonl
  sordino query --connect https://search.example:7700 --key reader.key --file queries.npy --k 5 \\
      --where 'year >= 2020 and lang in (\"en\", \"de\")'

Each result is a line, with tabs between the query (its id in the file, or its number from 0), rank, id, score and, if
the record has one, the payload: text, JSON, or bytes in base64. Results come in the order of the queries, each as
soon as the ones before it are printed. With --json they are one object, printed at the end. After an error or Ctrl-C
the results so far are printed, and the exit code tells of the failure.

Never send scores back to the server. The number and sizes of messages do not depend on what is searched for, nor on
--k, --min-score and --where: the client applies these itself.";

/// Runs `sordino query`.
///
/// # Errors
/// Fails if the queries cannot be read, the server cannot be reached or refuses, or what it sends is not
/// the owner's index.
pub fn run(args: &Args, output: Output) -> Result<(), Error> {
    let form = match (args.jsonl, output.is_json()) {
        (true, _) => Form::Lines,
        (false, true) => Form::Object,
        (false, false) => Form::Text,
    };
    let keys = keys::reader(&args.key)?;
    let queries = Queries::open(
        args.vector.as_deref(),
        args.file.as_deref(),
        Columns {
            vectors: args.vector_column.as_deref(),
            ids: args.id_column.as_deref(),
            guess: !args.no_guess,
        },
        FileOptions {
            one_vector: true,
            // Each query gets a line, even if it has an error, and the others continue.
            skip: form == Form::Lines,
            ..args.file_args.options()
        },
    )?;
    let mut work = Work {
        keys: &keys,
        queries: &queries,
        wanted: Wanted {
            k: args.k,
            threshold: args.min_score,
            filter: args.filter.as_ref(),
        },
        options: SessionOptions::default(),
        jobs: usize::from(args.jobs),
        form,
        output,
    };
    match (&args.index, &args.connect) {
        (Some(dir), _) => {
            let index = Place::of(dir)?
                .index(keys.owner())
                .map_err(Error::index(dir))?;
            let server = Server::new(index).map_err(Error::index(dir))?;
            work.options = args.pin.session(None, Retry::default())?;
            work.run(|| Ok(InProcess::new(&server)), Error::from)
        }
        (None, address) => {
            let (endpoint, named) = args.endpoint.at(address.as_deref().unwrap_or_default())?;
            let mut deadlines = Deadlines::default();
            if args.wait > 0 {
                // A server that sends nothing is reported like one that cannot be reached.
                let wait = Duration::from_secs(args.wait.into());
                deadlines.connect = deadlines.connect.min(wait);
            }
            let endpoint = endpoint.deadlines(deadlines);
            let retry = Retry::all(Duration::from_secs(args.wait.into()));
            work.options = args.pin.session(args.cache.open(), retry)?;
            work.run(endpoint, named)
        }
    }
}
