//! `sordino index pull`.

use crate::endpoint::EndpointArgs;
use crate::keys::Author;
use crate::owned_index::PinsArgs;
use crate::place::Place;
use crate::{Error, Output, keys};
use clap::Args as ClapArgs;
use serde::Serialize;
use sordino_net::{Connection, Error as Net};
use sordino_search::{
    Error as Search, Files, Folder, OwnerFault, Pin, Pulled, ReaderKeys, Retry, WriterKeys,
    plan::Bytes,
};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Arguments of `sordino index pull`.
#[derive(ClapArgs, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// The folder: an older copy of the server's index, or a new folder.
    #[arg(value_name = "INDEX")]
    index: PathBuf,
    /// The server, https://host:port, or http://host:port without TLS, followed by /NAME if it serves many indexes.
    #[arg(id = "connect", value_name = "URL")]
    url: String,
    /// The owner's key file, or a writer's.
    #[arg(long, value_name = "KEY")]
    key: PathBuf,
    /// The last version of this folder that was pulled or pushed. Later versions made here are dropped, because the server refused them. The
    /// pins of an owner forget these versions too.
    #[arg(long, value_name = "VERSION")]
    after: Option<u64>,
    #[command(flatten)]
    endpoint: EndpointArgs,
    #[command(flatten)]
    pins: PinsArgs,
    /// Seconds to keep trying while the server cannot be reached or is busy; 0 means one attempt.
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    wait: u32,
}

const EXAMPLES: &str = "\
Examples:
  sordino index pull base.index https://search.example:7700 --key owner.key
  sordino index pull mine.index https://search.example:7700 --key agent.key --client-key alice.key
  sordino index pull mine.index https://search.example:7700 --key agent.key --after 41

The folder gets what others have pushed, and changes go on from there. This works in local mode, in which clients download the whole
index. The server's version has to follow from the folder's, and from the version that the owner's pins name. At any moment the folder
has its old version or the new one. Only if --after gives up a version whose number a new one has, it may have none for a moment.

Where a push was refused because a different one came first, the folder has a version that the server lacks. Give that version up
with --after, and make the change again. A folder that is more than 256 versions behind is pulled into a new folder.";

#[derive(Serialize)]
struct Report<'a> {
    index: &'a Path,
    server: &'a str,
    version: u64,
    parts: usize,
    bytes: usize,
}

pub(super) fn run(args: &Args, output: Output) -> Result<(), Error> {
    let author = keys::author(&args.key)?;
    let (endpoint, refused) = args.endpoint.at(&args.url)?;
    let place = Place::of(&args.index)?;
    if !place.is_here() {
        let index = args.index.display();
        let why = format!("{index}: pull brings a version into a folder of this machine");
        return Err(Error::Arguments(why));
    }
    let reader = match &author {
        Author::Owner(keys) => keys.reader(),
        Author::Writer(keys) => keys.reader(),
    };
    let owner = match &author {
        Author::Owner(keys) => Some((keys, args.pins.ready(&args.key)?)),
        Author::Writer(_) => None,
    };
    let after = args.given_up(&reader, &place)?;
    let retry = Retry::all(Duration::from_secs(args.wait.into()));
    let folder = Folder::new(place.root(), Files);
    let pulled =
        retry.call(|| {
            let mut connection = Connection::open(endpoint.clone())?;
            sordino_search::pull(&mut connection, &reader, &folder, after.as_ref(), |found| {
                match &owner {
                    Some((_, pins)) => pins.before_pull(place.root(), found, after.as_ref()),
                    None => Ok(Vec::new()),
                }
            })
        });
    let pulled = pulled.map_err(|error| match Net::of(&error) {
        Some(net) if net.is_of_connecting() => refused(error),
        _ => args.named(&author, &place, error),
    })?;
    if let Some((keys, pins)) = &owner {
        pins.after_pull(Files, place.root(), keys)
            .map_err(Error::index(&args.index))?;
    }
    args.report(pulled, output)
}

impl Args {
    /// The version from which the server's version must follow, if it is not the folder's version.
    fn given_up(&self, reader: &ReaderKeys, place: &Place) -> Result<Option<Pin>, Error> {
        let Some(version) = self.after else {
            return Ok(None);
        };
        // An interrupted pull may have left a folder that names no version.
        let folder = Folder::new(place.root(), Files);
        let after = folder.shown(version, reader.owner());
        let after = after.map_err(Error::index(&self.index))?;
        let missing = || {
            let index = self.index.display();
            let why = format!("{index}: the folder has no version {version}");
            Error::Arguments(why)
        };
        after.map(Some).ok_or_else(missing)
    }

    /// Explains an error about a folder that does not lead to the server's version.
    fn named(&self, author: &Author, place: &Place, error: Search) -> Error {
        let apart = matches!(error, Search::Fork { .. } | Search::Rollback { .. });
        let unknown = matches!(error, Search::Owner(OwnerFault::Undone(_)));
        let named = Error::index(&self.index)(error);
        if unknown {
            return Error::Apart(format!(
                "{named}. To look at the server's version, pull it into a new folder with other pins (--pins FILE)"
            ));
        }
        if !apart || self.after.is_some() || place.check_index().is_err() {
            return named;
        }
        let (version, pins) = match author {
            Author::Owner(_) => (None, ". The owner's pins then forget the versions after it"),
            Author::Writer(keys) => (before_own(keys, place), ""),
        };
        let version = version.map_or("VERSION".to_owned(), |version| version.to_string());
        Error::Apart(format!(
            "{named}. But if changes were made here that the server did not take, give them up with --after {version}, and make them \
             again after that{pins}"
        ))
    }

    fn report(&self, pulled: Pulled, output: Output) -> Result<(), Error> {
        let Pulled {
            version,
            parts,
            bytes,
        } = pulled;
        let report = Report {
            index: &self.index,
            server: &self.url,
            version,
            parts,
            bytes,
        };
        output.report(&report, || {
            let gone = self
                .after
                .map(|version| format!("; what was made here after version {version} is given up"));
            format!(
                "{}: version {version}; {parts} part(s) came, {}{}",
                self.index.display(),
                Bytes(bytes as u64),
                gone.unwrap_or_default()
            )
        })
    }
}

/// The version of a folder before this writer's own additions at its end.
fn before_own(keys: &WriterKeys, place: &Place) -> Option<u64> {
    let own = keys.secret().public().signing.to_bytes();
    let mut kept = place.manifest(keys.owner()).ok()?;
    while kept
        .additions()
        .next_back()
        .is_some_and(|(by, _)| by.public == own)
    {
        kept = kept.before_addition()?;
    }
    Some(kept.version)
}
