//! The exchanges of a search with the server.

use sordino_index::Error;
use sordino_index::wire::{Edition, Message, message_len};

use crate::latch::Latch;
use crate::transport::AsyncTransport;
use crate::verdict::{Verdict, Wrong};

/// A search in progress: its randomness, the server, and the version of the index.
pub(crate) struct Round<'a, R: ?Sized, T> {
    pub(crate) rng: &'a mut R,
    pub(crate) transport: &'a mut T,
    pub(crate) edition: Edition,
    pub(crate) latch: Latch,
}

impl<R: ?Sized, T: AsyncTransport> Round<'_, R, T> {
    /// Sends a request with this body, and reads the reply's body of `len` bytes.
    ///
    /// # Errors
    /// The errors of the transport. A reply of another kind or length, or one that `read` refuses,
    /// gives [`Wrong`].
    pub(crate) async fn ask<A>(
        &mut self,
        request: Message,
        body: &[u8],
        len: usize,
        read: impl FnOnce(&[u8]) -> Result<A, Error>,
    ) -> Result<Verdict<A>, Error> {
        let message = request.about(self.edition, body);
        let reply = self.transport.exchange(&message, message_len(len)).await?;
        let answer = request.reply().expect(&reply, Some(len)).and_then(read);
        Ok(self.latch.checked(answer.map_err(|_| Wrong)))
    }

    /// The outcome of a step. An error after a bad reply reports both.
    pub(crate) fn told<A>(&self, step: Result<A, Error>) -> Result<A, Error> {
        match step {
            // The caller sends its remaining messages.
            Ok(done) => Ok(done),
            Err(error) => self.latch.outcome(Err(error)),
        }
    }
}
