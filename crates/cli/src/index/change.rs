//! `sordino index delete` and `sordino index compact`.

use super::ids::{Ids, parsed};
use super::info::stored;
use super::policy::Policy;
use crate::place::Place;
use crate::{Error, Output, keys, random};
use clap::Args;
use serde::Serialize;
use sordino_search::plan::Bytes;
use sordino_search::{AnyDisk, Store};
use std::path::PathBuf;

/// Arguments of `sordino index delete`.
#[derive(Args, Debug)]
pub(super) struct Delete {
    /// The index.
    #[arg(value_name = "INDEX")]
    index: PathBuf,
    /// Record ids, separated by commas; those that have commas come from a file.
    #[arg(
        long,
        alias = "id",
        value_name = "IDS",
        value_delimiter = ',',
        required_unless_present = "ids_file"
    )]
    ids: Vec<String>,
    /// Record ids from a file: .npy of integers, or text with one a line.
    #[arg(long, value_name = "FILE", conflicts_with = "ids")]
    ids_file: Option<PathBuf>,
    /// The owner's key file.
    #[arg(long, value_name = "OWNER_KEY")]
    key: PathBuf,
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
}

#[derive(Serialize)]
struct Report {
    index: PathBuf,
    version: u64,
    records: usize,
    segments: usize,
    bytes: u64,
}

pub(super) fn delete(args: &Delete, output: Output) -> Result<(), Error> {
    let keys = keys::owner(&args.key)?;
    let named = Error::index(&args.index);
    let mut store = Place::of(&args.index)?.store(&keys).map_err(&named)?;
    let kind = store.manifest().ids;
    let ids = match &args.ids_file {
        Some(path) => Ids::open(path, kind)?.list,
        None => parsed(&args.ids, kind)?,
    };
    if ids.is_empty() {
        return Err(Error::Arguments(
            "no record ids: there is nothing to delete".to_owned(),
        ));
    }
    store.compact_after(args.policy.compaction());
    store.delete(&mut random()?, &ids).map_err(&named)?;
    let report = Report::of(&args.index, &store)?;
    output.report(&report, || {
        format!(
            "{}: version {}, {} deleted; {} records left, the deleted stay stored until `sordino \
             index compact`",
            args.index.display(),
            report.version,
            ids.len(),
            report.records
        )
    })
}

pub(super) fn compact(args: &Compact, output: Output) -> Result<(), Error> {
    let keys = keys::owner(&args.key)?;
    let named = Error::index(&args.index);
    let mut store = Place::of(&args.index)?.store(&keys).map_err(&named)?;
    let (before, old) = (stored(store.manifest())?, store.version());
    let bar = output.progress(None, "compacting");
    let done = store.compact(&mut random()?, &mut |step| bar.set_message(step.name()));
    bar.finish_and_clear();
    done.map_err(&named)?;
    let report = Report::of(&args.index, &store)?;
    output.report(&report, || {
        let path = args.index.display();
        if report.version == old {
            return format!("{path}: version {old}: there is nothing to compact");
        }
        format!(
            "{path}: version {}, {} records in {} segment(s), {} where there were {}",
            report.version,
            report.records,
            report.segments,
            Bytes(report.bytes),
            Bytes(before)
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
        })
    }
}
