//! The terms that modes are weighed by.

use std::time::Duration;

use super::Speed;

/// The terms that modes are weighed by, in addition to a plan's bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Terms {
    /// The longest that a client may compute for one search, on one thread; `None`: as long as it
    /// takes.
    pub client: Option<Duration>,
    /// True if the server may hold the vectors in the clear.
    pub server_sees_vectors: bool,
    /// The speed of server and clients.
    pub speed: Speed,
    /// Bits per second of the link between the two, each way. With it time decides, without it bytes.
    pub line: Option<f64>,
}

impl Default for Terms {
    /// Private vectors, and clients with time, on the machine of [`Speed::ZEN5`], weighed by bytes.
    fn default() -> Self {
        Self {
            client: None,
            server_sees_vectors: false,
            speed: Speed::ZEN5,
            line: None,
        }
    }
}
