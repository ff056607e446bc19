//! The work of SIGHUP: certificate, keys, rates and the log's level are read anew.

use super::Args;
use crate::config::Refused;
use crate::{Arguments, Command, Error, log};
use sordino_net::Running;

/// The command line and its files as they are now.
///
/// # Errors
/// Those of reading them.
pub(super) fn read() -> Result<Args, Error> {
    let arguments = Arguments::read(std::env::args_os()).map_err(|refused| match refused {
        Refused::Line(error) => Error::Usage(error.to_string().trim_end().to_owned()),
        Refused::File(error) => error,
    })?;
    match arguments.command {
        Command::Serve(args) => Ok(*args),
        // The words of the command line are those that this process was started with.
        _ => Err(Error::Usage("not `sordino serve`".to_owned())),
    }
}

impl Args {
    /// Puts into effect what `new` says otherwise than these arguments, as far as a running server can.
    /// Everything is read before anything is changed, so a mistake changes nothing.
    pub(super) fn change(&mut self, new: Self, running: &Running) -> Result<(), Error> {
        let (access, limits, identity) = (new.access()?, new.limits(), new.identity()?);
        let changed = running.change(&access, &limits, identity.as_ref());
        changed.map_err(Error::certificate(&new.certificate_files()))?;
        log::change(new.log_level);
        let fixed = self.fixed(&new);
        if !fixed.is_empty() {
            let options = fixed.join(", ");
            tracing::warn!(%options, "changed, and in effect from the next start");
        }
        // The others stay as they are in effect.
        self.clients = new.clients;
        (self.issuers, self.audience) = (new.issuers, new.audience);
        (self.cert, self.cert_key) = (new.cert, new.cert_key);
        self.rate = new.rate;
        self.rate_per_key = new.rate_per_key;
        self.rate_per_address = new.rate_per_address;
        self.log_level = new.log_level;
        Ok(())
    }

    /// The options that differ and that a running server does not change.
    fn fixed(&self, new: &Self) -> Vec<&'static str> {
        let options = [
            ("index", self.index != new.index),
            ("key", self.key != new.key),
            ("listen", self.listen != new.listen),
            ("metrics", self.metrics != new.metrics),
            ("plaintext", self.plaintext != new.plaintext),
            ("accept-changes", self.accept_changes != new.accept_changes),
            ("max-index", self.max_index != new.max_index),
            ("batch", self.batch != new.batch),
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
            ("threads", self.threads != new.threads),
        ];
        let differ = options.into_iter().filter(|(_, differs)| *differs);
        differ.map(|(name, _)| name).collect()
    }
}
