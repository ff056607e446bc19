//! A hook for services that keep keys. The service wraps an owner's or a reader's master secret under a key that never
//! leaves the service. The wrapped secret can be stored anywhere.
//!
//! ```text
//! what is wrapped: kind: 8 bytes, SRDOWNER or SRDREADR | the secret: 32 bytes
//! ```
//!
//! The kind is wrapped with the secret. So an attacker who can exchange stored bytes cannot replace an owner's master by a
//! reader's seed.

use std::fmt;

use aes_kw::{KeyInit, KwAes256};
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use crate::keys::OwnerKeys;
use crate::reader_secret::ReaderSecret;

/// A service that wraps secrets of 40 bytes, and unwraps them. It can be a key in a file ([`WrappingKey`]), a token behind PKCS
/// #11 (`examples/key_service`), or a cloud service.
///
/// # Security
/// A program that may ask the service to unwrap a key has that key. The service decides when, where and to which program it
/// answers. Unwrapping must refuse bytes that the service did not wrap.
pub trait KeyWrap {
    /// Wraps a secret of 40 bytes: its kind and its key.
    ///
    /// # Errors
    /// Fails if the service fails.
    fn wrap(&self, secret: &[u8]) -> Result<Vec<u8>, KeyWrapError>;

    /// Unwraps a secret.
    ///
    /// # Errors
    /// Fails if the service fails, or if the service did not wrap these bytes.
    fn unwrap(&self, wrapped: &[u8]) -> Result<Zeroizing<Vec<u8>>, KeyWrapError>;
}

/// The reason why a key was not wrapped or unwrapped. It reveals nothing about the key.
#[derive(Debug, thiserror::Error)]
#[error("the service that wraps keys: {0}")]
pub struct KeyWrapError(#[source] pub Box<dyn std::error::Error + Send + Sync>);

/// A key of 32 bytes that wraps other keys by AES-256 key wrap (RFC 3394, KW of SP 800-38F), like PKCS #11's
/// `CKM_AES_KEY_WRAP`.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct WrappingKey([u8; 32]);

impl WrappingKey {
    /// The key of these bytes.
    #[must_use]
    pub fn from_bytes(key: [u8; 32]) -> Self {
        Self(key)
    }
}

/// The number of bytes that AES key wrap adds to a secret.
const MORE: usize = 8;
/// The largest number of bytes that are unwrapped, so that a stored file cannot take more memory.
const MAX_WRAPPED: usize = 4096;

impl KeyWrap for WrappingKey {
    fn wrap(&self, secret: &[u8]) -> Result<Vec<u8>, KeyWrapError> {
        let mut wrapped = vec![0; secret.len() + MORE];
        let made = KwAes256::new(&self.0.into()).wrap_key(secret, &mut wrapped);
        made.map_err(|error| KeyWrapError(error.to_string().into()))?;
        Ok(wrapped)
    }

    fn unwrap(&self, wrapped: &[u8]) -> Result<Zeroizing<Vec<u8>>, KeyWrapError> {
        let refused = || KeyWrapError("not a secret that this key has wrapped".into());
        let len = wrapped.len().checked_sub(MORE);
        let len = len.filter(|_| wrapped.len() <= MAX_WRAPPED);
        let mut secret = Zeroizing::new(vec![0; len.ok_or_else(refused)?]);
        let opened = KwAes256::new(&self.0.into()).unwrap_key(wrapped, &mut secret);
        match opened.map(<[u8]>::len) {
            Ok(all) if Some(all) == len => Ok(secret),
            _ => Err(refused()),
        }
    }
}

/// The kinds of secrets that are wrapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Owner,
    Reader,
}

/// The size in bytes of a kind.
const KIND_LEN: usize = 8;

impl Kind {
    fn bytes(self) -> &'static [u8; KIND_LEN] {
        match self {
            Self::Owner => b"SRDOWNER",
            Self::Reader => b"SRDREADR",
        }
    }

    /// The kind's name, with the call that opens it.
    fn name(self) -> &'static str {
        match self {
            Self::Owner => "an owner's master secret (OwnerKeys::unwrapped)",
            Self::Reader => "a reader's seed (ReaderSecret::unwrapped)",
        }
    }

    fn wrap(self, key: &[u8; 32], by: &impl KeyWrap) -> Result<Vec<u8>, KeyWrapError> {
        let secret = Zeroizing::new([&self.bytes()[..], key].concat());
        by.wrap(&secret)
    }

    fn unwrap(self, wrapped: &[u8], by: &impl KeyWrap) -> Result<[u8; 32], KeyWrapError> {
        let secret = by.unwrap(wrapped)?;
        let refused = |why: String| Err(KeyWrapError(why.into()));
        let found = secret.split_first_chunk::<KIND_LEN>();
        let found = found.and_then(|(kind, key)| Some((kind, <[u8; 32]>::try_from(key).ok()?)));
        let Some((kind, key)) = found else {
            return refused(match secret.len() {
                32 => "a secret that an earlier build wrapped without its kind. If you know that it is yours and of which kind, make it \
                       from the bytes that KeyWrap::unwrap gives and wrap it again"
                    .to_owned(),
                len => format!("what was wrapped has {len} bytes, expected 40: a kind and a key"),
            });
        };
        if kind == self.bytes() {
            return Ok(key);
        }
        let of = [Self::Owner, Self::Reader];
        let other = of.into_iter().find(|other| other.bytes() == kind);
        let found = other.map_or("a secret of an unknown kind", Self::name);
        refused(format!("{found} was wrapped, expected {}", self.name()))
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
    /// The errors of [`KeyWrap::wrap`].
    pub fn wrapped(&self, by: &impl KeyWrap) -> Result<Vec<u8>, KeyWrapError> {
        Kind::Owner.wrap(self.master(), by)
    }

    /// The keys whose master secret was wrapped.
    ///
    /// # Errors
    /// The errors of [`KeyWrap::unwrap`], and an error if the bytes wrap a reader's seed, or a secret without its kind,
    /// as in earlier builds.
    pub fn unwrapped(by: &impl KeyWrap, wrapped: &[u8]) -> Result<Self, KeyWrapError> {
        Ok(Self::from_master(Kind::Owner.unwrap(wrapped, by)?))
    }
}

impl ReaderSecret {
    /// The seed, wrapped.
    ///
    /// # Errors
    /// The errors of [`KeyWrap::wrap`].
    pub fn wrapped(&self, by: &impl KeyWrap) -> Result<Vec<u8>, KeyWrapError> {
        Kind::Reader.wrap(self.as_bytes(), by)
    }

    /// The pair whose seed was wrapped.
    ///
    /// # Errors
    /// The errors of [`KeyWrap::unwrap`], and an error if the bytes wrap an owner's master secret, or a secret without
    /// its kind, as in earlier builds.
    pub fn unwrapped(by: &impl KeyWrap, wrapped: &[u8]) -> Result<Self, KeyWrapError> {
        Ok(Self::from_bytes(Kind::Reader.unwrap(wrapped, by)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes<const N: usize>(hex: &str) -> [u8; N] {
        let digit = |at: usize| u8::from_str_radix(&hex[2 * at..][..2], 16).expect("hex");
        std::array::from_fn(digit)
    }

    /// Compares with the test vector in section 4.6 of RFC 3394.
    #[test]
    fn the_published_vector_of_key_wrap() {
        let kek = bytes("000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f");
        let key: [u8; 32] =
            bytes("00112233445566778899aabbccddeeff000102030405060708090a0b0c0d0e0f");
        let expected: [u8; 40] = bytes(
            "28c9f404c4b810f4cbccb35cfb87f8263f5786e2d80ed326cbc7f0e71a99f43bfb988b9b7a02dd21",
        );
        let by = WrappingKey::from_bytes(kek);
        assert_eq!(by.wrap(&key).unwrap(), expected);
        assert_eq!(by.unwrap(&expected).unwrap()[..], key);
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
        assert!(by.unwrap(&vec![0; MAX_WRAPPED + 8]).is_err());
        assert!(by.wrap(&[1; 39]).is_err());
        assert_eq!(format!("{by:?}"), "WrappingKey { .. }");
    }

    /// If a reader's seed were accepted as a master, an attacker who can exchange stored bytes could make the next
    /// index use a master that it knows.
    #[test]
    fn a_secret_of_another_kind_is_refused_by_its_name() {
        let by = WrappingKey::from_bytes([7; 32]);
        let owner = OwnerKeys::from_master([1; 32]).wrapped(&by).unwrap();
        let reader = ReaderSecret::from_bytes([2; 32]).wrapped(&by).unwrap();
        let refused = OwnerKeys::unwrapped(&by, &reader).unwrap_err().to_string();
        assert!(refused.contains("a reader's seed"), "{refused}");
        let refused = ReaderSecret::unwrapped(&by, &owner).unwrap_err();
        let refused = refused.to_string();
        assert!(refused.contains("an owner's master secret"), "{refused}");
        // Earlier builds wrapped a secret without its kind, which is refused.
        let old = by.wrap(&[3; 32]).unwrap();
        assert_eq!(old.len(), 40);
        let both = [
            OwnerKeys::unwrapped(&by, &old).map(drop),
            ReaderSecret::unwrapped(&by, &old).map(drop),
        ];
        for refused in both {
            let refused = refused.unwrap_err().to_string();
            assert!(refused.contains("without its kind"), "{refused}");
        }
        let unknown = by.wrap(&[&b"SRDOTHER"[..], &[3; 32]].concat()).unwrap();
        let refused = OwnerKeys::unwrapped(&by, &unknown).unwrap_err().to_string();
        assert!(refused.contains("unknown kind"), "{refused}");
        for len in [8, 40] {
            let other = by.wrap(&vec![3; len + 8]).unwrap();
            let refused = OwnerKeys::unwrapped(&by, &other).map(drop);
            assert!(refused.is_err(), "{len}");
        }
    }
}
