//! The server's certificate.

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::{ServerConfig, version};
use zeroize::Zeroizing;

use super::certificate::{self, CertificateInfo};
use crate::Error;
use crate::protocol::{ALPN, ALPN_WEB};

/// A certificate chain and the private key of its first certificate, in PEM. Two identities are equal if their texts
/// are equal.
#[derive(Clone, PartialEq, Eq)]
pub struct Identity {
    chain: Vec<u8>,
    key: Arc<Zeroizing<Vec<u8>>>,
}

impl Identity {
    /// Takes the two files' contents. The service checks them when it starts to listen.
    #[must_use]
    pub fn from_pem(chain: impl AsRef<[u8]>, key: impl AsRef<[u8]>) -> Self {
        Self {
            chain: chain.as_ref().to_vec(),
            key: Arc::new(Zeroizing::new(key.as_ref().to_vec())),
        }
    }

    /// TLS 1.3 with this certificate, and no older version.
    pub(crate) fn acceptor(&self) -> Result<Secured, Error> {
        let wrong = |error: &dyn fmt::Display| Error::Certificate(error.to_string());
        let chain = certificate::chain(&self.chain)?;
        let own = chain[0].clone();
        let key = certificate::private_key(&self.key)?;
        let provider = Arc::new(ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&[&version::TLS13])
            .map_err(|error| wrong(&error))?
            .with_no_client_auth()
            .with_single_cert(chain.clone(), key.clone_key())
            .map_err(|error| certificate::refused(&chain, key, &provider, &error))?;
        // In the order in which the server prefers them.
        config.alpn_protocols = vec![ALPN.to_vec(), ALPN_WEB.to_vec()];
        Ok(Secured {
            acceptor: TlsAcceptor::from(Arc::new(config)),
            info: CertificateInfo::of(&own),
            identity: self.clone(),
        })
    }
}

/// TLS with one certificate.
#[derive(Clone)]
pub(crate) struct Secured {
    acceptor: TlsAcceptor,
    identity: Identity,
    info: Option<CertificateInfo>,
}

/// TLS with a certificate that can be changed: connections that come afterwards get the new one.
#[derive(Clone)]
pub(crate) struct Acceptor {
    current: Arc<RwLock<Secured>>,
}

impl Acceptor {
    pub(crate) fn new(identity: &Identity) -> Result<Self, Error> {
        let current = Arc::new(RwLock::new(identity.acceptor()?));
        Ok(Self { current })
    }

    /// The acceptor with the current certificate.
    pub(crate) fn current(&self) -> TlsAcceptor {
        let current = self.current.read();
        let current = current.unwrap_or_else(PoisonError::into_inner);
        current.acceptor.clone()
    }

    /// The current certificate.
    pub(crate) fn info(&self) -> Option<CertificateInfo> {
        let current = self.current.read();
        current.unwrap_or_else(PoisonError::into_inner).info.clone()
    }

    /// True if this is the current certificate.
    pub(crate) fn has(&self, identity: &Identity) -> bool {
        let current = self.current.read();
        let current = current.unwrap_or_else(PoisonError::into_inner);
        current.identity == *identity
    }

    /// Changes the certificate.
    pub(crate) fn set(&self, new: Secured) {
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
