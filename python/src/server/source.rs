//! The place that an index's versions come from.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use sordino_net::Service;
use sordino_search::{Bytes, Disk, Files, OpenOptions, OwnerPublicKey};

/// The pause before a version that could not be put in place is tried again.
const RETRY: Duration = Duration::from_secs(1);

/// Bytes of the file that names the newest version, at most.
const CURRENT_LEN: u64 = 1 << 10;

/// The place that an index's versions come from.
pub(super) enum Source {
    Folder(Folder),
    /// Other servers.
    Shards,
}

/// A folder, and the version that was served of it last.
pub(super) struct Folder {
    path: PathBuf,
    owner: OwnerPublicKey,
    seen: Option<Bytes>,
    failed: Option<Instant>,
}

impl Folder {
    /// The folder as it is before the index is opened.
    pub(super) fn new(path: &Path, owner: &OwnerPublicKey) -> Self {
        let mut folder = Self {
            path: path.to_owned(),
            owner: owner.clone(),
            seen: None,
            failed: None,
        };
        folder.seen = folder.current();
        folder
    }

    /// The directory's word for its newest version.
    fn current(&self) -> Option<Bytes> {
        Files.read(&self.path.join("CURRENT"), CURRENT_LEN).ok()
    }

    fn follow(&mut self, service: &Service) -> bool {
        let now = self.current();
        if now == self.seen || now.is_none() {
            return now.is_some();
        }
        if self.failed.is_some_and(|when| when.elapsed() < RETRY) {
            return false;
        }
        // A damaged version is not served: the version before goes on, and this is tried again.
        let before = service.server();
        let options = OpenOptions::new(&self.owner).after(&before);
        match options.open_dir(&self.path) {
            Ok(server) => {
                service.replace(server);
                (self.seen, self.failed) = (now, None);
                true
            }
            Err(_) => {
                self.failed = Some(Instant::now());
                false
            }
        }
    }
}

impl Source {
    /// Puts the version in place that there is now: false if it cannot be.
    pub(super) fn follow(&mut self, service: &Service) -> bool {
        match self {
            Self::Folder(folder) => folder.follow(service),
            Self::Shards => service.follow_shards().is_ok(),
        }
    }
}
