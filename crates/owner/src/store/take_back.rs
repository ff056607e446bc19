//! Takes additions back. An addition that a thief made with a stolen writer's key may be wrong, or may not even open.

use std::path::Path;

use rand_core::CryptoRng;
use sordino_index::folder::Folder;
use sordino_index::{AccessFault, Disk, Error, Pin};
use sordino_vault::directory::Change;
use sordino_vault::keys::OwnerKeys;

use super::payloads::Carried;
use super::{Store, version_pin};

impl<D: Disk> Store<D> {
    /// Opens an index without the additions of writers after `version`, which is the owner's last version or one that later
    /// additions made. The new version follows from the newest one, so that no client takes it for a rollback. The additions that
    /// are taken back are not opened. The reader or writer `revoked` is removed from the list in the same version, so that it
    /// cannot add in between.
    ///
    /// # Errors
    /// [`Error::Access`] if no additions were made after `version`, or no reader has that name. [`Error::Addition`] if an
    /// addition that stays is wrong, too. The errors of [`open_on`](Self::open_on), and of a change. Nothing is changed then.
    pub fn take_back<R: CryptoRng + ?Sized>(
        rng: &mut R,
        disk: D,
        dir: impl AsRef<Path>,
        keys: &OwnerKeys,
        (version, pin): (u64, Option<&Pin>),
        revoked: Option<&str>,
    ) -> Result<Self, Error> {
        let folder = Folder::new(dir.as_ref(), disk);
        let (lock, newest) = version_pin::locked(&folder, &keys.public(), pin)?;
        let mut kept = newest.before_addition();
        while let Some(older) = kept.take_if(|it| it.version > version) {
            kept = older.before_addition();
        }
        let kept = kept.filter(|it| it.version == version).ok_or_else(|| {
            let why = "no additions were made after it: `sordino index info` shows those since your last change";
            AccessFault::new("version", &version.to_string(), why)
        })?;
        let mut store = Self::read(folder, lock, keys, (kept, newest.digest()))?;
        store.highest = store.highest.max(newest.version);
        store.check_base()?;
        let made = match revoked {
            Some(reader) => store.changed_access(rng, Change::Revoke { reader }),
            None => {
                let (draft, writer) = (store.draft(), store.writer(keys));
                store.commit(rng, &writer, draft, Carried::default())
            }
        };
        store.settle(made)?;
        Ok(store)
    }
}
