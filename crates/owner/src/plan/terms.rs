//! The terms by which modes are compared.

use std::time::Duration;

use super::Speed;

/// The terms by which modes are compared, in addition to a plan's bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Terms {
    /// The longest time that a client may compute for one search, on one thread. `None` sets no limit.
    pub client: Option<Duration>,
    /// True if the server may hold the vectors in the clear.
    pub server_sees_vectors: bool,
    /// The speed of server and clients.
    pub speed: Speed,
    /// The number of bits per second of the link between client and server, each way. With a link, the time
    /// decides. Without a link, the number of bytes decides.
    pub line: Option<f64>,
}

impl Default for Terms {
    /// Private vectors, clients without a time limit, the machine of [`Speed::ZEN5`], and no link.
    fn default() -> Self {
        Self {
            client: None,
            server_sees_vectors: false,
            speed: Speed::ZEN5,
            line: None,
        }
    }
}
