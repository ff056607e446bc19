//! The owner's and the readers' keys. The server has none.

use std::fmt;

use rand_core::CryptoRng;
use sordino_mldsa::ml_dsa::signature::Keypair;
use sordino_mldsa::ml_dsa::{self, SigningKey};
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use crate::checks::{Checks, ClusterChecks};
use crate::order::RowOrder;
use crate::pad::Pad;
use crate::public_key::{CHANGE, CONTEXT, LOG, OwnerPublicKey};
use crate::purpose::Purpose;
use crate::seal::Seal;

/// Words that are hashed at a time.
const CHUNK: usize = 1 << 20;

/// All that the data's owner needs to build indexes: one master secret.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct OwnerKeys {
    master: [u8; 32],
}

impl OwnerKeys {
    /// New keys.
    pub fn generate<R: CryptoRng + ?Sized>(rng: &mut R) -> Self {
        let mut master = [0; 32];
        rng.fill_bytes(&mut master);
        Self { master }
    }

    /// The keys that a stored master secret stands for.
    #[must_use]
    pub fn from_master(master: [u8; 32]) -> Self {
        Self { master }
    }

    /// The master secret, to be stored. Whoever has it can read and sign everything.
    #[must_use]
    pub fn master(&self) -> &[u8; 32] {
        &self.master
    }

    /// The readers' keys: enough to search and to check, not to sign.
    #[must_use]
    pub fn reader(&self) -> ReaderKeys {
        ReaderKeys {
            content: self.derive("sordino 2026 content key"),
            owner: self.public(),
        }
    }

    /// The key that manifests are checked with; anyone may have it.
    #[must_use]
    #[expect(clippy::missing_panics_doc, reason = "an encoded key has its length")]
    pub fn public(&self) -> OwnerPublicKey {
        let bytes = self.signing().verifying_key().encode();
        OwnerPublicKey::from_bytes(&bytes).expect("an encoded key has the length of one")
    }

    /// Signs a manifest.
    #[must_use]
    pub fn sign(&self, message: &[u8]) -> Vec<u8> {
        self.sign_in(CONTEXT, message)
    }

    /// Signs a step of a change over a network, which is no manifest and cannot be taken for one.
    #[must_use]
    pub fn sign_change(&self, message: &[u8]) -> Vec<u8> {
        self.sign_in(CHANGE, message)
    }

    /// Signs the head of a log of manifests.
    pub(crate) fn sign_log(&self, message: &[u8]) -> Vec<u8> {
        self.sign_in(LOG, message)
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

    /// The id of content in this form: a keyed digest of fresh randomness and of everything in it.
    ///
    /// Nonces and pads must not meet two contents, so the id does not rest on randomness alone. A
    /// generator that repeats itself, as that of a restored machine may, repeats an id only for the
    /// same content. Only the owner can tell whether an id is of some content.
    pub fn content_id(
        &self,
        fresh: &[u8; 32],
        binding: &[u8],
        ids: &[u8],
        words: impl Iterator<Item = u32>,
    ) -> [u8; 16] {
        let mut key = self.derive("sordino 2026 content ids");
        let mut hasher = blake3::Hasher::new_keyed(&key);
        key.zeroize();
        hasher.update(fresh);
        for piece in [binding, ids] {
            hasher
                .update(&(piece.len() as u64).to_le_bytes())
                .update(piece);
        }
        let mut bytes = Zeroizing::new(Vec::with_capacity(CHUNK * size_of::<u32>()));
        for word in words {
            bytes.extend(word.to_le_bytes());
            if bytes.len() == bytes.capacity() {
                hasher.update_rayon(&bytes);
                bytes.clear();
            }
        }
        hasher.update_rayon(&bytes);
        let mut id = [0; 16];
        id.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
        hasher.zeroize();
        id
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

/// The keys of a client: the key of the contents and the owner's public key.
#[derive(Clone)]
pub struct ReaderKeys {
    content: [u8; 32],
    owner: OwnerPublicKey,
}

impl ReaderKeys {
    /// The keys that a stored content key stands for, with the public key of the owner it came from.
    #[must_use]
    pub fn from_content(content: [u8; 32], owner: OwnerPublicKey) -> Self {
        Self { content, owner }
    }

    /// The content key, to be stored. Whoever has it can read what the owner's indexes hold.
    #[must_use]
    pub fn content(&self) -> &[u8; 32] {
        &self.content
    }

    /// The owner's public key.
    #[must_use]
    pub fn owner(&self) -> &OwnerPublicKey {
        &self.owner
    }

    /// The cipher for one kind of content of one segment.
    #[must_use]
    pub fn seal(&self, purpose: Purpose, segment: &[u8; 16], version: u64) -> Seal {
        let mut key = self.subkey(purpose, segment);
        let seal = Seal::new(&key, purpose, *segment, version);
        key.zeroize();
        seal
    }

    /// The order in which a masked segment of `n` vectors stores them.
    #[must_use]
    pub fn row_order(&self, segment: &[u8; 16], n: u32) -> RowOrder {
        let key = Zeroizing::new(self.subkey(Purpose::RowOrder, segment));
        RowOrder::new(&key, n)
    }

    /// The order in which `n` payloads are stored.
    #[must_use]
    pub fn slot_order(&self, id: &[u8; 16], n: u32) -> RowOrder {
        let key = Zeroizing::new(self.subkey(Purpose::SlotOrder, id));
        RowOrder::new(&key, n)
    }

    /// The seed of the codes that clients make of a segment's vectors.
    #[must_use]
    pub fn sketch_seed(&self, segment: &[u8; 16]) -> sordino_lsh::Seed {
        sordino_lsh::Seed(self.subkey(Purpose::Sketch, segment))
    }

    /// The seed of the hash that says in which bucket of a sealed index a vector is; `salt` is the
    /// index's own.
    #[must_use]
    pub fn router_seed(&self, salt: &[u8; 16]) -> sordino_lsh::Seed {
        sordino_lsh::Seed(self.subkey(Purpose::Router, salt))
    }

    /// The pads of a segment's rows.
    #[must_use]
    pub fn pad(&self, segment: &[u8; 16], version: u64) -> Pad {
        Pad::new(Zeroizing::new(self.subkey(Purpose::Pad, segment)), version)
    }

    /// The check rows of a masked segment, of rows of `width` coordinates.
    #[must_use]
    pub fn checks(&self, segment: &[u8; 16], width: usize) -> Checks {
        Checks::new(Zeroizing::new(self.subkey(Purpose::Checks, segment)), width)
    }

    /// The check rows of the clusters of routed mode.
    #[must_use]
    pub fn cluster_checks(&self, base: &[u8; 16]) -> ClusterChecks {
        ClusterChecks::new(Zeroizing::new(self.subkey(Purpose::Checks, base)))
    }

    /// A key for one purpose in one segment: no two contents share one, because an id belongs to one
    /// content.
    fn subkey(&self, purpose: Purpose, segment: &[u8; 16]) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new_keyed(&self.content);
        hasher.update(segment).update(purpose.label().as_bytes());
        let key = *hasher.finalize().as_bytes();
        hasher.zeroize();
        key
    }
}

impl Drop for ReaderKeys {
    fn drop(&mut self) {
        self.content.zeroize();
    }
}

impl ZeroizeOnDrop for ReaderKeys {}

impl fmt::Debug for OwnerKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnerKeys").finish_non_exhaustive()
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
        assert_eq!(format!("{:?}", owner().reader()), "ReaderKeys { .. }");
    }
}
