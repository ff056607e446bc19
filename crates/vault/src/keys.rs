//! The owner's keys. The server has no keys.

use std::fmt;

use rand_core::CryptoRng;
use sordino_mldsa::ml_dsa::signature::Keypair;
use sordino_mldsa::ml_dsa::{self, SigningKey};
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use crate::content_ids::ContentIds;
use crate::content_key::{ContentKey, ContentRoot};
use sordino_index::{CHANGE_CONTEXT, LOG_CONTEXT, MANIFEST_CONTEXT, OwnerPublicKey, OwnerSigner};

/// The keys with which the data's owner builds indexes: one master secret.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct OwnerKeys {
    master: [u8; 32],
}

impl OwnerKeys {
    /// New keys, from a hash of 32 bytes of `rng`. A program that sees the same bytes elsewhere does not learn the
    /// keys.
    pub fn generate<R: CryptoRng + ?Sized>(rng: &mut R) -> Self {
        let mut drawn = Zeroizing::new([0; 32]);
        rng.fill_bytes(&mut *drawn);
        Self::from_master(blake3::derive_key("sordino 2026 new owner", &*drawn))
    }

    /// The keys of a stored master secret.
    #[must_use]
    pub fn from_master(master: [u8; 32]) -> Self {
        Self { master }
    }

    /// The master secret, so that the caller can store it. Its holder can read and sign everything.
    #[must_use]
    pub fn master(&self) -> &[u8; 32] {
        &self.master
    }

    /// The content key that all readers of an index share, if they have no keys of their own.
    #[must_use]
    pub fn shared(&self) -> ContentKey {
        ContentKey::from_bytes(self.derive("sordino 2026 content key"))
    }

    /// The root of the content keys of indexes that have readers of their own.
    #[must_use]
    pub fn contents(&self) -> ContentRoot {
        ContentRoot::new(self.derive("sordino 2026 root of content keys"))
    }

    /// The key that verifies manifests. It is public.
    #[must_use]
    #[expect(clippy::missing_panics_doc, reason = "an encoded key has its length")]
    pub fn public(&self) -> OwnerPublicKey {
        let bytes = self.signing().verifying_key().encode();
        OwnerPublicKey::from_bytes(&bytes).expect("an encoded key has the length of one")
    }

    /// Signs a manifest.
    #[must_use]
    pub fn sign(&self, message: &[u8]) -> Vec<u8> {
        self.sign_in(MANIFEST_CONTEXT, message)
    }

    /// Signs a step of a change over a network. The signature's context differs from a manifest's, so it is not valid
    /// for one.
    #[must_use]
    pub fn sign_change(&self, message: &[u8]) -> Vec<u8> {
        self.sign_in(CHANGE_CONTEXT, message)
    }

    fn sign_in(&self, context: &[u8], message: &[u8]) -> Vec<u8> {
        let signature = self
            .signing()
            .expanded_key()
            .sign_deterministic(message, context);
        signature
            .expect("a context of less than 256 bytes")
            .encode()
            .to_vec()
    }

    /// The key from which ids of contents are computed.
    #[must_use]
    pub fn ids(&self) -> ContentIds {
        ContentIds::new(self.derive("sordino 2026 content ids"))
    }

    fn signing(&self) -> SigningKey<ml_dsa::MlDsa87> {
        let mut seed = self.derive("sordino 2026 manifest signing key");
        let key = SigningKey::from_seed(&seed.into());
        seed.zeroize();
        key
    }

    fn derive(&self, purpose: &str) -> [u8; 32] {
        blake3::derive_key(purpose, &self.master)
    }
}

impl OwnerSigner for OwnerKeys {
    fn sign(&self, message: &[u8]) -> Vec<u8> {
        Self::sign(self, message)
    }

    fn sign_log(&self, message: &[u8]) -> Vec<u8> {
        self.sign_in(LOG_CONTEXT, message)
    }
}

impl fmt::Debug for OwnerKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnerKeys").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner() -> OwnerKeys {
        OwnerKeys::from_master([3; 32])
    }

    #[test]
    fn only_the_owners_signature_on_this_message_verifies() {
        let (signature, public) = (owner().sign(b"message"), owner().public());
        assert!(public.verify(b"message", &signature).is_ok());
        assert!(public.verify(b"massage", &signature).is_err());
        assert!(public.verify(b"message", &signature[1..]).is_err());
        for byte in (0..signature.len()).step_by(509) {
            let mut flipped = signature.clone();
            flipped[byte] ^= 1;
            assert!(public.verify(b"message", &flipped).is_err(), "byte {byte}");
        }
        let other = OwnerKeys::from_master([4; 32]).public();
        assert!(other.verify(b"message", &signature).is_err());
        assert_eq!(
            OwnerPublicKey::from_bytes(&public.to_bytes()).unwrap(),
            public
        );
        assert!(OwnerPublicKey::from_bytes(&[0; 100]).is_err());
    }

    #[test]
    fn debug_prints_no_secret() {
        assert_eq!(format!("{:?}", owner()), "OwnerKeys { .. }");
    }
}
