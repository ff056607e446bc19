//! The newest version of an index that may be changed meanwhile.

use super::Folder;
use crate::manifest::SignedManifest;
use crate::public_key::OwnerPublicKey;
use crate::{Disk, Error};

/// How often opening is tried while each version is followed by another. A disk that lies could go on for ever.
const ATTEMPTS: usize = 64;

impl<D: Disk> Folder<D> {
    /// Gives the newest version to `open`. It does so again whenever that fails and there is a newer version by then.
    /// Files that are gone belong to a version that is no longer the newest.
    ///
    /// # Errors
    /// The errors of finding the version, and the errors of `open`.
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
