//! Reasons for refusing a token, or for not making one.

use crate::time::rfc3339;

/// The reason why a token is refused. It depends only on public data, so a service may tell it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The bytes are longer than any token.
    #[error("token has {found} bytes, expected at most {most}")]
    Length {
        /// The number of bytes given.
        found: usize,
        /// The largest number of bytes of a token.
        most: usize,
    },
    /// The token, or a part of it, ends too early.
    #[error("the bytes end at {at}, within {what}")]
    Truncated {
        /// The number of bytes found.
        at: usize,
        /// The incomplete part.
        what: &'static str,
    },
    /// The bytes are not a token. They have a wrong type, are not in the shortest and sorted form, are nested, or
    /// are too many.
    #[error("byte {at} of the token: expected {what}")]
    Form {
        /// The position of the fault.
        at: usize,
        /// The part that is expected there.
        what: &'static str,
    },
    /// The token has too many blocks.
    #[error("token has more than {most} blocks")]
    Depth {
        /// The largest number of blocks of a token.
        most: usize,
    },
    /// A block names no algorithm, or `none`.
    #[error("block {block} names no signature algorithm")]
    Unsigned {
        /// The number of the block, from 0.
        block: usize,
    },
    /// The algorithm of a block is not allowed here.
    #[error("block {block} has algorithm {found}, expected -48 (ML-DSA-44) or -49 (ML-DSA-65)")]
    Algorithm {
        /// The number of the block, from 0.
        block: usize,
        /// The COSE algorithm that was found.
        found: i64,
    },
    /// A claim is outside its bounds.
    #[error("{claim}: expected {expected}")]
    Claim {
        /// The name of the claim.
        claim: &'static str,
        /// The accepted bounds.
        expected: &'static str,
    },
    /// A block grants more than the one before it.
    #[error(
        "block {block} grants more than the one before it: {claim}; a token can only be narrowed, and `sordino token inspect` \
         prints what it grants"
    )]
    Raised {
        /// The number of the block, from 0.
        block: usize,
        /// The name of the claim.
        claim: &'static str,
    },
    /// A block does not follow from the one before it.
    #[error("block {block} is not signed for the one before it")]
    Parent {
        /// The number of the block, from 0.
        block: usize,
    },
    /// The key that signed the first block is not trusted.
    #[error("the token's issuer is not trusted here")]
    Issuer,
    /// A signature is wrong.
    #[error("signature of block {block}: {reason}")]
    Signature {
        /// The number of the block, from 0.
        block: usize,
        /// The reason why it is wrong.
        reason: sordino_mldsa::Error,
    },
    /// The token was made for another service.
    #[error("the token is for audience {found:?}, expected {expected:?}")]
    Audience {
        /// The token's audience.
        found: String,
        /// The verifier's audience.
        expected: String,
    },
    /// The token is not valid yet.
    #[error("the token is valid from {} on, and it is {}: look at both clocks", rfc3339(*not_before), rfc3339(*now))]
    NotYetValid {
        /// The first second in which it is valid.
        not_before: u64,
        /// The verifier's time.
        now: u64,
    },
    /// The token has expired.
    #[error("the token expired at {}, and it is {}: have a new one issued", rfc3339(*expiry), rfc3339(*now))]
    Expired {
        /// The first second in which it is no longer valid.
        expiry: u64,
        /// The verifier's time.
        now: u64,
    },
    /// The key that presents the token is not its holder's.
    #[error("the token was made for another key: use the key of its holder")]
    Key,
    /// The token does not name the index.
    #[error("the token does not name this index: have one issued for it")]
    Index,
    /// The token does not allow the action.
    #[error("the token does not allow the action {action}: have one issued for it")]
    Action {
        /// The name of the action.
        action: &'static str,
    },
    /// A public key has the wrong length.
    #[error("public key has {found} bytes, expected {expected}")]
    KeyLength {
        /// The number of bytes given.
        found: usize,
        /// The number of bytes that the algorithm's keys have.
        expected: usize,
    },
}
