//! A short proof from a log, for readers that do not have the whole log.

use sordino_hash::Hash;
use sordino_hash::merkle::{Extension, Proof};

use super::entry::{ENTRY_LEN, Entry, leaves};
use super::head::{Head, SignedHead};
use crate::pin::Pin;
use crate::public_key::OwnerPublicKey;
use crate::wire::{LOG_PROOF, file_head, strip_file_head};
use crate::{Error, LogFault};

/// A proof that a version is in a log, and that the log begins with one that was seen before. It has at most 9 KB.
///
/// It says nothing about other entries. Only a reader of the whole log can see that there is no second manifest of the
/// version, and no newer version.
///
/// ```text
/// head of a file | signed head | entry: 88 bytes | bytes of the inclusion proof: 4 | inclusion proof | extension proof
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogProof {
    pub(super) signed: SignedHead,
    pub(super) entry: Entry,
    pub(super) inclusion: Proof,
    pub(super) extension: Extension,
}

fn malformed(why: String) -> Error {
    let what = "log proof";
    Error::Malformed { what, why }
}

impl LogProof {
    /// The head of the proof's log. A reader remembers it after [`check`](Self::check).
    #[must_use]
    pub fn head(&self) -> Head {
        self.signed.head
    }

    /// The entry of the version that the proof is about, as the proof claims.
    #[must_use]
    pub fn entry(&self) -> &Entry {
        &self.entry
    }

    /// The number of entries of the older log, as the proof claims.
    #[must_use]
    pub fn seen(&self) -> u64 {
        self.extension.old()
    }

    /// Refuses a proof that is not about this version, or not from a log that begins with the one that was seen before.
    ///
    /// # Errors
    /// [`LogFault::NotLogged`] if the proof is not of this version. [`Error::Malformed`] if its parts belong to logs of
    /// different lengths. [`LogFault::Rollback`] if the log has fewer entries than were seen. [`LogFault::Fork`] if it
    /// does not begin with them. [`LogFault::ProofFrom`] if the proof does not begin at the length that was seen, so
    /// that it shows neither.
    pub fn check(&self, version: &Pin, seen: Option<&Head>) -> Result<(), Error> {
        let head = self.head();
        let counts = [self.inclusion.count(), self.extension.new_len()];
        if counts != [head.count; 2] {
            let why = format!("of logs of {counts:?} entries, expected {}", head.count);
            return Err(malformed(why));
        }
        let root = Hash::from(head.root);
        let leaf = leaves(&[self.entry])[0];
        let included = self.inclusion.verify(&root, &leaf);
        if !self.entry.is(version) || included.is_err() {
            return Err(Error::Log(LogFault::NotLogged));
        }
        let Some(seen) = seen.filter(|seen| **seen != head) else {
            return Ok(());
        };
        if head.count < seen.count {
            return Err(head.rollback(seen));
        }
        let from = self.seen();
        // Two logs of the same length with two roots differ without a proof.
        if head.count > seen.count && from != seen.count {
            let seen = seen.count;
            return Err(Error::Log(LogFault::ProofFrom { from, seen }));
        }
        let extends = self.extension.verify(&Hash::from(seen.root), &root);
        if from != seen.count || extends.is_err() {
            return Err(head.fork(seen));
        }
        Ok(())
    }

    /// The proof as a file.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let inclusion = self.inclusion.to_bytes();
        let mut bytes = file_head(LOG_PROOF);
        bytes.extend(self.signed.to_bytes());
        bytes.extend(self.entry.to_bytes());
        bytes.extend(&inclusion.len().to_le_bytes()[..4]);
        bytes.extend(inclusion);
        bytes.extend(self.extension.to_bytes());
        bytes
    }

    /// Reads a proof, and checks the signature of its head. It proves nothing before [`check`](Self::check).
    ///
    /// # Errors
    /// - [`Error::Malformed`] if the form is wrong
    /// - [`Error::FormatVersion`] if the format's version is not supported
    /// - [`LogFault::Signature`] if the signature is wrong
    pub fn from_bytes(bytes: &[u8], owner: &OwnerPublicKey) -> Result<Self, Error> {
        let body = strip_file_head(LOG_PROOF, bytes)?;
        let (signed, rest) = SignedHead::split("log proof", body, owner)?;
        let split = rest
            .split_first_chunk::<ENTRY_LEN>()
            .and_then(|(entry, rest)| {
                let (len, rest) = rest.split_first_chunk()?;
                let len = usize::try_from(u32::from_le_bytes(*len)).ok()?;
                let (inclusion, extension) = rest.split_at_checked(len)?;
                Some((Entry::from_bytes(entry), inclusion, extension))
            });
        let (entry, inclusion, extension) =
            split.ok_or_else(|| malformed("truncated".to_owned()))?;
        let inclusion =
            Proof::from_bytes(inclusion).map_err(|error| malformed(error.to_string()))?;
        let extension =
            Extension::from_bytes(extension).map_err(|error| malformed(error.to_string()))?;
        Ok(Self {
            signed,
            entry,
            inclusion,
            extension,
        })
    }
}
