//! `sordino index push`.

use crate::endpoint::endpoint;
use crate::keys::Author;
use crate::place::Place;
use crate::{Error, Output, keys};
use clap::Args as ClapArgs;
use serde::Serialize;
use sordino_net::{ChangeSigner, Connection, Error as Net, Pushed};
use sordino_search::{Retry, plan::Bytes};
use std::{
    path::{Path, PathBuf},
    time::Duration,
};

/// Arguments of `sordino index push`.
#[derive(ClapArgs, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// The index whose newest version is sent.
    #[arg(value_name = "INDEX")]
    index: PathBuf,
    /// The server, https://host:port, or http://host:port without TLS. It must have an older version of the index,
    /// and run with --accept-changes.
    #[arg(value_name = "URL")]
    url: String,
    /// The owner's key file, or the key file of a writer who pushes its additions. It signs each step, and stays on this machine.
    #[arg(long, value_name = "KEY")]
    key: PathBuf,
    /// Trust servers whose certificate is signed by one of these, in PEM. The default is what this system trusts.
    #[arg(long, value_name = "PEM")]
    roots: Option<PathBuf>,
    /// The name in the server's certificate, if it differs from the URL's host.
    #[arg(long, value_name = "NAME")]
    server_name: Option<String>,
    /// Seconds to keep trying while the server cannot be reached or is busy; 0 means one attempt.
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    wait: u32,
}

const EXAMPLES: &str = "\
Examples:
  sordino index add base.index more.npy --key owner.key
  sordino index push base.index https://search.example:7700 --key owner.key

The command sends the manifests after the server's version, and the parts that the server lacks. After an interruption
the server serves its old version, and the same command continues where it stopped.";

#[derive(Serialize)]
struct Report<'a> {
    index: &'a Path,
    server: &'a str,
    version: u64,
    versions: usize,
    parts: usize,
    bytes: u64,
}

pub(super) fn run(args: &Args, output: Output) -> Result<(), Error> {
    match keys::author(&args.key)? {
        Author::Owner(keys) => push(args, &keys, output),
        Author::Writer(keys) => push(args, &keys, output),
    }
}

fn push(args: &Args, keys: &impl ChangeSigner, output: Output) -> Result<(), Error> {
    let (roots, name) = (args.roots.as_deref(), args.server_name.as_deref());
    let endpoint = endpoint(&args.url, None, roots, name)?.proxy_of_environment();
    let certificate = Error::session(roots.as_slice());
    let named = Error::index(&args.index);
    // This is checked before the server is asked.
    let place = Place::of(&args.index)?;
    if !place.is_here() {
        let index = args.index.display();
        let why =
            format!("{index}: push sends a folder; `sordino serve {index}` reads it where it is");
        return Err(Error::Arguments(why));
    }
    place.check_index().map_err(&named)?;
    let retry = Retry::all(Duration::from_secs(args.wait.into()));
    let bar = output.progress(None, "pushing");
    let mut sent = 0;
    let pushed = loop {
        let before = sent;
        let pushed = retry.call(|| {
            let mut connection = Connection::open(endpoint.clone())?;
            let mut watch = |len| {
                sent += len;
                bar.inc(len);
            };
            connection.push_watched(place.root(), keys, &mut watch)
        });
        // After some bytes have arrived, the waiting time starts again.
        match pushed {
            Err(error) if error.kind().is_passing() && sent > before && args.wait > 0 => (),
            pushed => break pushed,
        }
    };
    bar.finish_and_clear();
    let Pushed {
        version,
        versions,
        parts,
        bytes,
        ..
    } = pushed.map_err(|error| match Net::of(&error) {
        Some(net) if net.is_of_connecting() => certificate(error),
        _ => named(error),
    })?;
    let report = Report {
        index: &args.index,
        server: &args.url,
        version,
        versions,
        parts,
        bytes,
    };
    output.report(&report, || {
        format!(
            "{}: version {version}; {versions} manifest(s) and {parts} part(s) were sent, {}",
            args.url,
            Bytes(bytes)
        )
    })
}
