//! How messages reach a server.

use std::future::{Future, ready};
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use sordino_index::digest::Digest;
use sordino_index::{Error, Kind};

/// Sends a request to a server and waits for its reply.
pub trait Transport {
    /// Sends `request` and returns the reply, which has at most `limit` bytes. The caller knows from the manifest how much an
    /// honest server sends.
    ///
    /// A request must be sent only once. Sending the same encrypted query again would show the server that two requests belong to
    /// one search. It would also show that the first reply was lost or refused. A repeated search draws fresh secrets.
    ///
    /// # Errors
    /// [`Error::Transport`] if no reply came, or a longer one.
    fn call(&mut self, request: &[u8], limit: usize) -> Result<Vec<u8>, Error>;
}

/// An asynchronous [`Transport`]. Use it where nothing may block, as in a browser.
pub trait AsyncTransport {
    /// Like [`Transport::call`], asynchronously.
    ///
    /// # Errors
    /// The errors of [`Transport::call`].
    fn exchange(
        &mut self,
        request: &[u8],
        limit: usize,
    ) -> impl Future<Output = Result<Vec<u8>, Error>>;

    /// The part of this digest and length, if it was [kept](Self::keep) before. The caller checks it: wrong bytes count as none.
    fn kept(&mut self, _digest: &Digest, _len: u64) -> impl Future<Output = Option<Vec<u8>>> {
        ready(None)
    }

    /// Keeps a downloaded part for the next connection, if there is room. Its bytes are the server's.
    fn keep(&mut self, _digest: &Digest, _part: &[u8]) -> impl Future<Output = ()> {
        ready(())
    }
}

/// A blocking transport has its reply at once.
impl<T: Transport> AsyncTransport for T {
    fn exchange(
        &mut self,
        request: &[u8],
        limit: usize,
    ) -> impl Future<Output = Result<Vec<u8>, Error>> {
        ready(self.call(request, limit))
    }
}

/// The result of work over a blocking transport, which never has to wait.
///
/// # Errors
/// The errors of the work.
pub(crate) fn at_once<T>(work: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    match pin!(work).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(done) => done,
        Poll::Pending => Err(Error::transport(
            Kind::Local,
            "this transport does not block: use the methods that wait for it",
        )),
    }
}
