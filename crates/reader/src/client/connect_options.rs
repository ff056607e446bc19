//! The choices of a client that connects.

use sordino_index::Pin;

use crate::cache::Cache;

/// The choices of a client that connects.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct ConnectOptions<'a> {
    /// The newest version that the client has seen, or `None` for the first connection.
    pub pin: Option<&'a Pin>,
    /// Connects even if the server does not show that its version follows from the pinned one. The version must still be of the
    /// same index and not older. What the server does show is checked.
    ///
    /// # Security
    /// A server that hides another history would also show a gap. First ask the owner, and not through that server.
    pub over_gap: bool,
    /// A folder of earlier downloads. Only missing parts are requested, now and at each [`refresh`](crate::Client::refresh), and
    /// are kept in it.
    pub cache: Option<&'a Cache>,
}

sordino_index::setters! {
    ConnectOptions<'a> {
        pin: Option<&'a Pin>,
        over_gap: bool,
        cache: Option<&'a Cache>,
    }
}
