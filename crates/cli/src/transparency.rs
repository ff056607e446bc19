//! `sordino log`: a log of all versions that an owner published.

mod append;
mod check;
mod prove;
mod seen_log; // the newest log that a reader has seen

use crate::{Error, Output, keys, pin::PinFile, place::Place};
use clap::{Args as ClapArgs, Subcommand};
use serde::Serialize;
use sordino_search::log::Head;
use sordino_search::{Pin, PinStore, digest};
use std::path::{Path, PathBuf};

/// The largest size in bytes of a log, which has 760,000 versions.
const MAX_FILE: u64 = 1 << 26;

/// Arguments of `sordino log`.
#[derive(ClapArgs, Debug)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// Append the versions of an index to a log, and sign the log.
    Append(append::Args),
    /// Write a short proof that a log has a version, and that it begins with an older log.
    Prove(prove::Args),
    /// Check a log, or a proof from one. Exit code 3 if something is wrong.
    Check(check::Args),
    /// Print a line for a pin file that two readers compare to know that they were shown one history.
    Fingerprint {
        /// The pin file.
        #[arg(value_name = "PIN")]
        pin: PathBuf,
    },
}

/// Runs `sordino log`.
///
/// # Errors
/// Fails if a file cannot be read or written, is not signed by the owner, or does not hold what it should.
pub fn run(args: Args, output: Output) -> Result<(), Error> {
    match args.command {
        Command::Append(args) => append::run(&args, output),
        Command::Prove(args) => prove::run(&args, output),
        Command::Check(args) => check::run(&args, output),
        Command::Fingerprint { pin } => fingerprint(&pin, output),
    }
}

fn fingerprint(path: &Path, output: Output) -> Result<(), Error> {
    #[derive(Serialize)]
    struct Printed {
        fingerprint: String,
    }
    let fingerprint = pinned(path)?.fingerprint();
    let printed = Printed { fingerprint };
    output.report(&printed, || printed.fingerprint.clone())
}

/// The version that a command is about.
#[derive(ClapArgs, Debug)]
#[group(required = true, multiple = false)]
struct Version {
    /// The version that a pin file remembers.
    #[arg(long, value_name = "PIN")]
    pin: Option<PathBuf>,
    /// The newest version of an index on this disk.
    #[arg(long, value_name = "INDEX")]
    index: Option<PathBuf>,
}

impl Version {
    fn read(&self, key: &Path) -> Result<Pin, Error> {
        match (&self.pin, &self.index) {
            (Some(pin), _) => pinned(pin),
            (None, Some(index)) => {
                let manifest = Place::of(index)?.manifest(&keys::public(key)?);
                Ok(Pin::of(&manifest.map_err(Error::index(index))?))
            }
            (None, None) => Err(Error::Arguments("expected --pin or --index".to_owned())),
        }
    }
}

/// The version in a pin file.
fn pinned(path: &Path) -> Result<Pin, Error> {
    let seen = PinFile::read(path)?.newest();
    seen.ok_or_else(|| Error::Memory {
        path: path.to_owned(),
        why: "the pin file does not exist: a search with --pin writes it",
    })
}

/// The report of a log.
#[derive(Serialize)]
struct Report<'a> {
    log: &'a Path,
    entries: u64,
    /// Entries that were appended.
    appended: Option<usize>,
    /// The version that was found in the log.
    version: Option<u64>,
    /// True if that version is the newest of its index in the log. `None` if there was only a proof.
    newest: Option<bool>,
    root: String,
    fingerprint: String,
}

impl<'a> Report<'a> {
    fn new(log: &'a Path, head: Head) -> Self {
        Self {
            log,
            entries: head.count,
            appended: None,
            version: None,
            newest: None,
            root: hex::encode(head.root),
            fingerprint: format!("{} {}", head.count, digest::short(&head.root)),
        }
    }

    fn print(&self, output: Output) -> Result<(), Error> {
        output.report(self, || {
            let appended = match self.appended {
                Some(appended) => format!(", {appended} of them new"),
                None => String::new(),
            };
            let version = match (self.version, self.newest) {
                (None, _) => String::new(),
                (Some(version), Some(_)) => {
                    format!("version {version} is the newest of its index in it\n")
                }
                (Some(version), None) => {
                    format!("version {version} is in it; a proof says nothing of newer ones\n")
                }
            };
            let (log, entries) = (self.log.display(), self.entries);
            format!(
                "{log}: {entries} entries{appended}\n{version}{}",
                self.fingerprint
            )
        })
    }
}
