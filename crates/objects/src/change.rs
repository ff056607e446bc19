//! An owner's change, from the lock to the newest version.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use object_store::{PutMode, UpdateVersion};

use crate::age::{Clock, Since};

/// The version from which a change begins.
#[derive(Clone, Debug, Default)]
enum Base {
    /// Unknown. This owner did not read the newest version after it took the lock, so the index should have no version.
    #[default]
    Unread,
    /// The index had no version.
    None,
    /// This version.
    At(UpdateVersion),
}

/// The state between an owner's lock and its newest version.
#[derive(Debug, Default)]
pub(crate) struct Change {
    /// Files that were written and have no final name yet.
    staged: HashMap<PathBuf, Vec<u8>>,
    base: Base,
    /// The store's time, if this owner has begun.
    clock: Option<Clock>,
    /// The moment when the first part for the next version was written or reused.
    begun: Option<Since>,
    /// The times of the files in the last listing.
    listed: HashMap<PathBuf, SystemTime>,
}

impl Change {
    /// Starts a change of an owner.
    pub(crate) fn begin(&mut self, clock: Clock) {
        *self = Self {
            clock: Some(clock),
            ..Self::default()
        };
    }

    /// Records that the newest version was read. The change follows from the first version that is read after the lock. A version
    /// read later may be another owner's.
    pub(crate) fn saw(&mut self, version: Option<UpdateVersion>) {
        if matches!(self.base, Base::Unread) && self.clock.is_some() {
            self.base = version.map_or(Base::None, Base::At);
        }
    }

    /// The condition under which a new version becomes the newest.
    pub(crate) fn mode(&self) -> PutMode {
        match &self.base {
            Base::Unread | Base::None => PutMode::Create,
            Base::At(version) => PutMode::Update(version.clone()),
        }
    }

    /// True if the change began from the version with this tag, or from none.
    pub(crate) fn follows(&self, now: Option<&str>) -> bool {
        match &self.base {
            Base::Unread | Base::None => now.is_none(),
            Base::At(version) => version.e_tag.as_deref() == now,
        }
    }

    /// Records that the new version is now the newest.
    pub(crate) fn switched(&mut self, version: UpdateVersion) {
        self.base = Base::At(version);
        self.begun = None;
    }

    /// Keeps a file until it gets its final name.
    pub(crate) fn stage(&mut self, path: &Path, bytes: &[u8]) {
        self.staged.insert(path.to_owned(), bytes.to_vec());
    }

    /// Takes a file that waits for its final name.
    pub(crate) fn take(&mut self, path: &Path) -> Option<Vec<u8>> {
        self.staged.remove(path)
    }

    /// Records that a part which the next version will name was written or reused.
    pub(crate) fn counts(&mut self) {
        self.begun.get_or_insert_with(Since::now);
    }

    /// Records the listing of a directory, with the times of its files.
    pub(crate) fn listed(&mut self, times: impl Iterator<Item = (PathBuf, SystemTime)>) {
        self.listed = times.collect();
    }

    /// True for a file that was too young to be removed when it was listed. If it was written again since then, it is
    /// younger still.
    pub(crate) fn is_young(&self, path: &Path, grace: Duration) -> bool {
        let listed = self.clock.zip(self.listed.get(path));
        listed.is_some_and(|(clock, time)| clock.age(*time) <= grace)
    }

    /// The store's time.
    pub(crate) fn clock(&self) -> io::Result<Clock> {
        self.clock
            .ok_or_else(|| io::Error::other("no change of this index was begun here"))
    }

    /// Refuses a change that took so long that its first parts may have been removed as leftovers.
    pub(crate) fn check_time(&self, grace: Duration) -> io::Result<()> {
        match self.begun {
            Some(begun) if begun.elapsed() > grace / 2 => {
                let (took, most) = (begun.elapsed().as_secs(), grace.as_secs() / 2);
                let why = format!(
                    "the change took {took} s, and its first parts are safe for {most}: open the index again"
                );
                Err(io::Error::new(io::ErrorKind::TimedOut, why))
            }
            _ => Ok(()),
        }
    }
}
