//! `sordino plan`: what each mode costs for given numbers, and which to use.

mod line;
mod size;
mod ways;

use crate::delivery::{Line, Memory};
use crate::file_args::FileArgs;
use crate::{Error, Output, checks::Checks, numbers, second_look::Look};
use clap::Args as ClapArgs;
use line::Seconds;
use serde::Serialize;
use sordino_search::plan::{Bytes, Plan, RecordBytes, Retrieval, Row, Speed, Terms, Wish};
use std::path::{Path, PathBuf};
use std::time::Duration;
use ways::PlannedWay;

/// Arguments of `sordino plan`.
#[derive(ClapArgs, Debug)]
#[command(after_help = EXAMPLES, allow_negative_numbers = true)]
pub struct Args {
    /// Vectors.
    #[arg(long, value_parser = numbers::vectors, required_unless_present = "data", requires = "dim")]
    n: Option<usize>,
    /// Coordinates of a vector.
    #[arg(long, value_parser = numbers::coordinates)]
    dim: Option<usize>,
    /// Take --n and --dim from this file of vectors.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["n", "dim"])]
    data: Option<PathBuf>,
    /// The column of vectors, if the file is a table with several candidates.
    #[arg(long, alias = "vector-columns", value_name = "NAME", requires = "data")]
    vector_column: Option<String>,
    #[command(flatten)]
    file_args: FileArgs,
    /// Results of a search.
    #[arg(long, default_value_t = 10, value_parser = numbers::results)]
    k: usize,
    /// Share of the true nearest vectors that a search should find.
    #[arg(long, default_value_t = 0.95, value_parser = numbers::share)]
    recall: f64,
    /// Searches that a client makes in one version of the index.
    #[arg(long, default_value_t = 100, value_parser = numbers::searches)]
    queries: u64,
    /// Average bytes of a record's payload, after compression. `k` payloads are fetched after each search.
    #[arg(long, value_name = "BYTES")]
    payload_bytes: Option<usize>,
    /// How clients check the server's answers, in masked and open mode.
    #[arg(long, value_enum, default_value = "sums")]
    checks: Checks,
    #[command(flatten)]
    look: Look,
    /// Average bytes of a record's id: 16 for a UUID, length + 1 for a text, 0 for consecutive numbers, up to 11 for
    /// others.
    #[arg(long, value_name = "BYTES", default_value_t = 0, value_parser = numbers::beside)]
    id_bytes: usize,
    /// Average bytes of a record's attributes: 8 for a number, 1 for true or false, length + 4 for a text. Clients
    /// download ids and attributes once, in every mode.
    #[arg(long, value_name = "BYTES", default_value_t = 0, value_parser = numbers::beside)]
    attribute_bytes: usize,
    /// The longest that a client may compute for one search, in milliseconds.
    #[arg(long, value_name = "MS")]
    client_ms: Option<u64>,
    /// The server may hold the vectors in the clear.
    #[arg(long)]
    server_sees_vectors: bool,
    /// Predict how long searches take on a link of this rate, such as 20Mbit/s, and recommend the fastest mode. The
    /// default is to recommend the mode that moves the fewest bytes.
    #[arg(long, value_name = "RATE")]
    line: Option<Line>,
    /// The most memory of the server that payloads may take, such as 8GB.
    #[arg(long, value_name = "BYTES", default_value_t = Memory::MOST)]
    max_memory: Memory,
    /// Measure the speed of this machine, in about a second. The default is the speed of a Zen 5.
    #[arg(long)]
    measure: bool,
}

const EXAMPLES: &str = "\
Examples:
  sordino plan --n 1000000 --dim 384 --queries 20 --line 20Mbit/s
  sordino plan --n 100000 --dim 128 --payload-bytes 1000 --id-bytes 16 --attribute-bytes 20
  sordino plan --data base.npy --recall 0.9 --client-ms 10 --json";

#[derive(Serialize)]
struct Planned {
    n: usize,
    dim: usize,
    k: usize,
    recall: f64,
    queries: u64,
    /// The bits per second, if a line was given.
    line: Option<f64>,
    recommended: Option<&'static str>,
    modes: Vec<Mode>,
    /// The cost of payloads, which is included in every mode's figures.
    payloads: Option<Payloads>,
    /// The ways to fetch payloads or, with a second look, its pages.
    ways: Vec<PlannedWay>,
    /// The cost of a second look, payloads included; it is part of the figures of masked, open and routed mode.
    second_look: Option<Payloads>,
}

#[derive(Serialize)]
struct Payloads {
    form: &'static str,
    fetched: usize,
    /// The number of pages that hold all payloads, and the bytes of one page.
    pages: usize,
    page_bytes: u32,
    bytes_once: u64,
    bytes_up: u64,
    bytes_down: u64,
    /// The memory of the server.
    server_bytes: u64,
    server_ms: f64,
    client_ms: f64,
}

/// One mode; its times are predictions for one thread.
#[derive(Serialize)]
struct Mode {
    mode: &'static str,
    form: &'static str,
    bytes_once: u64,
    bytes_up: u64,
    bytes_down: u64,
    bytes_in_all: u64,
    server_ms: f64,
    client_ms: f64,
    /// The memory of a build.
    build_bytes: u64,
    /// The times on the given line.
    line_seconds: Option<Seconds>,
    /// The number of queries after which downloading everything has cost less. `None` if it never does.
    break_even_queries: Option<u64>,
    server_does_not_see: &'static str,
    ruled_out: Option<&'static str>,
}

/// Runs `sordino plan`.
///
/// # Errors
/// Fails if there is no index of that size, or the file of vectors cannot be read.
pub fn run(args: &Args, output: Output) -> Result<(), Error> {
    let (n, dim) = args.size()?;
    let k = args.results(n, output);
    let wish = Wish::default()
        .k(k)
        .recall(args.recall)
        .queries(args.queries)
        .second_look(args.look.candidates)
        .checking(args.checks.into())
        .memory(args.max_memory.bytes());
    let wish = match args.line {
        Some(line) => wish.line(line.rate()),
        None => wish,
    };
    let mut plan = Plan::new(n, dim, wish)?.with_record_bytes(RecordBytes {
        id: args.id_bytes,
        attributes: args.attribute_bytes,
    });
    if let Some(longest) = args.payload_bytes {
        plan = plan.with_payloads(longest)?;
    }
    let speed = if args.measure {
        output.note("measuring this machine");
        single_threaded(Speed::measure)??
    } else {
        Speed::ZEN5
    };
    let table = plan.table(Terms {
        client: args.client_ms.map(Duration::from_millis),
        server_sees_vectors: args.server_sees_vectors,
        speed,
        line: args.line.map(Line::rate),
    });
    let recommended = table.recommended().map(|row| row.mode.name());
    let planned = Planned {
        n,
        dim,
        k,
        recall: args.recall,
        queries: args.queries,
        line: args.line.map(Line::rate),
        recommended,
        modes: table
            .rows()
            .iter()
            .map(|row| mode(row, plan.build_bytes(row.mode), args))
            .collect(),
        payloads: table.payloads().map(|planned| payloads(planned, &speed)),
        ways: PlannedWay::all(&plan, &speed)?,
        second_look: table.second_look().map(|look| payloads(look, &speed)),
    };
    output.report(&planned, || {
        let last = match recommended {
            Some(mode) => {
                let look = args
                    .look
                    .candidates
                    .map(|it| format!(" --second-look={it}"));
                let look = look.unwrap_or_default() + args.checks.argument(mode) + &given(args);
                let other = unheld(mode, &planned.modes).unwrap_or_default();
                let files = files(args) + &args.file_args.given();
                format!("use: sordino index build {files} --key owner.key --mode {mode}{look}{other}")
            }
            None => "no mode satisfies all of this".to_owned(),
        };
        format!(
            "{n} x {dim}, recall@{k} {}, {} queries per client and version\n{table}{}{}\n{}\n{last}",
            args.recall,
            args.queries,
            on_line(args.line, &planned.modes),
            ways::table(&planned.ways, &wish),
            building(&planned.modes)
        )
    })
}

/// The names of the file and the folder in the command for a planned build.
fn files(args: &Args) -> String {
    let data = args.data.as_deref().unwrap_or(Path::new("base.npy"));
    let column = args.vector_column.as_ref();
    let column = column.map_or(String::new(), |name| {
        format!(" --vector-column {}", quoted(name))
    });
    let index = Path::new(data.file_name().unwrap_or_default()).with_extension("index");
    let [data, index] = [data, &index].map(|path| quoted(&path.display().to_string()));
    format!("{data} {index}{column}")
}

/// A word of a command, in quotes if a shell would not read it literally.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./,:+=@%".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

/// The options in the command for a planned build that differ from the build's defaults.
fn given(args: &Args) -> String {
    let usual = Wish::default();
    let recall = (args.recall != usual.recall).then(|| format!(" --recall {}", args.recall));
    let k = (args.k != usual.k).then(|| format!(" --k {}", args.k));
    let queries = (args.queries != usual.queries).then(|| format!(" --queries {}", args.queries));
    let line = args.line.map(|line| line.rate() / 1e6);
    let line = line.map(|rate| format!(" --line {rate}Mbit/s"));
    let memory = args.max_memory;
    let memory = (memory != Memory::MOST).then(|| format!(" --max-memory {memory}"));
    let options = [recall, k, queries, line, memory];
    options.into_iter().flatten().collect()
}

/// If readers download the whole index in the recommended mode, names the best mode in which they do not.
fn unheld(recommended: &str, modes: &[Mode]) -> Option<String> {
    if recommended != "local" {
        return None;
    }
    let others = modes
        .iter()
        .filter(|mode| mode.mode != recommended && mode.ruled_out.is_none());
    let cost = |mode: &&Mode| match mode.line_seconds {
        Some(seconds) => seconds.in_all,
        None => mode.bytes_in_all as f64,
    };
    let other = others.min_by(|a, b| cost(a).total_cmp(&cost(b)))?;
    Some(format!(
        "\nReaders hold the whole index in local mode. Where they are not to, or it changes often: --mode {}, {} in all.",
        other.mode,
        Bytes(other.bytes_in_all)
    ))
}

/// The time of each mode on this line, as text.
fn on_line(line: Option<Line>, modes: &[Mode]) -> String {
    let Some(line) = line else {
        return String::new();
    };
    let modes = modes.iter().filter_map(|mode| {
        let Seconds {
            once,
            search,
            in_all,
        } = mode.line_seconds?;
        let name = mode.mode;
        Some(format!(
            "\n  {name:<8} {once:>8.1} s before the first search, {search:>7.2} s each, {in_all:>8.1} s in all"
        ))
    });
    let modes: String = modes.collect();
    format!("\non a line of {line}:{modes}")
}

/// The memory that a build of each mode needs, as text.
fn building(modes: &[Mode]) -> String {
    let modes = modes
        .iter()
        .map(|mode| format!("{} {}", mode.mode, Bytes(mode.build_bytes)));
    let modes: Vec<String> = modes.collect();
    format!("memory of a build: {}", modes.join(", "))
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn payloads(planned: &Retrieval, speed: &Speed) -> Payloads {
    let (server, client) = planned.times(speed);
    Payloads {
        form: planned.way.name(),
        fetched: planned.fetched,
        pages: planned.pages,
        page_bytes: planned.form.page_len,
        bytes_once: planned.cost.once,
        bytes_up: planned.cost.up,
        bytes_down: planned.cost.down,
        server_bytes: planned.way.memory(),
        server_ms: ms(server),
        client_ms: ms(client),
    }
}

fn mode(row: &Row, build_bytes: u64, args: &Args) -> Mode {
    let (queries, line) = (args.queries, args.line);
    Mode {
        mode: row.mode.name(),
        form: row.form,
        bytes_once: row.cost.once,
        bytes_up: row.cost.up,
        bytes_down: row.cost.down,
        bytes_in_all: row.cost.total(queries),
        server_ms: ms(row.server),
        client_ms: ms(row.client),
        build_bytes,
        line_seconds: line.map(|line| line.seconds(row, queries)),
        break_even_queries: row.break_even,
        server_does_not_see: row.hides,
        ruled_out: row.refusal.map(|refusal| refusal.name()),
    }
}

/// Runs `work` on one thread, because the planner's figures are for one thread.
fn single_threaded<T: Send>(work: impl FnOnce() -> T + Send) -> Result<T, Error> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
    let pool = pool.map_err(|error| Error::Arguments(error.to_string()))?;
    Ok(pool.install(work))
}
