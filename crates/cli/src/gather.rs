//! `sordino gather`: serves an index whose shards other servers hold.

use crate::door::{Door, NewOptions, differing};
use crate::endpoint::endpoint;
use crate::serve::owner;
use crate::server_loop::{self, Serve, Served, Source, Version};
use crate::{Command, Error, Output, log};
use clap::Args as ClapArgs;
use signal_hook::consts::TERM_SIGNALS;
use sordino_net::{Service, Shards};
use sordino_search::Server;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::{path::PathBuf, time::Duration};

/// The time before shards that have not started are asked again.
const RETRY: Duration = Duration::from_millis(500);

/// The time between two checks of the shards and the signals.
const TICK: Duration = Duration::from_millis(100);

/// The time between two checks of a version that cannot be served because a part is damaged or belongs to another
/// index.
const DAMAGED: Duration = Duration::from_secs(5);

/// Arguments of `sordino gather`.
#[derive(ClapArgs, Debug)]
#[command(after_help = EXAMPLES, allow_negative_numbers = true)]
pub struct Args {
    /// The servers of the shards in their order, each at http://HOST:PORT or https://HOST:PORT. Join several servers
    /// of one shard by `+`: they take turns, and after a failure the next one is asked.
    #[arg(
        long,
        value_name = "URL[+URL...],...",
        value_delimiter = ',',
        required = true
    )]
    shards: Vec<String>,
    /// Ask a second server of a shard when the first is later than 95 of 100 answers were, and take the first whole
    /// answer. At most one request in ten is asked twice.
    #[arg(long)]
    hedge: bool,
    /// The owner's public key. An index that this owner did not sign is not served.
    #[arg(long, value_name = "PUBLIC_KEY")]
    key: PathBuf,
    /// Options from this file, in TOML, as `sordino serve` has it.
    #[arg(long, value_name = "TOML")]
    config: Option<PathBuf>,
    /// Trust shard servers whose certificate is signed by one of these, in PEM. The default is what this system
    /// trusts.
    #[arg(long, value_name = "PEM")]
    shard_roots: Option<PathBuf>,
    #[command(flatten)]
    door: Door,
}

const EXAMPLES: &str = "\
Examples:
  sordino serve base.index --key owner.pub --shard 1/2 --listen 127.0.0.1:7701 --plaintext --anyone
  sordino serve base.index --key owner.pub --shard 2/2 --listen 127.0.0.1:7702 --plaintext --anyone
  sordino gather --shards http://127.0.0.1:7701,http://127.0.0.1:7702 --key owner.pub \\
      --listen 127.0.0.1:7700 --plaintext --anyone

Clients cannot tell it from one server by its answers. It has no key and no index. It passes each query to all shards,
asks a failed shard once more, and answers with whole replies of one version, or refuses. Let only this machine reach
the shards. It waits for shards that have not started, and moves to the next version when all shards have it. It takes
the same signals as `sordino serve`.";

/// Runs `sordino gather` until a signal tells it to stop.
///
/// # Errors
/// Fails if a shard has a wrong index, place or signature, or an address cannot be listened on.
pub fn run(args: Args, output: Output) -> Result<(), Error> {
    let owner = owner(&args.key)?;
    let mut signals = server_loop::signals()?;
    let exporter = args.door.exporter()?;
    let roots = args.shard_roots.as_deref();
    let servers = args.shards.iter().map(|servers| {
        let servers = servers.split('+');
        let servers = servers.map(|address| endpoint(address, None, roots, None));
        servers.collect::<Result<Vec<_>, _>>()
    });
    let servers = servers.collect::<Result<Vec<_>, _>>()?;
    let limits = args.door.limits();
    let shards = Shards::replicated(servers, &owner, &limits)?;
    let shards = if args.hedge { shards.hedged() } else { shards };
    // This runs on a separate thread, since a shard may take long to send downloads, and signals must be handled
    // meanwhile.
    let (done, opened) = mpsc::channel();
    std::thread::spawn(move || {
        let server = open(&shards);
        // After a signal there is no receiver.
        done.send(server.map(|server| (shards, server))).ok();
    });
    let (shards, server) = loop {
        match opened.recv_timeout(TICK) {
            Ok(opened) => break opened?,
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
            Err(RecvTimeoutError::Timeout) => {}
        }
        if signals
            .pending()
            .any(|signal| TERM_SIGNALS.contains(&signal))
        {
            return Ok(());
        }
    };
    let service = Service::over(shards, server, &args.door.access()?, limits)?;
    let running = server_loop::listen(&args.door, exporter, |listen| service.listen(listen))?;
    let (new, news) = mpsc::channel();
    std::thread::spawn(move || follow(&service, &new));
    let source = Others { args, news };
    Serve::new(source, running, output).run(signals)
}

/// Waits until all shards run with the same version.
fn open(shards: &Shards) -> Result<Server, sordino_net::Error> {
    let mut said = false;
    loop {
        match shards.open() {
            Err(error) if error.is_passing() => {
                if !std::mem::replace(&mut said, true) {
                    tracing::warn!(%error, "waiting for the shards");
                }
            }
            opened => return opened,
        }
        std::thread::sleep(RETRY);
    }
}

/// Follows the shards from version to version, and reports changes while there is a receiver.
fn follow(service: &Service, new: &mpsc::Sender<()>) {
    let mut said = None;
    loop {
        let mut pause = TICK;
        match service.follow_shards() {
            Ok(other) => {
                said = None;
                if other && new.send(()).is_err() {
                    return;
                }
            }
            // For a while after a change, shards have different versions. Each reason is logged once. A lasting
            // failure is retried less often, because each attempt downloads the new parts.
            Err(error) => {
                if !error.is_passing() {
                    pause = DAMAGED;
                }
                let text = error.to_string();
                if said.as_ref() != Some(&text) {
                    tracing::warn!(%error, "the shards cannot be followed; the version before is served");
                    said = Some(text);
                }
            }
        }
        std::thread::sleep(pause);
    }
}

/// An index that other servers hold.
struct Others {
    args: Args,
    /// Receives a message when a version was put in place.
    news: mpsc::Receiver<()>,
}

impl Source for Others {
    type Service = Service;

    fn door(&mut self) -> &mut Door {
        &mut self.args.door
    }

    fn name(&self) -> String {
        format!("{} shards", self.args.shards.len())
    }

    /// A separate thread follows the shards.
    fn follow(&mut self, _: &Service) -> bool {
        self.news.try_recv().is_ok()
    }

    fn served(&self, service: &Service) -> Served {
        Served::One(Version::of(service.server().manifest()))
    }

    fn new_options(&self, command: Command) -> Option<NewOptions> {
        let Command::Gather(new) = command else {
            return None;
        };
        Some(NewOptions {
            limits: new.door.limits(),
            others: self.args.fixed(&new),
            door: new.door,
        })
    }
}

impl Args {
    /// The form of the log, and its level if that is set.
    #[must_use]
    pub fn log(&self) -> (log::Form, Option<log::Level>) {
        self.door.log()
    }

    /// The options that differ and that a running server cannot change.
    fn fixed(&self, new: &Self) -> Vec<&'static str> {
        differing([
            ("shards", self.shards != new.shards),
            ("hedge", self.hedge != new.hedge),
            ("key", self.key != new.key),
            ("shard-roots", self.shard_roots != new.shard_roots),
        ])
    }
}
