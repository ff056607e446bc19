//! Reasons for refusing a key, a message or a signature.

use thiserror::Error;

/// The reason why an item is invalid. Everything here is public data, so the reason may be told.
///
/// If several hold, the first in this order is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Error {
    /// The encoded public key has the wrong length.
    #[error("public key has {found} bytes, expected {expected}")]
    PublicKeyLength {
        /// Bytes that the parameter set's keys have.
        expected: usize,
        /// Bytes that were given.
        found: usize,
    },
    /// The signature has the wrong length.
    #[error("signature has {found} bytes, expected {expected}")]
    SignatureLength {
        /// Bytes that the parameter set's signatures have.
        expected: usize,
        /// Bytes that were given.
        found: usize,
    },
    /// The digest does not have the length of the named hash function's output.
    #[error("digest has {found} bytes, expected {expected}")]
    DigestLength {
        /// Bytes of the hash function's output.
        expected: usize,
        /// Bytes that were given.
        found: usize,
    },
    /// The context string is longer than 255 bytes.
    #[error("context has {found} bytes, expected at most 255")]
    ContextLength {
        /// Bytes that were given.
        found: usize,
    },
    /// The hint is not encoded as Algorithm 21 (`HintBitUnpack`) demands.
    #[error("hint is not validly encoded")]
    HintEncoding,
    /// A coefficient of z is at or over the bound gamma_1 - beta.
    #[error("a coefficient of z is not below gamma_1 - beta")]
    ZNorm,
    /// The commitment hash recomputed from the signature is not the one in the signature.
    #[error("signature does not match key and message")]
    Mismatch,
}

/// The reason why a batch was not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum BatchError {
    /// There was nothing to verify, so nothing was shown.
    #[error("empty batch")]
    Empty,
    /// Room for more or fewer verdicts than there are items.
    #[error("room for {found} verdicts, expected {expected}, one for each item")]
    Verdicts {
        /// Verdicts that have room.
        found: usize,
        /// Items.
        expected: usize,
    },
    /// The item at `index` is invalid and every item before it is valid. The items after it may be either.
    #[error("item {index}: {reason}")]
    Invalid {
        /// Index of the first invalid item.
        index: usize,
        /// The reason why it is invalid.
        reason: Error,
    },
}
