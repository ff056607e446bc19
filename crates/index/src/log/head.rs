//! Heads of logs.

use sordino_hash::merkle;

use super::entry::{Entry, leaves};
use crate::digest::Digest;
use crate::public_key::{OwnerPublicKey, OwnerSigner, SIGNATURE_LEN};
use crate::{Error, LogFault};

/// The number of bytes that the owner signs: length and root.
const SIGNED_LEN: usize = 8 + 32;

/// The size in bytes of a head with its signature.
pub(super) const HEAD_LEN: usize = SIGNED_LEN + SIGNATURE_LEN;

/// The length and the root of a log. Store it where a reader's next run finds it. It is not secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// The number of entries.
    pub count: u64,
    /// The root of their tree.
    pub root: Digest,
}

impl Head {
    pub(super) fn of(entries: &[Entry]) -> Self {
        Self {
            count: entries.len() as u64,
            root: *merkle::root(&leaves(entries)).as_bytes(),
        }
    }

    pub(super) fn to_bytes(self) -> Vec<u8> {
        [&self.count.to_le_bytes()[..], &self.root].concat()
    }

    /// The error for a log with this head that does not begin with the entries seen before.
    pub(super) fn fork(&self, seen: &Self) -> Error {
        Error::Log(LogFault::Fork {
            found: self.count,
            seen: seen.count,
        })
    }

    /// The error for a log with this head that has fewer entries than were seen before.
    pub(super) fn rollback(&self, seen: &Self) -> Error {
        Error::Log(LogFault::Rollback {
            found: self.count,
            seen: seen.count,
        })
    }
}

/// A head and the owner's signature on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SignedHead {
    pub(super) head: Head,
    signature: Vec<u8>,
}

impl SignedHead {
    pub(super) fn sign(head: Head, owner: &impl OwnerSigner) -> Self {
        Self {
            head,
            signature: owner.sign_log(&head.to_bytes()),
        }
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        [self.head.to_bytes(), self.signature.clone()].concat()
    }

    /// Reads a head and checks its signature. Also returns the bytes that follow.
    pub(super) fn split<'a>(
        what: &'static str,
        bytes: &'a [u8],
        owner: &OwnerPublicKey,
    ) -> Result<(Self, &'a [u8]), Error> {
        let Some((bytes, rest)) = bytes.split_at_checked(HEAD_LEN) else {
            let why = format!("{} bytes, expected {HEAD_LEN} and more", bytes.len());
            return Err(Error::Malformed { what, why });
        };
        let (signed, signature) = bytes.split_at(SIGNED_LEN);
        owner.verify_log(signed, signature)?;
        let (mut count, mut root) = ([0; 8], [0; 32]);
        count.copy_from_slice(&signed[..8]);
        root.copy_from_slice(&signed[8..]);
        let count = u64::from_le_bytes(count);
        let head = Self {
            head: Head { count, root },
            signature: signature.to_vec(),
        };
        Ok((head, rest))
    }
}
