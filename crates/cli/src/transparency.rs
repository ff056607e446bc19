//! `sordino log`: a log of all versions that an owner published.

use crate::{Error, Output, keys, pin::PinFile, whole::Whole};
use clap::{Args as ClapArgs, Subcommand};
use serde::{Deserialize, Serialize};
use sordino_search::log::{Head, Log, LogProof};
use sordino_search::{Digest, Index, Store, digest};
use std::{
    fs::File,
    io::{self, Read, Write},
    path::{Path, PathBuf},
};

/// Arguments of `sordino log`.
#[derive(ClapArgs, Debug)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// Append an index's versions to a log, which is made if there is none, and sign it.
    Append(Append),
    /// Write a short proof that a version is in a log, and that the log begins with an older one.
    Prove(Prove),
    /// Check a log, or a proof from one. Exit code 3 if something is wrong.
    Check(Check),
    /// Print a line for a pin file that two readers compare to know that they were shown one history.
    Fingerprint {
        /// The pin file.
        #[arg(value_name = "PIN")]
        pin: PathBuf,
    },
}

#[derive(ClapArgs, Debug)]
#[command(after_help = APPEND)]
struct Append {
    /// The log.
    #[arg(value_name = "LOG")]
    log: PathBuf,
    /// The index.
    #[arg(value_name = "INDEX")]
    index: PathBuf,
    /// The owner's key file.
    #[arg(long, value_name = "OWNER_KEY")]
    key: PathBuf,
}

const APPEND: &str = "\
Examples:
  sordino log append versions.log base.index --key owner.key

Run it after each change, before the version is served, and put the file where everyone finds it. One log holds
all indexes of an owner; an entry is 32 bytes and says only that there is a version.";

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

#[derive(ClapArgs, Debug)]
#[command(after_help = PROVE)]
struct Prove {
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

const PROVE: &str = "\
Examples:
  sordino log prove versions.log --index base.index --seen 40 --output base.proof --key owner.pub
  sordino log check base.proof --pin base.pin --seen base.seen --key owner.pub";

#[derive(ClapArgs, Debug)]
#[command(after_help = CHECK)]
struct Check {
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

const CHECK: &str = "\
Examples:
  sordino log check versions.log --pin base.pin --seen base.seen --key reader.key

The log is signed by the owner, has the version, and begins with all that was seen before. Readers who print the same
line were shown the same log.";

/// The report of a log.
#[derive(Serialize)]
struct Report<'a> {
    log: &'a Path,
    entries: u64,
    /// Entries that were appended.
    appended: Option<usize>,
    root: String,
    fingerprint: String,
}

impl<'a> Report<'a> {
    fn new(log: &'a Path, head: Head, appended: Option<usize>) -> Self {
        Self {
            log,
            entries: head.count,
            appended,
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
            let (log, entries) = (self.log.display(), self.entries);
            format!("{log}: {entries} entries{appended}\n{}", self.fingerprint)
        })
    }
}

/// Runs `sordino log`.
///
/// # Errors
/// If a file cannot be read or written, is not signed by the owner, or does not hold what it should.
pub fn run(args: Args, output: Output) -> Result<(), Error> {
    match args.command {
        Command::Append(args) => append(&args, output),
        Command::Prove(args) => prove(&args, output),
        Command::Check(args) => check(&args, output),
        Command::Fingerprint { pin } => fingerprint(&pin, output),
    }
}

fn append(args: &Append, output: Output) -> Result<(), Error> {
    let keys = keys::owner(&args.key)?;
    let mut log = match bytes(&args.log) {
        Ok(bytes) => Log::from_bytes(&bytes, &keys.public()).map_err(Error::index(&args.log))?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Log::new(&keys),
        Err(error) => return Err(Error::at(&args.log)(error)),
    };
    let store = Store::open(&args.index, &keys).map_err(Error::index(&args.index))?;
    let versions = store.history().map_err(Error::index(&args.index))?;
    // From the first version on.
    let appended = log.append(versions.iter().rev(), &keys);
    write(&args.log, &log.to_bytes())?;
    Report::new(&args.log, log.head(), Some(appended)).print(output)
}

fn prove(args: &Prove, output: Output) -> Result<(), Error> {
    let owner = keys::public(&args.key)?;
    let bytes = bytes(&args.log).map_err(Error::at(&args.log))?;
    let log = Log::from_bytes(&bytes, &owner).map_err(Error::index(&args.log))?;
    let manifest = args.version.manifest(&args.key)?;
    let head = log.head();
    if args.seen > head.count {
        let (log, entries, seen) = (args.log.display(), head.count, args.seen);
        let why = format!("{log}: {entries} entries, and --seen is {seen}");
        return Err(Error::Arguments(why));
    }
    let proof = log.prove(&manifest, args.seen);
    let proof = proof.ok_or_else(|| Error::Index {
        path: args.log.clone(),
        source: sordino_search::Error::NotLogged,
    })?;
    write(&args.output, &proof.to_bytes())?;
    Report::new(&args.output, head, None).print(output)
}

fn check(args: &Check, output: Output) -> Result<(), Error> {
    let (owner, named) = (keys::public(&args.key)?, Error::index(&args.log));
    let bytes = bytes(&args.log).map_err(Error::at(&args.log))?;
    let manifest = args.version.manifest(&args.key)?;
    let seen = args.seen.as_deref().map(SeenFile::read).transpose()?;
    let known = seen.as_ref().and_then(|seen| seen.head);
    let head = match LogProof::from_bytes(&bytes, &owner) {
        Ok(proof) => {
            proof.check(&manifest, known.as_ref()).map_err(named)?;
            proof.head()
        }
        // It may be all of a log, which says better what is wrong with it.
        Err(_) => {
            let log = Log::from_bytes(&bytes, &owner).map_err(&named)?;
            if !log.contains(&manifest) {
                return Err(named(sordino_search::Error::NotLogged));
            }
            if let Some(known) = &known {
                log.follows(known).map_err(named)?;
            }
            log.head()
        }
    };
    if let Some(seen) = &seen {
        seen.remember(head)?;
    }
    Report::new(&args.log, head, None).print(output)
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

impl Version {
    /// The digest of its manifest.
    fn manifest(&self, key: &Path) -> Result<Digest, Error> {
        match (&self.pin, &self.index) {
            (Some(pin), _) => Ok(pinned(pin)?.manifest),
            (None, Some(index)) => {
                let manifest = Index::manifest_of_dir(index, &keys::public(key)?);
                Ok(manifest.map_err(Error::index(index))?.digest())
            }
            (None, None) => Err(Error::Arguments("expected --pin or --index".to_owned())),
        }
    }
}

/// The version that a pin file remembers.
fn pinned(path: &Path) -> Result<sordino_search::Pin, Error> {
    let seen = PinFile::read(path)?.seen().copied();
    seen.ok_or_else(|| Error::at(path)(io::ErrorKind::NotFound.into()))
}

/// The newest head that a reader has seen, in a file.
struct SeenFile {
    path: PathBuf,
    head: Option<Head>,
}

/// One line of JSON.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    count: u64,
    root: String,
}

impl SeenFile {
    fn read(path: &Path) -> Result<Self, Error> {
        let head = match bytes(path) {
            Ok(bytes) => {
                let line: Option<Line> = serde_json::from_slice(&bytes).ok();
                let mut root = [0; 32];
                let head = line.and_then(|line| {
                    hex::decode_to_slice(&line.root, &mut root).ok()?;
                    let count = line.count;
                    Some(Head { count, root })
                });
                // It is a promise to the user, so it is not guessed at.
                Some(head.ok_or_else(|| Error::KeyFile {
                    path: path.to_owned(),
                    why: "not a file of the log that was seen: look at it, and remove it to trust the log anew",
                })?)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(Error::at(path)(error)),
        };
        let path = path.to_owned();
        Ok(Self { path, head })
    }

    fn remember(&self, head: Head) -> Result<(), Error> {
        let line = Line {
            count: head.count,
            root: hex::encode(head.root),
        };
        let mut text = serde_json::to_vec(&line).map_err(io::Error::from)?;
        text.push(b'\n');
        write(&self.path, &text)
    }
}

/// The longest file that is read: a log of two million versions.
const MAX_FILE: u64 = 1 << 26;

fn bytes(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(MAX_FILE).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Puts a whole file in the place of an old one.
fn write(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let written = Whole::new(path).and_then(|mut file| {
        file.write_all(bytes)?;
        file.finish()
    });
    written.map_err(Error::at(path))
}
