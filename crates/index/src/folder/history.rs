//! The manifests before the newest.

use super::{Current, Folder, names};
use crate::digest::Digest;
use crate::manifest::SignedManifest;
use crate::public_key::OwnerPublicKey;
use crate::{Disk, Error};

impl<D: Disk> Folder<D> {
    /// Finds up to `most` manifests before `newest`, the latest first. Each is checked against the digest in the one after it.
    /// The numbers may have gaps, since some versions were never the newest. If all older manifests are gone, the history
    /// ends there: they were removed, or were never here.
    ///
    /// # Errors
    /// [`Error`] if a manifest is missing, damaged or not signed by `owner`. `history` then has the manifests that were found
    /// before it.
    pub fn history(
        &self,
        newest: &SignedManifest,
        most: usize,
        owner: &OwnerPublicKey,
        history: &mut Vec<SignedManifest>,
    ) -> Result<(), Error> {
        let mut numbers = self.versions()?;
        while history.len() < most {
            let newer = history.last().unwrap_or(newest);
            if newer.is_first() {
                break;
            }
            // A version with additions includes the one before it, whose file may be gone.
            if let Some(older) = newer.before_addition() {
                history.push(older);
                continue;
            }
            numbers.truncate(numbers.partition_point(|&number| number < newer.version));
            if numbers.is_empty() {
                break;
            }
            let older = self.manifest_of(&numbers, newer.previous, owner)?;
            history.push(older);
        }
        Ok(())
    }

    /// Removes all manifests but the newest and the `keep` before it, the oldest first. Afterwards this directory cannot show
    /// that the newest follows from the removed ones. Returns the number of removed manifests.
    ///
    /// # Errors
    /// The errors of [`history`](Self::history), with nothing removed; [`Error::File`] if a file cannot be read or
    /// written.
    pub fn forget(
        &self,
        newest: &SignedManifest,
        keep: usize,
        owner: &OwnerPublicKey,
    ) -> Result<usize, Error> {
        let mut kept = Vec::new();
        self.history(newest, keep, owner, &mut kept)?;
        let oldest = kept.last().unwrap_or(newest).version;
        let mut versions = self.versions()?;
        versions.retain(|&version| version < oldest);
        for &version in &versions {
            let path = self.manifests().join(names::of_version(version));
            self.run(&path, self.disk.remove(&path))?;
        }
        Ok(versions.len())
    }

    /// The manifest with this digest among these versions, searched from the last on.
    fn manifest_of(
        &self,
        versions: &[u64],
        manifest: Digest,
        owner: &OwnerPublicKey,
    ) -> Result<SignedManifest, Error> {
        for &version in versions.iter().rev() {
            match self.manifest(&Current { version, manifest }, owner) {
                Err(Error::Digest { .. }) => {}
                found => return found,
            }
        }
        Err(Error::Digest {
            what: "manifests before the newest",
        })
    }
}
