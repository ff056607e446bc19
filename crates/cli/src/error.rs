//! The reasons why a command stopped, and its exit codes.

mod naming;

use std::io;
use std::path::PathBuf;

use sordino_net::Error as Net;
use sordino_search::{Error as Search, Kind, vectors};
use sordino_token::Error as Token;

/// The command has done its work.
pub const SUCCESS: u8 = 0;
/// A command could not do its work.
pub const FAILURE: u8 = 1;
/// Wrong usage.
pub const USAGE: u8 = 2;
/// A signature, a digest or a version is wrong: the index, a file or the server is not to be trusted.
pub const INTEGRITY: u8 = 3;
/// The server cannot be reached, or refused.
pub const SERVER: u8 = 4;
/// The exit code after SIGINT (Ctrl-C): 128 + 2.
pub const INTERRUPTED: u8 = 130;

/// The reason why a command stopped. No message holds a secret, a query or a score.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file could not be read or written.
    #[error("{path}: {source}", path = path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The system's message.
        source: io::Error,
    },
    /// Standard input or output could not be read or written.
    #[error("standard input or output: {0}")]
    Stream(#[from] io::Error),
    /// A key file was to be created, but the file exists.
    #[error(
        "{path}: the file exists already, and keys are never overwritten: choose another name, or move the file away",
        path = path.display()
    )]
    KeyExists {
        /// The file.
        path: PathBuf,
    },
    /// A file is not a key file.
    #[error("{path}: {why}", path = path.display())]
    KeyFile {
        /// The file.
        path: PathBuf,
        /// The fault.
        why: &'static str,
    },
    /// A file that remembers earlier versions cannot be parsed.
    #[error("{path}: {why}", path = path.display())]
    Memory {
        /// The file.
        path: PathBuf,
        /// The fault, and what to do.
        why: &'static str,
    },
    /// A key file is of another kind.
    #[error("{path}: {found}; expected {expected}", path = path.display())]
    KeyKind {
        /// The file.
        path: PathBuf,
        /// The kind of key that the file holds.
        found: &'static str,
        /// The kind that was needed.
        expected: &'static str,
    },
    /// The system has no randomness.
    #[error("the system's random generator: {0}")]
    Random(String),
    /// The index changed whenever it was being read.
    #[error(
        "the index changed again and again while it was being read (it is at version {version} now): try again later"
    )]
    Changing {
        /// The version that the server has.
        version: u64,
    },
    /// An error of an index, or of a search in it.
    #[error(transparent)]
    Search(Search),
    /// An error of an index on this disk.
    #[error("{path}: {source}", path = path.display())]
    Index {
        /// The index.
        path: PathBuf,
        /// The fault.
        source: Search,
    },
    /// The version of a folder does not lead to the server's version.
    #[error("{0}")]
    Apart(String),
    /// A file of an index is missing.
    #[error("{path}: the file is missing, and the index is not whole without it: restore it from a backup", path = path.display())]
    Gone {
        /// The file.
        path: PathBuf,
    },
    /// The columns of a table do not hold the requested values.
    #[error("{path}: {why}", path = path.display())]
    Columns {
        /// The table.
        path: PathBuf,
        /// The fault, with the column.
        why: String,
    },
    /// Record ids do not fit the vectors.
    #[error("{path}: {why}", path = path.display())]
    Ids {
        /// The file of ids.
        path: PathBuf,
        /// The fault, with the lines or rows.
        why: String,
    },
    /// A vector cannot be searched for.
    #[error("{place}: {why}")]
    Query {
        /// The file and row, or the line.
        place: String,
        /// The fault.
        why: String,
    },
    /// An error of a certificate or its key.
    #[error("{files}: {source}")]
    Certificate {
        /// The files that they were read from.
        files: String,
        /// The fault.
        source: Net,
    },
    /// An error of a file of vectors.
    #[error("{path}: {source}", path = path.display())]
    Vectors {
        /// The file.
        path: PathBuf,
        /// The fault.
        source: vectors::Error,
    },
    /// An error of the network.
    #[error("{fault}{advice}", fault = .0, advice = listening(match .0 { Net::Listen { source, .. } => Some(source), _ => None }))]
    Net(#[from] Net),
    /// An error of format-preserving encryption.
    #[error(transparent)]
    Fpe(#[from] sordino_fpe_files::Error),
    /// The proxy.
    #[error("{fault}{advice}", fault = .0, advice = listening(match .0 { sordino_proxy::Error::Listen { source, .. } => Some(source), _ => None }))]
    Proxy(sordino_proxy::Error),
    /// There is a policy, but this command cannot read policies. The index is not served, since it would
    /// be open to all.
    #[error(
        "{path}: this command was built without policies, so it does not serve the index: install one with them (`cargo \
         install --path crates/cli --features policies`)",
        path = path.display()
    )]
    NoPolicies {
        /// The policy's file.
        path: PathBuf,
    },
    /// A policy that is not valid Cedar, or does not fit what a server has.
    #[cfg(feature = "policies")]
    #[error("{path}: {source}", path = path.display())]
    Policy {
        /// The policy's file.
        path: PathBuf,
        /// The fault.
        source: sordino_authz::Error,
    },
    /// No public key names the owner of an index.
    #[error(
        "the owner's public key is missing: expected {path}, or --key for all indexes without such a file",
        path = path.display()
    )]
    NoOwner {
        /// The file that would name the owner.
        path: PathBuf,
    },
    /// A token that is refused, or cannot be made.
    #[error("{path}: {source}", path = path.display())]
    Token {
        /// The token's file.
        path: PathBuf,
        /// The fault.
        source: sordino_token::Error,
    },
    /// A server refused a client that showed a token, without giving a reason.
    #[error("{source}. {token}")]
    Refused {
        /// The refusal.
        source: Box<Self>,
        /// The claims of the token, and what to do.
        token: String,
    },
    /// A fault in a configuration file.
    #[error("{path}, line {line}: {why}", path = path.display())]
    Config {
        /// The file.
        path: PathBuf,
        /// The line.
        line: usize,
        /// The fault, and what was expected.
        why: String,
    },
    /// The groups of clients cannot be read, for this reason.
    #[error("{0}")]
    Groups(String),
    /// Arguments that cannot be used together.
    #[error("{0}")]
    Arguments(String),
    /// Arguments that cannot be parsed.
    #[error("{0}")]
    Usage(String),
    /// The user interrupted the command with Ctrl-C.
    #[error("interrupted: the results printed so far are complete")]
    Interrupted,
}

impl From<Search> for Error {
    /// Converts errors with which a user can do something to specific variants.
    fn from(error: Search) -> Self {
        match error {
            Search::Stale { serving, .. } => Self::Changing { version: serving },
            error => Self::Search(error),
        }
    }
}

impl From<sordino_proxy::Error> for Error {
    fn from(error: sordino_proxy::Error) -> Self {
        match error {
            sordino_proxy::Error::Start(error) => Self::Stream(error),
            error => Self::Proxy(error),
        }
    }
}

impl Error {
    /// True if the reader of the output has closed it.
    #[must_use]
    pub fn is_closed_output(&self) -> bool {
        let error: &dyn std::error::Error = match self {
            Self::Stream(error) => error,
            // Only standard output counts. If the output is a named pipe, its reader has lost some
            // output.
            Self::Fpe(sordino_fpe_files::Error::Stream(error)) => error,
            _ => return false,
        };
        let mut sources = std::iter::successors(Some(error), |error| error.source());
        sources.any(|error| {
            let error = error.downcast_ref::<io::Error>();
            error.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
        })
    }

    /// The code that the process ends with.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Usage(_) | Self::Config { .. } => USAGE,
            Self::Interrupted => INTERRUPTED,
            Self::Gone { .. } | Self::Apart(_) => INTEGRITY,
            Self::Changing { .. } => SERVER,
            Self::Search(error) | Self::Index { source: error, .. } if error.is_bad_reply() => {
                INTEGRITY
            }
            Self::Search(error) | Self::Index { source: error, .. } => code(error.kind()),
            Self::Net(error) => code(error.kind()),
            Self::Refused { source, .. } => source.exit_code(),
            Self::Proxy(error) => code(error.kind()),
            Self::Token { source, .. } => match source {
                Token::Claim { .. } | Token::Depth { .. } | Token::Raised { .. } => FAILURE,
                _ => INTEGRITY,
            },
            _ => FAILURE,
        }
    }
}

/// The advice for an address that cannot be listened on.
fn listening(error: Option<&io::Error>) -> &'static str {
    match error.map(io::Error::kind) {
        Some(io::ErrorKind::AddrInUse) => {
            "; another program listens there: stop it, or choose a different port (--listen, --metrics); `ss -ltnp` shows who it is"
        }
        Some(io::ErrorKind::AddrNotAvailable) => {
            "; this machine has no such address: choose one that it has with --listen, or :PORT for all of them"
        }
        Some(io::ErrorKind::PermissionDenied) => {
            "; ports below 1024 need a right (CAP_NET_BIND_SERVICE): choose a higher one with --listen"
        }
        _ => "",
    }
}

/// The exit code of errors of the crates below.
fn code(kind: Kind) -> u8 {
    match kind {
        Kind::Untrusted => INTEGRITY,
        Kind::Busy | Kind::Away | Kind::Restarted | Kind::Refused | Kind::Stale => SERVER,
        _ => FAILURE,
    }
}

impl From<vectors::Error> for Error {
    fn from(error: vectors::Error) -> Self {
        Self::Search(error.into())
    }
}
