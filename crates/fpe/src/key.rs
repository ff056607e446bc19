//! AES keys. The name of a constructor gives the size of the key.

use crate::Error;
use alloc::vec::Vec;
use zeroize::Zeroizing;

/// The sizes of an AES key (FIPS 197).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AesSize {
    /// 128 bits.
    Aes128,
    /// 192 bits.
    Aes192,
    /// 256 bits.
    Aes256,
}

impl AesSize {
    /// The bytes of a key of this size: 16, 24 or 32.
    #[must_use]
    pub const fn bytes(self) -> usize {
        match self {
            Self::Aes128 => 16,
            Self::Aes192 => 24,
            Self::Aes256 => 32,
        }
    }

    /// The size of a key of `bytes` bytes, for key files whose length determines the size. `None` unless there are
    /// 16, 24 or 32.
    #[must_use]
    pub const fn from_bytes(bytes: usize) -> Option<Self> {
        match bytes {
            16 => Some(Self::Aes128),
            24 => Some(Self::Aes192),
            32 => Some(Self::Aes256),
            _ => None,
        }
    }
}

/// An AES key. Erased when dropped. `Debug` shows only its size.
///
/// No constructor takes the size from the length of a slice. So if a 32-byte key was accidentally cut to 16 bytes,
/// it is refused and does not become an AES-128 key.
///
/// ```
/// use sordino_fpe::{AesKey, AesSize, Error};
///
/// let key = AesKey::new_256(&[7; 32]);
/// let cut = AesKey::from_slice(AesSize::Aes256, &[7; 16]);
/// assert_eq!(cut.unwrap_err(), Error::KeyLength { found: 16, expected: 32 });
/// # let _ = key;
/// ```
///
/// ```compile_fail
/// let cut = sordino_fpe::AesKey::new_256(&[7; 16]);
/// ```
#[derive(Clone)]
pub struct AesKey {
    size: AesSize,
    bytes: Zeroizing<Vec<u8>>,
}

impl AesKey {
    /// A key of AES-128.
    #[must_use]
    pub fn new_128(key: &[u8; 16]) -> Self {
        Self::new(AesSize::Aes128, key)
    }

    /// A key of AES-192.
    #[must_use]
    pub fn new_192(key: &[u8; 24]) -> Self {
        Self::new(AesSize::Aes192, key)
    }

    /// A key of AES-256.
    #[must_use]
    pub fn new_256(key: &[u8; 32]) -> Self {
        Self::new(AesSize::Aes256, key)
    }

    /// A key of the given size.
    ///
    /// # Errors
    /// [`Error::KeyLength`] unless the slice has exactly [`AesSize::bytes`].
    pub fn from_slice(size: AesSize, key: &[u8]) -> Result<Self, Error> {
        if key.len() != size.bytes() {
            return Err(Error::KeyLength {
                found: key.len(),
                expected: size.bytes(),
            });
        }
        Ok(Self::new(size, key))
    }

    fn new(size: AesSize, key: &[u8]) -> Self {
        Self {
            size,
            bytes: Zeroizing::new(key.to_vec()),
        }
    }

    /// The size of the key.
    #[must_use]
    pub fn size(&self) -> AesSize {
        self.size
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The key with its bytes in reverse order, as FF3 passes it to AES.
    #[cfg(feature = "legacy-ff3")]
    pub(crate) fn reversed(&self) -> Self {
        let mut key = self.clone();
        key.bytes.reverse();
        key
    }
}

impl core::fmt::Debug for AesKey {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("AesKey")
            .field("size", &self.size)
            .finish_non_exhaustive()
    }
}
