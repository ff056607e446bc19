//! `sordino index take-back`.

use crate::owned_index::PinsArgs;
use crate::place::Place;
use crate::{Error, Output, keys, random};
use clap::Args as ClapArgs;
use serde::Serialize;
use std::path::PathBuf;

/// Arguments of `sordino index take-back`.
#[derive(ClapArgs, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// The index.
    #[arg(value_name = "INDEX")]
    index: PathBuf,
    /// The version whose records stay: the owner's last, or one that an addition made, as `sordino index info` shows them.
    #[arg(long, value_name = "VERSION")]
    after: u64,
    /// Revoke this writer in the same version, so that it cannot add again in between.
    #[arg(long, value_name = "NAME")]
    revoke: Option<String>,
    /// The owner's key file.
    #[arg(long, value_name = "OWNER_KEY")]
    key: PathBuf,
    #[command(flatten)]
    pins: PinsArgs,
}

const EXAMPLES: &str = "\
Examples:
  sordino index info base.index --key owner.key
  sordino index take-back base.index --after 41 --revoke agent --key owner.key

What writers added after that version is not opened, and is not in the new version, which follows from the newest one. Records that other
writers added after it go too: they may add them again. What was taken back stays readable in versions from before.";

#[derive(Serialize)]
struct Report {
    index: PathBuf,
    version: u64,
    records: usize,
}

pub(super) fn run(args: &Args, output: Output) -> Result<(), Error> {
    let keys = keys::owner(&args.key)?;
    let pins = args.pins.ready(&args.key)?;
    let place = Place::of(&args.index)?;
    let name = place.name();
    let at = (place.root(), &name[..]);
    let what = (args.after, args.revoke.as_deref());
    let store = pins.take_back(&mut random()?, place.disk(), at, &keys, what);
    let store = store.map_err(Error::index(&args.index))?;
    let report = Report {
        index: args.index.clone(),
        version: store.version(),
        records: store.len(),
    };
    output.report(&report, || {
        format!(
            "{}: version {}, without what was added after version {}; {} records",
            args.index.display(),
            report.version,
            args.after,
            report.records
        )
    })
}
