//! Checks a directory in which a new index is created, and undoes a failed attempt.

use std::io;
use std::path::{Path, PathBuf};

use super::Folder;
use super::names::{self, CURRENT, LOCK, MANIFESTS, PARTS};
use crate::{Disk, Error};

impl<D: Disk> Folder<D> {
    /// Refuses a directory that has anything but parts left from creating an index. If it has manifests, its versions
    /// may be whole. A directory that does not exist is free.
    ///
    /// # Errors
    /// - [`Error::Exists`] if the directory has an index
    /// - [`Error::Lost`] if the directory has manifests but no `CURRENT`; [`Error::Locked`] if a program is making its first
    ///   version now
    /// - [`Error::Occupied`] if the directory holds other files
    /// - [`Error::File`] if a file cannot be read or written
    pub fn check_free(&self) -> Result<(), Error> {
        self.check_unnamed()?;
        let (path, versions) = (self.root.clone(), self.versions()?);
        if versions.is_empty() {
            return self.check_ours();
        }
        if self.disk.is_locked(&self.root.join(LOCK)) {
            return Err(Error::Locked { path });
        }
        // The program may have named its version and ended meanwhile.
        self.check_unnamed()?;
        Err(Error::Lost { path, versions })
    }

    /// Refuses a directory that has a `CURRENT`, even a damaged one.
    pub(super) fn check_unnamed(&self) -> Result<(), Error> {
        // An object store may list its entries late.
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

    /// Refuses a directory with a file that creating an index does not leave.
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
                // A program that wrote one of these made the lock before.
                let ours = has(LOCK) && is_ours(names::finished(&entry).unwrap_or(&entry));
                if !ours {
                    return Err(foreign(Path::new(dir).join(entry)));
                }
            }
        }
        Ok(())
    }

    /// Removes the files that an interrupted creation of an index has left, and the directory itself if it was
    /// `fresh`. The caller has the lock. Files that cannot be removed stay, and so does the directory if it holds
    /// anything else.
    pub fn abandon(&self, fresh: bool) {
        self.discard();
        // No client has seen it, since it was never the newest.
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
