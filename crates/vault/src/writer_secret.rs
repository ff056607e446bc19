//! A writer's keys: a reader's own pair, and a signing key of ML-DSA-87. Both are derived from one secret.

use std::fmt;

use rand_core::CryptoRng;
use sordino_mldsa::ml_dsa::signature::Keypair;
use sordino_mldsa::ml_dsa::{self, SigningKey};
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use crate::content_ids::ContentIds;
use crate::reader_secret::PUBLIC_KEY_LEN as READER_LEN;
use crate::{ReaderKeys, ReaderPublicKey, ReaderSecret};
use sordino_index::{
    ADDITION_CONTEXT, CHANGE_CONTEXT, Error, OwnerPublicKey, PUBLIC_KEY_LEN as SIGNING_LEN,
};

/// The size in bytes of a writer's public key: its reader key, then its signing key.
pub const WRITER_PUBLIC_LEN: usize = READER_LEN + SIGNING_LEN;

/// A writer's secret. Its holder can read what the writer may read, and add what it may add.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct WriterSecret([u8; 32]);

/// A writer's secret with the public key of the owner of its indexes.
#[derive(Clone)]
pub struct WriterKeys {
    secret: WriterSecret,
    owner: OwnerPublicKey,
}

/// The public halves of a writer's keys. An owner grants rights to them.
#[derive(Clone, PartialEq)]
pub struct WriterPublicKey {
    /// The key for which content keys are wrapped.
    pub reader: ReaderPublicKey,
    /// The key that verifies additions.
    pub signing: OwnerPublicKey,
}

impl WriterSecret {
    /// A new secret, from a hash of 32 bytes of `rng`. A program that sees the same bytes elsewhere does not learn
    /// the secret.
    pub fn generate<R: CryptoRng + ?Sized>(rng: &mut R) -> Self {
        let mut drawn = Zeroizing::new([0; 32]);
        rng.fill_bytes(&mut *drawn);
        Self(blake3::derive_key("sordino 2026 new writer", &*drawn))
    }

    /// The secret of these bytes.
    #[must_use]
    pub fn from_bytes(secret: [u8; 32]) -> Self {
        Self(secret)
    }

    /// The bytes, so that the caller can store them.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The reader's secret of the pair.
    #[must_use]
    pub fn reader(&self) -> ReaderSecret {
        ReaderSecret::from_bytes(self.derive("sordino 2026 reader's pair of a writer"))
    }

    /// The public halves.
    #[must_use]
    #[expect(clippy::missing_panics_doc, reason = "an encoded key has its length")]
    pub fn public(&self) -> WriterPublicKey {
        let signing = self.signing().verifying_key().encode();
        WriterPublicKey {
            reader: self.reader().public(),
            signing: OwnerPublicKey::from_bytes(&signing).expect("an encoded key has its length"),
        }
    }

    /// Signs an addition.
    #[must_use]
    pub fn sign_addition(&self, message: &[u8]) -> Vec<u8> {
        self.sign_in(ADDITION_CONTEXT, message)
    }

    /// Signs a step of a change over a network. The signature's context differs from an addition's, so it is not
    /// valid for one.
    #[must_use]
    pub fn sign_change(&self, message: &[u8]) -> Vec<u8> {
        self.sign_in(CHANGE_CONTEXT, message)
    }

    /// The key of the ids of the writer's contents.
    #[must_use]
    pub fn ids(&self) -> ContentIds {
        ContentIds::new(self.derive("sordino 2026 content ids of a writer"))
    }

    fn sign_in(&self, context: &[u8], message: &[u8]) -> Vec<u8> {
        let signing = self.signing();
        let signature = signing.expanded_key().sign_deterministic(message, context);
        signature
            .expect("a context of less than 256 bytes")
            .encode()
            .to_vec()
    }

    fn signing(&self) -> SigningKey<ml_dsa::MlDsa87> {
        let mut seed = self.derive("sordino 2026 signing key of a writer");
        let key = SigningKey::from_seed(&seed.into());
        seed.zeroize();
        key
    }

    fn derive(&self, purpose: &str) -> [u8; 32] {
        blake3::derive_key(purpose, &self.0)
    }
}

impl WriterKeys {
    /// The keys of a writer, for indexes of this owner.
    #[must_use]
    pub fn new(secret: WriterSecret, owner: OwnerPublicKey) -> Self {
        Self { secret, owner }
    }

    /// The secret.
    #[must_use]
    pub fn secret(&self) -> &WriterSecret {
        &self.secret
    }

    /// The owner's public key.
    #[must_use]
    pub fn owner(&self) -> &OwnerPublicKey {
        &self.owner
    }

    /// The keys with which the writer reads.
    #[must_use]
    pub fn reader(&self) -> ReaderKeys {
        ReaderKeys::from_secret(self.secret.reader(), self.owner.clone())
    }
}

impl WriterPublicKey {
    /// The encoding.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = self.reader.as_bytes().to_vec();
        bytes.extend(self.signing.to_bytes());
        bytes
    }

    /// The key of these bytes.
    ///
    /// # Errors
    /// The errors of [`ReaderPublicKey::from_bytes`], and [`Error::Malformed`] for another length.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let Some((reader, signing)) = bytes.split_at_checked(READER_LEN) else {
            let why = format!("{} bytes, expected {WRITER_PUBLIC_LEN}", bytes.len());
            let what = "writer's public key";
            return Err(Error::Malformed { what, why });
        };
        Ok(Self {
            reader: ReaderPublicKey::from_bytes(reader)?,
            signing: OwnerPublicKey::from_bytes(signing)?,
        })
    }
}

impl fmt::Debug for WriterSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WriterSecret").finish_non_exhaustive()
    }
}

impl fmt::Debug for WriterKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WriterKeys").finish_non_exhaustive()
    }
}

impl fmt::Debug for WriterPublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("WriterPublicKey")
            .field(&self.signing)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_writers_halves_are_keys_of_their_own_and_read_back() {
        let secret = WriterSecret::from_bytes([3; 32]);
        let public = secret.public();
        let bytes = public.to_bytes();
        assert_eq!(bytes.len(), WRITER_PUBLIC_LEN);
        assert_eq!(WriterPublicKey::from_bytes(&bytes).unwrap(), public);
        for len in [0, READER_LEN, WRITER_PUBLIC_LEN - 1] {
            assert!(WriterPublicKey::from_bytes(&bytes[..len]).is_err(), "{len}");
        }
        // The same bytes, used as an owner's master or a reader's seed, give other keys.
        let owner = crate::OwnerKeys::from_master([3; 32]).public();
        assert_ne!(owner, public.signing);
        assert!(ReaderSecret::from_bytes([3; 32]).public() != public.reader);
        let signature = secret.sign_change(b"step");
        assert!(public.signing.verify_change(b"step", &signature).is_ok());
        assert!(public.signing.verify(b"step", &signature).is_err());
        let addition = secret.sign_addition(b"step");
        assert!(public.signing.verify_change(b"step", &addition).is_err());
    }

    #[test]
    fn debug_prints_no_secret() {
        let secret = WriterSecret::from_bytes([4; 32]);
        assert_eq!(format!("{secret:?}"), "WriterSecret { .. }");
        let owner = crate::OwnerKeys::from_master([3; 32]).public();
        let keys = WriterKeys::new(secret, owner);
        assert_eq!(format!("{keys:?}"), "WriterKeys { .. }");
    }
}
