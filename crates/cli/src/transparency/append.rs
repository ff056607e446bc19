//! `sordino log append`.

use super::{MAX_FILE, Report};
use crate::files::{hold, read, target, write};
use crate::owned_index::OwnedArgs;
use crate::{Error, Output, keys};
use sordino_search::log::Log;
use std::{io, path::PathBuf};

#[derive(clap::Args, Debug)]
#[command(after_help = NOTE)]
pub(super) struct Args {
    /// The log.
    #[arg(value_name = "LOG")]
    log: PathBuf,
    /// The index.
    #[arg(value_name = "INDEX")]
    index: PathBuf,
    /// The owner's key file.
    #[arg(long, value_name = "OWNER_KEY")]
    key: PathBuf,
    #[command(flatten)]
    owned: OwnedArgs,
    /// Make a new log. An owner must not have two logs of one index: that would be a signed fork.
    #[arg(long)]
    new: bool,
}

const NOTE: &str = "\
Examples:
  sordino log append versions.log base.index --key owner.key --new
  sordino log append versions.log base.index --key owner.key

Run it after each change, before a server has the version, and publish the file where every reader finds it. One log
holds all indexes of an owner. An entry has 88 bytes: the index, the version, and the digests of its manifest and of
the one before. An index that does not follow from its last version in the log is refused, with exit code 3.";

pub(super) fn run(args: &Args, output: Output) -> Result<(), Error> {
    let keys = keys::owner(&args.key)?;
    if args.new == args.log.exists() {
        let why = match args.new {
            true => "the log exists already: leave out --new to append to it",
            false => "the log does not exist: --new makes one",
        };
        return Err(Error::Arguments(format!("{}: {why}", args.log.display())));
    }
    // Locks the log, because another command must continue from what this one writes. Two heads of
    // equal length would be a fork.
    let file = target(&args.log);
    let _held = hold(&file)?;
    let mut log = match read(&file, MAX_FILE) {
        Ok(bytes) => Log::from_bytes(&bytes, &keys.public()).map_err(Error::index(&args.log))?,
        Err(error) if args.new && error.kind() == io::ErrorKind::NotFound => Log::new(&keys),
        Err(error) => return Err(Error::at(&args.log)(error)),
    };
    let named = Error::index(&args.index);
    let store = args.owned.open(&args.index, (&args.key, &keys), output)?;
    let versions = store.history().map_err(&named)?;
    // Appends from the first version on.
    let appended = log.append(versions.iter().rev(), &keys).map_err(&named)?;
    let whole = log.to_bytes();
    if whole.len() as u64 > MAX_FILE {
        let (log, found) = (args.log.display(), whole.len());
        let why = format!("{log}: it would have {found} bytes, expected at most {MAX_FILE}");
        return Err(Error::Arguments(why));
    }
    write(&file, &whole)?;
    let report = Report {
        appended: Some(appended),
        ..Report::new(&args.log, log.head())
    };
    report.print(output)
}
