//! `sordino log prove`.

use super::{MAX_FILE, Report, Version};
use crate::files::{read, write};
use crate::{Error, Output, keys};
use sordino_search::LogFault;
use sordino_search::log::Log;
use std::path::PathBuf;

#[derive(clap::Args, Debug)]
#[command(after_help = NOTE)]
pub(super) struct Args {
    /// The log.
    #[arg(value_name = "LOG")]
    log: PathBuf,
    #[command(flatten)]
    version: Version,
    /// The number of entries that the reader has seen.
    #[arg(long, value_name = "COUNT", default_value_t = 0)]
    seen: u64,
    /// The file to write.
    #[arg(long, value_name = "PROOF")]
    output: PathBuf,
    /// The owner's public key, or a reader's or the owner's key file.
    #[arg(long, value_name = "KEY")]
    key: PathBuf,
}

const NOTE: &str = "\
Examples:
  sordino log prove versions.log --index base.index --seen 40 --output base.proof --key owner.pub
  sordino log check base.proof --pin base.pin --seen base.seen --key owner.pub

The reader must have seen exactly the number of entries that --seen names.";

pub(super) fn run(args: &Args, output: Output) -> Result<(), Error> {
    let owner = keys::public(&args.key)?;
    let bytes = read(&args.log, MAX_FILE).map_err(Error::at(&args.log))?;
    let log = Log::from_bytes(&bytes, &owner).map_err(Error::index(&args.log))?;
    let version = args.version.read(&args.key)?;
    let head = log.head();
    if args.seen > head.count {
        let (log, entries, seen) = (args.log.display(), head.count, args.seen);
        let why = format!("{log}: the log has {entries} entries, and --seen is {seen}");
        return Err(Error::Arguments(why));
    }
    let proof = log.prove(&version, args.seen);
    let proof = proof.ok_or_else(|| Error::Index {
        path: args.log.clone(),
        source: sordino_search::Error::Log(LogFault::NotLogged),
    })?;
    write(&args.output, &proof.to_bytes())?;
    let report = Report {
        version: Some(version.version),
        ..Report::new(&args.output, head)
    };
    report.print(output)
}
