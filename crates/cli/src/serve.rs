//! `sordino serve`: an index, to clients on a network.

use crate::{Error, Output, keys, log, numbers};
use clap::{ArgGroup, Args as ClapArgs};
use serde::Serialize;
use signal_hook::consts::TERM_SIGNALS;
use signal_hook::iterator::Signals;
use sordino_net::{Access, Identity, Limits, Listen, Running, Service};
use sordino_search::OwnerPublicKey;
use sordino_search::manifest::Manifest;
use sordino_search::{Disk, Files, Server};
use std::{
    fs,
    net::{SocketAddr, ToSocketAddrs},
    path::{Path, PathBuf},
    time::Duration,
};
use zeroize::Zeroizing;

/// The pause between looks at the index, which may have changed, and at the signals.
const TICK: Duration = Duration::from_millis(100);

/// The pause before it tries again to open an index that is damaged.
const RETRY: Duration = Duration::from_secs(1);

/// Bytes of the file that names the newest version, at most.
const CURRENT_LEN: u64 = 1 << 10;

/// Arguments of `sordino serve`.
#[derive(ClapArgs, Debug)]
#[command(after_help = EXAMPLES, allow_negative_numbers = true)]
#[command(group(ArgGroup::new("protection").args(["cert", "plaintext"]).required(true)))]
#[command(group(ArgGroup::new("askers").args(["clients", "anyone"]).required(true)))]
pub struct Args {
    /// The index.
    #[arg(value_name = "INDEX")]
    index: PathBuf,
    /// The owner's public key: an index that the owner did not sign is not served.
    #[arg(long, value_name = "PUBLIC_KEY")]
    key: PathBuf,
    /// The address to listen on, HOST:PORT; port 0 for one that is free.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7700", value_parser = address)]
    listen: SocketAddr,
    /// The server's certificate chain, in PEM.
    #[arg(long, value_name = "PEM", requires = "cert_key")]
    cert: Option<PathBuf>,
    /// The certificate's private key, in PEM.
    #[arg(long, value_name = "PEM", requires = "cert")]
    cert_key: Option<PathBuf>,
    /// Listen without TLS: on this machine, or behind a proxy that has it.
    #[arg(long, conflicts_with_all = ["cert", "cert_key"])]
    plaintext: bool,
    /// Answer this client, by its public key; may be given several times.
    #[arg(long = "client", value_name = "CLIENT_PUBLIC_KEY")]
    clients: Vec<PathBuf>,
    /// Answer whoever asks. Without a reader's key, what is answered is of no use, but it is work.
    #[arg(long, conflicts_with = "clients")]
    anyone: bool,
    /// Give metrics out on this address, in the clear, at /metrics; /health says whether it serves.
    #[arg(long, value_name = "ADDRESS", value_parser = address)]
    metrics: Option<SocketAddr>,
    /// Connections at a time.
    #[arg(long, default_value_t = 512, value_parser = numbers::some)]
    max_connections: usize,
    /// Connections at a time of one address; for IPv6, of one network of 64 bits. Behind a proxy all
    /// clients share its address.
    #[arg(long, default_value_t = 256, value_parser = numbers::some)]
    max_connections_per_address: usize,
    /// Requests that one pass over the index answers.
    #[arg(long, default_value_t = 16, value_parser = numbers::some)]
    batch: usize,
    /// Requests per second, of all clients together.
    #[arg(long, default_value_t = 1000.0, value_parser = numbers::rate)]
    rate: f64,
    /// Requests per second of one client key.
    #[arg(long, default_value_t = 100.0, value_parser = numbers::rate)]
    rate_per_key: f64,
    /// Requests per second of one address: with --anyone of all, else of those that prove no key.
    #[arg(long, default_value_t = 500.0, value_parser = numbers::rate)]
    rate_per_address: f64,
    /// Requests answered at a time. A client, or an address with --anyone, gets another place as long
    /// as it has fewer than are free.
    #[arg(long, default_value_t = 64, value_parser = numbers::some)]
    max_in_flight: usize,
    /// The form of the log on standard error; RUST_LOG says how much there is of it.
    #[arg(long, value_enum, default_value = "text")]
    log: log::Form,
    /// Threads that scan; 0: all processors.
    #[arg(long, default_value_t = 0, value_parser = numbers::threads)]
    threads: usize,
}

const EXAMPLES: &str = "\
Examples:
  sordino serve base.index --key owner.pub --plaintext --anyone
  sordino serve base.index --key owner.pub --listen 0.0.0.0:7700 --cert chain.pem --cert-key key.pem \\
      --client alice.pub --client bob.pub --metrics 127.0.0.1:9100

The server needs no secret of the owner. It prints a line when it listens. It follows the index: when
that is changed, the new version is served, and queries about the old one are made anew. It stops at
SIGTERM or Ctrl-C, after what is being answered.";

#[derive(Serialize)]
struct Serving {
    event: &'static str,
    address: SocketAddr,
    metrics: Option<SocketAddr>,
    index: String,
    version: u64,
    mode: &'static str,
    n: u32,
    dim: u32,
}

/// Runs `sordino serve`, until it is told to stop.
///
/// # Errors
/// If the index is not the owner's or is damaged, or the address cannot be listened on.
pub fn run(args: &Args, output: Output) -> Result<(), Error> {
    let owner = owner(&args.key)?;
    if args.threads > 0 {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(args.threads);
        let built = pool.build_global();
        built.map_err(|error| Error::Arguments(error.to_string()))?;
    }
    // Before anything listens, so that a signal is not lost.
    let mut signals = Signals::new(TERM_SIGNALS)?;
    let current = args.index.join("CURRENT");
    let look = || Files.read(&current, CURRENT_LEN).ok();
    let mut seen = look();
    let named = Error::index(&args.index);
    let server = Server::open_dir(&args.index, &owner).map_err(&named)?;
    let manifest = server.manifest().clone();
    let service = Service::new(server, &args.access()?, args.limits())?;
    let files: Vec<&Path> = [&args.cert, &args.cert_key]
        .into_iter()
        .filter_map(Option::as_deref)
        .collect();
    let listening = service.listen(&args.listening()?);
    let running = listening.map_err(Error::certificate(&files))?;
    args.say("serving", &running, &manifest, output)?;
    if args.plaintext && args.anyone && !running.address().ip().is_loopback() {
        tracing::warn!(
            "anyone who reaches {} may ask, without TLS: --client lets in known keys only, and \
             --cert brings TLS",
            running.address()
        );
    }

    let mut failed = None;
    while signals.pending().next().is_none() {
        std::thread::sleep(TICK);
        let now = look();
        if now == seen || now.is_none() {
            continue;
        }
        match service.server().follow_dir(&args.index, &owner) {
            Ok(server) => {
                let manifest = server.manifest().clone();
                service.replace(server);
                // Nobody may be reading any more, which is no reason to stop.
                let _ = args.say("following", &running, &manifest, output);
                seen = now;
            }
            // A damaged version is not served, the version before goes on. It is said once, and tried
            // again: a change that was made meanwhile may have removed what was being read.
            Err(error) if failed != now => {
                tracing::error!(%error, "the index cannot be followed; the version before is served on");
                failed = now;
            }
            Err(_) => std::thread::sleep(RETRY),
        }
    }
    tracing::info!("stopping");
    Ok(running.stop()?)
}

/// The owner's public key. A secret that was given in its place is refused: it must not be where the
/// server is.
fn owner(path: &Path) -> Result<OwnerPublicKey, Error> {
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

/// The address that text stands for; a host may be a name.
fn address(text: &str) -> Result<SocketAddr, String> {
    if let Ok(address) = text.parse() {
        return Ok(address);
    }
    let why = |why: &dyn std::fmt::Display| {
        format!("{why}; expected HOST:PORT, for instance 127.0.0.1:7700 or localhost:7700")
    };
    let mut found: Vec<SocketAddr> = text
        .to_socket_addrs()
        .map_err(|error| why(&error))?
        .collect();
    // A name of this machine may stand for both families; the older is what URLs are tried with first.
    found.sort_by_key(SocketAddr::is_ipv6);
    found.first().copied().ok_or_else(|| why(&"no such host"))
}

impl Args {
    /// The form of the log.
    #[must_use]
    pub fn log(&self) -> log::Form {
        self.log
    }

    fn access(&self) -> Result<Access, Error> {
        if self.anyone {
            return Ok(Access::Anyone);
        }
        let keys = self.clients.iter().map(|path| keys::client_public(path));
        Ok(Access::Keys(keys.collect::<Result<_, _>>()?))
    }

    fn limits(&self) -> Limits {
        Limits {
            connections: self.max_connections,
            per_address: self.max_connections_per_address,
            batch: self.batch,
            rate: self.rate,
            rate_per_key: self.rate_per_key,
            rate_per_address: self.rate_per_address,
            in_flight: self.max_in_flight,
            ..Limits::default()
        }
    }

    fn listening(&self) -> Result<Listen, Error> {
        let mut listen = Listen::on(self.listen);
        if let (Some(cert), Some(key)) = (&self.cert, &self.cert_key) {
            let chain = fs::read(cert).map_err(Error::at(cert))?;
            let key = Zeroizing::new(fs::read(key).map_err(Error::at(key))?);
            listen = listen.tls(Identity::from_pem(chain, &*key));
        }
        if let Some(address) = self.metrics {
            listen = listen.metrics(address);
        }
        Ok(listen)
    }

    fn say(
        &self,
        event: &'static str,
        running: &Running,
        manifest: &Manifest,
        output: Output,
    ) -> Result<(), Error> {
        let serving = Serving {
            event,
            address: running.address(),
            metrics: running.metrics_address(),
            index: hex::encode(manifest.index),
            version: manifest.version,
            mode: manifest.mode.name(),
            n: manifest.n,
            dim: manifest.dim,
        };
        output.report(&serving, || {
            format!(
                "{event} {}: {} index of {} x {}, version {}, on {}",
                self.index.display(),
                serving.mode,
                serving.n,
                serving.dim,
                serving.version,
                serving.address
            )
        })
    }
}
