//! The errors between a client and a server.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use sordino_index::Kind;

use crate::Refusal;

/// The reason why something between a client and a server did not work.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An address cannot be listened on.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The system's error.
        source: std::io::Error,
    },
    /// The system refused threads or sockets.
    #[error("cannot start the network: {0}")]
    Start(#[source] std::io::Error),
    /// A server's address is neither `http://host:port` nor `https://host:port`, with or without `/name` at the end.
    #[error(
        "the address {address:?} is not of the form https://host:port or http://host:port, with /NAME of an index \
         behind it where the server has several (NAME has letters, digits, - and _), and without a user or password"
    )]
    Address {
        /// The text given.
        address: String,
    },
    /// A name that is not allowed for an index.
    #[error("the name of an index: expected 1 to 64 of the ASCII letters, digits, - and _")]
    IndexName,
    /// There are no more places for indexes in a service.
    #[error("this service has {most} indexes, the most that it can serve: close one first")]
    Indexes {
        /// The largest possible number.
        most: usize,
    },
    /// Roots or a certificate's name for an `http` address, which has no certificate.
    #[error(
        "an http:// address has no certificate: use https://, or leave out the roots and the certificate's name"
    )]
    Roots,
    /// A proxy's address is malformed. It may contain a password, so the error does not repeat it.
    #[error(
        "the proxy: expected http://HOST:PORT, or http://USER:PASSWORD@HOST:PORT; write @, : and / of a user or password as \
         %40, %3A and %2F. HTTPS and SOCKS proxies are not supported"
    )]
    Proxy,
    /// A certificate or its key cannot be used.
    #[error("certificate or key: {0}")]
    Certificate(String),
    /// A file of a key could not be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The system's message.
        source: std::io::Error,
    },
    /// A key file would overwrite an existing file.
    #[error(
        "{}: the file exists already, and keys are never overwritten: choose another name, or move the file away",
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
        /// The key that has a wrong length.
        what: &'static str,
        /// The number of bytes found.
        found: usize,
        /// The size in bytes of a key.
        expected: usize,
    },
    /// A reader's public key that content keys cannot be wrapped for.
    #[error("this reader's public key cannot be granted access: {0}")]
    ReaderKey(#[source] Box<sordino_index::Error>),
    /// A change of the list would let a service that asks for keys answer anyone, or would let a service that answers anyone
    /// ask for keys.
    #[error(
        "a server that asks for keys cannot begin to answer anyone, nor the reverse: start it again"
    )]
    Access,
    /// A limit of zero, or limits that contradict each other.
    #[error("limits: {0}")]
    Limits(&'static str),
    /// No connection could be made, and another attempt would not help. The certificate is not trusted, or the server speaks
    /// something else.
    #[error("cannot connect {0}")]
    Connect(String),
    /// The server's name is unknown, no server listens at the address, or no server lets this client in. A later attempt may
    /// succeed.
    #[error("cannot connect {0}")]
    Unreachable(String),
    /// The connection ended before the reply was whole.
    #[error("the connection broke: {0}; a server with too many connections closes some")]
    Broken(String),
    /// The server refused the request, and said why.
    #[error("{0}")]
    Refused(Refusal),
    /// The server does not have the version of the index that the request is for.
    #[error(
        "the request is for version {found} of the index, and the server has version {serving}: refresh"
    )]
    Stale {
        /// The request's version.
        found: u64,
        /// The server's version.
        serving: u64,
    },
    /// The server, or something between, ended the call with an error.
    #[error("the server answered {code}: {message}")]
    Status {
        /// The gRPC status code's name.
        code: String,
        /// The server's message, shortened and without characters that cannot be printed.
        message: String,
    },
    /// The server has begun another change of the index, which replaces this one.
    #[error(
        "another change has begun at the server, and replaces this one: take the folder with the newest version, and \
         push again"
    )]
    Overtaken,
    /// The reply is not one that an honest server sends.
    #[error("the server sent a wrong reply: {0}. Stop using it, and tell its operator")]
    Reply(String),
    /// No complete reply came in time.
    #[error("no complete reply after {:.1} s: the line is slow, or the server hangs", after.as_secs_f32())]
    Deadline {
        /// The time that the client waited.
        after: Duration,
    },
    /// One of the servers that hold an index's shards cannot be used.
    #[error("shard {number}, {address}: {source}")]
    Shard {
        /// The shard's number, from 1.
        number: u16,
        /// Its address.
        address: String,
        /// The error of that server.
        source: Box<sordino_index::Error>,
    },
    /// The gathering server has no shard of this number.
    #[error("shard {found}: expected 1 to {most}")]
    NoShard {
        /// The number given.
        found: u16,
        /// The number of shards.
        most: u16,
    },
    /// Servers of shards were named to a server that has an index itself.
    #[error(
        "this server has an index of its own and gathers no shards: name shards to `sordino gather` alone"
    )]
    GathersNothing,
    /// An index cannot be cut into this number of shards.
    #[error("{found} shards: expected 1 to {most}")]
    Shards {
        /// The number given.
        found: usize,
        /// The largest possible number.
        most: u16,
    },
    /// The server was stopped, and some requests were not answered in time.
    #[error("stopped before the last requests were answered, after {} s", after.as_secs_f32())]
    Drain {
        /// The time that the server waited.
        after: Duration,
    },
}

impl Error {
    /// The kind of this error, as the index's errors use it.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self {
            Self::Unreachable(_) | Self::Broken(_) => Kind::Away,
            Self::Refused(Refusal::Rate | Refusal::Busy) => Kind::Busy,
            // Clients then log in again, and owners sign again.
            error if error.is_of_restart() => Kind::Restarted,
            Self::Refused(refusal) if refusal.is_passing() => Kind::Away,
            Self::Refused(_) => Kind::Refused,
            Self::Stale { .. } => Kind::Stale,
            Self::Connect(_) | Self::Status { .. } | Self::Deadline { .. } | Self::Overtaken => {
                Kind::Refused
            }
            Self::Reply(_) => Kind::Untrusted,
            Self::Shard { source, .. } => match &**source {
                // The servers of shards are changing to a new version, which not all of them have
                // yet.
                sordino_index::Error::Stale { .. } => Kind::Busy,
                source if matches!(Self::of(source), Some(Self::Deadline { .. })) => Kind::Away,
                source => source.kind(),
            },
            _ => Kind::Local,
        }
    }

    /// True for refusals of a server that was restarted since the client connected: a server has a new run when it starts.
    pub(crate) fn is_of_restart(&self) -> bool {
        let refusals = [Refusal::Signature, Refusal::Instance, Refusal::Login];
        matches!(self, Self::Refused(refusal) if refusals.contains(refusal))
    }

    /// True if the same work may succeed a little later, when it is repeated with fresh secrets. The server was busy,
    /// could not be reached, or was started again.
    #[must_use]
    pub fn is_passing(&self) -> bool {
        self.kind().is_passing()
    }

    /// True if the connection could not be made, so that no request was sent.
    #[must_use]
    pub fn is_of_connecting(&self) -> bool {
        matches!(
            self,
            Self::Connect(_)
                | Self::Unreachable(_)
                | Self::Certificate(_)
                | Self::Roots
                | Self::Proxy
                | Self::Address { .. }
                | Self::IndexName
                | Self::Start(_)
        )
    }

    /// The network error inside an error of an index or a search, if there is one.
    #[must_use]
    pub fn of(error: &sordino_index::Error) -> Option<&Self> {
        match error.seen()? {
            sordino_index::Error::Transport { source, .. } => source.downcast_ref(),
            _ => None,
        }
    }
}
