//! Signed messages.

use crate::error::Error;
use crate::sponge::{Input, RATE_256};

/// A signed message, in one of the standard's forms.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Message<'a> {
    /// FIPS 204, Algorithm 3 (`ML-DSA.Verify`): the message itself, and a context of at most
    /// 255 bytes, which is often empty.
    Pure {
        /// The message.
        message: &'a [u8],
        /// The context string.
        context: &'a [u8],
    },
    /// A message like `Pure`, given in several pieces, which are concatenated.
    Parts {
        /// The pieces of the message.
        parts: &'a [&'a [u8]],
        /// The context string.
        context: &'a [u8],
    },
    /// FIPS 204, Algorithm 5 (`HashML-DSA.Verify`): the digest of a message.
    Digest {
        /// The function that computed the digest.
        hash: HashFunction,
        /// The hash function's output, of [`HashFunction::digest_len`] bytes.
        digest: &'a [u8],
        /// The context string.
        context: &'a [u8],
    },
    /// The message representative mu (Algorithm 8, step 7), computed by the caller, for instance with
    /// [`Mu`](crate::Mu). Use it also for the standard's internal interface, whose input is the
    /// formatted message M'. [`Mu::internal`](crate::Mu::internal) hashes that.
    Mu(&'a [u8; 64]),
}

/// The hash functions that HashML-DSA may be used with (FIPS 204, section 5.4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the names say all")]
pub enum HashFunction {
    Sha2_224,
    Sha2_256,
    Sha2_384,
    Sha2_512,
    Sha2_512_224,
    Sha2_512_256,
    Sha3_224,
    Sha3_256,
    Sha3_384,
    Sha3_512,
    /// SHAKE128 with 256 bits of output.
    Shake128,
    /// SHAKE256 with 512 bits of output.
    Shake256,
}

impl HashFunction {
    /// The size in bytes of the function's output.
    #[must_use]
    pub const fn digest_len(self) -> usize {
        match self {
            Self::Sha2_224 | Self::Sha2_512_224 | Self::Sha3_224 => 28,
            Self::Sha2_256 | Self::Sha2_512_256 | Self::Sha3_256 | Self::Shake128 => 32,
            Self::Sha2_384 | Self::Sha3_384 => 48,
            Self::Sha2_512 | Self::Sha3_512 | Self::Shake256 => 64,
        }
    }

    /// DER of the object identifier: 2.16.840.1.101.3.4.2, then the function's number.
    const fn oid(self) -> &'static [u8; 11] {
        macro_rules! oid {
            ($number:literal) => {
                &[
                    0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, $number,
                ]
            };
        }
        match self {
            Self::Sha2_256 => oid!(1),
            Self::Sha2_384 => oid!(2),
            Self::Sha2_512 => oid!(3),
            Self::Sha2_224 => oid!(4),
            Self::Sha2_512_224 => oid!(5),
            Self::Sha2_512_256 => oid!(6),
            Self::Sha3_224 => oid!(7),
            Self::Sha3_256 => oid!(8),
            Self::Sha3_384 => oid!(9),
            Self::Sha3_512 => oid!(10),
            Self::Shake128 => oid!(11),
            Self::Shake256 => oid!(12),
        }
    }
}

impl<'a> Message<'a> {
    /// Checks the lengths.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let context = match *self {
            Self::Pure { context, .. } | Self::Parts { context, .. } => context,
            Self::Digest {
                hash,
                digest,
                context,
            } => {
                let (expected, found) = (hash.digest_len(), digest.len());
                if found != expected {
                    return Err(Error::DigestLength { expected, found });
                }
                context
            }
            Self::Mu(_) => &[],
        };
        check_context(context)
    }

    /// The input of mu: tr || M' (Algorithms 3 and 5, then 8, step 6). `None` if mu is given.
    pub(crate) fn representative(&'a self, tr: &'a [u8; 64]) -> Option<Input<'a>> {
        let (domain, context, oid, parts): (u8, _, &[u8], &[&[u8]]) = match self {
            Self::Pure { message, context } => (0, *context, &[], core::slice::from_ref(message)),
            Self::Parts { parts, context } => (0, *context, &[], parts),
            Self::Digest {
                hash,
                digest,
                context,
            } => (1, *context, hash.oid(), core::slice::from_ref(digest)),
            Self::Mu(_) => return None,
        };
        let own = (prefix(domain, context), 2);
        Some(Input {
            first: tr,
            then: [context, oid],
            parts,
            own,
            rate: RATE_256,
        })
    }
}

pub(crate) fn check_context(context: &[u8]) -> Result<(), Error> {
    if context.len() > 255 {
        return Err(Error::ContextLength {
            found: context.len(),
        });
    }
    Ok(())
}

/// The domain separator, and the length of the context, which was checked before.
#[expect(
    clippy::cast_possible_truncation,
    reason = "contexts have at most 255 bytes"
)]
pub(crate) fn prefix(domain: u8, context: &[u8]) -> [u8; 34] {
    let mut own = [0; 34];
    own[0] = domain;
    own[1] = context.len() as u8;
    own
}
