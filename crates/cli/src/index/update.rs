//! `sordino index update`.

use super::advice::after_change;
use super::input::{Columns, Input, OnErrorArgs};
use super::list::QUOTING;
use super::policy::Policy;
use crate::file_args::FileArgs;
use crate::owned_index::OwnedArgs;
use crate::{Error, Output, keys, random};
use clap::Args as ClapArgs;
use serde::Serialize;
use sordino_search::Edit;
use sordino_search::vectors;
use std::path::{Path, PathBuf};

/// Arguments of `sordino index update`.
#[derive(ClapArgs, Debug)]
#[command(after_help = format!("{EXAMPLES}\n\n{QUOTING}"))]
pub(super) struct Args {
    /// The index.
    #[arg(value_name = "INDEX")]
    index: PathBuf,
    /// A table: .parquet, .arrow, .feather, .jsonl, .json, .csv or .tsv, or `-`, standard input. Vectors in it are
    /// ignored.
    #[arg(value_name = "TABLE")]
    file: PathBuf,
    #[command(flatten)]
    columns: Columns,
    #[command(flatten)]
    file_args: FileArgs,
    #[command(flatten)]
    on_error: OnErrorArgs,
    /// The owner's key file.
    #[arg(long, value_name = "OWNER_KEY")]
    key: PathBuf,
    #[command(flatten)]
    owned: OwnedArgs,
    #[command(flatten)]
    policy: Policy,
}

const EXAMPLES: &str = "\
Examples:
  sordino index update base.index texts.csv --key owner.key --id-column id --payload-column text
  sordino index update base.index prices.parquet --key owner.key --id-column id --attribute price

All records of the table must be in the index; --on-error skip leaves out others. Attributes and payloads that you do not name stay as they are. Old
values stay stored, sealed, until `sordino index compact`.";

#[derive(Serialize)]
struct Report {
    index: PathBuf,
    version: u64,
    updated: usize,
    /// Records of the file that could not be read.
    left_out: usize,
    records: usize,
    segments: usize,
}

fn no_records(file: &Path) -> Error {
    let file = file.display();
    let why = "no records: expected a row of an id and what is new of it, or more of them";
    Error::Arguments(format!("{file}: {why}"))
}

/// Changes the error of a table without rows: it lacks records. It does not need vectors.
fn without_records(error: Error) -> Error {
    match error {
        Error::Vectors {
            path,
            source: vectors::Error::NoVectors,
        } => no_records(&path),
        other => other,
    }
}

pub(super) fn run(args: &Args, output: Output) -> Result<(), Error> {
    if !args.columns.has_values() {
        let why = "nothing to update: name columns with --payload-column or --attribute";
        return Err(Error::Arguments(why.to_owned()));
    }
    let keys = keys::owner(&args.key)?;
    let mut store = args.owned.open(&args.index, (&args.key, &keys), output)?;
    let input = Input::without_vectors(
        args.file.clone(),
        args.columns.clone(),
        args.file_args.clone(),
        args.on_error.clone(),
    );
    let named = input.named(&args.index);
    let layout = (input.layout(Some(store.manifest().ids))).map_err(without_records)?;
    if !layout.has_id_column() {
        let why = "name the column of record ids with --id-column: there is no column id";
        return Err(Error::Arguments(why.to_owned()));
    }
    let column = layout.id_column().unwrap_or_default().to_owned();
    let records = input.records(layout, None).map_err(without_records)?;
    let records = records.of_known(&column, |id| store.contains(id.clone()));
    let unseen = records.unseen();
    let left_out = records.left_out();
    let edit = Edit::of(records);
    let left_out = left_out.say(&args.file, output)?;
    let edit = edit.map_err(|error| without_records(named(error)))?;
    if edit.is_empty() {
        return Err(no_records(&args.file));
    }
    unseen.say(&args.file, output);
    let (updated, before) = (edit.len(), store.recall());
    let mut rng = random()?;
    let done = store.change(|store| {
        store.compact_after(args.policy.compaction());
        store.update(&mut rng, edit)
    });
    done.map_err(named)?;
    let report = Report {
        index: args.index.clone(),
        version: store.version(),
        updated,
        left_out,
        records: store.len(),
        segments: store.manifest().segments().len(),
    };
    output.report(&report, || {
        format!(
            "{}: version {}, {} of {} records updated{}",
            args.index.display(),
            report.version,
            report.updated,
            report.records,
            after_change(before, &store)
        )
    })
}
