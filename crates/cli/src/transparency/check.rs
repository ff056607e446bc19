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
    /// The file that remembers the newest log seen. A missing file is made. A log that does not begin with the
    /// remembered one is refused, and a newer one is remembered.
    #[arg(long, value_name = "SEEN")]
    seen: Option<PathBuf>,
    /// The owner's public key, or a reader's or the owner's key file.
    #[arg(long, value_name = "KEY")]
    key: PathBuf,
}

const NOTE: &str = "\
Examples:
  sordino log check versions.log --pin base.pin --seen base.seen --key reader.key

The command checks that the owner signed the log, that it has one history for each index, that this version is the
newest of its index in it, and that it begins with everything seen before. Readers who print the same line were shown
the same log. A proof shows only that the version is in the log and that the log begins with what was seen; it says
nothing about other versions.";

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
    // A log with a newer version is good and is remembered. In that case the server is behind.
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
