//! The source of an index's versions.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use sordino_net::Service;
use sordino_search::{Bytes, Disk, Files, OpenOptions, OwnerPublicKey};

/// The time before the load of a version that failed is tried again.
const RETRY: Duration = Duration::from_secs(1);

/// The largest number of bytes of the file that names the newest version.
const CURRENT_LEN: u64 = 1 << 10;

/// The source of an index's versions.
pub(super) enum Source {
    Folder(Folder),
    /// Other servers.
    Shards,
}

/// A folder, and its version that was served last.
pub(super) struct Folder {
    path: PathBuf,
    owner: OwnerPublicKey,
    seen: Option<Bytes>,
    failed: Option<Instant>,
}

impl Folder {
    /// The folder before the index is opened.
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

    /// The directory's line that names its newest version.
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
        // A damaged version is not served. The previous version continues, and the load is tried
        // again.
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
    /// Loads the newest version; false if that fails.
    pub(super) fn follow(&mut self, service: &Service) -> bool {
        match self {
            Self::Folder(folder) => folder.follow(service),
            Self::Shards => service.follow_shards().is_ok(),
        }
    }
}
