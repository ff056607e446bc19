//! Copies of an index in another directory: backups, and what is restored from them.

use super::{Current, Folder, names};
use crate::manifest::SignedManifest;
use crate::public_key::OwnerPublicKey;
use crate::{Disk, Error, NotNext};

/// The version that a copy has now, and the work that it took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Copied {
    /// The version.
    pub version: u64,
    /// Manifests of it and of those before it.
    pub versions: usize,
    /// Its parts.
    pub parts: usize,
    /// Parts that were written: the others were there and whole.
    pub written: usize,
    /// Bytes of these.
    pub bytes: u64,
}

impl<D: Disk> Folder<D> {
    /// Copies the newest version to another directory, with the manifests before it. Parts that are there and
    /// whole are not written again; what only older versions there had is removed at the end.
    ///
    /// Everything is checked on its way: the signature, the chain of versions, and each part's digest, also of
    /// parts that were there. This directory is read and not locked, so it may be one that cannot be written,
    /// and may be served and changed meanwhile. The other one is locked; at any moment it has no index, or a
    /// whole one.
    ///
    /// # Errors
    /// The first thing that is wrong with this directory; [`Error::Occupied`] and [`Error::Locked`] about the other;
    /// [`Error::OtherIndex`] and [`Error::NotNext`] if it has something that is not an older version of the same
    /// index; [`Error::File`]. What was copied then stays for the next attempt.
    pub fn copy_to<E: Disk>(
        &self,
        to: &Folder<E>,
        owner: &OwnerPublicKey,
    ) -> Result<Copied, Error> {
        self.current()?;
        if to.is_new()? {
            to.create_root()?;
        }
        let _lock = to.lock()?;
        // Only now does nobody else write there.
        let held = if to.is_new()? {
            to.create()?;
            None
        } else {
            Some(to.manifest(&to.current()?, owner)?)
        };
        let copied = self.newest(owner, |manifest| {
            self.copy_version(&manifest, held.as_ref(), to, owner)
        });
        to.keep();
        copied
    }

    /// True if there is no index yet, in a directory that may get one.
    fn is_new(&self) -> Result<bool, Error> {
        match self.current() {
            Err(Error::NoIndex { .. }) => self.check_free().map(|()| true),
            found => found.map(|_| false),
        }
    }

    fn copy_version<E: Disk>(
        &self,
        manifest: &SignedManifest,
        held: Option<&SignedManifest>,
        to: &Folder<E>,
        owner: &OwnerPublicKey,
    ) -> Result<Copied, Error> {
        let mut before = Vec::new();
        self.history(manifest, usize::MAX, owner, &mut before)?;
        if let Some(held) = held {
            if held.index != manifest.index {
                return Err(Error::OtherIndex {
                    found: manifest.index,
                    pinned: held.index,
                });
            }
            let mut line = std::iter::once(manifest).chain(&before);
            if !line.any(|version| version.digest() == held.digest()) {
                return Err(Error::from(NotNext {
                    found: manifest.version,
                    there: held.version,
                    holder: "the copy",
                }));
            }
        }
        let mut copied = Copied {
            version: manifest.version,
            versions: 1 + before.len(),
            ..Copied::default()
        };
        let mut parts = manifest.parts()?;
        parts.retain(|part| part.holder.is_stored());
        let named = held.map(|held| held.parts()).transpose()?;
        for part in &parts {
            copied.parts += 1;
            let stays = named
                .iter()
                .flatten()
                .any(|held| held.digest == part.digest)
                || to
                    .disk
                    .stays(&to.parts().join(names::of_digest(&part.digest)));
            if !stays || to.part(part).is_err() {
                to.put(&self.part(part)?)?;
                copied.written += 1;
                copied.bytes += part.len;
            }
        }
        for older in before.iter().rev().chain([manifest]) {
            let (version, digest) = (older.version, older.digest());
            let manifest = Current {
                version,
                manifest: digest,
            };
            if to.manifest(&manifest, owner).is_err() {
                let name = names::of_version(version);
                to.replace(&to.manifests(), &name, older.to_bytes())?;
            }
        }
        if held.is_none_or(|held| held.digest() != manifest.digest()) {
            to.put_manifest(manifest)?;
            to.prepare(manifest)?;
            to.switch()?;
        }
        to.collect(&parts)?;
        Ok(copied)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Memory;
    use std::path::Path;

    #[test]
    fn nothing_is_made_of_nothing() {
        let owner = crate::keys::OwnerKeys::from_master([1; 32]).public();
        let from = Folder::new(Path::new("/from"), Memory::default());
        let to = Folder::new(Path::new("/to"), Memory::default());
        let error = from.copy_to(&to, &owner).unwrap_err();
        assert!(matches!(error, Error::NoIndex { .. }), "{error}");
        assert!(!to.disk.exists(Path::new("/to")));
    }
}
