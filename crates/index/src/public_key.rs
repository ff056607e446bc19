//! The key that verifies manifests.

use std::fmt;
use std::sync::Arc;

use sordino_mldsa::{ExpandedKey, Message, MlDsa87, Params};

use crate::{Error, LogFault};

/// The context that separates the signatures of manifests from other signatures under the same key
/// (FIPS 204, 5.2).
pub const MANIFEST_CONTEXT: &[u8] = b"sordino manifest 2";

/// The context of steps that change an index over a network.
pub const CHANGE_CONTEXT: &[u8] = b"sordino change 1";

/// The context of heads of a log of manifests.
pub const LOG_CONTEXT: &[u8] = b"sordino log 2";

/// The context of a writer's additions.
pub const ADDITION_CONTEXT: &[u8] = b"sordino addition 1";

/// The size in bytes of the owner's signature: ML-DSA-87's.
pub(crate) const SIGNATURE_LEN: usize = 4627;

/// The size in bytes of a public key: ML-DSA-87's.
pub const PUBLIC_KEY_LEN: usize = MlDsa87::PUBLIC_KEY_LEN;

/// Signs for an owner. This crate does not see the key.
pub trait OwnerSigner {
    /// Signs a manifest.
    fn sign(&self, message: &[u8]) -> Vec<u8>;

    /// Signs the head of a log of manifests.
    fn sign_log(&self, message: &[u8]) -> Vec<u8>;
}

/// The ML-DSA-87 public key of an owner, or of a writer.
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
    /// [`Error`] if the key is not 2,592 bytes long.
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

    /// Checks that the owner signed `message` as a manifest.
    ///
    /// # Errors
    /// [`Error::Signature`] if the signature is wrong.
    pub fn verify(&self, message: &[u8], signature: &[u8]) -> Result<(), Error> {
        self.verify_in(MANIFEST_CONTEXT, message, signature)
    }

    /// Checks that the owner signed `message` as a step of a change.
    ///
    /// # Errors
    /// [`Error::Signature`] if the signature is wrong.
    pub fn verify_change(&self, message: &[u8], signature: &[u8]) -> Result<(), Error> {
        self.verify_in(CHANGE_CONTEXT, message, signature)
    }

    /// Checks that the writer with this key signed `message` as an addition.
    ///
    /// # Errors
    /// [`Error::Signature`] if the signature is wrong.
    pub(crate) fn verify_addition(&self, message: &[u8], signature: &[u8]) -> Result<(), Error> {
        self.verify_in(ADDITION_CONTEXT, message, signature)
    }

    /// Checks that the owner signed `message` as the head of a log.
    ///
    /// # Errors
    /// [`LogFault::Signature`] if the signature is wrong.
    pub(crate) fn verify_log(&self, message: &[u8], signature: &[u8]) -> Result<(), Error> {
        let verified = self.verify_in(LOG_CONTEXT, message, signature);
        verified.map_err(|_| Error::Log(LogFault::Signature))
    }

    fn verify_in(&self, context: &[u8], message: &[u8], signature: &[u8]) -> Result<(), Error> {
        let message = Message::Pure { message, context };
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

/// An owner for the tests of this crate. Its signatures are like those made with the vault's keys.
#[cfg(test)]
pub(crate) struct TestOwner(pub(crate) [u8; 32]);

#[cfg(test)]
impl TestOwner {
    fn key(&self) -> sordino_mldsa::ml_dsa::SigningKey<sordino_mldsa::ml_dsa::MlDsa87> {
        let seed = blake3::derive_key("sordino 2026 manifest signing key", &self.0);
        sordino_mldsa::ml_dsa::SigningKey::from_seed(&seed.into())
    }

    pub(crate) fn public(&self) -> OwnerPublicKey {
        use sordino_mldsa::ml_dsa::signature::Keypair;
        OwnerPublicKey::from_bytes(&self.key().verifying_key().encode()).unwrap()
    }

    pub(crate) fn sign_in(&self, context: &[u8], message: &[u8]) -> Vec<u8> {
        let signature = self
            .key()
            .expanded_key()
            .sign_deterministic(message, context);
        signature.unwrap().encode().to_vec()
    }
}

#[cfg(test)]
impl OwnerSigner for TestOwner {
    fn sign(&self, message: &[u8]) -> Vec<u8> {
        self.sign_in(MANIFEST_CONTEXT, message)
    }

    fn sign_log(&self, message: &[u8]) -> Vec<u8> {
        self.sign_in(LOG_CONTEXT, message)
    }
}
