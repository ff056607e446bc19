//! A reader's keys. They suffice to search and to check, but not to sign.

use std::fmt;

use crate::content_key::{ContentKey, ContentRoot};
use crate::contents::ContentKeys;
use crate::keys::OwnerKeys;
use crate::reader_secret::ReaderSecret;
use crate::ring;
use sordino_index::Error;
use sordino_index::OwnerPublicKey;
use sordino_index::manifest::Manifest;

/// The keys of a client: those that open contents, and the owner's public key.
#[derive(Clone)]
pub struct ReaderKeys {
    access: Access,
    owner: OwnerPublicKey,
}

/// How a client gets its content keys.
#[derive(Clone)]
enum Access {
    /// The key that all readers share, for indexes without readers of their own.
    Shared(ContentKey),
    /// A reader's own secret. An index's ring has content keys for it.
    Own(ReaderSecret),
    /// The owner's root, from which all content keys are derived.
    Owner(ContentKey, ContentRoot),
}

impl OwnerKeys {
    /// The keys to search and to check with, but not to sign. They open all of the owner's indexes, including those
    /// with readers of their own. [`shared`](Self::shared) is the key that all readers of other indexes share.
    #[must_use]
    pub fn reader(&self) -> ReaderKeys {
        ReaderKeys {
            access: Access::Owner(self.shared(), self.contents()),
            owner: self.public(),
        }
    }
}

impl ReaderKeys {
    /// The keys for a stored content key, with the public key of its owner.
    #[must_use]
    pub fn from_content(content: [u8; 32], owner: OwnerPublicKey) -> Self {
        Self {
            access: Access::Shared(ContentKey::from_bytes(content)),
            owner,
        }
    }

    /// The keys of a reader with its own secret, for indexes of this owner.
    #[must_use]
    pub fn from_secret(secret: ReaderSecret, owner: OwnerPublicKey) -> Self {
        Self {
            access: Access::Own(secret),
            owner,
        }
    }

    /// The content key that readers share, so that the caller can store it. `None` if these keys belong to a reader
    /// with its own secret. A holder of the key can read all indexes of the owner that have no readers of their own.
    #[must_use]
    pub fn content(&self) -> Option<&[u8; 32]> {
        match &self.access {
            Access::Shared(content) | Access::Owner(content, _) => Some(content.as_bytes()),
            Access::Own(_) => None,
        }
    }

    /// The reader's own secret, if it has one, so that the caller can store it.
    #[must_use]
    pub fn secret(&self) -> Option<&ReaderSecret> {
        match &self.access {
            Access::Own(secret) => Some(secret),
            Access::Shared(_) | Access::Owner(..) => None,
        }
    }

    /// The root of all content keys, if these are the owner's.
    #[must_use]
    pub fn root(&self) -> Option<&ContentRoot> {
        match &self.access {
            Access::Owner(_, root) => Some(root),
            Access::Shared(_) | Access::Own(_) => None,
        }
    }

    /// The owner's public key.
    #[must_use]
    pub fn owner(&self) -> &OwnerPublicKey {
        &self.owner
    }

    /// The content keys of a version that these keys open. `ring` is the content of its [ring], if the index has
    /// readers of its own.
    ///
    /// # Errors
    /// [`Error::NoReader`] if these keys open no content key. [`Error::Malformed`] if the ring is damaged.
    pub fn contents(&self, manifest: &Manifest, ring: Option<&[u8]>) -> Result<ContentKeys, Error> {
        match (&self.access, &manifest.readers, ring) {
            (Access::Shared(content) | Access::Owner(content, _), None, _) => {
                Ok(ContentKeys::shared(content.clone()))
            }
            (Access::Owner(content, root), Some(readers), _) => {
                Ok(ContentKeys::of_owner(content, root, readers))
            }
            (Access::Own(secret), Some(readers), Some(ring)) => ring::open(ring, readers, secret),
            (Access::Own(_) | Access::Shared(_), ..) => Err(Error::NoReader),
        }
    }
}

impl fmt::Debug for ReaderKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReaderKeys").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_prints_no_secret() {
        let owner = OwnerKeys::from_master([3; 32]);
        let own = ReaderKeys::from_secret(ReaderSecret::from_bytes([4; 32]), owner.public());
        for keys in [owner.reader(), own] {
            assert_eq!(format!("{keys:?}"), "ReaderKeys { .. }");
        }
    }
}
