//! Reasons for refusing a token, or what it was to be made of.

use crate::time::rfc3339;

/// The reason why a token is refused. All of it is about public data, so it may be told.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Longer than any token.
    #[error("token has {found} bytes, expected at most {most}")]
    Length {
        /// Bytes that were given.
        found: usize,
        /// Most bytes of a token.
        most: usize,
    },
    /// It, or a part of it, ends too early.
    #[error("the bytes end at {at}, within {what}")]
    Truncated {
        /// The number of bytes found.
        at: usize,
        /// The thing that is not whole.
        what: &'static str,
    },
    /// The bytes are not a token: they have a wrong type, are not in the shortest and ordered form, are nested, or
    /// too many.
    #[error("byte {at} of the token: expected {what}")]
    Form {
        /// The place.
        at: usize,
        /// The thing that should be there.
        what: &'static str,
    },
    /// It was attenuated too often.
    #[error("token has more than {most} blocks")]
    Depth {
        /// Most blocks of a token.
        most: usize,
    },
    /// A block names no algorithm, or `none`.
    #[error("block {block} names no signature algorithm")]
    Unsigned {
        /// The block, from 0.
        block: usize,
    },
    /// A block is signed by an algorithm that is not allowed here.
    #[error("block {block} has algorithm {found}, expected -48 (ML-DSA-44) or -49 (ML-DSA-65)")]
    Algorithm {
        /// The block, from 0.
        block: usize,
        /// Its COSE algorithm.
        found: i64,
    },
    /// A claim is outside its bounds.
    #[error("{claim}: expected {expected}")]
    Claim {
        /// The claim.
        claim: &'static str,
        /// Its bounds.
        expected: &'static str,
    },
    /// A block grants more than the one before it.
    #[error(
        "block {block} grants more than the one before it: {claim}; a token can only be narrowed, and `sordino token inspect` \
         prints what it grants"
    )]
    Raised {
        /// The block, from 0.
        block: usize,
        /// The claim.
        claim: &'static str,
    },
    /// A block does not follow from the one before it.
    #[error("block {block} is not signed for the one before it")]
    Parent {
        /// The block, from 0.
        block: usize,
    },
    /// The first block is signed by a key that is not trusted.
    #[error("the token's issuer is not trusted here")]
    Issuer,
    /// A signature is wrong.
    #[error("signature of block {block}: {reason}")]
    Signature {
        /// The block, from 0.
        block: usize,
        /// The fault.
        reason: sordino_mldsa::Error,
    },
    /// It was made for another service.
    #[error("the token is for audience {found:?}, expected {expected:?}")]
    Audience {
        /// The token's.
        found: String,
        /// The verifier's.
        expected: String,
    },
    /// It is not yet valid.
    #[error("the token is valid from {} on, and it is {}: look at both clocks", rfc3339(*not_before), rfc3339(*now))]
    NotYetValid {
        /// When it begins to be valid.
        not_before: u64,
        /// The verifier's time.
        now: u64,
    },
    /// Its time is over.
    #[error("the token expired at {}, and it is {}: have a new one issued", rfc3339(*expiry), rfc3339(*now))]
    Expired {
        /// The first second in which it is not valid.
        expiry: u64,
        /// The verifier's time.
        now: u64,
    },
    /// The key that is used with the token is not the token's.
    #[error("the token was made for another key: use the key of its holder")]
    Key,
    /// It does not name the index.
    #[error("the token does not name this index: have one issued for it")]
    Index,
    /// It does not name the action.
    #[error("the token does not allow the action {action}: have one issued for it")]
    Action {
        /// The action.
        action: &'static str,
    },
    /// A public key has the wrong length.
    #[error("public key has {found} bytes, expected {expected}")]
    KeyLength {
        /// Bytes that were given.
        found: usize,
        /// Bytes that the algorithm's keys have.
        expected: usize,
    },
}
