//! A server that runs: following its index, and telling of it.

use super::{Args, reload};
use crate::{Error, Output};
use serde::Serialize;
use sordino_net::Running;
use sordino_search::manifest::Manifest;
use sordino_search::{Bytes, Disk, Files, OwnerPublicKey};
use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    time::Duration,
};

/// The pause before it tries again to open an index that is damaged.
const RETRY: Duration = Duration::from_secs(1);

/// Bytes of the file that names the newest version, at most.
const CURRENT_LEN: u64 = 1 << 10;

#[derive(Serialize)]
struct Serving {
    event: &'static str,
    /// The first of the addresses.
    address: SocketAddr,
    addresses: Vec<SocketAddr>,
    metrics: Option<SocketAddr>,
    index: String,
    version: u64,
    mode: &'static str,
    n: u32,
    dim: u32,
}

/// The file that names the newest version of an index.
pub(super) struct Current {
    path: PathBuf,
    /// Its content when that version was served, and when it could not be.
    seen: Option<Bytes>,
    failed: Option<Bytes>,
}

impl Current {
    /// The file as it is before the index is opened.
    pub(super) fn of(index: &Path) -> Self {
        let mut current = Self {
            path: index.join("CURRENT"),
            seen: None,
            failed: None,
        };
        current.seen = current.read();
        current
    }

    fn read(&self) -> Option<Bytes> {
        Files.read(&self.path, CURRENT_LEN).ok()
    }
}

/// A server that runs.
pub(super) struct Serve {
    pub(super) args: Args,
    pub(super) owner: OwnerPublicKey,
    pub(super) running: Running,
    pub(super) output: Output,
    pub(super) current: Current,
}

impl Serve {
    /// Serves the version that the folder has now, if it is another.
    pub(super) fn follow(&mut self) {
        let now = self.current.read();
        if now == self.current.seen || now.is_none() {
            return;
        }
        let service = self.running.service();
        match service.server().follow_dir(&self.args.index, &self.owner) {
            Ok(server) => {
                // One that was pushed here is served already.
                if server.manifest().digest() != service.server().manifest().digest() {
                    service.replace(server);
                }
                // Nobody may be reading any more, which is no reason to stop.
                let _ = self.say("following");
                self.current.seen = now;
            }
            // A damaged version is not served, the version before goes on. It is said once, and tried
            // again: a change that was made meanwhile may have removed what was being read.
            Err(error) if self.current.failed != now => {
                tracing::error!(%error, "the index cannot be followed; the version before is served on");
                self.current.failed = now;
            }
            Err(_) => std::thread::sleep(RETRY),
        }
    }

    /// Reads the configuration and the files that it names anew. With a mistake in them it stays as it is.
    pub(super) fn reload(&mut self) {
        let changed = reload::read().and_then(|new| self.args.change(new, &self.running));
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

    /// Says what an operator may not have meant.
    pub(super) fn warn(&self) {
        let mut addresses = self.running.addresses().iter();
        let open = addresses.find(|address| !address.ip().is_loopback());
        if let (true, Some(address)) = (self.args.anyone, open) {
            let tls = match self.args.plaintext {
                true => ", without TLS: --client lets in known keys only, and --cert brings TLS",
                false => ": --client lets in known keys only",
            };
            tracing::warn!("anyone who reaches {address} may ask{tls}");
        }
    }

    pub(super) fn say(&self, event: &'static str) -> Result<(), Error> {
        let service = self.running.service();
        let server = service.server();
        let manifest: &Manifest = server.manifest();
        let serving = Serving {
            event,
            address: self.running.address(),
            addresses: self.running.addresses().to_vec(),
            metrics: self.running.metrics_address(),
            index: hex::encode(manifest.index),
            version: manifest.version,
            mode: manifest.mode.kind().name(),
            n: manifest.n,
            dim: manifest.dim,
        };
        self.output.report(&serving, || {
            let addresses: Vec<String> = serving
                .addresses
                .iter()
                .map(SocketAddr::to_string)
                .collect();
            format!(
                "{event} {}: {} index of {} x {}, version {}, on {}",
                self.args.index.display(),
                serving.mode,
                serving.n,
                serving.dim,
                serving.version,
                addresses.join(" and ")
            )
        })
    }
}
