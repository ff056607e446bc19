//! `sordino index backup` and `sordino index restore`.

use crate::place::Place;
use crate::{Error, Output, keys};
use clap::Args;
use serde::Serialize;
use sordino_search::plan::Bytes;
use sordino_search::{Copied, OwnerPublicKey, Pins, Recovered};
use std::path::{Path, PathBuf};

/// Arguments of `sordino index backup`.
#[derive(Args, Debug)]
#[command(after_help = BACKUP)]
pub(super) struct Backup {
    /// The index. It is only read: a server may use it and an owner may change it meanwhile.
    #[arg(value_name = "INDEX")]
    index: PathBuf,
    /// The folder of the backup: a new one, or one with an older version of the same index. s3://BUCKET/PREFIX works
    /// if the command was built with object stores.
    #[arg(value_name = "BACKUP")]
    backup: PathBuf,
    /// The owner's public key, or a reader's or the owner's key file.
    #[arg(long, value_name = "KEY")]
    key: PathBuf,
}

const BACKUP: &str = "\
Examples:
  sordino index backup base.index /backup/base.index --key owner.pub
  sordino index verify /backup/base.index --key reader.key --deep
  sordino index backup base.index s3://bucket/base.index --key owner.pub

The command writes only parts that the backup lacks, and reads and checks the others. After an interruption the backup
is the old version or the new one, and the same command continues. A backup holds one version: use several folders for
several versions. The owner's key is not in it: keep a copy of the key elsewhere.";

/// Arguments of `sordino index restore`.
#[derive(Args, Debug)]
#[command(after_help = RESTORE)]
pub(super) struct Restore {
    /// The folder of the backup.
    #[arg(value_name = "BACKUP", required_unless_present = "from_manifests")]
    backup: Option<PathBuf>,
    /// The folder to make, in which there must not be an index yet.
    #[arg(value_name = "INDEX", required_unless_present = "from_manifests")]
    index: Option<PathBuf>,
    /// Repair an index in place whose file CURRENT is missing or damaged. Its newest version becomes the newest one
    /// whose signed manifest and parts are all whole.
    #[arg(long, value_name = "INDEX", conflicts_with_all = ["backup", "index"])]
    from_manifests: Option<PathBuf>,
    /// The owner's public key, or a reader's or the owner's key file.
    #[arg(long, value_name = "KEY")]
    key: PathBuf,
}

const RESTORE: &str = "\
Examples:
  sordino index restore /backup/base.index base.index --key owner.pub
  sordino index restore --from-manifests base.index --key owner.pub

With --from-manifests, incomplete versions are skipped and named. If one was skipped, restore a backup that has it
before you continue: the next change removes what is left of it. Versions without a manifest leave no trace.

A backup may be older than the newest version in OWNER_KEY.pins. Commands that change the index refuse such a version until
one of them says --restored. With the owner's key file, --from-manifests refuses it too.

Readers who remember a version newer than the backup refuse the backup, and rightly so. Tell them through another
channel than the server (`query --pin`, Python's `pin`). Readers who were revoked after the backup can read again: see
`sordino keys list`, and revoke them before you add anything.";

#[derive(Serialize)]
struct Report<'a> {
    index: &'a Path,
    version: u64,
    versions: usize,
    parts: usize,
    written: usize,
    bytes: u64,
}

pub(super) fn backup(args: &Backup, output: Output) -> Result<(), Error> {
    let owner = keys::public(&args.key)?;
    let (from, to) = (Place::of(&args.index)?, Place::of(&args.backup)?);
    check_apart(&from, &to)?;
    let named = Error::index(&args.index);
    let copied = from.copy_to(&to, &owner).map_err(named)?;
    report(&args.backup, &copied, output)
}

/// Refuses to copy a folder into itself.
fn check_apart(from: &Place, to: &Place) -> Result<(), Error> {
    let known = |folder: &Path| folder.canonicalize().ok();
    let (Some(source), Ok(target)) = (known(from.root()), std::path::absolute(to.root())) else {
        return Ok(());
    };
    let nearest = target.ancestors().find_map(known);
    if from.is_here() && to.is_here() && nearest.is_some_and(|at| at.starts_with(&source)) {
        return Err(Error::Arguments(format!(
            "{}: it is, or lies in, the folder that is copied: name a folder elsewhere",
            to.root().display()
        )));
    }
    Ok(())
}

pub(super) fn restore(args: &Restore, output: Output) -> Result<(), Error> {
    let owner = keys::public(&args.key)?;
    let (backup, index) = match (&args.from_manifests, &args.backup, &args.index) {
        (Some(index), ..) => return recover(index, (&args.key, &owner), output),
        (None, Some(backup), Some(index)) => (backup, index),
        (None, ..) => {
            let why = "expected BACKUP and INDEX, or --from-manifests INDEX";
            return Err(Error::Usage(why.to_owned()));
        }
    };
    let (from, to) = (Place::of(backup)?, Place::of(index)?);
    check_apart(&from, &to)?;
    let copied = from.restore_to(&to, &owner).map_err(Error::index(backup))?;
    report(index, &copied, output)
}

#[derive(Serialize)]
struct Mended<'a> {
    index: &'a Path,
    id: String,
    version: u64,
    written: bool,
    passed: Vec<Passed>,
}

/// A version that is not whole.
#[derive(Serialize)]
struct Passed {
    version: u64,
    why: String,
}

fn recover(
    index: &Path,
    (key, owner): (&Path, &OwnerPublicKey),
    output: Output,
) -> Result<(), Error> {
    // A public key has no pins file.
    let (place, known) = (Place::of(index)?, Pins::beside(key));
    let name = place.name();
    let recovered = place.recover(owner, |manifest| known.check_found(&name, manifest));
    let Recovered {
        index: id,
        version,
        written,
        passed,
    } = recovered.map_err(Error::index(index))?;
    let passed = passed.into_iter().map(|(version, error)| Passed {
        version,
        why: error.to_string(),
    });
    let report = Mended {
        index,
        id: hex::encode(id),
        version,
        written,
        passed: passed.collect(),
    };
    output.report(&report, || {
        let name = index.display();
        let mut text = match written {
            true => format!("{name}: version {version} is whole, and is the newest again"),
            false => format!("{name}: version {version} is whole: nothing was to mend"),
        };
        text += &format!("\nit is of index {}", report.id);
        for Passed { version, why } in &report.passed {
            text += &format!("\nversion {version} was passed over: {why}");
        }
        text
    })
}

fn report(index: &Path, copied: &Copied, output: Output) -> Result<(), Error> {
    let Copied {
        version,
        versions,
        parts,
        written,
        bytes,
    } = *copied;
    let report = Report {
        index,
        version,
        versions,
        parts,
        written,
        bytes,
    };
    output.report(&report, || {
        format!(
            "{}: version {version} is whole: {versions} manifest(s), {parts} parts, of which {written} were \
             written, {}",
            index.display(),
            Bytes(bytes)
        )
    })
}
