//! Finds the newest version of an index that its owner may change meanwhile.

use super::Folder;
use crate::manifest::SignedManifest;
use crate::public_key::OwnerPublicKey;
use crate::{Disk, Error};

/// The number of attempts at opening while each version is replaced by another. Without a limit, a faulty disk could
/// make a program try for ever.
const ATTEMPTS: usize = 64;

impl<D: Disk> Folder<D> {
    /// Passes the newest version to `open`. If that fails and a newer version exists by then, it tries again. Missing
    /// files then belonged to a version that is no longer the newest.
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
