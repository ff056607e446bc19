//! The public keys of clients.

use std::fmt;

use sordino_mldsa::{MlDsa65, Params};
use sordino_token::{Algorithm, PublicKey};

use crate::Error;

/// The ML-DSA-65 public key of a client, which a server lists.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct ClientPublicKey {
    pub(crate) bytes: Vec<u8>,
}

impl ClientPublicKey {
    /// Reads a key's FIPS 204 encoding.
    ///
    /// # Errors
    /// Fails if it is not 1,952 bytes long.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        if bytes.len() != MlDsa65::PUBLIC_KEY_LEN {
            return Err(Error::KeyLength {
                what: "public key",
                found: bytes.len(),
                expected: MlDsa65::PUBLIC_KEY_LEN,
            });
        }
        Ok(Self {
            bytes: bytes.to_vec(),
        })
    }

    /// The key's FIPS 204 encoding, 1,952 bytes.
    #[must_use]
    pub fn to_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The key as tokens name it.
    ///
    /// # Panics
    /// Never panics: both are keys of ML-DSA-65.
    #[must_use]
    pub fn for_tokens(&self) -> PublicKey {
        PublicKey::from_bytes(Algorithm::MlDsa65, &self.bytes).expect("a key of ML-DSA-65")
    }

    /// The key's name: its BLAKE3 digest.
    #[must_use]
    pub fn id(&self) -> [u8; 32] {
        *blake3::hash(&self.bytes).as_bytes()
    }
}

impl fmt::Debug for ClientPublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let id = blake3::hash(&self.bytes).to_hex();
        f.debug_tuple("ClientPublicKey")
            .field(&id.as_str())
            .finish()
    }
}
