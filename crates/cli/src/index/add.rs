//! `sordino index add`.

use super::input::{Gathered, Input};
use crate::{Error, Output, keys, random};
use clap::Args as ClapArgs;
use serde::Serialize;
use sordino_search::Store;
use std::path::PathBuf;

/// Records of one change: a segment of the store.
const MOST: usize = 1 << 17;

/// Arguments of `sordino index add`.
#[derive(ClapArgs, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// The index.
    #[arg(value_name = "INDEX")]
    index: PathBuf,
    #[command(flatten)]
    input: Input,
    /// The owner's key file.
    #[arg(long, value_name = "OWNER_KEY")]
    key: PathBuf,
}

const EXAMPLES: &str = "\
Examples:
  sordino index add base.index more.npy --key owner.key
  sordino index add base.index changed.parquet --key owner.key --id-column id

Without ids, vectors get the numbers after the highest id of the index, so the same file added twice is
there twice. A file of more than 131,072 vectors is added in several versions, each of them whole: one
that may be interrupted should have ids, since with them it can be added again, and replaces itself.";

#[derive(Serialize)]
struct Report {
    index: PathBuf,
    version: u64,
    added: usize,
    /// Those of them whose ids were there.
    replaced: usize,
    records: usize,
    segments: usize,
    first_id: Option<u32>,
}

pub(super) fn run(args: &Args, output: Output) -> Result<(), Error> {
    let keys = keys::owner(&args.key)?;
    let records = args.input.open()?;
    let mut store = Store::open(&args.index, &keys).map_err(Error::index(&args.index))?;
    let mut rng = random()?;
    let next = store
        .ids()
        .max()
        .map_or(0, |highest| u64::from(highest) + 1);
    let numbered = !args.input.has_ids();
    if numbered && u32::try_from(next).is_err() {
        let why = "record 4294967295 is there, and no number comes after it: give the new records ids, \
                   with --ids or --id-column";
        return Err(Error::Arguments(why.to_owned()));
    }
    let bar = output.progress(records.len_hint(), "adding");
    let most = MOST;
    let mut gathered = Gathered {
        records,
        next,
        most,
    };
    let (mut added, mut replaced) = (0, 0);
    loop {
        let named = args.input.named(added, &args.index);
        let Some((ids, vectors)) = gathered.next().map_err(&named)? else {
            break;
        };
        let old = ids.iter().filter(|&&id| store.contains(id)).count();
        store.upsert(&mut rng, &ids, &vectors).map_err(&named)?;
        replaced += old;
        added += ids.len();
        bar.inc(ids.len() as u64);
    }
    bar.finish_and_clear();
    let report = Report {
        index: args.index.clone(),
        version: store.version(),
        added,
        replaced,
        records: store.len(),
        segments: store.manifest().segments().len(),
        first_id: u32::try_from(next).ok().filter(|_| numbered),
    };
    output.report(&report, || {
        format!(
            "{}: version {}, {added} added, {replaced} of them replaced; {} records in {} segment(s)",
            args.index.display(),
            report.version,
            report.records,
            report.segments
        )
    })
}
