//! The time to send bytes over a line between client and server.

use crate::delivery::Line;
use serde::Serialize;
use sordino_search::plan::Row;

/// The seconds that one mode takes, for computing and for sending over a line.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct Seconds {
    /// The time before the first search.
    pub(super) once: f64,
    /// The time of each search.
    pub(super) search: f64,
    /// The time of all searches of a client, one after the other.
    pub(super) in_all: f64,
}

impl Line {
    /// The time that a mode takes for `queries` searches.
    pub(super) fn seconds(self, row: &Row, queries: u64) -> Seconds {
        Seconds {
            once: row.once_seconds(self.rate()),
            search: row.search_seconds(self.rate()),
            in_all: row.seconds(self.rate(), queries),
        }
    }
}
