//! `sordino log check`.

use super::seen_log::SeenFile;
use super::{MAX_FILE, Report, Version};
use crate::files::read;
use crate::{Error, Output, keys};
use sordino_search::log::LogFile;
use sordino_search::{Error as Search, LogFault};
use std::path::PathBuf;

#[derive(clap::Args, Debug)]
#[command(after_help = NOTE)]
pub(super) struct Args {
    /// The log, or a proof from it.
    #[arg(value_name = "LOG")]
    log: PathBuf,
    #[command(flatten)]
    version: Version,
    /// A file that remembers the newest log seen, which is made if there is none: a log that does not begin with it is
    /// refused, and a newer one is remembered.
    #[arg(long, value_name = "SEEN")]
    seen: Option<PathBuf>,
    /// The owner's public key, or a reader's or the owner's key file.
    #[arg(long, value_name = "KEY")]
    key: PathBuf,
}

const NOTE: &str = "\
Examples:
  sordino log check versions.log --pin base.pin --seen base.seen --key reader.key

The log is signed by the owner, has one line of versions of each index, has this version as the newest of its index, and
begins with all that was seen before. Readers who print the same line were shown the same log. A proof
shows that the version is in the log and that the log begins with what was seen: it says nothing of other versions.";

pub(super) fn run(args: &Args, output: Output) -> Result<(), Error> {
    let (owner, named) = (keys::public(&args.key)?, Error::index(&args.log));
    let bytes = read(&args.log, MAX_FILE).map_err(Error::at(&args.log))?;
    let version = args.version.read(&args.key)?;
    let seen = args.seen.as_deref().map(SeenFile::read).transpose()?;
    let known = seen.as_ref().and_then(|seen| seen.head);
    let file = LogFile::from_bytes(&bytes, &owner).map_err(&named)?;
    let checked = match &file {
        LogFile::Proof(proof) => proof.check(&version, known.as_ref()),
        LogFile::Log(log) => {
            if let Some(known) = &known {
                log.follows(known).map_err(&named)?;
            }
            log.check(&version)
        }
    };
    // A log with a newer version is a good one, to be remembered: the server is what is behind.
    if let (Some(seen), Ok(()) | Err(Search::Log(LogFault::Behind { .. }))) = (&seen, &checked) {
        seen.remember(file.head())?;
    }
    checked.map_err(named)?;
    let report = Report {
        version: Some(version.version),
        newest: matches!(file, LogFile::Log(_)).then_some(true),
        ..Report::new(&args.log, file.head())
    };
    report.print(output)
}
