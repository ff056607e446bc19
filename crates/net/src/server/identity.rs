//! The server's certificate.

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{ServerConfig, version};
use zeroize::Zeroizing;

use crate::Error;
use crate::protocol::ALPN;

/// A certificate chain and the private key of its first certificate, in PEM.
#[derive(Clone)]
pub struct Identity {
    chain: Vec<u8>,
    key: Arc<Zeroizing<Vec<u8>>>,
}

impl Identity {
    /// Takes the two files' contents. They are looked at when the service starts to listen.
    #[must_use]
    pub fn from_pem(chain: impl AsRef<[u8]>, key: impl AsRef<[u8]>) -> Self {
        Self {
            chain: chain.as_ref().to_vec(),
            key: Arc::new(Zeroizing::new(key.as_ref().to_vec())),
        }
    }

    /// TLS 1.3 with this certificate, and no older version.
    pub(crate) fn acceptor(&self) -> Result<TlsAcceptor, Error> {
        let wrong = |error: &dyn fmt::Display| Error::Certificate(error.to_string());
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&self.chain).collect();
        let chain = chain.map_err(|error| wrong(&format_args!("the chain: {error}")))?;
        if chain.is_empty() {
            return Err(wrong(&"the chain has no certificate in PEM"));
        }
        let key = PrivateKeyDer::from_pem_slice(&self.key)
            .map_err(|error| wrong(&format_args!("the private key: {error}")))?;
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_protocol_versions(&[&version::TLS13])
            .map_err(|error| wrong(&error))?
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .map_err(|error| wrong(&error))?;
        config.alpn_protocols = vec![ALPN.to_vec()];
        Ok(TlsAcceptor::from(Arc::new(config)))
    }
}

/// TLS with a certificate that can be changed: connections that come afterwards get the new one.
#[derive(Clone)]
pub(crate) struct Acceptor {
    current: Arc<RwLock<TlsAcceptor>>,
}

impl Acceptor {
    pub(crate) fn new(identity: &Identity) -> Result<Self, Error> {
        let current = Arc::new(RwLock::new(identity.acceptor()?));
        Ok(Self { current })
    }

    /// With the certificate as it is now.
    pub(crate) fn current(&self) -> TlsAcceptor {
        let current = self.current.read();
        current.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Changes the certificate.
    pub(crate) fn set(&self, new: TlsAcceptor) {
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = new;
    }
}

impl fmt::Debug for Acceptor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Acceptor").finish_non_exhaustive()
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identity").finish_non_exhaustive()
    }
}
