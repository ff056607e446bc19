//! Removes files that no version names.

use std::path::Path;

use super::Folder;
use super::names::{self, CURRENT};
use crate::manifest::Part;
use crate::{Disk, Error};

impl<D: Disk> Folder<D> {
    /// Removes files that writing has left, and parts that `keep` does not name. Files whose names do not belong
    /// to an index stay.
    ///
    /// # Errors
    /// [`Error::File`] if a file cannot be read or written.
    pub fn collect(&self, keep: &[Part]) -> Result<(), Error> {
        let kept = |digest| keep.iter().any(|part| part.digest == digest);
        let stale_part = |name: &str| names::digest(name).is_some_and(|digest| !kept(digest));
        let unfinished =
            |is_ours: fn(&str) -> bool, name: &str| names::finished(name).is_some_and(is_ours);
        self.remove_all(&self.root, |name| unfinished(|name| name == CURRENT, name))?;
        self.remove_all(&self.manifests(), |name| {
            unfinished(names::is_manifest, name)
        })?;
        self.remove_all(&self.parts(), |name| {
            stale_part(name) || unfinished(names::is_part, name)
        })
    }

    /// Removes the files of a directory for whose names `stale` is true.
    pub(super) fn remove_all(&self, dir: &Path, stale: impl Fn(&str) -> bool) -> Result<(), Error> {
        for name in self.run(dir, self.disk.list(dir))? {
            if stale(&name) {
                let path = dir.join(name);
                self.run(&path, self.disk.remove(&path))?;
            }
        }
        Ok(())
    }
}
