//! The way of messages.

use std::future::{Future, ready};
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use sordino_index::digest::Digest;
use sordino_index::{Error, Kind};

/// A way to send a request to a server and wait for its reply.
pub trait Transport {
    /// Sends `request`, returns the reply, which is at most `limit` bytes long: the caller knows
    /// from the manifest how much an honest server sends.
    ///
    /// A request is sent once. Sending the same encrypted query again would tell the server that two requests are of
    /// one search. It would also tell that the first reply was lost or refused. A search that is tried again draws
    /// fresh secrets.
    ///
    /// # Errors
    /// If no reply came, or a longer one: [`Error::Transport`].
    fn call(&mut self, request: &[u8], limit: usize) -> Result<Vec<u8>, Error>;
}

/// A [`Transport`] that does not block: its caller is resumed with the reply. Where nothing may block, as in a browser, there is no other.
pub trait AsyncTransport {
    /// [`Transport::call`], of which the reply is waited for.
    ///
    /// # Errors
    /// The errors of [`Transport::call`].
    fn exchange(
        &mut self,
        request: &[u8],
        limit: usize,
    ) -> impl Future<Output = Result<Vec<u8>, Error>>;

    /// The part of this digest and length, if it was [kept](Self::keep) before. It is checked: other bytes are as good as none.
    fn kept(&mut self, _digest: &Digest, _len: u64) -> impl Future<Output = Option<Vec<u8>>> {
        ready(None)
    }

    /// Keeps a part that was downloaded, for the next connection, where there is room. Its bytes are those that the server has.
    fn keep(&mut self, _digest: &Digest, _part: &[u8]) -> impl Future<Output = ()> {
        ready(())
    }
}

/// One that blocks has its reply at once.
impl<T: Transport> AsyncTransport for T {
    fn exchange(
        &mut self,
        request: &[u8],
        limit: usize,
    ) -> impl Future<Output = Result<Vec<u8>, Error>> {
        ready(self.call(request, limit))
    }
}

/// The result of work that waits for nothing, over a transport that blocks.
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
