//! The way of messages.

use sordino_index::Error;

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
