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
    use crate::pem::{fault, has, unlike};
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

    /// Roots in PEM, or one in DER.
    fn given(bytes: &[u8]) -> Result<RootCertStore, Error> {
        let wrong =
            |why: String| Error::Certificate(format!("the file of root certificates {why}"));
        if let Some(unlike) = unlike(bytes) {
            return Err(wrong(unlike.to_owned()));
        }
        let mut roots = RootCertStore::empty();
        // DER begins with the sign of a sequence, and PEM with a text.
        if bytes.starts_with(&[0x30]) && roots.add(CertificateDer::from(bytes.to_vec())).is_ok() {
            return Ok(roots);
        }
        for root in CertificateDer::pem_slice_iter(bytes) {
            let root = root.map_err(|error| wrong(format!("is damaged: {}", fault(&error))))?;
            roots.add(root).map_err(|error| {
                wrong(format!("has a certificate that cannot be read: {error}"))
            })?;
        }
        if roots.is_empty() {
            let found = match has(bytes, "PRIVATE KEY-----") {
                _ if bytes.trim_ascii().is_empty() => "is empty",
                true => "has a private key and no certificate",
                false => "has no certificate",
            };
            return Err(wrong(format!(
                "{found}: expected -----BEGIN CERTIFICATE-----, or one certificate in DER"
            )));
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

#[cfg(all(test, feature = "tls", feature = "server"))]
mod tests {
    use super::Tls;

    #[test]
    fn roots_are_pem_or_der_and_other_files_are_named() {
        let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
        let refusal = |roots: &[u8]| {
            let found = Tls::new(Some(roots), "localhost").err();
            found.map_or(String::new(), |error| error.to_string())
        };
        let pem = made.cert.pem();
        assert_eq!(refusal(pem.as_bytes()), "");
        assert_eq!(refusal(made.cert.der()), "");
        let wide: Vec<u8> = std::iter::once(0xfeff)
            .chain(pem.encode_utf16())
            .flat_map(u16::to_le_bytes)
            .collect();
        let key = made.signing_key.serialize_pem();
        for (roots, words) in [
            (
                &[0x30, 0x80, 2, 1, 3, 0x30][..],
                "openssl pkcs12 -in FILE -nokeys",
            ),
            (b"-----BEGIN PKCS7-----\n", "openssl pkcs7"),
            (&wide, "iconv -f UTF-16"),
            (format!("\u{feff}{pem}").as_bytes(), "byte-order mark"),
            (
                &pem.as_bytes()[..pem.len() / 2],
                "the line -----END CERTIFICATE-----",
            ),
            (key.as_bytes(), "has a private key and no certificate"),
            (&[0x30, 0x03, 2, 1, 7], "has no certificate"),
            (b"", "is empty: expected -----BEGIN CERTIFICATE-----"),
        ] {
            let found = refusal(roots);
            assert!(found.contains(words), "{found}");
        }
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
