//! Errors between a client and a server.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::Refusal;
use crate::refusal::{METADATA, STALE};

/// The reason why something between a client and a server did not work.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An address cannot be listened on.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why.
        source: std::io::Error,
    },
    /// The system refused threads or sockets.
    #[error("cannot start the network: {0}")]
    Start(#[source] std::io::Error),
    /// A server's address is not of the form `http://host:port` or `https://host:port`.
    #[error("the address {address:?} is not of the form https://host:port or http://host:port")]
    Address {
        /// The text given.
        address: String,
    },
    /// Roots or a certificate's name for an `http` address, which has no certificate.
    #[error("an http:// address has no use for root certificates or a certificate's name")]
    Roots,
    /// A certificate or its key cannot be used.
    #[error("certificate or key: {0}")]
    Certificate(String),
    /// A file of a key could not be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The system's words.
        source: std::io::Error,
    },
    /// A key was to be written where there is a file.
    #[error(
        "{}: it exists already, and keys are not written over: choose another name, or move it away",
        path.display()
    )]
    KeyExists {
        /// The file.
        path: PathBuf,
    },
    /// A file is not a key file.
    #[error("{}: {why}", path.display())]
    KeyFile {
        /// The file.
        path: PathBuf,
        /// The fault.
        why: &'static str,
    },
    /// A key file holds another kind of key.
    #[error("{found}; expected {expected}")]
    KeyKind {
        /// Its content.
        found: &'static str,
        /// The kind that was needed.
        expected: &'static str,
    },
    /// A client's key or public key does not have its length.
    #[error("a client's {what} of {found} bytes: expected {expected}")]
    KeyLength {
        /// Which of the two.
        what: &'static str,
        /// Bytes found.
        found: usize,
        /// Bytes of a key.
        expected: usize,
    },
    /// A service that asks for keys was to answer anyone from now on, or the other way round.
    #[error(
        "a server that asks for keys cannot begin to answer anyone, nor the other way round: start it anew"
    )]
    Access,
    /// A limit of zero, or limits that contradict each other.
    #[error("limits: {0}")]
    Limits(&'static str),
    /// No connection could be made, and another attempt would not help: a name that is not known, a
    /// certificate that is not trusted, a server that speaks something else.
    #[error("cannot connect {0}")]
    Connect(String),
    /// Nobody listens at the address, or nobody lets this client in; a little later that may differ.
    #[error("cannot connect {0}")]
    Unreachable(String),
    /// The connection ended before the reply was whole.
    #[error("the connection broke: {0}; a server that has too many connections closes some")]
    Broken(String),
    /// The server refused the request, and said why.
    #[error("refused: {0}")]
    Refused(Refusal),
    /// The server has another version of the index than the request is about.
    #[error("a request about version {found} of the index: the server has {serving}")]
    Stale {
        /// The request's.
        found: u64,
        /// The server's.
        serving: u64,
    },
    /// The server, or something between, ended the call with an error.
    #[error("the server answered {code}: {message}")]
    Status {
        /// The gRPC status code's name.
        code: String,
        /// The server's words, printable and cut short.
        message: String,
    },
    /// The reply is not one that an honest server sends.
    #[error("a wrong reply: {0}")]
    Reply(String),
    /// No complete reply came in time.
    #[error("no complete reply after {} s", after.as_secs_f32())]
    Deadline {
        /// The time that it was waited for.
        after: Duration,
    },
    /// The server was told to stop, and some requests were not answered in time.
    #[error("stopped before the last requests were answered, after {} s", after.as_secs_f32())]
    Drain {
        /// The time that it was waited for.
        after: Duration,
    },
}

impl Error {
    /// A search that is made anew, with fresh secrets, may well be answered a little later: the
    /// server was busy, could not be reached, or was started anew.
    #[must_use]
    pub fn is_passing(&self) -> bool {
        match self {
            Self::Unreachable(_) | Self::Broken(_) => true,
            // The server draws a new run when it starts, for which the next request is signed.
            Self::Refused(Refusal::Signature | Refusal::Instance) => true,
            Self::Refused(refusal) => refusal.is_passing(),
            _ => false,
        }
    }

    /// Names the file that an error of the system is about.
    pub(crate) fn at(path: &Path) -> impl FnOnce(std::io::Error) -> Self + use<> {
        let path = path.to_owned();
        |source| Self::File { path, source }
    }

    /// The reason why there is no connection.
    pub(crate) fn unconnected(address: &str, error: &(dyn std::error::Error + 'static)) -> Self {
        let text = format!("to {}: {}", printable(address), root(error));
        match io_kind(error) {
            Some(ErrorKind::ConnectionRefused | ErrorKind::ConnectionReset) => {
                Self::Unreachable(text)
            }
            _ => Self::Connect(text),
        }
    }

    /// The reason why a call ended at this end, not by a word of the server.
    fn broken(error: &(dyn std::error::Error + 'static)) -> Self {
        match io_kind(error) {
            // The first bytes were of another protocol.
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

impl From<Error> for sordino_reader::Error {
    /// An error that a client of the index acts on keeps its name; the rest is the transport's.
    fn from(error: Error) -> Self {
        match error {
            Error::Stale { found, serving } => Self::Stale { found, serving },
            error => Self::Transport(Box::new(error)),
        }
    }
}

/// The two versions of a stale request.
fn stale(status: &tonic::Status) -> Option<Error> {
    let versions = status.metadata().get(STALE)?.to_str().ok()?;
    let (found, serving) = versions.split_once(' ')?;
    Some(Error::Stale {
        found: found.parse().ok()?,
        serving: serving.parse().ok()?,
    })
}

/// Words of the other side are printed up to here.
const MESSAGE_LEN: usize = 200;

impl From<tonic::Status> for Error {
    /// The text is the other side's: it is cut short and cannot steer a terminal.
    fn from(status: tonic::Status) -> Self {
        if let Some(source) = std::error::Error::source(&status) {
            return Self::broken(source);
        }
        let name = status.metadata().get(METADATA).map(|name| name.as_bytes());
        let refusal = Refusal::ALL
            .into_iter()
            .find(|refusal| name == Some(refusal.name().as_bytes()));
        // A message that the index does not answer is worth saying which.
        if let Some(stale) = stale(&status) {
            return stale;
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

/// The text without control characters, cut short.
pub(crate) fn printable(text: &str) -> String {
    text.chars()
        .take(MESSAGE_LEN)
        .flat_map(char::escape_debug)
        .collect()
}

/// The sources of an error, itself first.
fn sources<'a>(
    error: &'a (dyn std::error::Error + 'static),
) -> impl Iterator<Item = &'a (dyn std::error::Error + 'static)> {
    std::iter::successors(Some(error), |error| {
        // An error of the system may hold another without calling it its source.
        let inner = error.downcast_ref::<std::io::Error>();
        match inner.and_then(std::io::Error::get_ref) {
            Some(inner) => Some(inner as &(dyn std::error::Error + 'static)),
            None => error.source(),
        }
    })
}

/// The kind of the system's error that an error came from.
fn io_kind(error: &(dyn std::error::Error + 'static)) -> Option<ErrorKind> {
    let kinds = sources(error).filter_map(|error| error.downcast_ref::<std::io::Error>());
    kinds.map(std::io::Error::kind).last()
}

/// The last source of an error: the layers above it say only that there was one.
fn root(error: &(dyn std::error::Error + 'static)) -> String {
    let last = sources(error).last().unwrap_or(error);
    let text = last.to_string();
    if text.contains("CaUsedAsEndEntity") {
        return "the server's certificate is that of an authority, not of a server: a self-signed one is to \
                have the basic constraint CA:FALSE"
            .to_owned();
    }
    printable(&text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::refusal::Refused;

    #[test]
    fn refusals_keep_their_names_on_the_way() {
        for refusal in Refusal::ALL {
            let found = Error::from(Refused::By(refusal).status());
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

    #[test]
    fn what_a_server_says_is_cut_short_and_harmless() {
        let status = tonic::Status::internal(format!("\u{1b}[2J{}", "x".repeat(10_000)));
        let text = Error::from(status).to_string();
        assert!(text.len() < 300 && !text.contains('\u{1b}'), "{text}");
    }
}
