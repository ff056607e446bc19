//! Builds an index in one mode, serves it in this process, and searches it.

use super::Args;
use super::pages::{Pages, Payloads, SecondLook};
use super::set::Set;
use super::texts::{self, Texts};
use super::transcripts::{identical, mean};
use crate::place::Place;
use crate::{Error, Output, mode::Mode, random};
use rand::CryptoRng;
use rayon::ThreadPool;
use serde::Serialize;
use sordino_search::Exchange;
use sordino_search::manifest::{self, Manifest, Packing};
use sordino_search::payload::Fetch;
use sordino_search::plan::{Plan, Wish, packings};
use sordino_search::{Batch, Form, Spec, Vectors};
use sordino_search::{Client, InProcess, Index, OwnerKeys, ReaderKeys, Server};
use sordino_search::{Step, build};
use std::{
    path::Path,
    time::{Duration, Instant},
};

/// The measurements of one mode. Times are medians over the searches, in one process.
#[derive(Debug, Serialize)]
pub(super) struct Measured {
    pub(super) mode: &'static str,
    /// The packing, or the way in which a client finds its buckets.
    pub(super) form: &'static str,
    pub(super) n: usize,
    pub(super) dim: usize,
    pub(super) k: usize,
    /// The share of the true nearest records that was found, if they are known.
    pub(super) recall: Option<f64>,
    pub(super) server_ms: f64,
    pub(super) client_ms: f64,
    pub(super) search_ms: f64,
    pub(super) search_p99_ms: f64,
    pub(super) bytes_up: u64,
    pub(super) bytes_down: u64,
    pub(super) bytes_once: u64,
    pub(super) connect_ms: f64,
    /// The time to build the index, if it was built here.
    pub(super) build_s: Option<f64>,
    /// The builder's measurement on held-out vectors; sealed and routed mode only.
    pub(super) expected_recall: Option<f64>,
    /// True if the builder found a number of probes or groups that reaches the requested recall.
    pub(super) reached: bool,
    /// The second look's part of these figures, if there is one.
    pub(super) second_look: Option<SecondLook>,
    /// The payloads' part of these figures, if records have any. With a second look it includes the vectors.
    pub(super) payloads: Option<Payloads>,
    /// The texts that were given to records, if any.
    pub(super) texts: Option<Texts>,
    /// True if all searches sent messages of the same number, order and sizes, apart from the keys of
    /// sessions.
    pub(super) identical_messages: bool,
}

/// An index that was built here.
struct Built {
    index: Index,
    time: Duration,
    /// The recall that the builder expects, if it measures one, and whether it is high enough.
    recall: Option<(f64, bool)>,
}

/// The measurements of a mode: one for each of its forms.
pub(super) fn mode(
    set: &Set,
    mode: Mode,
    args: &Args,
    pool: &ThreadPool,
    output: Output,
) -> Result<Vec<Measured>, Error> {
    let (keys, mut rng) = (OwnerKeys::generate(&mut random()?), random()?);
    let base = set.base()?;
    let packings = match mode {
        Mode::Open | Mode::Masked => packings(base.dim()).map(Some).collect(),
        Mode::Sealed | Mode::Routed | Mode::Local => vec![None],
    };
    // An index is measured before the next is built, because a large one fills the memory.
    let measured = packings.into_iter().map(|packing| {
        let bar = output.progress(Some(Step::SEALED.len() as u64), "building");
        let mut progress = |step: Step| {
            bar.set_message(format!("{}: {}", mode.name(), step.name()));
            let done = Step::SEALED.iter().position(|one| *one == step);
            bar.set_position(done.map_or(0, |at| at as u64 + 1));
        };
        let form = (mode, packing);
        let built = built(base, form, args, (&mut rng, &keys), &mut progress)?;
        bar.finish_and_clear();
        measured(set, built, &keys, pool, output)
    });
    measured.collect()
}

/// The measurements of the first requested mode, with a text for each record.
pub(super) fn with_texts(
    set: &Set,
    args: &Args,
    pool: &ThreadPool,
    output: Output,
) -> Result<Vec<Measured>, Error> {
    let Some(mode) = args.modes.first() else {
        return Ok(Vec::new());
    };
    let base = set.base()?;
    let (keys, mut rng) = (OwnerKeys::generate(&mut random()?), random()?);
    let spec = texts::spec(base, *mode, args)?;
    let (texts, payloads) = Texts::of(base.len());
    let bar = output.progress(None, "building");
    let mut progress = |step: Step| output.working(&bar, step.name());
    let start = Instant::now();
    let batches = [Batch::from(base.clone()).with_payloads(payloads)];
    let index = build::in_memory(&mut rng, &keys, &spec, batches, &mut progress)?;
    bar.finish_and_clear();
    let built = Built {
        index,
        time: start.elapsed(),
        recall: None,
    };
    let measured = measured(set, built, &keys, pool, output)?;
    Ok(vec![Measured {
        texts: Some(texts),
        ..measured
    }])
}

/// Serves and searches an index.
fn measured(
    set: &Set,
    built: Built,
    keys: &OwnerKeys,
    pool: &ThreadPool,
    output: Output,
) -> Result<Measured, Error> {
    // All processors also prepare the server.
    let server = Server::new(built.index)?;
    let measured = pool.install(|| search(set, &keys.reader(), &server, output))?;
    Ok(Measured {
        build_s: Some(built.time.as_secs_f64()),
        expected_recall: built.recall.map(|(recall, _)| recall),
        reached: built.recall.is_none_or(|(_, reached)| reached),
        ..measured
    })
}

/// Builds an index of a mode. A packing is for open and masked mode.
fn built(
    base: &Vectors,
    (mode, packing): (Mode, Option<Packing>),
    args: &Args,
    (rng, keys): (&mut impl CryptoRng, &OwnerKeys),
    progress: &mut dyn FnMut(Step),
) -> Result<Built, Error> {
    let start = Instant::now();
    let wish = Wish::default()
        .k(args.k)
        .recall(args.recall)
        .queries(args.session);
    let measured = match mode {
        Mode::Sealed => {
            let plan = Plan::new(base.len(), base.dim(), wish)?;
            build::sealed(rng, keys, base, &plan, progress)?
        }
        Mode::Routed => {
            let wish = wish.second_look(args.look.candidates);
            build::routed(rng, keys, base, wish, progress)?
        }
        Mode::Local | Mode::Open | Mode::Masked => {
            let packing = packing.unwrap_or(Packing::T4);
            let form = match mode {
                Mode::Open => Form::Open(packing),
                Mode::Masked => Form::Masked(packing),
                _ => Form::Local,
            };
            let look = args.look.candidates.filter(|_| mode != Mode::Local);
            let spec = Spec::new(form).k(args.k).second_look(look);
            let batches = [Ok(base.clone().into())];
            return Ok(Built {
                index: build::in_memory(rng, keys, &spec, batches, progress)?,
                time: start.elapsed(),
                recall: None,
            });
        }
    };
    Ok(Built {
        index: measured.index,
        time: start.elapsed(),
        recall: Some((measured.measured.expected_recall, measured.measured.reached)),
    })
}

/// The measurements of an existing index.
pub(super) fn index(
    set: &Set,
    dir: &Path,
    keys: &ReaderKeys,
    pool: &ThreadPool,
    output: Output,
) -> Result<Measured, Error> {
    let server = Server::new(Place::of(dir)?.index(keys.owner())?)?;
    pool.install(|| search(set, keys, &server, output))
}

/// Connects a client and makes every search of the set.
fn search(
    set: &Set,
    keys: &ReaderKeys,
    server: &Server,
    output: Output,
) -> Result<Measured, Error> {
    let mut transport = InProcess::new(server);
    let start = Instant::now();
    let client = Client::connect(&mut transport, keys, None)?;
    let connect = start.elapsed();
    let mut rng = random()?;
    // The first search is not measured, since it loads pages into memory.
    client.search(&mut rng, &mut transport, set.queries.row(0))?;
    transport.take_exchanges();
    transport.take_server_time();

    let count = set.queries.len();
    let bar = output.progress(Some(count as u64), "searching");
    let manifest = client.manifest();
    let (n, dim, k) = (
        manifest.n as usize,
        manifest.dim as usize,
        manifest.k as usize,
    );
    if let Some(truth) = &set.truth {
        // The record ids of an index may be larger than its number of vectors.
        let most = if set.base.is_some() { n } else { usize::MAX };
        truth.check(count, k, most)?;
    }
    let (mut servers, mut clients, mut totals) = (Vec::new(), Vec::new(), Vec::new());
    let mut looks = Vec::new();
    let mut transcripts: Vec<Vec<Exchange>> = Vec::new();
    let mut recall = 0.0;
    for (at, query) in set.queries.rows().enumerate() {
        let start = Instant::now();
        let found = client.search(&mut rng, &mut transport, query)?;
        let total = start.elapsed();
        let server = transport.take_server_time();
        totals.push(total);
        looks.push(found.stages.payloads);
        servers.push(server);
        clients.push(total.saturating_sub(server));
        transcripts.push(transport.take_exchanges());
        let truth = set.truth.as_ref();
        recall += truth.map_or(0.0, |truth| truth.recall(at, k, found.numbers()));
        bar.inc(1);
    }
    bar.finish_and_clear();

    let pages = pages(manifest, &transcripts, &mut looks);
    Ok(Measured {
        mode: manifest.mode.kind().name(),
        form: form(manifest),
        n,
        dim,
        k,
        recall: set.truth.as_ref().map(|_| recall / count as f64),
        server_ms: quantile(&mut servers, 0.5),
        client_ms: quantile(&mut clients, 0.5),
        search_ms: quantile(&mut totals, 0.5),
        search_p99_ms: quantile(&mut totals, 0.99),
        bytes_up: mean(&transcripts, 0, |exchange| exchange.up),
        bytes_down: mean(&transcripts, 0, |exchange| exchange.down),
        bytes_once: client.bytes_once() as u64,
        connect_ms: connect.as_secs_f64() * 1e3,
        build_s: None,
        expected_recall: None,
        reached: true,
        second_look: SecondLook::of(manifest, pages),
        payloads: Payloads::of(manifest, pages)?,
        texts: None,
        identical_messages: identical(&transcripts),
    })
}

/// The share of pages: the last message, if one message fetches pages.
fn pages(manifest: &Manifest, transcripts: &[Vec<Exchange>], times: &mut [Duration]) -> Pages {
    let fetches = manifest.payloads.as_ref();
    let fetches = fetches.is_some_and(|it| it.fetch != Fetch::Download);
    let last = transcripts[0].len() - usize::from(fetches);
    Pages {
        bytes_up: mean(transcripts, last, |exchange| exchange.up),
        bytes_down: mean(transcripts, last, |exchange| exchange.down),
        ms: quantile(times, 0.5),
    }
}

/// The packing, or the way in which a client finds its buckets.
fn form(manifest: &Manifest) -> &'static str {
    match &manifest.mode {
        manifest::Mode::Sealed(mode) => mode.routing.name(),
        manifest::Mode::Local(_) => "",
        manifest::Mode::Routed(mode) => mode.grid.packing.name(),
        manifest::Mode::Open(mode) | manifest::Mode::Masked(mode) => mode.packing.name(),
    }
}

/// A quantile of some times, in milliseconds.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "an index below the length"
)]
fn quantile(times: &mut [Duration], part: f64) -> f64 {
    times.sort();
    let at = ((times.len() as f64 * part) as usize).min(times.len() - 1);
    times[at].as_secs_f64() * 1e3
}
