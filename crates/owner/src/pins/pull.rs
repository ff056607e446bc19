//! What an owner's pins ask of a pull, and what they remember of it.

use std::path::Path;

use sordino_index::{Disk, Error, Pin, SignedManifest};
use sordino_vault::OwnerKeys;

use super::{Pins, line, places};

impl Pins {
    /// The versions from which a pulled version must follow, before the folder is changed.
    ///
    /// With `after`, the pull gives up what the folder has after that version. The version `found` follows from `after`. The owner
    /// then knows no newer version of this index than `after`, and only another index is refused. Whatever stops the pull,
    /// the folder's version follows from the known one.
    ///
    /// # Errors
    /// [`OwnerFault::Pins`](sordino_index::OwnerFault::Pins) if the memory cannot be read or written.
    pub fn before_pull(
        &self,
        dir: &Path,
        found: &SignedManifest,
        after: Option<&Pin>,
    ) -> Result<Vec<Pin>, Error> {
        let mut known = self.expected(dir, found)?;
        if let Some(after) = after {
            known.retain(|pin| pin.index != found.index);
            if known.is_empty() {
                self.with(|lines| {
                    for place in places(&Self::place(dir), dir) {
                        line::put(lines, &place, *after);
                    }
                    Ok(())
                })?;
            }
        }
        Ok(known)
    }

    /// Remembers a pulled version.
    ///
    /// # Errors
    /// The errors of [`open`](Self::open).
    pub fn after_pull<D: Disk + Clone>(
        &self,
        disk: D,
        dir: &Path,
        keys: &OwnerKeys,
    ) -> Result<(), Error> {
        self.open(disk, dir, &Self::place(dir), keys).map(drop)
    }
}
