//! `sordino bench`: measures every mode on the same vectors.

mod measure;
mod pages;
mod set;
mod texts;
mod transcripts;

use crate::{Error, Output, keys, mode::Mode, numbers, second_look::Look};
use clap::{Args as ClapArgs, ValueEnum};
use measure::Measured;
use serde::Serialize;
use set::Set;
use sordino_search::plan::Bytes;
use std::path::PathBuf;

/// Arguments of `sordino bench`.
#[derive(ClapArgs, Debug)]
#[command(after_help = EXAMPLES, allow_negative_numbers = true)]
pub struct Args {
    /// Vectors to index: .npy, .fvecs, .bvecs, .fbin, .u8bin, .i8bin, .parquet or .arrow.
    #[arg(long, value_name = "FILE", requires = "queries")]
    data: Option<PathBuf>,
    /// Measure this index instead of vectors.
    #[arg(long, value_name = "DIR", requires_all = ["queries", "key"], conflicts_with = "data")]
    index: Option<PathBuf>,
    /// A reader's key file, or the owner's.
    #[arg(long, value_name = "READER_KEY", requires = "index")]
    key: Option<PathBuf>,
    /// Vectors to search for.
    #[arg(long, value_name = "FILE")]
    queries: Option<PathBuf>,
    /// The column of vectors, if one of these two files is a table with several candidates.
    #[arg(long, value_name = "NAME", requires = "queries")]
    vector_column: Option<String>,
    /// The true neighbours of the queries, .npy or .ivecs. Without this they are computed from the vectors; for an
    /// index the recall is then unknown.
    #[arg(long, value_name = "FILE", requires = "queries")]
    truth: Option<PathBuf>,
    /// The kind of generated vectors, if no file is named.
    #[arg(long, value_enum, default_value = "clustered", conflicts_with_all = ["data", "index"])]
    set: Synthetic,
    /// The number of vectors to generate, or to take from the start of the file.
    #[arg(long, value_parser = numbers::vectors)]
    n: Option<usize>,
    /// Dimensions of the generated vectors.
    #[arg(long, default_value_t = 128, value_parser = numbers::coordinates, conflicts_with = "data")]
    dim: usize,
    /// Searches to measure, after one for warming up.
    #[arg(long, default_value_t = 100, value_parser = numbers::some)]
    searches: usize,
    /// Results of a search.
    #[arg(long, default_value_t = 10, value_parser = numbers::results)]
    k: usize,
    /// Share of the true nearest vectors that sealed and routed mode should find.
    #[arg(long, default_value_t = 0.95, value_parser = numbers::share)]
    recall: f64,
    /// Searches that a client makes in one version of the index: sealed and routed mode are planned for it.
    #[arg(long, default_value_t = 100)]
    session: u64,
    #[command(flatten)]
    look: Look,
    /// The modes to measure.
    #[arg(long = "mode", value_enum, value_delimiter = ',', default_values_t = Mode::ALL)]
    modes: Vec<Mode>,
    /// Threads of server and client; published numbers use 1, and 0 means all processors.
    #[arg(long, default_value_t = 1, value_parser = numbers::threads)]
    threads: usize,
}

const EXAMPLES: &str = "\
Examples:
  sordino bench
  sordino bench --data base.npy --queries queries.npy --truth neighbours.npy --mode masked,open
  sordino bench --index base.index --key reader.key --queries queries.npy
  sordino bench --set uniform --n 1000000 --mode masked --searches 20 --json

The first row is a search that also fetches a text, in the mode that you name first, if there is enough memory. A text is
generated for each vector, unless an index has its own. The other rows find ids alone. Server and client run in one process. Times are
medians, on one thread unless --threads says otherwise.";

/// The generated sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Synthetic {
    /// Uniform on the sphere: no structure at all.
    Uniform,
    /// Clusters of power-law sizes, as embeddings have.
    Clustered,
}

#[derive(Serialize)]
struct Report<'a> {
    set: &'a str,
    n: usize,
    dim: usize,
    k: usize,
    searches: usize,
    threads: usize,
    /// The bytes of a download of everything, for comparison.
    bytes_download_all: u64,
    measured: &'a [Measured],
}

/// Runs `sordino bench`.
///
/// # Errors
/// Fails if the files cannot be read, or a mode cannot index them.
pub fn run(args: &Args, output: Output) -> Result<(), Error> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(args.threads);
    let pool = pool
        .build()
        .map_err(|error| Error::Arguments(error.to_string()))?;
    let threads = pool.current_num_threads();
    let (set, measured) = match (&args.index, &args.key) {
        (Some(dir), Some(key)) => {
            let keys = keys::reader(key)?;
            let set = Set::of_index(args)?;
            let measured = measure::index(&set, dir, &keys, &pool, output)?;
            (set, vec![measured])
        }
        _ => {
            let set = Set::new(args, output)?;
            let mut measured = match measure::with_texts(&set, args, &pool, output) {
                Err(Error::Search(error @ sordino_search::Error::Memory { .. })) => {
                    output.note(&format!("no search with texts: {error}"));
                    Vec::new()
                }
                measured => measured?,
            };
            for &mode in &args.modes {
                // All processors build the index, and the requested number of threads searches it.
                measured.extend(measure::mode(&set, mode, args, &pool, output)?);
            }
            (set, measured)
        }
    };
    let (n, dim, k) = measured
        .first()
        .map_or((0, 0, 0), |row| (row.n, row.dim, row.k));
    let report = Report {
        set: &set.name,
        n,
        dim,
        k,
        searches: set.queries.len(),
        threads,
        bytes_download_all: set::download_all(n, dim, k)?,
        measured: &measured,
    };
    output.report(&report, || table(&report))
}

fn table(report: &Report<'_>) -> String {
    let mut text = format!(
        "{}, {} x {}, {} searches, {} thread(s); medians\n",
        report.set, report.n, report.dim, report.searches, report.threads
    );
    let k = report.k;
    text += &format!(
        "{:<8} {:<10} {:>9} {:>10} {:>10} {:>10} {:>10} {:>12} {:>10} {:>8}\n",
        "mode",
        "form",
        format!("recall@{k}"),
        "server ms",
        "client ms",
        "search ms",
        "p99 ms",
        "a query",
        "once",
        "build s"
    );
    for row in report.measured {
        text += &format!(
            "{:<8} {:<10} {:>9} {:>10.2} {:>10.2} {:>10.2} {:>10.2} {:>12} {:>10} {:>8}\n",
            row.mode,
            row.form,
            row.recall
                .map_or("-".to_owned(), |recall| format!("{recall:.4}")),
            row.server_ms,
            row.client_ms,
            row.search_ms,
            row.search_p99_ms,
            Bytes(row.bytes_up + row.bytes_down).to_string(),
            Bytes(row.bytes_once).to_string(),
            row.build_s
                .map_or("-".to_owned(), |build| format!("{build:.1}"))
        );
        text += &parts(row);
        if !row.reached {
            text += &format!(
                "         {} mode does not reach the recall asked for on these vectors: \
                 {:.3} on held-out ones\n",
                row.mode,
                row.expected_recall.unwrap_or(0.0)
            );
        }
        if !row.identical_messages {
            text += "         NOT all searches sent the same messages\n";
        }
    }
    text + &format!(
        "downloading everything: {} once",
        Bytes(report.bytes_download_all)
    )
}

/// The lines about texts, payloads and the second look, below a mode's row of figures.
fn parts(row: &Measured) -> String {
    let mut text = String::new();
    if let Some(texts) = &row.texts {
        text += &format!(
            "         with {} generated texts, {} in all, half of up to {} B, the longest of {}\n",
            texts.count,
            Bytes(texts.bytes as u64),
            texts.median_bytes,
            Bytes(texts.longest_bytes as u64)
        );
    }
    if let Some(payloads) = &row.payloads {
        text += &format!("         of these payloads: {payloads}\n");
    }
    if let Some(look) = &row.second_look {
        text += &format!(
            "         of these the second look at {} candidates: {} a query, {:.2} ms\n",
            look.candidates,
            Bytes(look.pages.bytes_up + look.pages.bytes_down),
            look.pages.ms
        );
    }
    text
}
