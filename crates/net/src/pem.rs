//! Recognises files of certificates and keys that are not PEM text. The error names the format, and the command that converts it.

use tokio_rustls::rustls::pki_types::pem::Error as PemError;

/// The reason why bytes are not PEM, if they are a known container or encoding.
pub(crate) fn unlike(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0xef, 0xbb, 0xbf, ..] => Some(
            "begins with a byte-order mark: expected PEM without one; `sed -i '1s/^\\xEF\\xBB\\xBF//' FILE` takes it off",
        ),
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => Some(
            "is UTF-16: expected PEM in ASCII; `iconv -f UTF-16 -t ASCII FILE > NEW` converts it",
        ),
        [0xfe, 0xed, 0xfe, 0xed, ..] => Some(
            "is a Java keystore: expected PEM; `keytool -importkeystore -srckeystore FILE -destkeystore NEW.p12 -deststoretype \
             PKCS12` and then `openssl pkcs12 -in NEW.p12 -nodes -out NEW.pem` convert it",
        ),
        _ if is_pkcs12(bytes) => Some(
            "is a PKCS#12 file (.p12 or .pfx): expected PEM; `openssl pkcs12 -in FILE -nokeys -out chain.pem` takes the certificates \
             from it, and `openssl pkcs12 -in FILE -nocerts -nodes -out key.pem` the key",
        ),
        _ if has(bytes, "-----BEGIN PKCS7-----") => Some(
            "is a PKCS#7 file (.p7b): expected certificates in PEM; `openssl pkcs7 -in FILE -print_certs -out chain.pem` converts it",
        ),
        _ if has(bytes, "-----BEGIN OPENSSH PRIVATE KEY-----") => Some(
            "is a key of OpenSSH: expected -----BEGIN PRIVATE KEY-----; `openssl genpkey -algorithm EC -pkeyopt \
             ec_paramgen_curve:P-256` makes one for a server",
        ),
        _ => None,
    }
}

/// True if the file contains this text.
pub(crate) fn has(bytes: &[u8], text: &str) -> bool {
    bytes
        .windows(text.len())
        .any(|found| found == text.as_bytes())
}

/// True of a DER sequence whose first element is the number 3, the version of PKCS#12.
fn is_pkcs12(bytes: &[u8]) -> bool {
    let Some((0x30, [len, rest @ ..])) = bytes.split_first().map(|(tag, rest)| (*tag, rest)) else {
        return false;
    };
    // The number of further bytes of the sequence's length, which is zero for a short length.
    let more = usize::from(len & 0x7f) * usize::from(len >> 7);
    rest.get(more..)
        .is_some_and(|rest| rest.starts_with(&[2, 1, 3]))
}

/// An error of PEM, in words for the person who made the file.
pub(crate) fn fault(error: &PemError) -> String {
    let line = |bytes: &[u8]| {
        String::from_utf8_lossy(bytes)
            .trim()
            .escape_debug()
            .to_string()
    };
    match error {
        PemError::MissingSectionEnd { end_marker } => format!(
            "a part has no end: expected the line -----END {}-----; copy the file as a whole",
            line(end_marker)
        ),
        PemError::IllegalSectionStart { line: found } => format!(
            "the line {} does not begin a part: expected five hyphens at both of its ends",
            line(found)
        ),
        PemError::Base64Decode(_) => {
            "what stands between its lines BEGIN and END is not base64: a line is damaged or missing; copy the file as a whole"
                .to_owned()
        }
        error => error.to_string(),
    }
}
