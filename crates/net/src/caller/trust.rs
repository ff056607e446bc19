//! TLS at the client: the certificates that it trusts.

use std::io;

#[cfg(feature = "tls")]
pub(crate) use with_tls::Tls;

#[cfg(not(feature = "tls"))]
pub(crate) use without::Tls;

use super::byte_count::{CountedStream, Line};

#[cfg(feature = "tls")]
mod with_tls {
    use std::sync::Arc;

    use tokio_rustls::TlsConnector;
    use tokio_rustls::rustls::crypto::ring;
    use tokio_rustls::rustls::pki_types::pem::PemObject;
    use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
    use tokio_rustls::rustls::{ClientConfig, RootCertStore, version};

    use super::{CountedStream, Line, io};
    use crate::Error;
    use crate::protocol::ALPN;

    /// TLS 1.3 with a server of one name.
    #[derive(Clone)]
    pub(crate) struct Tls {
        connector: TlsConnector,
        name: ServerName<'static>,
    }

    impl Tls {
        /// Trusts the given certificates, or else the certificates that this system trusts.
        pub(crate) fn new(roots: Option<&[u8]>, name: &str) -> Result<Self, Error> {
            let wrong = |why: String| Error::Certificate(why);
            let roots = match roots {
                Some(pem) => given(pem)?,
                None => of_the_system()?,
            };
            // An IPv6 address stands in brackets.
            let name = name.trim_start_matches('[').trim_end_matches(']');
            let name = ServerName::try_from(name.to_owned())
                .map_err(|_| wrong(format!("{name:?} is not a server's name")))?;
            let provider = Arc::new(ring::default_provider());
            let mut config = ClientConfig::builder_with_provider(provider)
                .with_protocol_versions(&[&version::TLS13])
                .map_err(|error| wrong(error.to_string()))?
                .with_root_certificates(roots)
                .with_no_client_auth();
            config.alpn_protocols = vec![ALPN.to_vec()];
            Ok(Self {
                connector: TlsConnector::from(Arc::new(config)),
                name,
            })
        }

        pub(crate) async fn connect(&self, tcp: CountedStream) -> io::Result<Box<dyn Line>> {
            let stream = self.connector.connect(self.name.clone(), tcp).await?;
            Ok(Box::new(stream))
        }
    }

    fn given(pem: &[u8]) -> Result<RootCertStore, Error> {
        let wrong = |why: String| Error::Certificate(format!("root certificates: {why}"));
        let mut roots = RootCertStore::empty();
        for root in CertificateDer::pem_slice_iter(pem) {
            let root = root.map_err(|error| wrong(error.to_string()))?;
            roots.add(root).map_err(|error| wrong(error.to_string()))?;
        }
        if roots.is_empty() {
            return Err(wrong("there is none in PEM".to_owned()));
        }
        Ok(roots)
    }

    fn of_the_system() -> Result<RootCertStore, Error> {
        let found = rustls_native_certs::load_native_certs();
        let mut roots = RootCertStore::empty();
        // A system's store may contain certificates that cannot be read; the others can be used.
        roots.add_parsable_certificates(found.certs);
        if roots.is_empty() {
            let why = found.errors.first();
            let why = why.map_or(String::new(), |error| format!(" ({error})"));
            let text = format!("this system has no root certificates{why}: give some in PEM");
            return Err(Error::Certificate(text));
        }
        Ok(roots)
    }
}

#[cfg(not(feature = "tls"))]
mod without {
    use super::{CountedStream, Line, io};

    /// This build has no TLS.
    #[derive(Clone)]
    pub(crate) enum Tls {}

    impl Tls {
        pub(crate) async fn connect(&self, _: CountedStream) -> io::Result<Box<dyn Line>> {
            match *self {}
        }
    }
}
