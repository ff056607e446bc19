//! The server's certificate.

use std::fmt;
use std::time::Duration;

use tonic::transport::{Server, ServerTlsConfig};

use crate::Error;

/// A certificate chain and the private key of its first certificate, in PEM.
#[derive(Clone)]
pub struct Identity(tonic::transport::Identity);

impl Identity {
    /// Takes the two files' contents. They are looked at when the service starts to listen.
    #[must_use]
    pub fn from_pem(chain: impl AsRef<[u8]>, key: impl AsRef<[u8]>) -> Self {
        Self(tonic::transport::Identity::from_pem(chain, key))
    }

    /// TLS for a server, with so much time for a handshake.
    pub(crate) fn configure(&self, builder: Server, handshake: Duration) -> Result<Server, Error> {
        let config = ServerTlsConfig::new()
            .identity(self.0.clone())
            .timeout(handshake);
        builder
            .tls_config(config)
            .map_err(|error| Error::Certificate(crate::error::chain(&error)))
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identity").finish_non_exhaustive()
    }
}
