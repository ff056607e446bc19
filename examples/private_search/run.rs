//! Builds an index, serves it in this process, searches it, and measures.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use rand::rngs::SysRng;
use rand::{SeedableRng, rngs::StdRng};
use sordino_search::Exchange;
use sordino_search::Stages;
use sordino_search::manifest::{Mode, Packing};
use sordino_search::plan::Cost;
use sordino_search::{Client, Error, InProcess, Index, OwnerKeys, Plan, Server, Wish};
use sordino_search::{Step, build};

use crate::Set;

/// The measurements of one mode. Times are medians over the queries.
pub(crate) struct Measurement {
    pub mode: &'static str,
    pub centroids: &'static str,
    pub k: usize,
    pub queries: usize,
    pub recall: f64,
    /// The recall that the builder measured on held-out vectors; sealed and routed mode only.
    pub expected_recall: Option<f64>,
    /// True if the builder found a number of probes that reaches the requested recall.
    pub reached: bool,
    pub clusters: u32,
    pub probes: u32,
    pub code: String,
    pub bytes: Cost,
    pub download_all: u64,
    pub stages: Stages,
    pub server: Duration,
    pub total: Duration,
    pub build: Duration,
    pub connect: Duration,
    /// True if all queries made the same exchanges: number, order, kinds and sizes.
    pub identical: bool,
}

/// Plans, builds, serves and searches a sealed index.
pub(crate) fn sealed(set: &Set, wish: Wish) -> Result<Measurement, Error> {
    let plan = Plan::new(set.base.len(), set.base.dim(), wish)?;
    let (keys, mut rng) = (keys(), rng());
    let start = Instant::now();
    let bar = progress(Step::SEALED.len());
    let built = build::sealed(&mut rng, &keys, &set.base, &plan, &mut |step| {
        bar.set_message(format!("{}: {}", set.name, step.name()));
        let done = Step::SEALED.iter().position(|one| *one == step);
        bar.set_position(done.map_or(0, |at| at as u64 + 1));
    })?;
    bar.finish_and_clear();
    let mut measured = search(set, &keys, built.index, start.elapsed())?;
    measured.expected_recall = Some(built.measured.expected_recall);
    measured.reached = built.measured.reached;
    Ok(measured)
}

/// Builds, serves and searches a routed index.
pub(crate) fn routed(set: &Set, wish: Wish) -> Result<Measurement, Error> {
    let (keys, mut rng) = (keys(), rng());
    let start = Instant::now();
    let built = build::routed(&mut rng, &keys, &set.base, wish, &mut |_| ())?;
    let mut measured = search(set, &keys, built.index, start.elapsed())?;
    measured.expected_recall = Some(built.measured.expected_recall);
    measured.reached = built.measured.reached;
    Ok(measured)
}

/// Builds, serves and searches a local index.
pub(crate) fn local(set: &Set, k: usize) -> Result<Measurement, Error> {
    let keys = keys();
    let start = Instant::now();
    let index = build::local(&mut rng(), &keys, &set.base, k, &mut |_| ())?;
    search(set, &keys, index, start.elapsed())
}

/// Builds, serves and searches an open index.
pub(crate) fn open(set: &Set, k: usize, packing: Packing) -> Result<Measurement, Error> {
    let keys = keys();
    let start = Instant::now();
    let index = build::open(&mut rng(), &keys, &set.base, k, packing, &mut |_| ())?;
    search(set, &keys, index, start.elapsed())
}

/// Builds, serves and searches a masked index.
pub(crate) fn masked(set: &Set, k: usize, packing: Packing) -> Result<Measurement, Error> {
    let keys = keys();
    let start = Instant::now();
    let index = build::masked(&mut rng(), &keys, &set.base, k, packing, &mut |_| ())?;
    search(set, &keys, index, start.elapsed())
}

/// Connects a client and makes every query of the set.
fn search(
    set: &Set,
    keys: &OwnerKeys,
    index: Index,
    build: Duration,
) -> Result<Measurement, Error> {
    let server = Server::new(index)?;
    let mut transport = InProcess::new(&server);
    let start = Instant::now();
    let client = Client::connect(&mut transport, &keys.reader(), None)?;
    let connect = start.elapsed();
    transport.take_exchanges();
    transport.take_server_time();

    let (mut rng, bar) = (rng(), progress(set.queries.len()));
    let mut recall = 0.0;
    let (mut stages, mut servers, mut totals) = (Vec::new(), Vec::new(), Vec::new());
    let mut transcripts: Vec<Vec<Exchange>> = Vec::new();
    let k = client.manifest().k as usize;
    for (at, query) in set.queries.rows().enumerate() {
        bar.set_message(format!("{}: searching", set.name));
        let start = Instant::now();
        let found = client.search(&mut rng, &mut transport, query)?;
        totals.push(start.elapsed());
        servers.push(transport.take_server_time());
        stages.push(found.stages);
        transcripts.push(transport.take_exchanges());
        recall += set.truth.recall(at, k, found.numbers());
        bar.inc(1);
    }
    bar.finish_and_clear();

    let stage = |of: fn(&Stages) -> Duration| median(stages.iter().map(of).collect());
    let manifest = client.manifest();
    let (clusters, probes, centroids, code) = layout(&manifest.mode);
    Ok(Measurement {
        mode: manifest.mode.kind().name(),
        centroids,
        k,
        queries: set.queries.len(),
        recall: recall / set.queries.len() as f64,
        expected_recall: None,
        reached: true,
        clusters,
        probes,
        code,
        bytes: Cost {
            once: client.bytes_once() as u64,
            up: transcripts[0]
                .iter()
                .map(|exchange| exchange.up as u64)
                .sum(),
            down: transcripts[0]
                .iter()
                .map(|exchange| exchange.down as u64)
                .sum(),
        },
        download_all: 0,
        stages: Stages {
            encrypt: stage(|s| s.encrypt),
            scores: stage(|s| s.scores),
            decrypt: stage(|s| s.decrypt),
            fetch: stage(|s| s.fetch),
            open: stage(|s| s.open),
            rank: stage(|s| s.rank),
            payloads: stage(|s| s.payloads),
        },
        server: median(servers),
        total: median(totals),
        build,
        connect,
        identical: transcripts
            .iter()
            .all(|transcript| *transcript == transcripts[0]),
    })
}

/// The number of clusters and of searched clusters, the centroids' place, and the code of vectors.
fn layout(mode: &Mode) -> (u32, u32, &'static str, String) {
    match mode {
        Mode::Sealed(mode) => {
            let code = format!("{:?}", mode.layout.codec);
            (mode.clusters, mode.probes, mode.routing.name(), code)
        }
        Mode::Local(_) => (0, 0, "none", "Int8".to_owned()),
        Mode::Routed(mode) => {
            let (grid, code) = (mode.grid, mode.grid.packing.name().to_owned());
            (grid.groups * grid.clusters, grid.groups, "groups", code)
        }
        Mode::Open(mode) | Mode::Masked(mode) => (0, 0, "none", mode.packing.name().to_owned()),
    }
}

pub(crate) fn keys() -> OwnerKeys {
    OwnerKeys::generate(&mut rng())
}

pub(crate) fn rng() -> StdRng {
    StdRng::try_from_rng(&mut SysRng).expect("the system has a source of randomness")
}

/// A progress bar on stderr, which is drawn only on a terminal.
fn progress(len: usize) -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:24} {pos}/{len} {msg} [{elapsed}]");
    let bar = ProgressBar::new(len as u64).with_style(style.expect("a valid template"));
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}
