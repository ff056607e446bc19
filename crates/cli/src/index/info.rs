//! `sordino index info`.

mod writers;

use crate::delivery::Fetched;
use crate::place::Place;
use crate::{Error, Output, keys};
use clap::Args as ClapArgs;
use serde::Serialize;
use sordino_search::manifest::{Manifest, Mode, Part, PartKind};
use sordino_search::plan::Bytes as Size;
use sordino_search::{Bytes, SignedManifest, Store};
use std::path::PathBuf;
use writers::{Added, Writer, added, listed};

/// Arguments of `sordino index info`.
#[derive(ClapArgs, Debug)]
pub(super) struct Args {
    /// The index.
    #[arg(value_name = "INDEX")]
    index: PathBuf,
    /// The owner's public key, or a reader's or the owner's key file.
    #[arg(long, value_name = "KEY")]
    key: PathBuf,
}

#[derive(Serialize)]
struct Report {
    index: PathBuf,
    id: String,
    version: u64,
    mode: &'static str,
    metric: &'static str,
    /// The kind of record ids.
    ids: &'static str,
    payloads: bool,
    /// The way in which payloads, or the vectors of a second look, are fetched.
    fetched: Option<Fetched>,
    /// Candidates that a search ranks by their exact vectors, if it does.
    second_look: Option<u32>,
    attributes: bool,
    /// The number of records, if the key can read all of them.
    records: Option<usize>,
    /// The number of stored vectors, including those deleted or replaced since the last compaction.
    n: u32,
    dim: u32,
    k: u32,
    /// The recall of held-out vectors that the build measured, if the key can open it.
    recall: Option<f64>,
    segments: usize,
    /// The writers, who may add records in addition to the owner.
    writers: Vec<Writer>,
    /// The additions by writers since the owner's last change, oldest first.
    additions: Vec<Added>,
    bytes: u64,
    manifest: String,
    previous: String,
    parts: Vec<PartReport>,
    server_sees: &'static str,
}

#[derive(Serialize)]
struct PartReport {
    name: &'static str,
    bytes: u64,
    digest: String,
}

impl PartReport {
    fn new(part: &Part) -> Self {
        Self {
            name: part.kind.name(),
            bytes: part.len,
            digest: hex::encode(part.digest),
        }
    }
}

pub(super) fn run(args: &Args, output: Output) -> Result<(), Error> {
    let owner = keys::public(&args.key)?;
    let index = Place::of(&args.index)?
        .index(&owner)
        .map_err(Error::index(&args.index))?;
    let (manifest, held) = index.into_parts();
    let manifest = &manifest;
    let recall = recall(args, manifest, &held)?;
    let look = manifest.second_look().map(|look| look.candidates);
    let report = Report {
        index: args.index.clone(),
        id: hex::encode(manifest.index),
        version: manifest.version,
        mode: manifest.mode.kind().name(),
        metric: manifest.metric.name(),
        ids: manifest.ids.name(),
        payloads: manifest.has_payloads(),
        fetched: Fetched::of(manifest)?,
        second_look: look,
        attributes: manifest.segments().iter().any(|it| it.attributes.is_some()),
        records: count(args)?,
        n: manifest.n,
        dim: manifest.dim,
        k: manifest.k,
        recall,
        segments: manifest.segments().len(),
        writers: manifest.writers.iter().map(Writer::new).collect(),
        additions: added(manifest),
        bytes: stored(manifest)?,
        manifest: hex::encode(manifest.digest()),
        previous: hex::encode(manifest.previous),
        parts: manifest.parts()?.iter().map(PartReport::new).collect(),
        server_sees: sees(&manifest.mode),
    };
    output.report(&report, || {
        let lines = [
            ("index", report.id.clone()),
            ("version", report.version.to_string()),
            ("mode", report.mode.to_owned()),
            ("metric", report.metric.to_owned()),
            ("record ids", report.ids.to_owned()),
            ("records", counted(report.records)),
            ("stored vectors", format!("{} x {}", report.n, report.dim)),
            ("results of a search", report.k.to_string()),
            (
                "second look",
                look.map_or("no".to_owned(), |most| format!("at {most} candidates")),
            ),
            (
                "payloads",
                report.fetched.map_or("no".to_owned(), |it| it.to_string()),
            ),
            (
                "measured recall",
                match (report.recall, keys::reader(&args.key)) {
                    (Some(recall), _) => format!("{recall:.3}"),
                    (None, Ok(_)) => "not known".to_owned(),
                    (None, Err(_)) => "sealed: a reader's key opens it".to_owned(),
                },
            ),
            ("segments", report.segments.to_string()),
            ("writers", listed(report.writers.iter().map(Writer::text))),
            (
                "added since",
                listed(report.additions.iter().map(Added::text)),
            ),
            ("on disk", Size(report.bytes).to_string()),
            ("manifest", report.manifest.clone()),
            ("before it", report.previous.clone()),
            ("a server sees", report.server_sees.to_owned()),
        ];
        let lines = lines.map(|(name, value)| format!("{name:<20} {value}"));
        lines.join("\n")
    })
}

/// The number of records. `None` if the key cannot read them, or if the index is not in a folder.
fn count(args: &Args) -> Result<Option<usize>, Error> {
    match keys::reader(&args.key) {
        Ok(keys) if args.index.is_dir() => {
            let counted = Store::count_dir(&args.index, &keys);
            counted.map(Some).map_err(Error::index(&args.index))
        }
        _ => Ok(None),
    }
}

fn counted(records: Option<usize>) -> String {
    let sealed = || "sealed: a reader's key counts them".to_owned();
    records.map_or_else(sealed, |records| records.to_string())
}

/// The recall that the build measured. `None` if it measured none, or the key cannot open it.
fn recall(
    args: &Args,
    manifest: &SignedManifest,
    held: &[(Part, Bytes)],
) -> Result<Option<f64>, Error> {
    let Ok(keys) = keys::reader(&args.key) else {
        return Ok(None);
    };
    let part = |kind| {
        let part = held.iter().find(|(part, _)| part.kind == kind);
        part.map_or(&[][..], |(_, bytes)| &bytes[..])
    };
    let ring = manifest.readers.as_ref().map(|_| part(PartKind::Ring));
    let frame = keys
        .contents(manifest, ring)
        .and_then(|contents| contents.open_frame(manifest, part(PartKind::Frame)));
    match frame {
        Ok(frame) => Ok(frame.recall()),
        Err(sordino_search::Error::NoReader) => Ok(None),
        Err(error) => Err(Error::index(&args.index)(error)),
    }
}

/// The size in bytes of an index's files.
pub(super) fn stored(manifest: &Manifest) -> Result<u64, Error> {
    let parts = manifest.parts()?;
    let stored = parts.iter().filter(|part| part.holder.is_stored());
    Ok(stored.map(|part| part.len).sum())
}

fn sees(mode: &Mode) -> &'static str {
    match mode {
        Mode::Masked(_) => "sizes, versions, times; no vector, no query",
        Mode::Routed(_) => "sizes, versions, times; no vector, no query, no cluster",
        Mode::Open(_) => "the vectors, sizes, versions, times; no query",
        Mode::Sealed(_) => "sizes, versions, times; no vector, no query, no bucket's number",
        Mode::Local(_) => "sizes, versions, who downloads when; no vector, no query",
    }
}
