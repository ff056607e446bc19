//! Changes of a service while it listens: the clients that may ask, the rates, and the certificate.

use super::super::certificate::CertificateInfo;
use super::super::identity::{Acceptor, Identity};
use super::Running;
use crate::{Access, Error, Limits};

impl<S> Running<S> {
    /// Changes the clients that may ask and the rates, as [`Service::change`](crate::Service::change) does, and the
    /// certificate if one is given. New connections get the new certificate; existing ones keep the old.
    ///
    /// # Errors
    /// The errors of [`Service::change`](crate::Service::change); [`Error::Certificate`] if the certificate cannot be used, or if there
    /// was none before. Nothing is changed then.
    pub fn change(
        &self,
        access: &Access,
        limits: &Limits,
        identity: Option<&Identity>,
    ) -> Result<(), Error> {
        let renewed = match identity {
            None => None,
            Some(identity) => Some((self.tls()?, identity.acceptor()?)),
        };
        self.shared.change(access, limits)?;
        if let Some((tls, new)) = renewed {
            tls.set(new);
            self.shared.metrics.certificate(tls.info().as_ref());
        }
        Ok(())
    }

    /// Changes the certificate alone: connections that come from now on get it.
    ///
    /// # Errors
    /// [`Error::Certificate`] if the certificate cannot be used, or if there was none before. Nothing is changed then.
    pub fn renew(&self, identity: &Identity) -> Result<(), Error> {
        let tls = self.tls()?;
        tls.set(identity.acceptor()?);
        self.shared.metrics.certificate(tls.info().as_ref());
        Ok(())
    }

    /// True if new connections get this certificate.
    #[must_use]
    pub fn has_identity(&self, identity: &Identity) -> bool {
        self.tls.as_ref().is_some_and(|tls| tls.has(identity))
    }

    /// The certificate that new connections get.
    #[must_use]
    pub fn certificate(&self) -> Option<CertificateInfo> {
        self.tls.as_ref()?.info()
    }

    fn tls(&self) -> Result<&Acceptor, Error> {
        let why = || "it listens without TLS: start it again with a certificate".to_owned();
        self.tls.as_ref().ok_or_else(|| Error::Certificate(why()))
    }
}
