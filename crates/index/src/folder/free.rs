//! A directory in which a new index may be made, and undoing an attempt.

use std::io;
use std::path::{Path, PathBuf};

use super::Folder;
use super::names::{self, CURRENT, LOCK, MANIFESTS, PARTS};
use crate::{Disk, Error};

impl<D: Disk> Folder<D> {
    /// Refuses a directory that has anything but parts which the making of an index has left. One with manifests
    /// has versions that may be whole. A directory that is not there yet is free.
    ///
    /// # Errors
    /// [`Error::Exists`], [`Error::Lost`], [`Error::Occupied`], [`Error::File`].
    pub fn check_free(&self) -> Result<(), Error> {
        self.check_unnamed()?;
        let (path, versions) = (self.root.clone(), self.versions()?);
        if !versions.is_empty() {
            return Err(Error::Lost { path, versions });
        }
        self.check_ours()
    }

    /// Refuses a directory that has a `CURRENT`, whatever is in it.
    pub(super) fn check_unnamed(&self) -> Result<(), Error> {
        // A store may list late.
        let named = self.entries()?.iter().any(|entry| entry == CURRENT);
        if named || self.disk.exists(&self.root.join(CURRENT)) {
            let path = self.root.clone();
            return Err(Error::Exists { path });
        }
        Ok(())
    }

    fn entries(&self) -> Result<Vec<String>, Error> {
        match self.disk.list(&self.root) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            entries => self.run(&self.root, entries),
        }
    }

    /// Refuses a directory in which anything is not what the making of an index leaves.
    pub(super) fn check_ours(&self) -> Result<(), Error> {
        let entries = self.entries()?;
        let has = |name: &str| entries.iter().any(|entry| entry == name);
        let foreign = |entry: PathBuf| Error::Occupied {
            path: self.root.clone(),
            entry,
        };
        let ours = |entry: &&String| {
            let name = names::finished(entry).unwrap_or(entry);
            [CURRENT, LOCK, MANIFESTS, PARTS].contains(&name)
        };
        if let Some(entry) = entries.iter().find(|entry| !ours(entry)) {
            return Err(foreign(entry.into()));
        }
        for (dir, is_ours) in [
            (MANIFESTS, names::is_manifest as fn(&str) -> bool),
            (PARTS, names::is_part),
        ] {
            if !has(dir) {
                continue;
            }
            let path = self.root.join(dir);
            for entry in self.run(&path, self.disk.list(&path))? {
                // The writer of one of these has made the lock before.
                let ours = has(LOCK) && is_ours(names::finished(&entry).unwrap_or(&entry));
                if !ours {
                    return Err(foreign(Path::new(dir).join(entry)));
                }
            }
        }
        Ok(())
    }

    /// Removes what an interrupted making of an index has left, and the directory itself if it was `fresh`. The caller
    /// has the lock. What cannot be removed stays, and so does the directory if it holds anything else.
    pub fn abandon(&self, fresh: bool) {
        self.discard();
        // No one has seen it: it has never been the newest.
        if let Some(version) = self.written().manifest.take() {
            let path = self.manifests().join(names::of_version(version));
            drop(self.disk.remove(&path));
        }
        let dirs = [self.parts(), self.manifests()];
        let empty = dirs.iter().all(|dir| self.disk.remove_dir(dir).is_ok());
        if empty && self.disk.remove(&self.root.join(LOCK)).is_ok() && fresh {
            drop(self.disk.remove_dir(&self.root));
        }
    }
}
