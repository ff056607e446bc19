//! Copies an index to another directory, as a backup or to restore one.

use super::manifests::signed;
use super::names::LOCK;
use super::{Current, Folder, names};
use crate::manifest::SignedManifest;
use crate::public_key::OwnerPublicKey;
use crate::{Disk, Error, NotNext, OwnerFault};

/// The version that a copy has now, and statistics of the work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Copied {
    /// The version.
    pub version: u64,
    /// The number of manifests: of this version and of earlier ones.
    pub versions: usize,
    /// The number of its parts.
    pub parts: usize,
    /// The number of parts that were written. The others existed and were whole.
    pub written: usize,
    /// The size in bytes of the written parts.
    pub bytes: u64,
}

impl<D: Disk> Folder<D> {
    /// Copies the newest version to another directory, with the manifests before it. Existing whole parts are not
    /// written again. Files that only older versions used there are removed at the end.
    ///
    /// Everything is checked on the way: the signature, the chain of versions, and the digest of each part, including
    /// existing parts. This directory is read but not locked. So it may be read-only, and a server or its owner may use
    /// it meanwhile. The other directory is locked. At every moment it has no index, or a whole one.
    ///
    /// # Errors
    /// The first fault in this directory, and these errors about the other directory: [`Error::Occupied`] if it holds
    /// files of something else, [`Error::Locked`] if another process is changing it, and [`Error::File`] if a file
    /// cannot be read or written. [`OwnerFault::Copy`] if the other directory has another index, and [`Error::NotNext`]
    /// if its version is not an older one. [`Error::Lost`] if the other directory has no `CURRENT`, but has manifests
    /// that no interrupted copy of this index left. After an error the copied files stay for the next attempt.
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
        // From here on the lock keeps other programs from writing there.
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

    /// Copies the newest version to a directory without an index, or continues an interrupted copy.
    ///
    /// # Errors
    /// [`Error::Exists`] if the other directory has an index, and the errors of [`copy_to`](Self::copy_to).
    pub fn restore_to<E: Disk>(
        &self,
        to: &Folder<E>,
        owner: &OwnerPublicKey,
    ) -> Result<Copied, Error> {
        to.check_unnamed()?;
        self.copy_to(to, owner)
    }

    /// True if the directory has no index yet and may get one. It may have manifests, of an interrupted copy or of
    /// another index.
    fn is_new(&self) -> Result<bool, Error> {
        match self.named() {
            // A program that wrote a manifest here made the lock before.
            Err(Error::Lost { path, versions }) if !self.disk.exists(&self.root.join(LOCK)) => {
                Err(Error::Lost { path, versions })
            }
            Err(Error::NoIndex { .. } | Error::Lost { .. }) => self.check_ours().map(|()| true),
            found => found.map(|_| false),
        }
    }

    /// Refuses manifests without a `CURRENT` unless a copy of these versions left them. Otherwise the copy would remove
    /// the parts that they name.
    fn check_begun<'a>(
        &self,
        line: impl Iterator<Item = &'a SignedManifest> + Clone,
        owner: &OwnerPublicKey,
    ) -> Result<(), Error> {
        let versions = self.versions()?;
        for &number in &versions {
            let copied = line.clone().find(|version| version.version == number);
            let held = self.manifest_bytes(number)?;
            // A damaged manifest of the same number is useless, so it is written again.
            let same = |version: &SignedManifest| {
                signed(&held, number, owner).is_ok_and(|held| held.digest() == version.digest())
                    || SignedManifest::from_bytes(&held, owner).is_err()
            };
            if !copied.is_some_and(same) {
                let path = self.root.clone();
                return Err(Error::Lost { path, versions });
            }
        }
        Ok(())
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
        let line = std::iter::once(manifest).chain(&before);
        if let Some(held) = held {
            if held.index != manifest.index {
                return Err(Error::from(OwnerFault::Copy {
                    found: manifest.index,
                    there: held.index,
                }));
            }
            if !line
                .clone()
                .any(|version| version.digest() == held.digest())
            {
                return Err(Error::from(NotNext {
                    found: manifest.version,
                    there: held.version,
                    holder: "the copy",
                }));
            }
        } else {
            to.check_begun(line, owner)?;
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
        let versions: Vec<&SignedManifest> = before.iter().rev().chain([manifest]).collect();
        for (at, older) in versions.iter().enumerate() {
            // A version that the next one includes needs no file of its own.
            if versions
                .get(at + 1)
                .is_some_and(|next| next.additions().len() > 0)
            {
                continue;
            }
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
        let owner = crate::public_key::TestOwner([1; 32]).public();
        let from = Folder::new(Path::new("/from"), Memory::default());
        let to = Folder::new(Path::new("/to"), Memory::default());
        let error = from.copy_to(&to, &owner).unwrap_err();
        assert!(matches!(error, Error::NoIndex { .. }), "{error}");
        assert!(!to.disk.exists(Path::new("/to")));
    }
}
