//! The options of servers: addresses, certificate, clients, limits, log.

use crate::host::Host;
use crate::origin_args::OriginArgs;
use crate::{Error, key_source, keys, log, numbers, times};
use clap::{ArgGroup, Args as ClapArgs};
use sordino_net::{Access, ClientPublicKey, Exporter, Identity, KeyKind, Limits, Listen, Running};
use sordino_token::PublicKey;
use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};
use zeroize::Zeroizing;

/// The headings of groups of options in `--help`.
const CONNECTIONS: &str = "Address and TLS";
const CLIENTS: &str = "Who may ask";
pub(crate) const LIMITS: &str = "Limits";
const LOG: &str = "Log and metrics";

/// Options of `sordino serve` and `sordino gather`.
#[derive(ClapArgs, Debug)]
#[command(group(ArgGroup::new("protection").args(["cert", "plaintext"]).required(true)))]
#[command(group(ArgGroup::new("askers").args(["clients", "issuers", "audience", "anyone"]).required(true).multiple(true)))]
pub(crate) struct Door {
    /// Listen on this address, HOST:PORT. Port 0 takes a free port. A name stands for all its addresses, and `:7700`
    /// for all addresses of this machine. May be given several times.
    #[arg(help_heading = CONNECTIONS, long, value_name = "ADDRESS", default_value = "127.0.0.1:7700", value_parser = Host::read)]
    listen: Vec<Host>,
    /// The server's certificate chain, in PEM.
    #[arg(help_heading = CONNECTIONS, long, value_name = "PEM", requires = "cert_key")]
    cert: Option<PathBuf>,
    /// The certificate's private key, in PEM.
    #[arg(help_heading = CONNECTIONS, long, value_name = "PEM", requires = "cert")]
    cert_key: Option<PathBuf>,
    /// Listen without TLS: for this machine alone, or behind a proxy that has TLS.
    #[arg(help_heading = CONNECTIONS, long, conflicts_with_all = ["cert", "cert_key"])]
    plaintext: bool,
    /// Answer the client with this public key. May be given several times.
    #[arg(help_heading = CLIENTS, long = "client", value_name = "CLIENT_PUBLIC_KEY")]
    clients: Vec<PathBuf>,
    /// Answer anyone. Without a reader's key the answers are of no use, but each costs the server work.
    #[arg(help_heading = CLIENTS, long, conflicts_with_all = ["clients", "issuers", "audience"])]
    anyone: bool,
    /// Answer holders of tokens that this issuer signed, within what each token allows. Names the issuer's public key.
    /// May be given several times.
    #[arg(help_heading = CLIENTS, long = "issuer",
        value_name = "ISSUER_PUBLIC_KEY",
        requires = "audience"
    )]
    issuers: Vec<PathBuf>,
    /// The audience that tokens for this server name. Without an issuer no token is accepted.
    #[arg(help_heading = CLIENTS, long, value_name = "NAME")]
    audience: Option<String>,
    /// The time by which the clocks of token issuers and of this server may differ.
    #[arg(help_heading = CLIENTS, long, value_name = "TIME", default_value = "0s", value_parser = times::leeway)]
    leeway: u64,
    #[command(flatten)]
    pages: OriginArgs,
    /// Serve metrics on this address, in the clear, at /metrics. There /healthz says that the process lives, and
    /// /readyz that it serves.
    #[arg(help_heading = LOG, long, value_name = "ADDRESS", value_parser = Host::read)]
    metrics: Option<Host>,
    /// Most connections at a time. When known keys hold all of them, the key that has the most gives up its newest to a
    /// newcomer.
    #[arg(help_heading = LIMITS, long, default_value_t = 512, value_parser = numbers::some)]
    max_connections: usize,
    /// Most connections at a time from one address; for IPv6, from one network of 64 bits. Behind a proxy all clients
    /// share its address.
    #[arg(help_heading = LIMITS, long, default_value_t = 256, value_parser = numbers::some)]
    max_connections_per_address: usize,
    /// Requests per second of all clients together.
    #[arg(help_heading = LIMITS, long, default_value_t = 1000.0, value_parser = numbers::rate)]
    rate: f64,
    /// Requests per second of one client key.
    #[arg(help_heading = LIMITS, long, default_value_t = 100.0, value_parser = numbers::rate)]
    rate_per_key: f64,
    /// Requests per second from one address. With --anyone this covers all requests. Otherwise it covers clients that
    /// prove no key, after the first two requests of each connection.
    #[arg(help_heading = LIMITS, long, default_value_t = 500.0, value_parser = numbers::rate)]
    rate_per_address: f64,
    /// Most requests in progress at a time. A client, or with --anyone an address, gets another place while it holds
    /// fewer than are free. With --root this holds for each index. Inside an index, a client gets another place while
    /// it holds fewer than the index can still take. One client alone thus gets a quarter.
    #[arg(help_heading = LIMITS, long, default_value_t = 64, value_parser = numbers::some)]
    max_in_flight: usize,
    /// The format of the log on standard error.
    #[arg(help_heading = LOG, long, value_enum, default_value = "text")]
    log: log::Form,
    /// The least important events to log. The default is RUST_LOG, or else `info`.
    #[arg(help_heading = LOG, long, value_enum, value_name = "LEVEL")]
    log_level: Option<log::Level>,
}

impl Door {
    /// The form of the log, and its level if that is set.
    pub(crate) fn log(&self) -> (log::Form, Option<log::Level>) {
        (self.log, self.log_level)
    }

    /// True if the server answers anyone.
    pub(crate) fn is_open(&self) -> bool {
        self.anyone
    }

    /// True if there is no TLS.
    pub(crate) fn is_plain(&self) -> bool {
        self.plaintext
    }

    /// Opens the metrics port. Until an index is served, the port reports that there is none.
    pub(crate) fn exporter(&self) -> Result<Option<Exporter>, Error> {
        let exporter = self.metrics.as_ref();
        let exporter = exporter.map(|host| Exporter::open(host.first()));
        Ok(exporter.transpose()?)
    }

    pub(crate) fn access(&self) -> Result<Access, Error> {
        if self.anyone {
            return Ok(Access::Anyone);
        }
        let keys = self.clients.iter().map(|path| client(path));
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

    pub(crate) fn limits(&self) -> Limits {
        Limits::default()
            .connections(self.max_connections)
            .per_address(self.max_connections_per_address)
            .rate(self.rate)
            .rate_per_key(self.rate_per_key)
            .rate_per_address(self.rate_per_address)
            .in_flight(self.max_in_flight)
            .leeway(Duration::from_secs(self.leeway))
    }

    pub(crate) fn listening(&self) -> Result<Listen, Error> {
        let mut addresses = Vec::new();
        for host in &self.listen {
            addresses.extend(host.here()?);
        }
        let mut addresses = addresses.into_iter();
        let first = addresses.next().unwrap_or(self.listen[0].first());
        let listen = addresses.fold(Listen::on(first), Listen::also_on);
        let origins = self.pages.origins.iter().cloned();
        let mut listen = origins.fold(listen, Listen::allow_origin);
        if let Some(identity) = self.identity()? {
            if let Some(key) = &self.cert_key {
                warn_if_exposed(key);
            }
            listen = listen.tls(identity);
        }
        Ok(listen)
    }

    /// The certificate, if one is given.
    pub(crate) fn identity(&self) -> Result<Option<Identity>, Error> {
        let (Some(cert), Some(key)) = (&self.cert, &self.cert_key) else {
            return Ok(None);
        };
        if !key_source::is_file(key) {
            let why = "--cert-key: expected a file, which the server reads again when the certificate is renewed: write the key \
                to one that the server alone can read";
            return Err(Error::Arguments(why.to_owned()));
        }
        let chain = fs::read(cert).map_err(Error::at(cert))?;
        let key = Zeroizing::new(fs::read(key).map_err(Error::at(key))?);
        Ok(Some(Identity::from_pem(chain, &*key)))
    }

    pub(crate) fn certificate_files(&self) -> Vec<&Path> {
        let files = [&self.cert, &self.cert_key].into_iter();
        files.filter_map(Option::as_deref).collect()
    }

    /// Applies the options of `new` that differ from these arguments, as far as a running server can.
    /// All files are read before anything changes, so a mistake changes nothing.
    pub(crate) fn change<S>(&mut self, new: NewOptions, running: &Running<S>) -> Result<(), Error> {
        let NewOptions {
            door: new,
            limits,
            mut others,
        } = new;
        let (access, identity) = (new.access()?, new.identity()?);
        let changed = running.change(&access, &limits, identity.as_ref());
        changed.map_err(Error::certificate(&new.certificate_files()))?;
        log::change(new.log_level);
        others.extend(self.fixed(&new));
        if !others.is_empty() {
            let options = others.join(", ");
            tracing::warn!(%options, "changed, and in effect from the next start");
        }
        // The other options stay in effect.
        self.clients = new.clients;
        (self.issuers, self.audience) = (new.issuers, new.audience);
        (self.cert, self.cert_key) = (new.cert, new.cert_key);
        self.leeway = new.leeway;
        self.rate = new.rate;
        self.rate_per_key = new.rate_per_key;
        self.rate_per_address = new.rate_per_address;
        self.log_level = new.log_level;
        Ok(())
    }

    /// The names of options that differ and that a running server cannot change.
    fn fixed(&self, new: &Self) -> Vec<&'static str> {
        let options = [
            ("listen", self.listen != new.listen),
            ("metrics", self.metrics != new.metrics),
            ("plaintext", self.plaintext != new.plaintext),
            ("allow-origin", self.pages != new.pages),
            ("max-in-flight", self.max_in_flight != new.max_in_flight),
            (
                "max-connections",
                self.max_connections != new.max_connections,
            ),
            (
                "max-connections-per-address",
                self.max_connections_per_address != new.max_connections_per_address,
            ),
            ("log", self.log != new.log),
        ];
        differing(options)
    }
}

/// Warns if every user of this machine can read the certificate's key.
#[cfg(unix)]
fn warn_if_exposed(key: &Path) {
    use std::os::unix::fs::PermissionsExt;
    let mode = fs::metadata(key).map_or(0, |data| data.permissions().mode());
    if mode & 0o004 != 0 {
        tracing::warn!(
            "others can read the certificate's key in {}: chmod 640 it, or give a cluster's secret defaultMode 0440",
            key.display()
        );
    }
}

#[cfg(not(unix))]
fn warn_if_exposed(_: &Path) {}

/// The public key of a client. The client's secret is refused: it is not needed at the server, and anyone who
/// has it can send requests in the client's name.
fn client(path: &Path) -> Result<ClientPublicKey, Error> {
    let file = keys::read(path)?;
    if file.kind().is_secret() {
        return Err(Error::KeyKind {
            path: path.to_owned(),
            found: file.kind().described(),
            expected: "a client's public key, since a server must have no secret: `sordino keys new client-public \
                       client.pub --from client.key` makes it",
        });
    }
    keys::client_public(path)
}

/// The public key of an issuer. The issuer's secret is refused: it must not be at the server,
/// because it gives anyone access.
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

/// The options of a command line that was read again.
pub(crate) struct NewOptions {
    pub(crate) door: Door,
    pub(crate) limits: Limits,
    /// The names of other options that differ.
    pub(crate) others: Vec<&'static str>,
}

/// The names of options that differ.
pub(crate) fn differing<const N: usize>(options: [(&'static str, bool); N]) -> Vec<&'static str> {
    let differ = options.into_iter().filter(|(_, differs)| *differs);
    differ.map(|(name, _)| name).collect()
}
