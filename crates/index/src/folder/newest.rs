//! The newest version of an index that may be changed meanwhile.

use super::Folder;
use crate::manifest::SignedManifest;
use crate::public_key::OwnerPublicKey;
use crate::{Disk, Error};

/// Versions that are tried to be opened while each is followed by another: a disk that lies could go on for ever.
const ATTEMPTS: usize = 64;

impl<D: Disk> Folder<D> {
    /// Gives the newest version to `open`, and once more whenever that fails and there is a newer one by then:
    /// files that are gone are those of a version that is not the newest any more.
    ///
    /// # Errors
    /// Those of finding the version, and those of `open`.
    pub fn newest<T>(
        &self,
        owner: &OwnerPublicKey,
        mut open: impl FnMut(SignedManifest) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let mut current = self.current()?;
        for _ in 1..ATTEMPTS {
            let opened = self.manifest(&current, owner).and_then(&mut open);
            let now = self.current()?;
            if opened.is_ok() || now == current {
                return opened;
            }
            current = now;
        }
        self.manifest(&current, owner).and_then(open)
    }
}
