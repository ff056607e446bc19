//! The choices of a client that connects.

use sordino_index::Pin;

use crate::cache::Cache;

/// The choices of a client that connects.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct ConnectOptions<'a> {
    /// The version that was seen last; none at the first time.
    pub pin: Option<&'a Pin>,
    /// Connects also where the server does not show that its version follows from that one: it is of the same index and not older.
    /// Where the server shows the way, all of it is checked.
    ///
    /// # Security
    /// A server that hides another history shows a gap. Ask the owner first, and not through that server.
    pub over_gap: bool,
    /// A folder of parts that were downloaded before. Only missing parts are asked for, now and at each
    /// [`refresh`](crate::Client::refresh), and are kept in it.
    pub cache: Option<&'a Cache>,
}

sordino_index::setters! {
    ConnectOptions<'a> {
        pin: Option<&'a Pin>,
        over_gap: bool,
        cache: Option<&'a Cache>,
    }
}
