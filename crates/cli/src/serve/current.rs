//! The folder of an index, followed from version to version.

use sordino_net::Service;
use sordino_search::{Bytes, Disk, Files, OwnerPublicKey};
use std::{
    path::{Path, PathBuf},
    time::Duration,
};

/// The pause before it tries again to open an index that is damaged.
const RETRY: Duration = Duration::from_secs(1);

/// Bytes of the file that names the newest version, at most.
const CURRENT_LEN: u64 = 1 << 10;

/// The file that names the newest version of an index.
pub(super) struct Current {
    path: PathBuf,
    /// Its content when that version was served, and when it could not be.
    seen: Option<Bytes>,
    failed: Option<Bytes>,
}

impl Current {
    /// The file as it is before the index is opened.
    pub(super) fn of(index: &Path) -> Self {
        let mut current = Self::unseen(index);
        current.seen = current.read();
        current
    }

    /// The file of an index that is not opened yet.
    pub(super) fn unseen(index: &Path) -> Self {
        Self {
            path: index.join("CURRENT"),
            seen: None,
            failed: None,
        }
    }

    fn read(&self) -> Option<Bytes> {
        Files.read(&self.path, CURRENT_LEN).ok()
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
    pub(super) fn follow(
        &mut self,
        index: &Path,
        owner: &OwnerPublicKey,
        service: &Service,
    ) -> bool {
        let now = self.read();
        if now == self.seen || now.is_none() {
            return false;
        }
        match service.server().follow_dir(index, owner) {
            Ok(server) => {
                // One that was pushed here is served already.
                if server.manifest().digest() != service.server().manifest().digest() {
                    service.replace(server);
                }
                self.seen = now;
                return true;
            }
            // A damaged version is not served, the version before goes on. It is said once, and tried
            // again: a change that was made meanwhile may have removed what was being read.
            Err(error) if self.failed != now => {
                tracing::error!(%error, "the index cannot be followed; the version before is served on");
                self.failed = now;
            }
            Err(_) => std::thread::sleep(RETRY),
        }
        false
    }
}
