//! The transports of a session.

use std::sync::{Mutex, MutexGuard, PoisonError};

use rand::SeedableRng;
use rand::rngs::{StdRng, SysRng};
use sordino_index::{Error, Kind};

use crate::transport::Transport;

/// Opens transports to one server.
pub trait Dial {
    /// A transport that one thread uses at a time. It is used again after an error, and reconnects by itself if necessary.
    type Transport: Transport;

    /// Opens another transport.
    ///
    /// # Errors
    /// [`Error::Transport`] with a kind that determines whether the session retries. Other errors end the call.
    fn dial(&self) -> Result<Self::Transport, Error>;
}

impl<T: Transport, F: Fn() -> Result<T, Error>> Dial for F {
    type Transport = T;

    fn dial(&self) -> Result<T, Error> {
        self()
    }
}

/// A transport, and the random generator for its messages.
pub(super) struct Line<T> {
    pub(super) transport: T,
    pub(super) rng: StdRng,
}

/// The lines that no call is using.
pub(super) struct Pool<D: Dial> {
    dial: D,
    idle: Mutex<Vec<Line<D::Transport>>>,
    /// The largest number of lines that are kept.
    most: usize,
}

impl<D: Dial> Pool<D> {
    pub(super) fn new(dial: D, most: usize) -> Self {
        let idle = Mutex::default();
        Self { dial, idle, most }
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Line<D::Transport>>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn take(&self) -> Result<Line<D::Transport>, Error> {
        let idle = self.idle().pop();
        if let Some(line) = idle {
            return Ok(line);
        }
        let rng = StdRng::try_from_rng(&mut SysRng);
        let rng = rng.map_err(|error| Error::transport(Kind::Local, error))?;
        let transport = self.dial.dial()?;
        Ok(Line { transport, rng })
    }

    pub(super) fn give_back(&self, line: Line<D::Transport>) {
        let mut idle = self.idle();
        if idle.len() < self.most {
            idle.push(line);
        }
    }
}
