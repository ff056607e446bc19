//! A running server: it follows its index, reports on it, and acts on signals.

use crate::certificate::CertificateWatch;
use crate::config::Refused;
use crate::door::{Door, NewOptions};
use crate::{Arguments, Command, Error, Output, notify};
use serde::Serialize;
use signal_hook::consts::TERM_SIGNALS;
use signal_hook::iterator::Signals;
use sordino_net::{Exporter, Listen, Running};
use sordino_search::manifest::Manifest;
use std::{net::SocketAddr, time::Duration};

/// The time between two checks of the index and of the signals.
const TICK: Duration = Duration::from_millis(100);

/// The signals after which the configuration is read again.
#[cfg(unix)]
const RELOAD: &[i32] = &[signal_hook::consts::SIGHUP];
#[cfg(not(unix))]
const RELOAD: &[i32] = &[];

#[derive(Serialize)]
struct Serving {
    event: &'static str,
    /// The first address.
    address: SocketAddr,
    addresses: Vec<SocketAddr>,
    metrics: Option<SocketAddr>,
    #[serde(flatten)]
    served: Served,
}

/// What a server serves: one index, or several with their names.
#[derive(Serialize)]
#[serde(untagged)]
pub(crate) enum Served {
    One(Version),
    Several { indexes: Vec<Named> },
}

/// One of several indexes.
#[derive(Serialize)]
pub(crate) struct Named {
    pub(crate) name: String,
    #[serde(flatten)]
    pub(crate) version: Version,
}

/// The served version of an index.
#[derive(Serialize)]
pub(crate) struct Version {
    index: String,
    version: u64,
    mode: &'static str,
    n: u32,
    dim: u32,
}

impl Version {
    pub(crate) fn of(manifest: &Manifest) -> Self {
        Self {
            index: hex::encode(manifest.index),
            version: manifest.version,
            mode: manifest.mode.kind().name(),
            n: manifest.n,
            dim: manifest.dim,
        }
    }

    /// The text of the report.
    fn words(&self) -> String {
        let Self {
            mode,
            n,
            dim,
            version,
            ..
        } = self;
        format!("{mode} index of {n} x {dim}, version {version}")
    }
}

impl Served {
    /// The text of the report.
    fn words(&self) -> String {
        match self {
            Self::One(version) => version.words(),
            Self::Several { indexes } if indexes.is_empty() => "no index yet".to_owned(),
            Self::Several { indexes } => {
                let each = indexes.iter();
                let each = each.map(|it| format!("{}: {}", it.name, it.version.words()));
                each.collect::<Vec<_>>().join("; ")
            }
        }
    }
}

/// The signals that a server handles, collected from now on.
pub(crate) fn signals() -> Result<Signals, Error> {
    Ok(Signals::new(TERM_SIGNALS.iter().chain(RELOAD))?)
}

/// Calls `begin` to listen.
pub(crate) fn listen<S>(
    door: &Door,
    exporter: Option<Exporter>,
    begin: impl FnOnce(&Listen) -> Result<Running<S>, sordino_net::Error>,
) -> Result<Running<S>, Error> {
    let mut listen = door.listening()?;
    if let Some(exporter) = exporter {
        listen = listen.exporter(exporter);
    }
    let listening = begin(&listen);
    listening.map_err(Error::certificate(&door.certificate_files()))
}

/// The source of what a server serves, and the options of its command.
pub(crate) trait Source {
    /// A service with one index or with several.
    type Service;

    /// The options that all kinds of servers share.
    fn door(&mut self) -> &mut Door;

    /// The source's name in reports.
    fn name(&self) -> String;

    /// Serves the current version, if it is a new one. Returns true if it is.
    fn follow(&mut self, service: &Self::Service) -> bool;

    /// The current version, or the current versions.
    fn served(&self, service: &Self::Service) -> Served;

    /// The new options, if `command` is the same command.
    fn new_options(&self, command: Command) -> Option<NewOptions>;
}

/// The command line and its configuration files, read again.
fn command() -> Result<Command, Error> {
    let arguments = Arguments::read(std::env::args_os()).map_err(|refused| match refused {
        Refused::Line(error) => Error::Usage(error.to_string().trim_end().to_owned()),
        Refused::File(error) => error,
    })?;
    Ok(arguments.command)
}

/// A running server.
pub(crate) struct Serve<S: Source> {
    source: S,
    running: Running<S::Service>,
    output: Output,
}

impl<S: Source> Serve<S> {
    pub(crate) fn new(source: S, running: Running<S::Service>, output: Output) -> Self {
        Self {
            source,
            running,
            output,
        }
    }

    /// Serves until a signal tells the process to stop.
    pub(crate) fn run(mut self, mut signals: Signals) -> Result<(), Error> {
        self.say("serving")?;
        self.warn();
        let mut certificate = CertificateWatch::new();
        certificate.warn(&self.running);
        tracing::info!(address = %self.running.address(), "ready");
        notify::ready();
        loop {
            for signal in signals.pending() {
                if !RELOAD.contains(&signal) {
                    tracing::info!("stopping");
                    notify::stopping();
                    return Ok(self.running.stop()?);
                }
                self.reload();
                certificate.warn(&self.running);
            }
            std::thread::sleep(TICK);
            if certificate.follow(self.source.door(), &self.running) {
                let _ = self.say("renewed");
            }
            if self.source.follow(self.running.service()) {
                // The output may have no reader any more. The server continues.
                let _ = self.say("following");
            }
        }
    }

    /// Reads the configuration and the files that it names again. If one of them has a mistake, the old configuration
    /// stays.
    fn reload(&mut self) {
        let changed = command().and_then(|command| {
            // The command line's words are the ones with which this process was started.
            let other = || Error::Usage("not the command that was started".to_owned());
            let new = self.source.new_options(command).ok_or_else(other)?;
            self.source.door().change(new, &self.running)
        });
        match changed {
            Ok(()) => {
                tracing::info!("configuration reloaded");
                self.warn();
                let _ = self.say("reloaded");
            }
            Err(error) => {
                tracing::error!(%error, "the configuration is not reloaded; the one before stays");
            }
        }
    }

    /// Warns of settings that the operator may not want.
    fn warn(&mut self) {
        let mut addresses = self.running.addresses().iter();
        let open = addresses.find(|address| !address.ip().is_loopback());
        let door = self.source.door();
        if let (true, Some(address)) = (door.is_open(), open) {
            let tls = match door.is_plain() {
                true => ", without TLS: --client lets in known keys only, and --cert brings TLS",
                false => ": --client lets in known keys only",
            };
            tracing::warn!("anyone who reaches {address} may ask{tls}");
        }
    }

    fn say(&self, event: &'static str) -> Result<(), Error> {
        let serving = Serving {
            event,
            address: self.running.address(),
            addresses: self.running.addresses().to_vec(),
            metrics: self.running.metrics_address(),
            served: self.source.served(self.running.service()),
        };
        self.output.report(&serving, || {
            let addresses: Vec<String> = serving
                .addresses
                .iter()
                .map(SocketAddr::to_string)
                .collect();
            format!(
                "{event} {}: {}, on {}",
                self.source.name(),
                serving.served.words(),
                addresses.join(" and ")
            )
        })
    }
}
