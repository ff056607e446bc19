//! The options of whatever answers clients on a network: addresses, certificate, who may ask, bounds, log.

use crate::host::Host;
use crate::origin_args::OriginArgs;
use crate::{Error, keys, log, numbers, times};
use clap::{ArgGroup, Args as ClapArgs};
use sordino_net::{Access, ClientPublicKey, Exporter, Identity, KeyKind, Limits, Listen, Running};
use sordino_token::PublicKey;
use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};
use zeroize::Zeroizing;

/// Options of `sordino serve` and `sordino gather`.
#[derive(ClapArgs, Debug)]
#[command(group(ArgGroup::new("protection").args(["cert", "plaintext"]).required(true)))]
#[command(group(ArgGroup::new("askers").args(["clients", "issuers", "audience", "anyone"]).required(true).multiple(true)))]
pub(crate) struct Door {
    /// The address to listen on, HOST:PORT; port 0 for one that is free. A name stands for all its
    /// addresses, and `:7700` for all of this machine's. May be given several times.
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
    #[arg(long, conflicts_with_all = ["clients", "issuers", "audience"])]
    anyone: bool,
    /// Answer holders of tokens that this issuer signed, by its public key, as far as they allow it; may be given several times.
    #[arg(
        long = "issuer",
        value_name = "ISSUER_PUBLIC_KEY",
        requires = "audience"
    )]
    issuers: Vec<PathBuf>,
    /// The name by which tokens are for this server. Without an issuer no token is accepted.
    #[arg(long, value_name = "NAME")]
    audience: Option<String>,
    /// The time by which the clocks of issuers of tokens and this server may differ.
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = times::leeway)]
    leeway: u64,
    #[command(flatten)]
    pages: OriginArgs,
    /// Give metrics out on this address, in the clear, at /metrics; there /healthz says that the process
    /// lives, and /readyz that it serves.
    #[arg(long, value_name = "ADDRESS", value_parser = Host::read)]
    metrics: Option<Host>,
    /// Connections at a time. Where all are taken by known keys, the one that has the most gives its newest up for a newcomer's.
    #[arg(long, default_value_t = 512, value_parser = numbers::some)]
    max_connections: usize,
    /// Connections at a time of one address; for IPv6, of one network of 64 bits. Behind a proxy all
    /// clients share its address.
    #[arg(long, default_value_t = 256, value_parser = numbers::some)]
    max_connections_per_address: usize,
    /// Requests per second, of all clients together.
    #[arg(long, default_value_t = 1000.0, value_parser = numbers::rate)]
    rate: f64,
    /// Requests per second of one client key.
    #[arg(long, default_value_t = 100.0, value_parser = numbers::rate)]
    rate_per_key: f64,
    /// Requests per second of one address: with --anyone of all, else of those that prove no key, beside the first two of each connection.
    #[arg(long, default_value_t = 500.0, value_parser = numbers::rate)]
    rate_per_address: f64,
    /// Requests answered at a time. A client, or an address with --anyone, gets another place as long
    /// as it has fewer than are free; with --root an index does, and a client as long as it has fewer than the index could still take: one alone a quarter.
    #[arg(long, default_value_t = 64, value_parser = numbers::some)]
    max_in_flight: usize,
    /// The form of the log on standard error.
    #[arg(long, value_enum, default_value = "text")]
    log: log::Form,
    /// The least important events of the log; without this RUST_LOG says it, or else it is `info`.
    #[arg(long, value_enum, value_name = "LEVEL")]
    log_level: Option<log::Level>,
}

impl Door {
    /// The form of the log, and its level if that is set.
    pub(crate) fn log(&self) -> (log::Form, Option<log::Level>) {
        (self.log, self.log_level)
    }

    /// True if whoever asks is answered.
    pub(crate) fn is_open(&self) -> bool {
        self.anyone
    }

    /// True if there is no TLS.
    pub(crate) fn is_plain(&self) -> bool {
        self.plaintext
    }

    /// Opens the port of metrics, which says until something is served that nothing is.
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

    /// The certificate, if there is to be one.
    pub(crate) fn identity(&self) -> Result<Option<Identity>, Error> {
        let (Some(cert), Some(key)) = (&self.cert, &self.cert_key) else {
            return Ok(None);
        };
        let chain = fs::read(cert).map_err(Error::at(cert))?;
        let key = Zeroizing::new(fs::read(key).map_err(Error::at(key))?);
        Ok(Some(Identity::from_pem(chain, &*key)))
    }

    pub(crate) fn certificate_files(&self) -> Vec<&Path> {
        let files = [&self.cert, &self.cert_key].into_iter();
        files.filter_map(Option::as_deref).collect()
    }

    /// Puts into effect what `new` says otherwise than these arguments, as far as a running server can.
    /// Everything is read before anything is changed, so a mistake changes nothing.
    pub(crate) fn change<S>(&mut self, new: Anew, running: &Running<S>) -> Result<(), Error> {
        let Anew {
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
        // The others stay as they are in effect.
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

    /// The options that differ and that a running server does not change.
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

/// Says that everybody on this machine can read the certificate's key.
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

/// The public key of a client. Its secret, by which anybody asks in its name, has no use where the server is.
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

/// The options of a command line that was read anew.
pub(crate) struct Anew {
    pub(crate) door: Door,
    pub(crate) limits: Limits,
    /// The names of others that differ.
    pub(crate) others: Vec<&'static str>,
}

/// The names of options that differ.
pub(crate) fn differing<const N: usize>(options: [(&'static str, bool); N]) -> Vec<&'static str> {
    let differ = options.into_iter().filter(|(_, differs)| *differs);
    differ.map(|(name, _)| name).collect()
}
