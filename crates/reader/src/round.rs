//! A search's exchanges with the server.

use sordino_index::Error;
use sordino_index::wire::{Edition, Message, message_len};

use crate::checked::{Checked, Wrong};
use crate::transport::Transport;

/// A search on its way: its randomness, the server, and the version of the index that it is about.
pub(crate) struct Round<'a, R: ?Sized, T> {
    pub(crate) rng: &'a mut R,
    pub(crate) transport: &'a mut T,
    pub(crate) edition: Edition,
    /// A reply was wrong.
    pub(crate) wrong: bool,
}

impl<R: ?Sized, T: Transport> Round<'_, R, T> {
    /// Sends a request with this body, and reads the reply's body of `len` bytes.
    ///
    /// # Errors
    /// The transport's. A reply of another kind or length, or that `read` refuses, is [`Wrong`].
    pub(crate) fn ask<A>(
        &mut self,
        request: Message,
        body: &[u8],
        len: usize,
        read: impl FnOnce(&[u8]) -> Result<A, Error>,
    ) -> Result<Checked<A>, Error> {
        let message = request.about(self.edition, body);
        let reply = self.transport.call(&message, message_len(len))?;
        let answer = request.reply().expect(&reply, Some(len)).and_then(read);
        Ok(self.noted(answer.map_err(|_| Wrong)))
    }

    /// Remembers that something is wrong: such a search has no results, however it ends.
    pub(crate) fn noted<A>(&mut self, answer: Checked<A>) -> Checked<A> {
        self.wrong |= answer.is_err();
        answer
    }

    /// The outcome of a step. An error after a wrong reply tells of both: whoever searched learns of the reply, and tries
    /// again or not by the error alone, which is all that the server knows of. If it saw that a refusal is taken another way after
    /// a wrong reply, it would see that it was wrong.
    pub(crate) fn step<A>(
        &mut self,
        step: impl FnOnce(&mut Self) -> Result<A, Error>,
    ) -> Result<A, Error> {
        step(self).map_err(|error| match self.wrong {
            true => Error::Wrong(Box::new(error)),
            false => error,
        })
    }
}
