//! The pin: a client's memory of an index, with which it refuses an older version or a different index.

use crate::Error;
use crate::digest::{self, Digest};
use crate::manifest::{Manifest, SignedManifest};
use crate::wire::Edition;

/// The newest version of an index that a client has seen. Store it where the client's next run finds it. It is not
/// secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pin {
    /// The index's id.
    pub index: [u8; 16],
    /// The version's number.
    pub version: u64,
    /// The digest of its signed manifest.
    pub manifest: Digest,
}

impl Pin {
    /// The pin of this version.
    #[must_use]
    pub fn of(manifest: &SignedManifest) -> Self {
        Self {
            index: manifest.index,
            version: manifest.version,
            manifest: manifest.digest(),
        }
    }

    /// A line that two clients compare, in order to know that a server showed them the same index, version and
    /// history. It has the version and the beginning of the manifest's digest; the manifest names the one before it.
    #[must_use]
    pub fn fingerprint(&self) -> String {
        format!("{} {}", self.version, digest::short(&self.manifest))
    }

    /// The edition, by which requests name the version.
    #[must_use]
    pub fn edition(&self) -> Edition {
        Edition::new(self.version, &self.manifest)
    }

    /// True if the version of `manifest` is the pinned version, includes it, or names it as the version before. False
    /// if the versions between the two must show that this version follows from the pin.
    ///
    /// # Errors
    /// The errors of [`check`](Self::check). [`Error::Fork`] also if no version can be between the two, and the
    /// manifest names a different version as the one before it. The two manifests alone prove this fork.
    pub fn precedes(&self, manifest: &SignedManifest) -> Result<bool, Error> {
        self.check(manifest)?;
        if manifest.version == self.version || manifest.follows(&self.manifest) {
            return Ok(true);
        }
        // The oldest version that the manifest includes. It also includes all later versions.
        let oldest = manifest.shown().next();
        let oldest = oldest.map_or(manifest.version, |it| it.version);
        // The number of each version is above the number of the version before.
        if manifest.before_shown() == [0; 32] || oldest <= self.version.saturating_add(1) {
            let version = manifest.version;
            return Err(Error::Fork { version });
        }
        Ok(false)
    }

    /// Refuses another index, an older version, and another content of the same version. It does not check that a
    /// newer version follows from this one.
    ///
    /// # Errors
    /// - [`Error::OtherIndex`] for another index
    /// - [`Error::Rollback`] for an older version
    /// - [`Error::Fork`] for another content of the same version
    pub fn check(&self, manifest: &SignedManifest) -> Result<(), Error> {
        let Manifest { index, version, .. } = **manifest;
        if index != self.index {
            return Err(Error::OtherIndex {
                found: index,
                pinned: self.index,
            });
        }
        if version < self.version {
            return Err(Error::Rollback {
                found: version,
                pinned: self.version,
            });
        }
        if version == self.version && manifest.digest() != self.manifest {
            return Err(Error::Fork { version });
        }
        Ok(())
    }
}
