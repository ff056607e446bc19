//! Converts failures of a connection to [`Error`].

use std::io::ErrorKind;
#[cfg(feature = "web-client")]
use std::path::Path;
#[cfg(feature = "client")]
use std::time::Duration;

use tonic::{Code, Status};

use crate::protocol::{REFUSAL, STALE};
use crate::{Error, Refusal};

impl Error {
    /// Adds the file's name to an error of the system.
    #[cfg(feature = "web-client")]
    pub(crate) fn at(path: &Path) -> impl FnOnce(std::io::Error) -> Self + use<> {
        let path = path.to_owned();
        |source| Self::File { path, source }
    }

    /// The error if a connection could not be made.
    #[cfg(feature = "client")]
    pub(crate) fn unconnected(address: &str, error: &(dyn std::error::Error + 'static)) -> Self {
        let root = root(error);
        // If services are started together, as in Kubernetes, a server's name is known only after the server has started.
        let unnamed = root.starts_with("failed to lookup address information");
        let text = format!("to {}: {root}", printable(address));
        match io_kind(error) {
            Some(ErrorKind::ConnectionRefused | ErrorKind::ConnectionReset) => {
                Self::Unreachable(text)
            }
            _ if unnamed => Self::Unreachable(text),
            _ => Self::Connect(text),
        }
    }

    /// The error of a server that accepts a connection and sends nothing.
    #[cfg(feature = "client")]
    pub(crate) fn silent(address: &str, time: Duration) -> Self {
        Self::Connect(format!(
            "to {}: it takes the connection and says nothing for {} s: it is not a Sordino server, or it hangs",
            printable(address),
            time.as_secs_f32()
        ))
    }

    /// The error of a call that ended at this end, without a status from the server.
    fn broken(error: &(dyn std::error::Error + 'static)) -> Self {
        match io_kind(error) {
            // The first bytes belonged to another protocol.
            Some(ErrorKind::InvalidData) => {
                Self::Connect(format!("to the server: {}", root(error)))
            }
            Some(ErrorKind::ConnectionRefused) => {
                Self::Unreachable(format!("to the server: {}", root(error)))
            }
            _ => Self::Broken(root(error)),
        }
    }
}

impl From<Error> for sordino_index::Error {
    /// Errors on which a client of the index acts keep their variant; others become transport errors.
    fn from(error: Error) -> Self {
        match error {
            Error::Stale { found, serving } => Self::Stale { found, serving },
            Error::Refused(Refusal::Session) => Self::Session,
            error => Self::transport(error.kind(), error),
        }
    }
}

/// The two versions of a stale request.
fn stale(status: &Status) -> Option<Error> {
    let versions = status.metadata().get(STALE)?.to_str().ok()?;
    let (found, serving) = versions.split_once(' ')?;
    Some(Error::Stale {
        found: found.parse().ok()?,
        serving: serving.parse().ok()?,
    })
}

/// The largest number of characters of the other side's text that are printed.
const MESSAGE_LEN: usize = 200;

impl From<Status> for Error {
    /// The text comes from the other side, so it is shortened and its control characters are removed.
    fn from(status: Status) -> Self {
        if let Some(source) = std::error::Error::source(&status) {
            return Self::broken(source);
        }
        let name = status.metadata().get(REFUSAL).map(|name| name.as_bytes());
        let refusal = Refusal::ALL
            .into_iter()
            .find(|refusal| name == Some(refusal.name().as_bytes()));
        // If the index does not answer this message, the error says which message it is.
        if let Some(stale) = stale(&status) {
            return stale;
        }
        // A Sordino server knows all calls. Another HTTP/2 server knows none of them.
        if refusal.is_none() && status.code() == Code::Unimplemented {
            let said = printable(status.message());
            return Self::Connect(format!(
                "to the server: this is not a Sordino server, or not of this version: it answered {said}"
            ));
        }
        match refusal {
            Some(refusal) if refusal != Refusal::Message => Self::Refused(refusal),
            _ => Self::Status {
                code: format!("{:?}", status.code()),
                message: printable(status.message()),
            },
        }
    }
}

/// The text without control characters, shortened.
pub(crate) fn printable(text: &str) -> String {
    text.chars()
        .take(MESSAGE_LEN)
        .flat_map(char::escape_debug)
        .collect()
}

/// The error and its sources, in that order.
fn sources<'a>(
    error: &'a (dyn std::error::Error + 'static),
) -> impl Iterator<Item = &'a (dyn std::error::Error + 'static)> {
    std::iter::successors(Some(error), |error| {
        // An error of the system may contain another without declaring it as its source.
        let inner = error.downcast_ref::<std::io::Error>();
        match inner.and_then(std::io::Error::get_ref) {
            Some(inner) => Some(inner as &(dyn std::error::Error + 'static)),
            None => error.source(),
        }
    })
}

/// The kind of the system's error that caused this error.
fn io_kind(error: &(dyn std::error::Error + 'static)) -> Option<ErrorKind> {
    let kinds = sources(error).filter_map(|error| error.downcast_ref::<std::io::Error>());
    kinds.map(std::io::Error::kind).last()
}

/// The last source of an error, since the layers above it only say that there was an error.
fn root(error: &(dyn std::error::Error + 'static)) -> String {
    let last = sources(error).last().unwrap_or(error);
    #[cfg(feature = "tls")]
    if let Some(words) = last.downcast_ref().and_then(of_certificate) {
        return words;
    }
    let text = last.to_string();
    if text.contains("CaUsedAsEndEntity") {
        return "the server's certificate is that of an authority (CA:TRUE), not of a server: its operator makes one, with \
                `openssl req ... -addext basicConstraints=critical,CA:FALSE`"
            .to_owned();
    }
    if text == "deadline has elapsed" {
        return "nothing answers in the time for a connection: the address may be wrong, or a firewall or proxy on the \
                way drops it"
            .to_owned();
    }
    if text.contains("NoApplicationProtocol") {
        return "this is not a Sordino server: over TLS it does not speak HTTP/2".to_owned();
    }
    // A signature also fails if a trusted authority has the issuer's name and another key.
    let unknown = ["UnknownIssuer", "BadSignature", "UnsupportedSignature"];
    if unknown.iter().any(|word| text.contains(word)) {
        return "the server's certificate is not signed by one that is trusted here: name its issuer's, in PEM, \
                as a root (--roots); or the server does not send the certificates between the two"
            .to_owned();
    }
    printable(&text)
}

/// The message about a certificate whose time or name is wrong.
#[cfg(feature = "tls")]
fn of_certificate(error: &tokio_rustls::rustls::Error) -> Option<String> {
    use sordino_token::rfc3339;
    use tokio_rustls::rustls::pki_types::ServerName;
    use tokio_rustls::rustls::{CertificateError as Fault, Error as Tls};

    let Tls::InvalidCertificate(fault) = error else {
        return None;
    };
    Some(match fault {
        Fault::ExpiredContext { time, not_after } => format!(
            "the server's certificate expired at {}, and by this clock it is {}: its operator has to renew it",
            rfc3339(not_after.as_secs()),
            rfc3339(time.as_secs())
        ),
        Fault::NotValidYetContext { time, not_before } => format!(
            "the server's certificate is valid from {} on, and by this clock it is {}: look at both clocks",
            rfc3339(not_before.as_secs()),
            rfc3339(time.as_secs())
        ),
        // For a certificate between the server's certificate and the root, the error has no more details.
        Fault::Expired => "a certificate of the server's chain has expired by this machine's clock: its operator has to renew it, \
                           or this clock is wrong"
            .to_owned(),
        Fault::NotValidYet => "a certificate of the server's chain is not valid yet by this machine's clock: look at both clocks"
            .to_owned(),
        Fault::NotValidForNameContext {
            expected,
            presented,
        } => {
            let names: Vec<String> = presented.iter().map(|name| plain_name(name)).collect();
            let names = match names.is_empty() {
                true => {
                    let kind = match expected {
                        ServerName::IpAddress(_) => "IP",
                        _ => "DNS",
                    };
                    format!(
                        "no name at all: a common name (CN) does not count, so its operator makes one, with `openssl req ... -addext \
                         subjectAltName={kind}:{}`",
                        expected.to_str()
                    )
                }
                false => format!(
                    "{}: connect by that, or name it (--server-name)",
                    names.join(", ")
                ),
            };
            let expected = expected.to_str();
            format!("the server's certificate is not for {expected}, but for {names}")
        }
        _ => return None,
    })
}

/// The name in a certificate, without the prefix for its kind. The other side chose the name.
#[cfg(feature = "tls")]
fn plain_name(name: &str) -> String {
    let inner = name.split_once('(').map_or(name, |(_, inner)| inner);
    printable(inner.trim_end_matches(')').trim_matches('"'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(feature = "tls")]
    #[test]
    fn certificates_of_another_time_or_name_are_told_in_words() {
        use tokio_rustls::rustls::pki_types::{ServerName, UnixTime};
        use tokio_rustls::rustls::{CertificateError as Fault, Error as Tls};

        let at = |seconds| UnixTime::since_unix_epoch(Duration::from_secs(seconds));
        let said = |fault| root(&std::io::Error::other(Tls::InvalidCertificate(fault)));
        let expired = said(Fault::ExpiredContext {
            time: at(2),
            not_after: at(1),
        });
        let early = said(Fault::NotValidYetContext {
            time: at(1),
            not_before: at(2),
        });
        let named = |presented| {
            said(Fault::NotValidForNameContext {
                expected: ServerName::try_from("localhost").unwrap(),
                presented,
            })
        };
        let other = named(vec![
            "DnsName(\"search.example\")".to_owned(),
            "IpAddress(10.0.0.1)".to_owned(),
        ]);
        for (found, words) in [
            (
                expired,
                "expired at 1970-01-01T00:00:01Z, and by this clock it is 1970-01-01T00:00:02Z",
            ),
            (early, "valid from 1970-01-01T00:00:02Z on"),
            (
                other,
                "is not for localhost, but for search.example, 10.0.0.1: connect by that",
            ),
            (
                named(Vec::new()),
                "no name at all: a common name (CN) does not count, so its operator makes one, with `openssl req ... -addext \
                 subjectAltName=DNS:localhost`",
            ),
            (said(Fault::Expired), "has expired by this machine's clock"),
            (
                said(Fault::NotValidYet),
                "is not valid yet by this machine's clock",
            ),
        ] {
            assert!(found.contains(words), "{found}");
        }
    }

    #[cfg(feature = "server")]
    #[test]
    fn refusals_keep_their_names_on_the_way() {
        for refusal in Refusal::ALL {
            let found = Error::from(crate::server::Rejection::By(refusal).status());
            match found {
                Error::Refused(found) => assert_eq!(found, refusal),
                Error::Status { message, .. } => {
                    assert_eq!((refusal, message), (Refusal::Message, refusal.to_string()));
                }
                other => panic!("{other}"),
            }
        }
        let mut names = Refusal::ALL.map(Refusal::name).to_vec();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Refusal::ALL.len());
    }

    #[cfg(feature = "server")]
    #[test]
    fn what_a_client_of_the_index_acts_on_keeps_its_name() {
        use sordino_index::Error as Of;
        let sent = |error| {
            Of::from(Error::from(
                crate::server::Rejection::Message(error).status(),
            ))
        };
        assert!(matches!(sent(Of::Session), Of::Session));
        let stale = Of::Stale {
            found: 3,
            serving: 4,
        };
        assert!(matches!(
            sent(stale),
            Of::Stale {
                found: 3,
                serving: 4
            }
        ));
        assert!(matches!(sent(Of::BadReply), Of::Transport { .. }));
    }

    #[test]
    fn another_server_of_http_2_is_no_sordino_server() {
        let status =
            Status::unimplemented("grpc-status header missing, mapped from HTTP status code 404");
        let text = Error::from(status).to_string();
        assert!(text.contains("not a Sordino server"), "{text}");
    }

    #[test]
    fn what_a_server_says_is_cut_short_and_harmless() {
        let status = Status::internal(format!("\u{1b}[2J{}", "x".repeat(10_000)));
        let text = Error::from(status).to_string();
        assert!(text.len() < 300 && !text.contains('\u{1b}'), "{text}");
    }
}
