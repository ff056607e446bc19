//! `sordino serve`: serves an index to clients on a network.

mod current;
mod policy;
mod root;
mod tenants;

use crate::door::{Door, LIMITS, NewOptions, differing};
use crate::error::FAILURE;
use crate::place::Place;
use crate::server_loop::{self, Serve, Served, Source, Version};
use crate::{Command, Error, Output, keys, log, numbers};
use clap::Args as ClapArgs;
use current::Current;
use sordino_net::{Limits, Service};
use sordino_search::{Encodings, Error as Search, OwnerPublicKey, Shard};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;

/// The headings of groups of options in `--help`.
const INDEX: &str = "Index";
const WORK: &str = "Work and memory";

/// Arguments of `sordino serve`.
#[derive(ClapArgs, Debug)]
#[command(after_help = EXAMPLES, allow_negative_numbers = true)]
pub struct Args {
    /// The index: a folder, or s3://BUCKET/PREFIX where the command was built with object stores.
    #[arg(value_name = "INDEX", required_unless_present = "root")]
    index: Option<PathBuf>,
    /// The owner's public key. An index that this owner did not sign is not served. With --root it covers all indexes
    /// without a key of their own.
    #[arg(long, value_name = "PUBLIC_KEY", required_unless_present = "root")]
    key: Option<PathBuf>,
    /// Serve the index in each folder inside this folder. Clients append the folder's name to the URL. NAME.pub next to
    /// NAME is the public key of its owner; NAME.cedar is a policy that says who may use it. Indexes may come and go
    /// while the server runs.
    #[arg(help_heading = INDEX, long, value_name = "FOLDER", conflicts_with_all = ["index", "shard"])]
    root: Option<PathBuf>,
    /// Requests per second about one index, with --root. The default is half of --rate, so that one index leaves the
    /// other half to the rest.
    #[arg(help_heading = LIMITS, long, value_parser = numbers::rate, requires = "root")]
    rate_per_index: Option<f64>,
    /// Read options from this file, in TOML: `listen = "localhost:7700"`, `anyone = true`, `client = ["a.pub"]`.
    /// Options on the command line take precedence. File names are relative to the folder in which the server starts.
    #[arg(long, value_name = "TOML")]
    config: Option<PathBuf>,
    /// Hold only this share of the index, NUMBER/OF: 2/8 is the second of eight. `sordino gather` joins the replies of
    /// all shards. The folder of the index is the same for all shards.
    #[arg(help_heading = INDEX, long, value_name = "NUMBER/OF", conflicts_with = "accept_changes")]
    shard: Option<Shard>,
    /// Let the owner change the index over the network, with `sordino index push`. Then only this server writes in the
    /// folder, and each step carries a signature of the owner's secret key. With --root each index has its own owner.
    #[arg(help_heading = INDEX, long)]
    accept_changes: bool,
    /// The largest index in MiB, for pushed indexes and folders of --root. The hints and payloads that the server
    /// encodes count with the files.
    #[arg(help_heading = LIMITS, long, value_name = "MIB", default_value_t = 16384, value_parser = numbers::some)]
    max_index: usize,
    /// Keep the encoded vectors in this folder. The next start maps them, which takes a fraction of the time, and the
    /// server scores them where they lie. They take about twice the bytes of the index. In routed mode they take 11
    /// kB for each score of a reply, and with scanned payloads 11 kB for each byte of a search's pages. The server
    /// trusts these files like its own memory, so no other user may write there. You may remove them at any time.
    #[arg(help_heading = WORK, long, value_name = "FOLDER")]
    keep_encoded: Option<PathBuf>,
    /// Most requests that one pass over the index answers.
    #[arg(help_heading = WORK, long, default_value_t = 16, value_parser = numbers::some)]
    batch: usize,
    /// Threads that scan; 0 means all processors.
    #[arg(help_heading = WORK, long, default_value_t = 0, value_parser = numbers::threads)]
    threads: usize,
    #[command(flatten)]
    door: Door,
}

const EXAMPLES: &str = "\
Examples:
  sordino serve base.index --key owner.pub --plaintext --anyone
  sordino serve base.index --key owner.pub --listen 0.0.0.0:7700 --cert chain.pem --cert-key key.pem \\
      --client alice.pub --client bob.pub --metrics 127.0.0.1:9100

  sordino serve --config sordino.toml
  sordino serve base.index --key owner.pub --shard 2/8 --listen 10.0.0.2:7700 --plaintext --anyone
  sordino serve --root /srv/indexes --issuer issuer.pub --audience search.example --cert chain.pem --cert-key key.pem

The server needs no secret of the owner. It prints a line when it listens. When the index changes, it serves the new
version, and clients repeat queries about the old one. It follows the certificate's files. At SIGHUP it reads them, the
clients' keys, the rates and the log level again, from --config and the files themselves; after a mistake in them it
reports the mistake and keeps the old settings. At SIGTERM or Ctrl-C it answers the requests in progress and stops.";

/// Runs `sordino serve` until a signal tells it to stop.
///
/// # Errors
/// Fails if the index is not the owner's or is damaged, or an address cannot be listened on.
pub fn run(args: Args, output: Output) -> Result<(), Error> {
    if args.threads > 0 {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(args.threads);
        let built = pool.build_global();
        built.map_err(|error| Error::Arguments(error.to_string()))?;
    }
    let (Some(index), Some(key)) = (args.index.clone(), args.key.as_deref()) else {
        return root::run(args, output);
    };
    let owner = owner(key)?;
    // The signals are collected before anything listens, so that none is lost.
    let signals = server_loop::signals()?;
    // The port opens before the index is loaded, so that clients learn that the server is not
    // ready.
    let exporter = args.door.exporter()?;
    let place = Place::of(&index)?;
    let afar = !place.is_here();
    if afar && args.accept_changes {
        let why = "--accept-changes: expected an index in a folder on this machine";
        return Err(Error::Arguments(why.to_owned()));
    }
    let current = Current::of(place);
    let named = Error::index(&index);
    let encodings = args.encodings()?;
    let server = current.place().open(&owner, args.shard, encodings.as_ref());
    let service = Service::new(server.map_err(&named)?, &args.door.access()?, args.limits())?;
    if args.accept_changes {
        let most = args.most();
        let accepting = service.accept_changes(&index, &owner, most);
        accepting.map_err(&named)?;
    }
    let running = server_loop::listen(&args.door, exporter, |listen| service.listen(listen))?;
    let following = match afar {
        false => Following::Here(Box::new((owner, current))),
        true => Following::There(follow_from_afar(service, owner, current)),
    };
    let source = Folder {
        args,
        index,
        following,
    };
    Serve::new(source, running, output).run(signals)
}

/// Follows an index in an object store on a separate thread, because a store may answer late. The thread reports
/// each new version.
fn follow_from_afar(
    service: Service,
    owner: OwnerPublicKey,
    mut current: Current,
) -> mpsc::Receiver<()> {
    let (new, news) = mpsc::channel();
    std::thread::spawn(move || {
        loop {
            std::thread::sleep(AFAR);
            if current.follow(&owner, &service) && new.send(()).is_err() {
                return;
            }
        }
    });
    news
}

/// The pause between two looks at an object store, because each request to it costs money.
const AFAR: Duration = Duration::from_secs(2);

/// The two ways to follow an index.
enum Following {
    Here(Box<(OwnerPublicKey, Current)>),
    There(mpsc::Receiver<()>),
}

/// An index in a folder, here or in an object store.
struct Folder {
    args: Args,
    index: PathBuf,
    following: Following,
}

impl Source for Folder {
    type Service = Service;

    fn door(&mut self) -> &mut Door {
        &mut self.args.door
    }

    fn name(&self) -> String {
        let index = self.index.display();
        match self.args.shard {
            Some(shard) => format!("shard {shard} of {index}"),
            None => index.to_string(),
        }
    }

    fn follow(&mut self, service: &Service) -> bool {
        match &mut self.following {
            Following::Here(here) => {
                let (owner, current) = &mut **here;
                current.follow(owner, service)
            }
            Following::There(news) => news.try_recv().is_ok(),
        }
    }

    fn served(&self, service: &Service) -> Served {
        Served::One(Version::of(service.server().manifest()))
    }

    fn new_options(&self, command: Command) -> Option<NewOptions> {
        self.args.new_options(command)
    }
}

/// The owner's public key. A file with the owner's secret is refused, because the secret must not be
/// at the server.
pub(crate) fn owner(path: &Path) -> Result<OwnerPublicKey, Error> {
    let file = keys::read(path)?;
    if file.kind().is_secret() {
        return Err(Error::KeyKind {
            path: path.to_owned(),
            found: file.kind().described(),
            expected: "the owner's public key, since a server must have no secret: `sordino keys new public \
                       owner.pub --from owner.key` makes it",
        });
    }
    keys::public(path)
}

impl Args {
    /// The form of the log, and its level if that is set.
    #[must_use]
    pub fn log(&self) -> (log::Form, Option<log::Level>) {
        self.door.log()
    }

    /// The new options, if `command` is this command.
    fn new_options(&self, command: Command) -> Option<NewOptions> {
        let Command::Serve(new) = command else {
            return None;
        };
        Some(NewOptions {
            limits: new.limits(),
            others: self.fixed(&new),
            door: new.door,
        })
    }

    /// The folder in which the server keeps encoded vectors.
    fn encodings(&self) -> Result<Option<Encodings>, Error> {
        let Some(folder) = &self.keep_encoded else {
            return Ok(None);
        };
        let path = folder.clone();
        let fault = move |error: &Search| match error {
            Search::Ckks(_) => {
                tracing::error!(
                    %error, folder = %path.display(),
                    "encoded vectors were cut short while in use: the server ends, and its next start makes them again"
                );
                // If a pass reads the truncated file first, a signal of the system ends the process
                // too.
                std::process::exit(FAILURE.into());
            }
            _ => {
                tracing::warn!(%error, "encoded vectors cannot be kept: they are served from memory");
            }
        };
        let encodings = Encodings::new(folder, fault);
        encodings.map(Some).map_err(Error::index(folder))
    }

    /// The largest number of bytes of an index.
    fn most(&self) -> u64 {
        (self.max_index as u64) << 20
    }

    /// The server's limits. A shard gets the requests of all clients from one address.
    fn limits(&self) -> Limits {
        let limits = self.door.limits();
        let limits = limits
            .batch(self.batch)
            .rate_per_index(self.rate_per_index.unwrap_or(limits.rate / 2.0));
        match self.shard {
            Some(_) => limits.from_one_address(),
            None => limits,
        }
    }

    /// The options that differ and that a running server cannot change.
    fn fixed(&self, new: &Self) -> Vec<&'static str> {
        differing([
            ("index", self.index != new.index),
            ("key", self.key != new.key),
            ("root", self.root != new.root),
            ("shard", self.shard != new.shard),
            ("accept-changes", self.accept_changes != new.accept_changes),
            ("max-index", self.max_index != new.max_index),
            ("keep-encoded", self.keep_encoded != new.keep_encoded),
            ("batch", self.batch != new.batch),
            ("threads", self.threads != new.threads),
        ])
    }
}
