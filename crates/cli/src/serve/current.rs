//! Follows the folder of an index from version to version.

use crate::place::Place;
use sordino_net::Service;
use sordino_search::{Bytes, OwnerPublicKey};
use std::time::Duration;

/// The time before the next attempt to open a damaged index.
const RETRY: Duration = Duration::from_secs(1);

/// The file that names the newest version of an index.
pub(super) struct Current {
    place: Place,
    /// The file's content when a version was served, or when one could not be.
    seen: Option<Bytes>,
    failed: Option<Bytes>,
}

impl Current {
    /// The file as it is before the index is opened.
    pub(super) fn of(place: Place) -> Self {
        let mut current = Self::unseen(place);
        current.seen = current.read();
        current
    }

    /// The file of an index that is not opened yet.
    pub(super) fn unseen(place: Place) -> Self {
        Self {
            place,
            seen: None,
            failed: None,
        }
    }

    fn read(&self) -> Option<Bytes> {
        self.place.current()
    }

    /// The index's place.
    pub(super) fn place(&self) -> &Place {
        &self.place
    }

    /// The file as it is now, if it is there and not as it was seen.
    pub(super) fn news(&self) -> Option<Bytes> {
        self.read().filter(|now| self.seen.as_ref() != Some(now))
    }

    /// The version that this names is served.
    pub(super) fn saw(&mut self, now: Bytes) {
        self.seen = Some(now);
    }

    /// Serves the version that the folder has now, if it is another: true if it is.
    pub(super) fn follow(&mut self, owner: &OwnerPublicKey, service: &Service) -> bool {
        let now = self.read();
        if now == self.seen || now.is_none() {
            return false;
        }
        let before = service.server();
        match self.place.follow(&before, owner) {
            Ok(server) => {
                // Another may have been pushed here while this one was opened: then the folder is looked at once more.
                let replaced = service.replace_after(&before, server);
                if replaced {
                    self.seen = now;
                }
                return replaced;
            }
            // A damaged version is not served, the version before goes on. It is said once, and tried
            // again: a change that was made meanwhile may have removed what was being read.
            Err(error) if self.failed != now => {
                tracing::error!(%error, "the index cannot be followed; the version before is served");
                self.failed = now;
            }
            Err(_) => std::thread::sleep(RETRY),
        }
        false
    }
}
