//! A hook for services that keep keys: an owner's master secret or a reader's, wrapped by a key that never leaves the
//! service, can be stored anywhere.

use std::fmt;

use aes_kw::{KeyInit, KwAes256};
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use crate::keys::OwnerKeys;
use crate::reader_secret::ReaderSecret;

/// Something that wraps keys of 32 bytes, and unwraps them: a key of its own in a file ([`WrappingKey`]), a token behind PKCS #11
/// (`examples/key_service`), a service in a cloud.
///
/// # Security
/// Whoever may have a key unwrapped has the key: what the service protects is when, where and by whom that is asked, and
/// that it can be refused. Unwrapping must refuse what was not wrapped.
pub trait KeyWrap {
    /// Wraps a key.
    ///
    /// # Errors
    /// If the service does not do it.
    fn wrap(&self, key: &[u8; 32]) -> Result<Vec<u8>, KeyWrapError>;

    /// Unwraps a key.
    ///
    /// # Errors
    /// If the service does not do it, or the bytes are not a key that it has wrapped.
    fn unwrap(&self, wrapped: &[u8]) -> Result<Zeroizing<[u8; 32]>, KeyWrapError>;
}

/// The reason why a key was not wrapped or unwrapped. It says nothing of the key.
#[derive(Debug, thiserror::Error)]
#[error("the service that wraps keys: {0}")]
pub struct KeyWrapError(#[source] pub Box<dyn std::error::Error + Send + Sync>);

/// A key of 32 bytes that wraps others by AES-256 key wrap (RFC 3394, KW of SP 800-38F), as PKCS #11's `CKM_AES_KEY_WRAP` does.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct WrappingKey([u8; 32]);

impl WrappingKey {
    /// The key of these bytes.
    #[must_use]
    pub fn from_bytes(key: [u8; 32]) -> Self {
        Self(key)
    }
}

/// Bytes of a key wrapped by AES key wrap.
const WRAPPED_LEN: usize = 40;

impl KeyWrap for WrappingKey {
    fn wrap(&self, key: &[u8; 32]) -> Result<Vec<u8>, KeyWrapError> {
        let mut wrapped = vec![0; WRAPPED_LEN];
        let made = KwAes256::new(&self.0.into()).wrap_key(key, &mut wrapped);
        made.map_err(|error| KeyWrapError(error.to_string().into()))?;
        Ok(wrapped)
    }

    fn unwrap(&self, wrapped: &[u8]) -> Result<Zeroizing<[u8; 32]>, KeyWrapError> {
        let mut key = Zeroizing::new([0; 32]);
        let opened = KwAes256::new(&self.0.into()).unwrap_key(wrapped, &mut *key);
        match opened.map(<[u8]>::len) {
            Ok(32) => Ok(key),
            _ => Err(KeyWrapError("not a key that this key has wrapped".into())),
        }
    }
}

impl fmt::Debug for WrappingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WrappingKey").finish_non_exhaustive()
    }
}

impl OwnerKeys {
    /// The master secret, wrapped.
    ///
    /// # Errors
    /// [`KeyWrap::wrap`]'s.
    pub fn wrapped(&self, by: &impl KeyWrap) -> Result<Vec<u8>, KeyWrapError> {
        by.wrap(self.master())
    }

    /// The keys whose master secret was wrapped.
    ///
    /// # Errors
    /// [`KeyWrap::unwrap`]'s.
    pub fn unwrapped(by: &impl KeyWrap, wrapped: &[u8]) -> Result<Self, KeyWrapError> {
        Ok(Self::from_master(*by.unwrap(wrapped)?))
    }
}

impl ReaderSecret {
    /// The seed, wrapped.
    ///
    /// # Errors
    /// [`KeyWrap::wrap`]'s.
    pub fn wrapped(&self, by: &impl KeyWrap) -> Result<Vec<u8>, KeyWrapError> {
        by.wrap(self.as_bytes())
    }

    /// The pair whose seed was wrapped.
    ///
    /// # Errors
    /// [`KeyWrap::unwrap`]'s.
    pub fn unwrapped(by: &impl KeyWrap, wrapped: &[u8]) -> Result<Self, KeyWrapError> {
        Ok(Self::from_bytes(*by.unwrap(wrapped)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes<const N: usize>(hex: &str) -> [u8; N] {
        let digit = |at: usize| u8::from_str_radix(&hex[2 * at..][..2], 16).expect("hex");
        std::array::from_fn(digit)
    }

    /// RFC 3394, section 4.6.
    #[test]
    fn the_published_vector_of_key_wrap() {
        let kek = bytes("000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f");
        let key = bytes("00112233445566778899aabbccddeeff000102030405060708090a0b0c0d0e0f");
        let expected: [u8; WRAPPED_LEN] = bytes(
            "28c9f404c4b810f4cbccb35cfb87f8263f5786e2d80ed326cbc7f0e71a99f43bfb988b9b7a02dd21",
        );
        let by = WrappingKey::from_bytes(kek);
        assert_eq!(by.wrap(&key).unwrap(), expected);
        assert_eq!(*by.unwrap(&expected).unwrap(), key);
    }

    #[test]
    fn secrets_come_back_and_nothing_else_does() {
        let by = WrappingKey::from_bytes([7; 32]);
        let (owner, reader) = (
            OwnerKeys::from_master([1; 32]),
            ReaderSecret::from_bytes([2; 32]),
        );
        let (first, second) = (owner.wrapped(&by).unwrap(), reader.wrapped(&by).unwrap());
        assert_eq!(
            OwnerKeys::unwrapped(&by, &first).unwrap().master(),
            &[1; 32]
        );
        let back = ReaderSecret::unwrapped(&by, &second).unwrap();
        assert_eq!(back.as_bytes(), &[2; 32]);
        let other = WrappingKey::from_bytes([8; 32]);
        assert!(other.unwrap(&first).is_err());
        for bit in 0..8 * first.len() {
            let mut changed = first.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            assert!(by.unwrap(&changed).is_err(), "bit {bit}");
        }
        for len in 0..first.len() {
            assert!(by.unwrap(&first[..len]).is_err());
        }
        assert!(by.unwrap(&[&first[..], &[0; 8]].concat()).is_err());
        assert_eq!(format!("{by:?}"), "WrappingKey { .. }");
    }
}
