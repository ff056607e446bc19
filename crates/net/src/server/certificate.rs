//! Reads a certificate chain and its key from the texts of files. An error says what cannot be used, with a command
//! that fixes it.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio_rustls::rustls::crypto::CryptoProvider;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::sign::CertifiedKey;
use x509_parser::prelude::{FromDer, X509Certificate};
use x509_parser::public_key::PublicKey;

use crate::Error;
use crate::pem::{fault, has, unlike};

/// The parts of a certificate that an operator watches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertificateInfo {
    /// Its serial number, in hex digits.
    pub serial: String,
    /// The time before which clients refuse it.
    pub begins: SystemTime,
    /// The time after which clients refuse it.
    pub expires: SystemTime,
    /// True if it has names (subjectAltName). Without them, clients refuse it.
    pub has_names: bool,
    /// True if it may sign other certificates (CA:TRUE). Sordino's clients refuse it as a server's own.
    pub is_authority: bool,
}

impl CertificateInfo {
    /// Reads the server's own certificate. `None` if it is no readable X.509 certificate.
    pub(super) fn of(certificate: &CertificateDer<'_>) -> Option<Self> {
        let (_, parsed) = X509Certificate::from_der(certificate).ok()?;
        let time = |timestamp: i64| {
            let seconds = u64::try_from(timestamp).unwrap_or(0);
            UNIX_EPOCH.checked_add(Duration::from_secs(seconds))
        };
        let validity = parsed.validity();
        Some(Self {
            serial: hex::encode(parsed.raw_serial()),
            begins: time(validity.not_before.timestamp())?,
            expires: time(validity.not_after.timestamp())?,
            has_names: matches!(parsed.subject_alternative_name(), Ok(Some(_))),
            is_authority: parsed.is_ca(),
        })
    }
}

fn wrong(why: impl Into<String>) -> Error {
    Error::Certificate(why.into())
}

/// The certificates of a file, the server's own first.
pub(super) fn chain(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, Error> {
    // After a byte-order mark, the first certificate would be skipped.
    if let Some(unlike) = unlike(pem) {
        return Err(wrong(format!("the chain {unlike}")));
    }
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let chain = chain.map_err(|error| wrong(format!("the chain: {}", fault(&error))))?;
    if !chain.is_empty() {
        return Ok(chain);
    }
    Err(wrong(match has(pem, "PRIVATE KEY-----") {
        _ if pem.trim_ascii().is_empty() => {
            "the chain's file is empty: write the certificates to it, in PEM"
        }
        true => {
            "the chain's file has a private key and no certificate: are the two files exchanged?"
        }
        false => {
            "the chain has no certificate in PEM: expected -----BEGIN CERTIFICATE-----; \
             `openssl x509 -inform DER -in FILE -out chain.pem` converts DER"
        }
    }))
}

/// The private key of a file.
pub(super) fn private_key(pem: &[u8]) -> Result<PrivateKeyDer<'static>, Error> {
    // A key that is encrypted in the older form has the same label as an unencrypted key.
    if has(pem, "BEGIN ENCRYPTED PRIVATE KEY") || has(pem, "Proc-Type: 4,ENCRYPTED") {
        return Err(wrong(
            "the private key is encrypted, and a server cannot ask for its passphrase. \
             `openssl pkey -in FILE -out key.pem` decrypts it; keep the new file readable by the server alone",
        ));
    }
    if let Some(unlike) = unlike(pem) {
        return Err(wrong(format!("the private key {unlike}")));
    }
    PrivateKeyDer::from_pem_slice(pem).map_err(|error| {
        if pem.trim_ascii().is_empty() {
            wrong("the private key's file is empty: write the key to it, in PEM")
        } else if has(pem, "BEGIN CERTIFICATE") {
            wrong(
                "the private key's file has a certificate and no key: are the two files exchanged?",
            )
        } else if has(pem, "BEGIN ") {
            wrong(format!("the private key: {}", fault(&error)))
        } else {
            wrong(
                "the private key is not in PEM: expected -----BEGIN PRIVATE KEY-----; \
                 `openssl pkey -inform DER -in FILE -out key.pem` converts DER",
            )
        }
    })
}

/// The reason why TLS refuses this chain with this key, in words for the person who made them.
pub(super) fn refused(
    chain: &[CertificateDer<'static>],
    key: PrivateKeyDer<'static>,
    provider: &CryptoProvider,
    error: &dyn std::fmt::Display,
) -> Error {
    let Ok(key) = provider.key_provider.load_private_key(key) else {
        let kind = chain.first().and_then(kind);
        let kind = kind.map_or(String::new(), |kind| {
            format!(" (the certificate's is {kind})")
        });
        return wrong(format!(
            "the private key is of a kind that is not supported{kind}: expected ECDSA on P-256 or P-384, Ed25519, \
             or RSA of 2048 bits and more. `openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256` makes one",
        ));
    };
    let version = |certificate: &CertificateDer<'_>| {
        Some(X509Certificate::from_der(certificate).ok()?.1.version().0 + 1)
    };
    if let Some(found @ 1..3) = chain.first().and_then(version) {
        return wrong(format!(
            "the certificate has version {found} of X.509, without names (subjectAltName): expected version 3. Make it again, with \
             `openssl x509 -req ... -extfile <(printf subjectAltName=DNS:HOST)`",
        ));
    }
    let mut own = chain.iter().map(|certificate| {
        let pair = CertifiedKey::new(vec![certificate.clone()], key.clone());
        pair.keys_match().is_ok()
    });
    match own.position(|own| own) {
        None => wrong(
            "the private key belongs to none of the chain's certificates: expected the key of the first",
        ),
        Some(0) => wrong(error.to_string()),
        Some(at) => wrong(format!(
            "the private key belongs to certificate {} of the chain. Write the server's own certificate to the file first, \
             then the one that signed it, and so on",
            at + 1
        )),
    }
}

/// The kind of a certificate's key.
fn kind(certificate: &CertificateDer<'static>) -> Option<String> {
    let (_, parsed) = X509Certificate::from_der(certificate).ok()?;
    Some(match parsed.public_key().parsed().ok()? {
        PublicKey::RSA(key) => format!("RSA of {} bits", key.key_size()),
        // Coordinates are whole bytes, and a curve of 521 bits does not fill them.
        PublicKey::EC(point) if point.key_size() > 384 => "ECDSA on P-521".to_owned(),
        PublicKey::EC(point) => format!("ECDSA on a curve of {} bits", point.key_size()),
        PublicKey::DSA(_) => "DSA".to_owned(),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Identity;

    fn refusal(chain: impl AsRef<[u8]>, key: impl AsRef<[u8]>) -> String {
        let found = Identity::from_pem(chain, key).acceptor();
        found.err().map_or(String::new(), |error| error.to_string())
    }

    #[test]
    fn mistakes_of_certificates_and_keys_are_named() {
        let made = || rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
        let (own, other) = (made(), made());
        let (cert, key) = (own.cert.pem(), own.signing_key.serialize_pem());
        let swapped = [other.cert.pem(), cert.clone()].concat();
        let marked = |text: &str| format!("\u{feff}{text}");
        let wide = |text: &str| -> Vec<u8> {
            let units = std::iter::once(0xfeff).chain(text.encode_utf16());
            units.flat_map(u16::to_le_bytes).collect()
        };
        let encrypted = key.replace("PRIVATE KEY", "ENCRYPTED PRIVATE KEY");
        let old = "-----BEGIN EC PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\nAAAA\n-----END EC PRIVATE KEY-----\n";
        // The beginning of a PKCS#12 file, which is a sequence with the version 3.
        let pkcs12 = [0x30, 0x82, 0x0a, 0x1b, 2, 1, 3, 0x30, 0x82, 0x09, 0xe1];
        let openssh =
            "-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n-----END OPENSSH PRIVATE KEY-----\n";
        let cut = &cert[..cert.len() / 2];
        let cut_key = &key.replace("-----END", "@@\n-----END");
        assert_eq!(refusal(&cert, &key), "");
        for (found, words) in [
            (refusal(&swapped, &key), "belongs to certificate 2"),
            (refusal(other.cert.pem(), &key), "none of the chain's"),
            (refusal(&key, &cert), "exchanged"),
            (refusal(&cert, &cert), "exchanged"),
            (
                refusal(marked(&cert), &key),
                "the chain begins with a byte-order mark",
            ),
            (refusal(&cert, wide(&key)), "the private key is UTF-16"),
            (refusal(&cert, &encrypted), "is encrypted"),
            (refusal(&cert, old), "is encrypted"),
            (refusal(own.cert.der(), &key), "converts DER"),
            (
                refusal(&cert, own.signing_key.serialize_der()),
                "converts DER",
            ),
            (refusal("", &key), "the chain's file is empty"),
            (refusal(pkcs12, &key), "openssl pkcs12 -in FILE -nokeys"),
            (refusal(&cert, pkcs12), "the private key is a PKCS#12 file"),
            (
                refusal(&cert, openssh),
                "the private key is a key of OpenSSH",
            ),
            (
                refusal(cut, &key),
                "expected the line -----END CERTIFICATE-----",
            ),
            (refusal(&cert, cut_key), "is not base64"),
        ] {
            assert!(found.contains(words), "{found}");
        }
    }

    #[test]
    fn the_time_of_a_certificate_is_read() {
        let names = vec!["localhost".to_owned()];
        let mut params = rcgen::CertificateParams::new(names).unwrap();
        params.not_before = rcgen::date_time_ymd(2030, 2, 3);
        params.not_after = rcgen::date_time_ymd(2031, 2, 3);
        let key = rcgen::KeyPair::generate().unwrap();
        let made = params.self_signed(&key).unwrap();
        let info = CertificateInfo::of(made.der()).unwrap();
        let seconds = |time: SystemTime| time.duration_since(UNIX_EPOCH).unwrap().as_secs();
        assert_eq!(seconds(info.begins), 1_896_307_200);
        assert_eq!(seconds(info.expires), 1_927_843_200);
        assert!(info.has_names && !info.is_authority);
        params.subject_alt_names.clear();
        params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        let made = params.self_signed(&key).unwrap();
        let info = CertificateInfo::of(made.der()).unwrap();
        assert!(!info.has_names && info.is_authority);
    }
}
