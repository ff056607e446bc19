//! Public keys, and their algorithms.

use std::fmt;

use sordino_mldsa::{MlDsa44, MlDsa65, Params};

use crate::error::Error;

/// An algorithm that signs tokens (RFC 9964).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Algorithm {
    /// ML-DSA-44, category 2: COSE algorithm -48.
    MlDsa44,
    /// ML-DSA-65, category 3: COSE algorithm -49.
    MlDsa65,
}

impl Algorithm {
    /// The name that RFC 9964 registers.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::MlDsa44 => MlDsa44::NAME,
            Self::MlDsa65 => MlDsa65::NAME,
        }
    }

    /// The number that RFC 9964 registers for COSE.
    pub(crate) fn cose(self) -> i64 {
        match self {
            Self::MlDsa44 => -48,
            Self::MlDsa65 => -49,
        }
    }

    pub(crate) fn from_cose(number: i64) -> Option<Self> {
        let mut all = [Self::MlDsa44, Self::MlDsa65].into_iter();
        all.find(|algorithm| algorithm.cose() == number)
    }

    fn key_len(self) -> usize {
        match self {
            Self::MlDsa44 => MlDsa44::PUBLIC_KEY_LEN,
            Self::MlDsa65 => MlDsa65::PUBLIC_KEY_LEN,
        }
    }
}

/// The public key of an issuer or a client.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct PublicKey {
    algorithm: Algorithm,
    bytes: Box<[u8]>,
}

impl PublicKey {
    /// Reads a key's FIPS 204 encoding.
    ///
    /// # Errors
    /// [`Error::KeyLength`] if the length is wrong. Every byte string of the right length is a key.
    pub fn from_bytes(algorithm: Algorithm, bytes: &[u8]) -> Result<Self, Error> {
        let (found, expected) = (bytes.len(), algorithm.key_len());
        if found != expected {
            return Err(Error::KeyLength { found, expected });
        }
        Ok(Self {
            algorithm,
            bytes: bytes.into(),
        })
    }

    /// A key whose bytes have the length of its algorithm's keys.
    #[cfg(feature = "sign")]
    pub(crate) fn of(algorithm: Algorithm, bytes: Vec<u8>) -> Self {
        let bytes = bytes.into();
        Self { algorithm, bytes }
    }

    /// The algorithm whose signatures the key verifies.
    #[must_use]
    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// The key's FIPS 204 encoding.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The key's name: the BLAKE3 digest of its encoding.
    #[must_use]
    pub fn id(&self) -> [u8; 32] {
        *sordino_hash::hash(&self.bytes).as_bytes()
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let id = sordino_hash::hash(&self.bytes).to_hex();
        f.debug_tuple("PublicKey")
            .field(&self.algorithm)
            .field(&id.as_str())
            .finish()
    }
}
