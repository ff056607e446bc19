//! A directory in which a new index may be made, and one that is as it was before again.

use std::io;
use std::path::{Path, PathBuf};

use super::Folder;
use super::names::{self, CURRENT, LOCK, MANIFESTS, PARTS};
use crate::{Disk, Error};

impl<D: Disk> Folder<D> {
    /// Refuses a directory in which anything is not what a new index may find: an index, or what the
    /// making of one that was interrupted has left. A directory that is not there yet is free.
    ///
    /// # Errors
    /// [`Error::Exists`], [`Error::Occupied`], [`Error::File`].
    pub fn check_free(&self) -> Result<(), Error> {
        let entries = match self.disk.list(&self.root) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            entries => self.run(&self.root, entries)?,
        };
        let has = |name: &str| entries.iter().any(|entry| entry == name);
        // A store may list late.
        if has(CURRENT) || self.disk.exists(&self.root.join(CURRENT)) {
            let path = self.root.clone();
            return Err(Error::Exists { path });
        }
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
                // Whoever writes one of these has made the lock before.
                let ours = has(LOCK) && is_ours(names::finished(&entry).unwrap_or(&entry));
                if !ours {
                    return Err(foreign(Path::new(dir).join(entry)));
                }
            }
        }
        Ok(())
    }

    /// Removes what the making of an index has left that is not going to be there, and the directory itself if
    /// it was `fresh`. Whoever calls this has the lock. What cannot be removed stays, as does what holds
    /// anything else.
    pub fn abandon(&self, fresh: bool) {
        self.discard();
        let dirs = [self.parts(), self.manifests()];
        let empty = dirs.iter().all(|dir| self.disk.remove_dir(dir).is_ok());
        if empty && self.disk.remove(&self.root.join(LOCK)).is_ok() && fresh {
            drop(self.disk.remove_dir(&self.root));
        }
    }
}
