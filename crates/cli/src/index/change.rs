//! `sordino index delete` and `sordino index compact`.

use super::advice::after_change;
use super::ids::{Ids, parsed};
use super::info::stored;
use super::list::{List, Part, QUOTING};
use super::policy::Policy;
use crate::owned_index::OwnedArgs;
use crate::{Error, Output, keys, random};
use clap::Args;
use serde::Serialize;
use sordino_search::plan::Bytes;
use sordino_search::{AnyDisk, Store};
use std::path::PathBuf;

/// Arguments of `sordino index delete`.
#[derive(Args, Debug)]
#[command(after_help = QUOTING)]
pub(super) struct Delete {
    /// The index.
    #[arg(value_name = "INDEX")]
    index: PathBuf,
    /// Record ids, separated by commas: see below for one that has a comma.
    #[arg(
        long,
        alias = "id",
        value_name = "IDS",
        allow_hyphen_values = true,
        required_unless_present = "ids_file"
    )]
    ids: Vec<List<Part>>,
    /// Record ids from a file: .npy of integers, or text with one a line, as `sordino query` prints them.
    #[arg(long, value_name = "FILE", conflicts_with = "ids")]
    ids_file: Option<PathBuf>,
    /// The owner's key file.
    #[arg(long, value_name = "OWNER_KEY")]
    key: PathBuf,
    #[command(flatten)]
    owned: OwnedArgs,
    #[command(flatten)]
    policy: Policy,
}

/// Arguments of `sordino index compact`.
#[derive(Args, Debug)]
pub(super) struct Compact {
    /// The index.
    #[arg(value_name = "INDEX")]
    index: PathBuf,
    /// The owner's key file.
    #[arg(long, value_name = "OWNER_KEY")]
    key: PathBuf,
    #[command(flatten)]
    owned: OwnedArgs,
}

#[derive(Serialize)]
struct Report {
    index: PathBuf,
    version: u64,
    records: usize,
    segments: usize,
    bytes: u64,
    /// Recall of held-out vectors, if it was measured.
    recall: Option<f64>,
}

pub(super) fn delete(args: &Delete, output: Output) -> Result<(), Error> {
    let keys = keys::owner(&args.key)?;
    let named = Error::index(&args.index);
    let mut store = args.owned.open(&args.index, (&args.key, &keys), output)?;
    let kind = store.manifest().ids;
    let ids = match &args.ids_file {
        Some(path) => Ids::open(path, kind)?.list,
        None => parsed(&args.ids, kind, |id| store.contains(id.clone()))?,
    };
    if ids.is_empty() {
        return Err(Error::Arguments(
            "no record ids are given: name them with --ids or --ids-file".to_owned(),
        ));
    }
    let mut rng = random()?;
    let before = store.recall();
    let deleted = store.change(|store| {
        store.compact_after(args.policy.compaction());
        store.delete(&mut rng, &ids)
    });
    deleted.map_err(&named)?;
    let report = Report::of(&args.index, &store)?;
    output.report(&report, || {
        format!(
            "{}: version {}, {} deleted; {} records left, the deleted stay stored until `sordino \
             index compact`{}",
            args.index.display(),
            report.version,
            ids.len(),
            report.records,
            after_change(before, &store)
        )
    })
}

pub(super) fn compact(args: &Compact, output: Output) -> Result<(), Error> {
    let keys = keys::owner(&args.key)?;
    let named = Error::index(&args.index);
    let mut store = args.owned.open(&args.index, (&args.key, &keys), output)?;
    let (before, old, recall) = (stored(store.manifest())?, store.version(), store.recall());
    let bar = output.progress(None, "compacting");
    let mut rng = random()?;
    let done =
        store.change(|store| store.compact(&mut rng, &mut |step| bar.set_message(step.name())));
    bar.finish_and_clear();
    done.map_err(&named)?;
    let report = Report::of(&args.index, &store)?;
    output.report(&report, || {
        let path = args.index.display();
        if report.version == old {
            return format!("{path}: version {old}: there is nothing to compact");
        }
        format!(
            "{path}: version {}, {} records in {} segment(s), {} where there were {}{}",
            report.version,
            report.records,
            report.segments,
            Bytes(report.bytes),
            Bytes(before),
            after_change(recall, &store)
        )
    })
}

impl Report {
    fn of(index: &std::path::Path, store: &Store<AnyDisk>) -> Result<Self, Error> {
        Ok(Self {
            index: index.to_owned(),
            version: store.version(),
            records: store.len(),
            segments: store.manifest().segments().len(),
            bytes: stored(store.manifest())?,
            recall: store.recall(),
        })
    }
}
