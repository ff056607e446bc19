//! A short proof from a log, for readers that do not have all of it.

use sordino_hash::Hash;
use sordino_hash::merkle::{Extension, Proof};

use super::{Head, SignedHead};
use crate::Error;
use crate::digest::Digest;
use crate::public_key::OwnerPublicKey;
use crate::wire::{LOG_PROOF, file_head, strip_file_head};

/// A proof that a manifest is in a log, and that the log begins with one that was seen before. At most 9 KB.
///
/// ```text
/// head of a file | signed head | bytes of the inclusion proof: 4 | inclusion proof | extension proof
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogProof {
    pub(super) signed: SignedHead,
    pub(super) inclusion: Proof,
    pub(super) extension: Extension,
}

impl LogProof {
    /// The head of the log that it is from: what a reader remembers after [`check`](Self::check).
    #[must_use]
    pub fn head(&self) -> Head {
        self.signed.head
    }

    /// The entries of the older log that it begins with, as the proof claims.
    #[must_use]
    pub fn seen(&self) -> u64 {
        self.extension.old()
    }

    /// Refuses a proof that is not of this manifest, or not from a log that begins with the one that was seen before.
    ///
    /// # Errors
    /// [`Error::NotLogged`], [`Error::LogFork`].
    pub fn check(&self, manifest: &Digest, seen: Option<&Head>) -> Result<(), Error> {
        let head = self.head();
        let root = Hash::from(head.root);
        let included = self.inclusion.verify(&root, &Hash::from(*manifest));
        if self.inclusion.count() != head.count || included.is_err() {
            return Err(Error::NotLogged);
        }
        let Some(seen) = seen.filter(|seen| **seen != head) else {
            return Ok(());
        };
        let lengths = (self.extension.old(), self.extension.new_len());
        let extends = self.extension.verify(&Hash::from(seen.root), &root);
        if lengths != (seen.count, head.count) || extends.is_err() {
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
        bytes.extend(&inclusion.len().to_le_bytes()[..4]);
        bytes.extend(inclusion);
        bytes.extend(self.extension.to_bytes());
        bytes
    }

    /// Reads a proof, and checks the signature of its head. It proves nothing before [`check`](Self::check).
    ///
    /// # Errors
    /// [`Error::Malformed`], [`Error::FormatVersion`], [`Error::LogSignature`].
    pub fn from_bytes(bytes: &[u8], owner: &OwnerPublicKey) -> Result<Self, Error> {
        let malformed = |why: String| Error::Malformed {
            what: "log proof",
            why,
        };
        let body = strip_file_head(LOG_PROOF, bytes)?;
        let (signed, rest) = SignedHead::split("log proof", body, owner)?;
        let split = rest.split_first_chunk().and_then(|(len, rest)| {
            let len = usize::try_from(u32::from_le_bytes(*len)).ok()?;
            rest.split_at_checked(len)
        });
        let (inclusion, extension) = split.ok_or_else(|| malformed("truncated".to_owned()))?;
        let inclusion =
            Proof::from_bytes(inclusion).map_err(|error| malformed(error.to_string()))?;
        let extension = Extension::from_bytes(extension);
        Ok(Self {
            signed,
            inclusion,
            extension: extension.map_err(|error| malformed(error.to_string()))?,
        })
    }
}
