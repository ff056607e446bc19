//! A transport that counts bytes and waiting time.

use std::time::{Duration, Instant};

use sordino_search::{Error, Transport};

/// The bytes and the waiting time of searches.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Moved {
    /// The size in bytes of requests.
    pub(crate) up: u64,
    /// The size in bytes of replies.
    pub(crate) down: u64,
    /// The time from each request to its complete reply. Within one process this is the server's
    /// time.
    pub(crate) waited: Duration,
}

impl std::ops::AddAssign for Moved {
    fn add_assign(&mut self, other: Self) {
        self.up += other.up;
        self.down += other.down;
        self.waited += other.waited;
    }
}

/// A transport that counts bytes and time.
pub(crate) struct Counted<'a, T> {
    pub(crate) inner: &'a mut T,
    pub(crate) moved: Moved,
}

impl<'a, T> Counted<'a, T> {
    pub(crate) fn new(inner: &'a mut T) -> Self {
        Self {
            inner,
            moved: Moved::default(),
        }
    }
}

impl<T: Transport> Transport for Counted<'_, T> {
    fn call(&mut self, request: &[u8], limit: usize) -> Result<Vec<u8>, Error> {
        let start = Instant::now();
        let reply = self.inner.call(request, limit)?;
        self.moved.waited += start.elapsed();
        self.moved.up += request.len() as u64;
        self.moved.down += reply.len() as u64;
        Ok(reply)
    }
}
