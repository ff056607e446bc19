//! Follows the folder of an index from version to version.

use crate::place::Place;
use sordino_net::Service;
use sordino_search::{Bytes, OwnerPublicKey};
use std::time::Duration;

/// The time before the next attempt to open a damaged index.
const RETRY: Duration = Duration::from_secs(1);

/// This number of consecutive checks must miss the file before the server logs it, because the folder may be replaced
/// meanwhile.
const ABSENT: u32 = 20;

/// The file that names the newest version of an index.
pub(super) struct Current {
    place: Place,
    /// The file's content at the time when a version was served, or could not be served.
    seen: Option<Bytes>,
    failed: Option<Bytes>,
    /// The number of consecutive checks that did not find the file.
    absent: u32,
}

impl Current {
    /// The file of an index that is opened next. Its present content counts as seen.
    pub(super) fn of(place: Place) -> Self {
        let mut current = Self::unseen(place);
        current.seen = current.read();
        current
    }

    /// The file for an index that is not opened yet.
    pub(super) fn unseen(place: Place) -> Self {
        Self {
            place,
            seen: None,
            failed: None,
            absent: 0,
        }
    }

    fn read(&self) -> Option<Bytes> {
        self.place.current()
    }

    /// The index's place.
    pub(super) fn place(&self) -> &Place {
        &self.place
    }

    /// The file's present content, if it exists and has changed.
    pub(super) fn news(&self) -> Option<Bytes> {
        self.read().filter(|now| self.seen.as_ref() != Some(now))
    }

    /// Records that the version which `now` names is served.
    pub(super) fn saw(&mut self, now: Bytes) {
        self.seen = Some(now);
    }

    /// Serves the folder's version, if it is new. Returns true if it is.
    pub(super) fn follow(&mut self, owner: &OwnerPublicKey, service: &Service) -> bool {
        let now = self.read();
        if now.is_none() {
            self.absent = self.absent.saturating_add(1);
            if self.absent == ABSENT {
                tracing::error!(
                    "the index's file CURRENT cannot be read: the version before is served, and the next start would fail"
                );
            }
            return false;
        }
        self.absent = 0;
        if now == self.seen {
            return false;
        }
        let before = service.server();
        match self.place.follow(&before, owner) {
            Ok(server) => {
                // A push may have replaced the version while this one was opened. In that case, the server reads the
                // folder again.
                let replaced = service.replace_after(&before, server);
                if replaced {
                    self.seen = now;
                }
                return replaced;
            }
            // A damaged version is not served, and the version before stays. The fault is logged
            // once, and opening is tried again: a change may have removed files that were being read.
            Err(error) if self.failed != now => {
                tracing::error!(%error, "the index cannot be followed; the version before is served");
                self.failed = now;
            }
            Err(_) => std::thread::sleep(RETRY),
        }
        false
    }
}
