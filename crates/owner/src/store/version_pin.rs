//! The version that an owner knows, so that the keeper of an index cannot undo a change.

use std::path::Path;

use sordino_index::disk::Lock;
use sordino_index::folder::Folder;
use sordino_index::{Disk, Error, OwnerFault, OwnerPublicKey, Pin, SignedManifest};

use super::Store;

impl<D: Disk> Store<D> {
    /// The newest version, for the owner to remember. Store it where the keeper of the index cannot write, and pass it when the
    /// index is opened again.
    #[must_use]
    pub fn pin(&self) -> Pin {
        Pin::of(&self.manifest)
    }

    /// The folder.
    pub(crate) fn root(&self) -> &Path {
        self.folder.root()
    }

    /// Fails if the newest version does not follow from the pin.
    ///
    /// # Errors
    /// [`OwnerFault::Undone`] if the store's version is neither the pinned one nor follows from it; [`Error::File`] if
    /// the versions between cannot be read.
    pub fn check_pin(&self, pin: &Pin) -> Result<(), Error> {
        follows(&self.folder, &self.manifest, &self.keys.public(), pin)
    }
}

/// Locks a folder for a change and reads its newest version. With a pin, nothing is changed unless that version is the pinned one
/// or follows from it.
pub(super) fn locked<D: Disk>(
    folder: &Folder<D>,
    owner: &OwnerPublicKey,
    pin: Option<&Pin>,
) -> Result<(Lock, SignedManifest), Error> {
    // If there is no index, this fails before it creates a lock file.
    folder.current()?;
    let lock = folder.lock()?;
    // From here on the lock keeps other programs from changing the index.
    let newest = folder.manifest(&folder.current()?, owner)?;
    // The pin is checked before files are removed that only a newer version names.
    if let Some(pin) = pin {
        follows(folder, &newest, owner, pin)?;
    }
    Ok((lock, newest))
}

/// Refuses a newest version that does not follow from the pinned version. It checks this with the manifests in the folder.
fn follows<D: Disk>(
    folder: &Folder<D>,
    newest: &SignedManifest,
    owner: &OwnerPublicKey,
    pin: &Pin,
) -> Result<(), Error> {
    let undone = |fault| Error::from(OwnerFault::Undone(Box::new(fault)));
    let fork = || {
        let version = newest.version;
        undone(Error::Fork { version })
    };
    if pin.precedes(newest).map_err(undone)? {
        return Ok(());
    }
    let (mut newer, mut before) = (newest.clone(), Vec::new());
    loop {
        // A missing manifest is withheld, or was removed on purpose.
        let gap = || {
            undone(Error::Gap {
                found: newest.version,
                pinned: pin.version,
            })
        };
        folder
            .history(&newer, 1, owner, &mut before)
            .map_err(|fault| match fault {
                fault @ Error::File { .. } => fault,
                _ => gap(),
            })?;
        let Some(older) = before.pop() else {
            return Err(if newer.is_first() { fork() } else { gap() });
        };
        newer = older;
        // A manifest that is older or of another index cannot lead here.
        if pin.precedes(&newer).map_err(|_| fork())? {
            return Ok(());
        }
    }
}
