//! What an owner's pins ask of a pull, and what they remember of it.

use std::path::Path;

use sordino_index::{Disk, Error, Pin, SignedManifest};
use sordino_vault::OwnerKeys;

use super::Pins;

impl Pins {
    /// The versions from which a pulled version must follow. If the pull gives up versions of the folder, only another index is
    /// refused.
    ///
    /// # Errors
    /// [`OwnerFault::Pins`](sordino_index::OwnerFault::Pins) if the memory cannot be read or written.
    pub fn before_pull(
        &self,
        dir: &Path,
        found: &SignedManifest,
        gives_up: bool,
    ) -> Result<Vec<Pin>, Error> {
        let mut known = self.expected(dir, found)?;
        known.retain(|pin| !gives_up || pin.index != found.index);
        Ok(known)
    }

    /// Remembers a pulled version. If the pull gave up versions of the folder, they are forgotten.
    ///
    /// # Errors
    /// The errors of [`open`](Self::open).
    pub fn after_pull<D: Disk + Clone>(
        &self,
        disk: D,
        dir: &Path,
        keys: &OwnerKeys,
        gave_up: bool,
    ) -> Result<(), Error> {
        let place = Self::place(dir);
        match gave_up {
            true => self.open_restored(disk, dir, &place, keys).map(drop),
            false => self.open(disk, dir, &place, keys).map(drop),
        }
    }
}
