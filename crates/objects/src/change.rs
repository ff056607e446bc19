//! An owner's change, from the lock to the newest version.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use object_store::{PutMode, UpdateVersion};

use crate::age::{Clock, Since};

/// The version that a change begins from.
#[derive(Clone, Debug, Default)]
enum Base {
    /// No one has looked since the lock was taken, so there should be none.
    #[default]
    Unread,
    /// There was none.
    None,
    /// This one.
    At(UpdateVersion),
}

/// Everything between an owner's lock and its newest version.
#[derive(Debug, Default)]
pub(crate) struct Change {
    /// Files that are written and have no name yet.
    staged: HashMap<PathBuf, Vec<u8>>,
    base: Base,
    /// The store's time, if this owner has begun.
    clock: Option<Clock>,
    /// The first part that is written or taken over for the next version.
    begun: Option<Since>,
    /// The times of the files of the last list.
    listed: HashMap<PathBuf, SystemTime>,
}

impl Change {
    /// An owner begins.
    pub(crate) fn begin(&mut self, clock: Clock) {
        *self = Self {
            clock: Some(clock),
            ..Self::default()
        };
    }

    /// The newest version was read. The first that is read after the lock is the one that the change follows from; what is read later may
    /// be another owner's.
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

    /// True if the change began from the version whose tag this is, or from none.
    pub(crate) fn follows(&self, now: Option<&str>) -> bool {
        match &self.base {
            Base::Unread | Base::None => now.is_none(),
            Base::At(version) => version.e_tag.as_deref() == now,
        }
    }

    /// The new version is the newest.
    pub(crate) fn switched(&mut self, version: UpdateVersion) {
        self.base = Base::At(version);
        self.begun = None;
    }

    /// Keeps a file until it has a name.
    pub(crate) fn stage(&mut self, path: &Path, bytes: &[u8]) {
        self.staged.insert(path.to_owned(), bytes.to_vec());
    }

    /// A file that waits for its name.
    pub(crate) fn take(&mut self, path: &Path) -> Option<Vec<u8>> {
        self.staged.remove(path)
    }

    /// A part is written or taken over, which the next version will name.
    pub(crate) fn counts(&mut self) {
        self.begun.get_or_insert_with(Since::now);
    }

    /// A directory was listed, with the times of its files.
    pub(crate) fn listed(&mut self, times: impl Iterator<Item = (PathBuf, SystemTime)>) {
        self.listed = times.collect();
    }

    /// True of a file that was no older than the grace when it was listed, and so can only be younger if it was written again.
    pub(crate) fn is_young(&self, path: &Path, grace: Duration) -> bool {
        let listed = self.clock.zip(self.listed.get(path));
        listed.is_some_and(|(clock, time)| clock.age(*time) <= grace)
    }

    /// The store's time.
    pub(crate) fn clock(&self) -> io::Result<Clock> {
        self.clock
            .ok_or_else(|| io::Error::other("no change of this index was begun here"))
    }

    /// Refuses a change whose first parts may have been removed as left over before it came to its end.
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
