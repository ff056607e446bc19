//! `sordino index verify`.

use crate::place::Place;
use crate::{Error, Output, keys};
use clap::Args as ClapArgs;
use serde::Serialize;
use sordino_search::Server;
use sordino_search::plan::Bytes;
use std::path::PathBuf;

/// Arguments of `sordino index verify`.
#[derive(ClapArgs, Debug)]
#[command(after_help = NOTE)]
pub(super) struct Args {
    /// The index.
    #[arg(value_name = "INDEX")]
    index: PathBuf,
    /// The owner's key file; or, to check no more than a server can, the owner's public key.
    #[arg(long, value_name = "KEY")]
    key: PathBuf,
    /// With a reader's key too, open everything that is sealed, as with the owner's.
    #[arg(long)]
    deep: bool,
}

const NOTE: &str = "\
With the owner's key, or with --deep and a reader's key, the command checks digests, signatures, the chain of versions
and deletions; that every sealed part opens and has its length; that hints belong to their rows; and that no record is
there twice. Otherwise it checks the signature and digests of the newest version, and that a server can serve it. It
locks and writes nothing.";

#[derive(Serialize)]
struct Report {
    index: PathBuf,
    version: u64,
    /// True if everything was opened.
    full: bool,
    versions: Option<usize>,
    records: Option<usize>,
    deleted: Option<usize>,
    bytes: u64,
}

pub(super) fn run(args: &Args, output: Output) -> Result<(), Error> {
    let file = keys::read(&args.key)?;
    let named = Error::index(&args.index);
    if args.deep && file.kind() == keys::KeyKind::Public {
        return Err(Error::KeyKind {
            path: args.key.clone(),
            found: file.kind().described(),
            expected: "a reader's or the owner's key: --deep opens what is sealed",
        });
    }
    let place = Place::of(&args.index)?;
    let report = if args.deep || file.kind() == keys::KeyKind::Owner {
        let verified = place.verify(&keys::reader(&args.key)?);
        let verified = verified.map_err(&named)?;
        Report {
            index: args.index.clone(),
            version: verified.version,
            full: true,
            versions: Some(verified.versions),
            records: Some(verified.records),
            deleted: Some(verified.deleted),
            bytes: verified.bytes,
        }
    } else {
        let index = place.index(&keys::public(&args.key)?);
        let index = index.map_err(&named)?;
        let (version, bytes) = (
            index.manifest().version,
            super::info::stored(index.manifest())?,
        );
        Server::new(index).map_err(&named)?;
        Report {
            index: args.index.clone(),
            version,
            full: false,
            versions: None,
            records: None,
            deleted: None,
            bytes,
        }
    };
    output.report(&report, || {
        let path = args.index.display();
        match (report.versions, report.records, report.deleted) {
            (Some(versions), Some(records), Some(deleted)) => format!(
                "{path}: version {} is in order: {versions} manifest(s), {records} records, \
                 {deleted} deleted or replaced, {}",
                report.version,
                Bytes(report.bytes)
            ),
            _ => format!(
                "{path}: version {} is in order as far as a server can see",
                report.version
            ),
        }
    })
}
