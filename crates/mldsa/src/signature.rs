//! An encoded signature that owns its bytes.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::marker::PhantomData;

use crate::error::Error;
use crate::params::Params;

/// An encoded signature of the right length that owns its bytes. It is the signature type of RustCrypto's
/// traits. The rest of this crate takes signatures as borrowed bytes.
#[derive(Clone, Debug)]
pub struct Signature<P> {
    encoded: Box<[u8]>,
    set: PhantomData<P>,
}

impl<P: Params> Signature<P> {
    /// Keeps an encoded signature. It checks only the length.
    ///
    /// # Errors
    /// [`Error::SignatureLength`] if the length is wrong.
    pub fn from_bytes(encoded: &[u8]) -> Result<Self, Error> {
        let (expected, found) = (P::SIGNATURE_LEN, encoded.len());
        if found != expected {
            return Err(Error::SignatureLength { expected, found });
        }
        Ok(Self {
            encoded: encoded.into(),
            set: PhantomData,
        })
    }

    /// The encoded signature.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.encoded
    }

    /// The encoded signature.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        self.encoded.to_vec()
    }
}

impl<P: Params> PartialEq for Signature<P> {
    fn eq(&self, other: &Self) -> bool {
        self.encoded == other.encoded
    }
}

impl<P: Params> Eq for Signature<P> {}

impl<P: Params> TryFrom<&[u8]> for Signature<P> {
    type Error = Error;

    fn try_from(encoded: &[u8]) -> Result<Self, Error> {
        Self::from_bytes(encoded)
    }
}

impl<P: Params> AsRef<[u8]> for Signature<P> {
    fn as_ref(&self) -> &[u8] {
        self.as_bytes()
    }
}

impl<P> From<Signature<P>> for Box<[u8]> {
    fn from(signature: Signature<P>) -> Self {
        signature.encoded
    }
}
