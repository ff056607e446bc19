//! One signature to be verified, borrowed.

use crate::error::Error;
use crate::key::{ExpandedKey, check_length};
use crate::message::Message;
use crate::params::Params;

/// The public key of an item.
#[derive(Debug)]
pub enum Key<'a, P: Params> {
    /// An encoded key. The verifier expands it, or finds it in its cache.
    Encoded(&'a [u8]),
    /// A key that the caller has expanded.
    Expanded(&'a ExpandedKey<P>),
}

impl<P: Params> Clone for Key<'_, P> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<P: Params> Copy for Key<'_, P> {}

impl<'a, P: Params> From<&'a [u8]> for Key<'a, P> {
    fn from(encoded: &'a [u8]) -> Self {
        Self::Encoded(encoded)
    }
}

impl<'a, P: Params> From<&'a ExpandedKey<P>> for Key<'a, P> {
    fn from(key: &'a ExpandedKey<P>) -> Self {
        Self::Expanded(key)
    }
}

/// One signature to be verified. The verifier copies nothing, and checks every length.
#[derive(Debug)]
pub struct Item<'a, P: Params> {
    /// The signer's public key.
    pub key: Key<'a, P>,
    /// The signed message.
    pub message: Message<'a>,
    /// The encoded signature.
    pub signature: &'a [u8],
}

impl<P: Params> Clone for Item<'_, P> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<P: Params> Copy for Item<'_, P> {}

impl<'a, P: Params> Item<'a, P> {
    /// A pure message with a context.
    pub fn new(
        key: impl Into<Key<'a, P>>,
        message: &'a [u8],
        context: &'a [u8],
        signature: &'a [u8],
    ) -> Self {
        Self {
            key: key.into(),
            message: Message::Pure { message, context },
            signature,
        }
    }

    /// Checks every length.
    pub(crate) fn check(&self) -> Result<(), Error> {
        if let Key::Encoded(encoded) = self.key {
            check_length::<P>(encoded)?;
        }
        let (expected, found) = (P::SIGNATURE_LEN, self.signature.len());
        if found != expected {
            return Err(Error::SignatureLength { expected, found });
        }
        self.message.check()
    }
}
