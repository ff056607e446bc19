//! Why a command stopped, and the exit code that says so to scripts.

use std::{
    io,
    path::{Path, PathBuf},
};

use sordino_net::Error as Net;
use sordino_search::{Error as Search, vectors};

/// A command did what it was told.
pub const SUCCESS: u8 = 0;
/// A command could not do its work. Usage errors are 2, from clap.
pub const FAILURE: u8 = 1;
/// A signature, a digest or a version is wrong: the index, a file or the server is not to be
/// trusted.
pub const INTEGRITY: u8 = 3;
/// The server cannot be reached, or refused.
pub const SERVER: u8 = 4;

/// Why a command stopped. No message holds a secret, a query or a score.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file could not be read or written.
    #[error("{path}: {source}", path = path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Standard input or output could not be read or written.
    #[error("{0}")]
    Stream(#[from] io::Error),
    /// A file is not a key file.
    #[error("{path}: {why}", path = path.display())]
    KeyFile {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: &'static str,
    },
    /// A key file is of another kind.
    #[error("{path}: {found}; expected {expected}", path = path.display())]
    KeyKind {
        /// The file.
        path: PathBuf,
        /// What it holds.
        found: &'static str,
        /// What was needed.
        expected: &'static str,
    },
    /// The system has no randomness.
    #[error("the system's random generator: {0}")]
    Random(String),
    /// What is being searched or built.
    #[error(transparent)]
    Search(#[from] Search),
    /// Something of a file of vectors.
    #[error("{path}: {source}", path = path.display())]
    Vectors {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: vectors::Error,
    },
    /// What goes over the network.
    #[error(transparent)]
    Net(#[from] sordino_net::Error),
    /// Format-preserving encryption.
    #[error(transparent)]
    Fpe(#[from] crate::fpe::Error),
    /// Arguments that do not go together.
    #[error("{0}")]
    Arguments(String),
}

impl Error {
    /// Names the file that an error of the system is about.
    pub(crate) fn at(path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_owned();
        |source| Self::File { path, source }
    }

    /// Names the file of vectors that an error is about.
    pub(crate) fn vectors(path: &Path) -> impl Fn(vectors::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| match source {
            // It names the file itself.
            vectors::Error::File { .. } => source.into(),
            source => Self::Vectors {
                path: path.clone(),
                source,
            },
        }
    }

    /// What the process ends with.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Search(error) => search_code(error),
            Self::Net(error) => net_code(error),
            _ => FAILURE,
        }
    }
}

impl From<vectors::Error> for Error {
    fn from(error: vectors::Error) -> Self {
        Self::Search(error.into())
    }
}

fn search_code(error: &Search) -> u8 {
    match error {
        Search::Malformed { .. }
        | Search::FormatVersion { .. }
        | Search::Digest { .. }
        | Search::Signature
        | Search::Rollback { .. }
        | Search::Fork { .. }
        | Search::OtherIndex { .. }
        | Search::Gap { .. }
        | Search::Search => INTEGRITY,
        Search::Transport(error) => match error.downcast_ref() {
            Some(error) => net_code(error),
            None => SERVER,
        },
        Search::Stale { .. } => SERVER,
        _ => FAILURE,
    }
}

fn net_code(error: &Net) -> u8 {
    match error {
        Net::Connect(_) | Net::Refused(_) | Net::Status { .. } | Net::Deadline { .. } => SERVER,
        Net::Reply(_) => INTEGRITY,
        _ => FAILURE,
    }
}
