//! The outcome of calls.

use pyo3::prelude::*;
use rand::SeedableRng;
use rand::rngs::{StdRng, SysRng};
use sordino_search::{Error, Found};

use crate::errors;
use crate::transport::Moved;

/// One search: what was found, and what moved.
pub(super) type Searched = Result<(Found, Moved), Failed>;

/// Payloads of records, none for one that is not there.
pub(super) type Payloads = Vec<Option<Vec<u8>>>;

/// The reason why a call failed.
pub(crate) enum Failed {
    Search(Error),
    Net(sordino_net::Error),
}

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        Self::Search(error)
    }
}

impl From<sordino_net::Error> for Failed {
    fn from(error: sordino_net::Error) -> Self {
        Self::Net(error)
    }
}

impl Failed {
    /// False if a reply was wrong, which the server does not know.
    pub(super) fn is_seen(&self) -> bool {
        match self {
            Self::Search(error) => error.seen().is_some(),
            Self::Net(_) => true,
        }
    }

    /// True if a reply was wrong, whatever came after it.
    pub(super) fn is_wrong(&self) -> bool {
        matches!(self, Self::Search(Error::Search | Error::Wrong(_)))
    }

    /// The error where a reply was wrong before.
    pub(super) fn after_wrong(self) -> Self {
        let then = match self {
            Self::Search(error @ (Error::Search | Error::Wrong(_))) => return Self::Search(error),
            Self::Search(error) => error,
            Self::Net(error) => Error::Transport(Box::new(error)),
        };
        Self::Search(Error::Wrong(Box::new(then)))
    }

    pub(super) fn raise(&self, py: Python<'_>) -> PyErr {
        match self {
            Self::Search(error) => errors::search(py, error),
            Self::Net(error) => errors::net(py, error),
        }
    }
}

/// A generator seeded by the system.
pub(super) fn rng() -> Result<StdRng, Failed> {
    let seeded = StdRng::try_from_rng(&mut SysRng);
    seeded.map_err(|error| Error::Transport(Box::new(error)).into())
}
