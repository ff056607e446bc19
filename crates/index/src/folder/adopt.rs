//! Makes a version the newest that another folder's owner or writer made.

use super::{Current, Folder, names};
use crate::manifest::SignedManifest;
use crate::public_key::OwnerPublicKey;
use crate::{Disk, Error, Pin};

impl<D: Disk> Folder<D> {
    /// Makes `newest` the newest version. Its parts are here. `before` has manifests of versions that lead to it. Those that are
    /// not here are written, and replace manifests of the same numbers.
    ///
    /// After a crash, the directory has its old version or the new one. If the manifest of the old version is replaced, the
    /// directory may have no version, and [`recover`](Self::recover) finds the newest whole one.
    ///
    /// # Errors
    /// [`Error::File`] if a file cannot be read or written.
    pub fn adopt(
        &self,
        newest: &SignedManifest,
        before: &[SignedManifest],
        owner: &OwnerPublicKey,
    ) -> Result<(), Error> {
        let dir = self.manifests();
        let named = |manifest: &SignedManifest| Current {
            version: manifest.version,
            manifest: manifest.digest(),
        };
        // `recover` looks for the newest version, so it comes first.
        let mut written = vec![newest];
        written.extend(
            before
                .iter()
                .filter(|it| self.manifest(&named(it), owner).is_err()),
        );
        let name = |manifest: &SignedManifest| names::of_version(manifest.version);
        // Everything is written before anything is replaced: on a full disk, nothing changes.
        for manifest in &written {
            self.write_aside(&dir, &name(manifest), manifest.to_bytes())?;
        }
        self.prepare(newest)?;
        self.sync_parts()?;
        if let Ok(old) = self.named()
            && let Some(new) = written.iter().find(|it| it.version == old.version)
            && named(new) != old
        {
            let current = self.root.join(super::CURRENT);
            self.run(&current, self.disk.remove(&current))?;
            self.sync_dir(&self.root)?;
        }
        for manifest in &written {
            let name = name(manifest);
            self.put_in_place(&self.aside(&dir, &name), &dir.join(name))?;
        }
        self.sync_dir(&dir)?;
        self.switch()
    }

    /// The version of this number, from a signed manifest here, or from one that includes the version. Newer manifests come first. It
    /// need not lead to the newest version.
    ///
    /// # Errors
    /// [`Error::File`] if the directory cannot be read.
    pub fn shown(&self, version: u64, owner: &OwnerPublicKey) -> Result<Option<Pin>, Error> {
        for number in self.versions()?.into_iter().rev() {
            let read = self.manifest_bytes(number);
            let read = read.and_then(|bytes| SignedManifest::from_bytes(&bytes, owner));
            let Ok(manifest) = read else { continue };
            if manifest.version == version {
                return Ok(Some(Pin::of(&manifest)));
            }
            if let Some(shown) = manifest.shown().find(|it| it.version == version) {
                return Ok(Some(Pin {
                    index: manifest.index,
                    version,
                    manifest: shown.manifest,
                }));
            }
        }
        Ok(None)
    }
}
