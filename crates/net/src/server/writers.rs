//! Changes by writers: what each may push.
//!
//! A writer that the served version names pushes versions that include the served one, and after it only additions of
//! its own. The additions' times are at most five minutes after the server's clock. So a writer moves the index forward
//! by what it signed, and by nothing else. It pushes nothing once its right has ended by the server's clock.

use std::sync::{OnceLock, PoisonError, RwLock};

use sordino_index::digest::{self, Digest};
use sordino_index::manifest::{ShownVersion, SignedManifest};
use sordino_index::{AccessFault, Error, NotNext, OwnerPublicKey, PUBLIC_KEY_LEN};

use super::signed::Signed;
use crate::Refusal;

/// The number of seconds by which a writer's clock may be ahead.
const AHEAD: u64 = 300;

/// The signer of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Signer {
    Owner,
    /// A writer, named by the digest of its key.
    Writer(Digest),
}

/// The writers of the served version, by the digests of their keys.
#[derive(Debug)]
pub(crate) struct Writers(RwLock<Vec<(Digest, OwnerPublicKey)>>);

impl Writers {
    pub(crate) fn of(manifest: &SignedManifest) -> Result<Self, Error> {
        Ok(Self(RwLock::new(keys(manifest)?)))
    }

    /// Takes the writers of a newer version.
    pub(crate) fn change(&self, manifest: &SignedManifest) -> Result<(), Error> {
        let keys = keys(manifest)?;
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = keys;
        Ok(())
    }

    /// The key with this digest, if it belongs to a writer.
    pub(crate) fn key(&self, key: &Digest) -> Option<OwnerPublicKey> {
        let keys = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let found = keys.iter().find(|(digest, _)| digest == key);
        found.map(|(_, key)| key.clone())
    }
}

/// Refuses a step of a client that owns no index here, after the work of verifying a signature. So the time does not
/// tell strangers which indexes exist, and who owns them.
pub(crate) fn of_no_owner(signed: &Signed) -> Refusal {
    static KEY: OnceLock<Option<OwnerPublicKey>> = OnceLock::new();
    let key = KEY.get_or_init(|| OwnerPublicKey::from_bytes(&[0; PUBLIC_KEY_LEN]).ok());
    if let Some(key) = key {
        // Anyone can make signatures with this key, so the result must not count.
        let _ = key.verify_change(&signed.statement, &signed.signature);
    }
    Refusal::Key
}

fn keys(manifest: &SignedManifest) -> Result<Vec<(Digest, OwnerPublicKey)>, Error> {
    let writers = manifest.writers.iter();
    let keys = writers.map(|it| {
        Ok((
            digest::of(&it.public),
            OwnerPublicKey::from_bytes(&it.public)?,
        ))
    });
    keys.collect()
}

/// Refuses a version that a writer offers, unless it is the current version with additions of that writer and with
/// times that are allowed. `now`, in seconds since 1970, must be before the end of the writer's right.
pub(crate) fn check_offer(
    current: &SignedManifest,
    offered: &SignedManifest,
    writer: &Digest,
    now: u64,
) -> Result<(), Error> {
    let own = digest::short(writer);
    let refused = |why| Err(Error::from(AccessFault::new("writer", &own, why)));
    let here = current.digest();
    if offered.digest() == here {
        return Ok(());
    }
    let known = |shown: &ShownVersion| shown.manifest == here;
    if !offered.shown().any(known) {
        return Err(NotNext {
            found: offered.version,
            there: current.version,
            holder: NotNext::SERVER,
        }
        .into());
    }
    let new = offered.additions();
    for (by, addition) in new.filter(|(_, addition)| addition.version > current.version) {
        if digest::of(&by.public) != *writer {
            return refused("it pushes what another writer added: each pushes its own");
        }
        if now >= by.until {
            return refused("its right to add records has ended: ask the owner to grant it again");
        }
        if addition.time > now.saturating_add(AHEAD) {
            return refused("its clock is ahead of the server's by more than five minutes");
        }
    }
    Ok(())
}
