//! Reasons why a proxy does not start, or a search fails.

use sordino_reader::{Error as Search, Kind};
use std::{
    io,
    net::SocketAddr,
    path::{Path, PathBuf},
};

/// The reason why a proxy does not start, or why a search failed. No message holds a secret, a query or a score.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A token's file could not be read or written.
    #[error("{path}: {source}", path = path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The file does not hold a token.
    #[error("{path}: {why}", path = path.display())]
    TokenFile {
        /// The file.
        path: PathBuf,
        /// The reason, and what to do.
        why: &'static str,
    },
    /// The system has no randomness.
    #[error("the system's random generator: {0}")]
    Random(String),
    /// The proxy cannot listen on the address.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The system's error.
        source: io::Error,
    },
    /// The system refused threads or sockets.
    #[error("cannot start the proxy: {0}")]
    Start(io::Error),
    /// An error of the index, or of a search.
    #[error(transparent)]
    Search(Search),
    /// The index changed every time while it was being read.
    #[error(
        "the index changed again and again while it was being read (it is at version {version} now): try again later"
    )]
    Changing {
        /// The server's version.
        version: u64,
    },
    /// The vector of a query is not valid.
    #[error("{place}: {why}")]
    Query {
        /// The vector's position in the request.
        place: String,
        /// The reason.
        why: String,
    },
    /// A check for a new version failed permanently, so nothing is searched.
    #[error("{message}")]
    Outage {
        /// The message of that check.
        message: String,
        /// The kind of its error.
        kind: Kind,
    },
}

impl From<Search> for Error {
    /// Gives separate variants to errors with which a user can do something.
    fn from(error: Search) -> Self {
        match error {
            Search::Stale { serving, .. } => Self::Changing { version: serving },
            error => Self::Search(error),
        }
    }
}

impl Error {
    /// The kind of this error. After a bad reply it is [`Kind::Untrusted`], whatever happened later.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self {
            Self::Search(error) => Self::search_kind(error),
            Self::Changing { .. } => Kind::Stale,
            Self::Outage { kind, .. } => *kind,
            _ => Kind::Local,
        }
    }

    /// The kind of an error of the index.
    pub(crate) fn search_kind(error: &Search) -> Kind {
        match error.is_bad_reply() {
            true => Kind::Untrusted,
            false => error.kind(),
        }
    }

    /// Adds the file's path to an error of the system.
    pub(crate) fn at(path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_owned();
        |source| Self::File { path, source }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_reply_is_not_to_be_trusted_whatever_came_after_it() {
        let busy = || Search::transport(Kind::Busy, "busy");
        let stale = Search::Stale {
            found: 1,
            serving: 2,
        };
        for (error, kind) in [
            (busy(), Kind::Busy),
            (busy().after_bad_reply(), Kind::Untrusted),
            (Search::BadReply, Kind::Untrusted),
            (Search::NoReader, Kind::Local),
            (Search::Signature, Kind::Untrusted),
            (stale, Kind::Stale),
        ] {
            assert_eq!(Error::from(error).kind(), kind);
        }
    }
}
