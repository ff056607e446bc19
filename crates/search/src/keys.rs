//! The owner's and the readers' keys. The server has none.

use std::fmt;
use std::sync::Arc;

use rand_core::CryptoRng;
use sordino_fpe::{AesKey, Ff1, Ff1Range};
use sordino_mldsa::ml_dsa::signature::Keypair;
use sordino_mldsa::ml_dsa::{self, SigningKey};
use sordino_mldsa::{ExpandedKey, Message, MlDsa87, Params};
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use crate::Error;
use crate::order::RowOrder;
use crate::pad::Pad;
use crate::seal::Seal;

/// Words that are hashed at a time.
const CHUNK: usize = 1 << 20;

/// What separates the manifest's signatures from others under the same key (FIPS 204, 5.2).
const CONTEXT: &[u8] = b"sordino manifest 2";

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

    /// What a reader gets: enough to search and to check, not to sign.
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
    pub(crate) fn sign(&self, message: &[u8]) -> Vec<u8> {
        let signature = self
            .signing()
            .expanded_key()
            .sign_deterministic(message, CONTEXT);
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
    pub(crate) fn content_id(
        &self,
        fresh: &[u8; 32],
        form: &str,
        ids: &[u8],
        words: impl Iterator<Item = u32>,
    ) -> [u8; 16] {
        let mut key = self.derive("sordino 2026 content ids");
        let mut hasher = blake3::Hasher::new_keyed(&key);
        key.zeroize();
        hasher.update(fresh);
        for piece in [form.as_bytes(), ids] {
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

/// What a client of the index holds: the key of the contents and the owner's public key.
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
    pub(crate) fn seal(&self, kind: &'static str, segment: &[u8; 16], version: u64) -> Seal {
        let mut key = self.subkey(kind, segment);
        let seal = Seal::new(&key, kind, *segment, version);
        key.zeroize();
        seal
    }

    /// The cipher of a segment's record ids.
    pub(crate) fn ids(&self, segment: &[u8; 16]) -> RecordIds {
        let mut key = self.subkey("record ids", segment);
        let ids = RecordIds::new(&key);
        key.zeroize();
        ids
    }

    /// The order in which a masked segment of `n` vectors stores them.
    pub(crate) fn row_order(&self, segment: &[u8; 16], n: u32) -> RowOrder {
        let key = Zeroizing::new(self.subkey("row order", segment));
        RowOrder::new(&key, n)
    }

    /// The order in which `n` payloads are stored.
    pub(crate) fn slot_order(&self, id: &[u8; 16], n: u32) -> RowOrder {
        let key = Zeroizing::new(self.subkey("slot order", id));
        RowOrder::new(&key, n)
    }

    /// The seed of the codes that clients make of a segment's vectors.
    pub(crate) fn sketch_seed(&self, segment: &[u8; 16]) -> sordino_lsh::Seed {
        sordino_lsh::Seed(self.subkey("sketch", segment))
    }

    /// The seed of the hash that says in which bucket of a sealed index a vector is; `salt` is the
    /// index's own.
    pub(crate) fn router_seed(&self, salt: &[u8; 16]) -> sordino_lsh::Seed {
        sordino_lsh::Seed(self.subkey("router", salt))
    }

    /// The pads of a segment's rows.
    pub(crate) fn pad(&self, segment: &[u8; 16], version: u64) -> Pad {
        Pad::new(Zeroizing::new(self.subkey("pad", segment)), version)
    }

    /// A key for one purpose in one segment: no two contents share one, because an id belongs to one
    /// content.
    fn subkey(&self, purpose: &str, segment: &[u8; 16]) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new_keyed(&self.content);
        hasher.update(segment).update(purpose.as_bytes());
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

/// The owner's ML-DSA-87 public key.
#[derive(Clone)]
pub struct OwnerPublicKey {
    bytes: Vec<u8>,
    expanded: Arc<ExpandedKey<MlDsa87>>,
}

impl OwnerPublicKey {
    /// The key's FIPS 204 encoding, 2,592 bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        self.bytes.clone()
    }

    /// Reads a key.
    ///
    /// # Errors
    /// If it is not 2,592 bytes long.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let expanded = ExpandedKey::from_bytes(bytes).map_err(|_| {
            let why = format!(
                "{} bytes, expected {}",
                bytes.len(),
                MlDsa87::PUBLIC_KEY_LEN
            );
            Error::Malformed {
                what: "public key",
                why,
            }
        })?;
        Ok(Self {
            bytes: bytes.to_vec(),
            expanded: Arc::new(expanded),
        })
    }

    /// Whether the owner signed `message` as a manifest.
    pub(crate) fn verify(&self, message: &[u8], signature: &[u8]) -> Result<(), Error> {
        let message = Message::Pure {
            message,
            context: CONTEXT,
        };
        self.expanded
            .verify(message, signature)
            .map_err(|_| Error::Signature)
    }
}

impl PartialEq for OwnerPublicKey {
    fn eq(&self, other: &Self) -> bool {
        self.bytes == other.bytes
    }
}

impl fmt::Debug for OwnerPublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digest = blake3::hash(&self.bytes);
        f.debug_tuple("OwnerPublicKey")
            .field(&digest.to_hex().as_str())
            .finish()
    }
}

/// Record ids as the index stores them: FF1 (SP 800-38G) over all 32-bit numbers, so that they
/// look random, keep their size, and say nothing about the order of insertion.
pub(crate) struct RecordIds(Ff1Range);

impl RecordIds {
    fn new(key: &[u8; 32]) -> Self {
        let ids =
            Ff1::new(&AesKey::new_256(key), 2).and_then(|ff1| ff1.range(0..=u128::from(u32::MAX)));
        Self(ids.expect("a 256-bit key and a domain of 2^32"))
    }

    /// The stored form of row `id`.
    pub(crate) fn hide(&self, id: u32) -> u32 {
        narrow(self.0.encrypt_u64(&[], id.into()))
    }

    /// The row that a stored id stands for.
    pub(crate) fn reveal(&self, hidden: u32) -> u32 {
        narrow(self.0.decrypt_u64(&[], hidden.into()))
    }
}

fn narrow(id: Result<u64, sordino_fpe::Error>) -> u32 {
    id.ok()
        .and_then(|id| u32::try_from(id).ok())
        .expect("a permutation of the 32-bit numbers")
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
    fn record_ids_are_a_permutation_that_depends_on_the_index() {
        let ids = owner().reader().ids(&[1; 16]);
        let other = owner().reader().ids(&[2; 16]);
        let hidden: Vec<u32> = (0..2000).map(|id| ids.hide(id)).collect();
        for (id, &hidden) in (0..2000).zip(&hidden) {
            assert_eq!(ids.reveal(hidden), id);
        }
        assert!(
            (0..2000)
                .zip(&hidden)
                .filter(|&(id, &h)| other.hide(id) == h)
                .count()
                < 2
        );
        for id in [u32::MAX, 0x1_0000, 0xffff] {
            assert_eq!(ids.reveal(ids.hide(id)), id);
        }
    }

    #[test]
    fn debug_prints_no_secret() {
        assert_eq!(format!("{:?}", owner()), "OwnerKeys { .. }");
        assert_eq!(format!("{:?}", owner().reader()), "ReaderKeys { .. }");
    }
}
