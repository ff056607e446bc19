//! What can go wrong between a client and a server.

use std::net::SocketAddr;
use std::time::Duration;

/// What was wrong, and what was expected.
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
    #[error("the address {address:?} is not of the form https://host:port")]
    Address {
        /// What was given.
        address: String,
    },
    /// An `https` address without roots to check the certificate against, or roots for `http`.
    #[error("an https address needs root certificates, and an http address has no use for them")]
    Roots,
    /// A certificate or its key cannot be used.
    #[error("certificate or key: {0}")]
    Certificate(String),
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
    /// A limit of zero, or limits that contradict each other.
    #[error("limits: {0}")]
    Limits(&'static str),
    /// No connection could be made.
    #[error("cannot connect: {0}")]
    Connect(String),
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
        /// What was said, printable and cut short.
        message: String,
    },
    /// The reply is not one that an honest server sends.
    #[error("a wrong reply: {0}")]
    Reply(String),
    /// No complete reply came in time.
    #[error("no complete reply after {} s", after.as_secs_f32())]
    Deadline {
        /// How long it was waited for.
        after: Duration,
    },
    /// The server was told to stop, and some requests were not answered in time.
    #[error("stopped before the last requests were answered, after {} s", after.as_secs_f32())]
    Drain {
        /// How long it was waited for.
        after: Duration,
    },
}

impl From<Error> for sordino_search::Error {
    /// What a client of the index acts on keeps its name; the rest is the transport's.
    fn from(error: Error) -> Self {
        match error {
            Error::Stale { found, serving } => Self::Stale { found, serving },
            error => Self::Transport(Box::new(error)),
        }
    }
}

/// Why a server does not answer a request. Its name travels with the refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// The server answers signed requests only, and this one is not.
    #[error("the request is not signed")]
    Unsigned,
    /// A part of the proof does not have its length.
    #[error("the proof is malformed")]
    Malformed,
    /// The key is not among those that may ask.
    #[error("the key is not known here")]
    Key,
    /// The proof was made for another run of the server.
    #[error("the proof is for another run of the server")]
    Instance,
    /// The client's clock and the server's are too far apart, or the request was held back.
    #[error("the proof's time is too far from the server's")]
    Time,
    /// The signature is not this key's on this request.
    #[error("the signature is wrong")]
    Signature,
    /// The request was seen before.
    #[error("the request was seen before")]
    Replayed,
    /// This client, or all clients together, ask too often.
    #[error("too many requests: ask again later")]
    Rate,
    /// As many requests as the server takes are in flight.
    #[error("the server is busy: ask again later")]
    Busy,
    /// The server is about to stop.
    #[error("the server is stopping")]
    Stopping,
    /// The server took too long.
    #[error("the server took too long")]
    Slow,
    /// The message is not one that this index answers.
    #[error("the message is not one that the index answers")]
    Message,
}

impl Refusal {
    /// All refusals.
    pub const ALL: [Self; 12] = [
        Self::Unsigned,
        Self::Malformed,
        Self::Key,
        Self::Instance,
        Self::Time,
        Self::Signature,
        Self::Replayed,
        Self::Rate,
        Self::Busy,
        Self::Stopping,
        Self::Slow,
        Self::Message,
    ];

    /// The name that travels.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Unsigned => "unsigned",
            Self::Malformed => "malformed",
            Self::Key => "key",
            Self::Instance => "instance",
            Self::Time => "time",
            Self::Signature => "signature",
            Self::Replayed => "replayed",
            Self::Rate => "rate",
            Self::Busy => "busy",
            Self::Stopping => "stopping",
            Self::Slow => "slow",
            Self::Message => "message",
        }
    }

    /// The gRPC code that fits it.
    fn code(self) -> tonic::Code {
        match self {
            Self::Unsigned
            | Self::Malformed
            | Self::Key
            | Self::Instance
            | Self::Time
            | Self::Signature
            | Self::Replayed => tonic::Code::Unauthenticated,
            Self::Rate | Self::Busy => tonic::Code::ResourceExhausted,
            Self::Stopping => tonic::Code::Unavailable,
            Self::Slow => tonic::Code::DeadlineExceeded,
            Self::Message => tonic::Code::InvalidArgument,
        }
    }

    /// The refusal as it travels, with details where there are any.
    pub(crate) fn status(self, detail: Option<String>) -> tonic::Status {
        let text = detail.unwrap_or_else(|| self.to_string());
        let mut status = tonic::Status::new(self.code(), text);
        let name = tonic::metadata::MetadataValue::from_static(self.name());
        status.metadata_mut().insert(METADATA, name);
        status
    }
}

/// The metadata key of a refusal's name.
const METADATA: &str = "sordino-refusal";

/// The metadata key of the two versions of a stale request.
const STALE: &str = "sordino-stale";

/// How the index's refusal of a message travels. What is wrong with a request is public: the server
/// knows nothing else.
pub(crate) fn refused_message(error: &sordino_search::Error) -> tonic::Status {
    let mut status = Refusal::Message.status(Some(error.to_string()));
    if let sordino_search::Error::Stale { found, serving } = error
        && let Ok(versions) = format!("{found} {serving}").parse()
    {
        status.metadata_mut().insert(STALE, versions);
    }
    status
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

/// What the other side said is printed up to here.
const MESSAGE_LEN: usize = 200;

impl From<tonic::Status> for Error {
    /// The text is the other side's: it is cut short and cannot steer a terminal.
    fn from(status: tonic::Status) -> Self {
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

/// An error and what it came from: tonic's own texts say little.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let next = error.to_string();
        if !text.ends_with(&next) {
            text = format!("{text}: {next}");
        }
        source = error.source();
    }
    printable(&text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_keep_their_names_on_the_way() {
        for refusal in Refusal::ALL {
            let found = Error::from(refusal.status(None));
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
