//! Reasons for refusing a key, a message or a signature.

use thiserror::Error;

/// The reason why an item is invalid. It depends only on public data, so a program may show it.
///
/// If several reasons apply, the first in this order is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Error {
    /// The encoded public key has the wrong length.
    #[error("public key has {found} bytes, expected {expected}")]
    PublicKeyLength {
        /// The number of bytes that the parameter set's keys have.
        expected: usize,
        /// The number of bytes given.
        found: usize,
    },
    /// The signature has the wrong length.
    #[error("signature has {found} bytes, expected {expected}")]
    SignatureLength {
        /// The number of bytes that the parameter set's signatures have.
        expected: usize,
        /// The number of bytes given.
        found: usize,
    },
    /// The digest does not have the length of the named hash function's output.
    #[error("digest has {found} bytes, expected {expected}")]
    DigestLength {
        /// The size in bytes of the hash function's output.
        expected: usize,
        /// The number of bytes given.
        found: usize,
    },
    /// The context string is longer than 255 bytes.
    #[error("context has {found} bytes, expected at most 255")]
    ContextLength {
        /// The number of bytes given.
        found: usize,
    },
    /// The encoding of the hint violates Algorithm 21 (`HintBitUnpack`).
    #[error("hint is not validly encoded")]
    HintEncoding,
    /// The absolute value of a coefficient of z is not below the bound gamma_1 - beta.
    #[error("a coefficient of z is not below gamma_1 - beta")]
    ZNorm,
    /// The commitment hash that the verifier recomputed is not the one in the signature.
    #[error("signature does not match key and message")]
    Mismatch,
}

/// The reason why a batch is not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum BatchError {
    /// The batch is empty, so it proves nothing.
    #[error("empty batch")]
    Empty,
    /// The caller's list of verdicts is longer or shorter than the list of items.
    #[error("room for {found} verdicts, expected {expected}, one for each item")]
    Verdicts {
        /// The number of verdicts in the caller's list.
        found: usize,
        /// The number of items.
        expected: usize,
    },
    /// The item at `index` is invalid and every item before it is valid. The items after it were not
    /// checked.
    #[error("item {index}: {reason}")]
    Invalid {
        /// Index of the first invalid item.
        index: usize,
        /// The reason why it is invalid.
        reason: Error,
    },
}
