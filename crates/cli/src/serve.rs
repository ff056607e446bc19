//! `sordino serve`: an index, to clients on a network.

mod reload;
mod running;

use crate::host::Host;
use crate::{Error, Output, keys, log, notify, numbers};
use clap::{ArgGroup, Args as ClapArgs};
use running::{Current, Serve};
use signal_hook::consts::TERM_SIGNALS;
use signal_hook::iterator::Signals;
use sordino_net::{Access, Exporter, Identity, KeyKind, Limits, Listen, Service};
use sordino_search::{OwnerPublicKey, Server};
use sordino_token::PublicKey;
use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};
use zeroize::Zeroizing;

/// The pause between looks at the index, which may have changed, and at the signals.
const TICK: Duration = Duration::from_millis(100);

/// The signals upon which the configuration is read anew.
#[cfg(unix)]
const RELOAD: &[i32] = &[signal_hook::consts::SIGHUP];
#[cfg(not(unix))]
const RELOAD: &[i32] = &[];

/// Arguments of `sordino serve`.
#[derive(ClapArgs, Debug)]
#[command(after_help = EXAMPLES, allow_negative_numbers = true)]
#[command(group(ArgGroup::new("protection").args(["cert", "plaintext"]).required(true)))]
#[command(group(ArgGroup::new("askers").args(["clients", "issuers", "anyone"]).required(true).multiple(true)))]
pub struct Args {
    /// The index.
    #[arg(value_name = "INDEX")]
    index: PathBuf,
    /// The owner's public key: an index that the owner did not sign is not served.
    #[arg(long, value_name = "PUBLIC_KEY")]
    key: PathBuf,
    /// Options from this file, in TOML: `listen = "localhost:7700"`, `anyone = true`, `client = ["a.pub"]`.
    /// What the command line says comes first. Files are named from where the server is started.
    #[arg(long, value_name = "TOML")]
    config: Option<PathBuf>,
    /// The address to listen on, HOST:PORT; port 0 for one that is free. A name stands for all its
    /// addresses. May be given several times.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7700", value_parser = Host::read)]
    listen: Vec<Host>,
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
    #[arg(long, conflicts_with_all = ["clients", "issuers"])]
    anyone: bool,
    /// Answer holders of tokens that this issuer signed, by its public key, as far as they allow it; may be given several times.
    #[arg(
        long = "issuer",
        value_name = "ISSUER_PUBLIC_KEY",
        requires = "audience"
    )]
    issuers: Vec<PathBuf>,
    /// The name by which tokens are for this server.
    #[arg(long, value_name = "NAME", requires = "issuers")]
    audience: Option<String>,
    /// Give metrics out on this address, in the clear, at /metrics; there /healthz says that the process
    /// lives, and /readyz that it serves.
    #[arg(long, value_name = "ADDRESS", value_parser = Host::read)]
    metrics: Option<Host>,
    /// Let the owner change the index over the network, with `sordino index push`: the folder is written by
    /// this server alone then, and each step is signed with the owner's secret key.
    #[arg(long)]
    accept_changes: bool,
    /// The most that an index may have that is pushed, in MiB.
    #[arg(long, value_name = "MIB", default_value_t = 16384, value_parser = numbers::some, requires = "accept_changes")]
    max_index: usize,
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
    /// The form of the log on standard error.
    #[arg(long, value_enum, default_value = "text")]
    log: log::Form,
    /// The least important events of the log; without this RUST_LOG says it, or else it is `info`.
    #[arg(long, value_enum, value_name = "LEVEL")]
    log_level: Option<log::Level>,
    /// Threads that scan; 0: all processors.
    #[arg(long, default_value_t = 0, value_parser = numbers::threads)]
    threads: usize,
}

const EXAMPLES: &str = "\
Examples:
  sordino serve base.index --key owner.pub --plaintext --anyone
  sordino serve base.index --key owner.pub --listen 0.0.0.0:7700 --cert chain.pem --cert-key key.pem \\
      --client alice.pub --client bob.pub --metrics 127.0.0.1:9100

  sordino serve --config sordino.toml

The server needs no secret of the owner. It prints a line when it listens. It follows the index: when
that is changed, the new version is served, and queries about the old one are made anew. At SIGHUP it
reads certificate, clients' keys, rates and the log's level anew, from --config and the files themselves;
if there is a mistake in them, it says so and goes on as before. It stops at SIGTERM or Ctrl-C, after
what is being answered.";

/// Runs `sordino serve`, until it is told to stop.
///
/// # Errors
/// If the index is not the owner's or is damaged, or an address cannot be listened on.
pub fn run(args: Args, output: Output) -> Result<(), Error> {
    let owner = owner(&args.key)?;
    if args.threads > 0 {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(args.threads);
        let built = pool.build_global();
        built.map_err(|error| Error::Arguments(error.to_string()))?;
    }
    // Before anything listens, so that a signal is not lost.
    let mut signals = Signals::new(TERM_SIGNALS.iter().chain(RELOAD))?;
    // Open while the index is loaded, so that whoever asks is told that it is not ready.
    let exporter = args.metrics.as_ref();
    let exporter = exporter.map(|host| Exporter::open(host.first()));
    let exporter = exporter.transpose()?;
    let current = Current::of(&args.index);
    let named = Error::index(&args.index);
    let server = Server::open_dir(&args.index, &owner).map_err(&named)?;
    let service = Service::new(server, &args.access()?, args.limits())?;
    if args.accept_changes {
        let most = (args.max_index as u64) << 20;
        let accepting = service.accept_changes(&args.index, &owner, most);
        accepting.map_err(&named)?;
    }
    let mut listen = args.listening()?;
    if let Some(exporter) = exporter {
        listen = listen.exporter(exporter);
    }
    let listening = service.listen(&listen);
    let running = listening.map_err(Error::certificate(&args.certificate_files()))?;
    let mut serving = Serve {
        args,
        owner,
        running,
        output,
        current,
    };
    serving.say("serving")?;
    serving.warn();
    tracing::info!(address = %serving.running.address(), "ready");
    notify::ready();
    loop {
        for signal in signals.pending() {
            if !RELOAD.contains(&signal) {
                tracing::info!("stopping");
                notify::stopping();
                return Ok(serving.running.stop()?);
            }
            serving.reload();
        }
        std::thread::sleep(TICK);
        serving.follow();
    }
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

/// The public key of an issuer. Its secret, which lets anybody in, must not be where the server is.
fn issuer(path: &Path) -> Result<PublicKey, Error> {
    let file = keys::read(path)?;
    if file.kind() == KeyKind::Issuer {
        return Err(Error::KeyKind {
            path: path.to_owned(),
            found: file.kind().described(),
            expected: "the issuer's public key, since a server must have no secret: `sordino keys new issuer-public \
                       issuer.pub --from issuer.key` makes it",
        });
    }
    keys::issuer_public(path)
}

impl Args {
    /// The form of the log, and its level if that is set.
    #[must_use]
    pub fn log(&self) -> (log::Form, Option<log::Level>) {
        (self.log, self.log_level)
    }

    fn access(&self) -> Result<Access, Error> {
        if self.anyone {
            return Ok(Access::Anyone);
        }
        let keys = self.clients.iter().map(|path| keys::client_public(path));
        let keys = keys.collect::<Result<_, _>>()?;
        let Some(audience) = self.audience.clone() else {
            return Ok(Access::Keys(keys));
        };
        let issuers = self.issuers.iter().map(|path| issuer(path));
        Ok(Access::Tokens {
            keys,
            audience,
            issuers: issuers.collect::<Result<_, _>>()?,
        })
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
        let mut addresses = Vec::new();
        for host in &self.listen {
            addresses.extend(host.here()?);
        }
        let mut addresses = addresses.into_iter();
        let first = addresses.next().unwrap_or(self.listen[0].first());
        let mut listen = addresses.fold(Listen::on(first), Listen::also_on);
        if let Some(identity) = self.identity()? {
            listen = listen.tls(identity);
        }
        Ok(listen)
    }

    /// The certificate, if there is to be one.
    fn identity(&self) -> Result<Option<Identity>, Error> {
        let (Some(cert), Some(key)) = (&self.cert, &self.cert_key) else {
            return Ok(None);
        };
        let chain = fs::read(cert).map_err(Error::at(cert))?;
        let key = Zeroizing::new(fs::read(key).map_err(Error::at(key))?);
        Ok(Some(Identity::from_pem(chain, &*key)))
    }

    fn certificate_files(&self) -> Vec<&Path> {
        let files = [&self.cert, &self.cert_key].into_iter();
        files.filter_map(Option::as_deref).collect()
    }
}
