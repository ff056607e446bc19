//! A token as bytes: issued, narrowed, read.

use crate::chain;
use crate::claims::Claims;
use crate::error::Error;

/// A token whose form is right: its blocks are complete, name each other, and none grants more than the one before.
///
/// It says nothing of its signatures and times: a [`Verifier`](crate::Verifier) checks these. Two tokens are equal if
/// their bytes are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    bytes: Vec<u8>,
    issuer: [u8; 32],
    claims: Vec<Claims>,
}

impl Token {
    /// Reads a token.
    ///
    /// # Errors
    /// [`Error::Length`], [`Error::Truncated`], [`Error::Form`], [`Error::Depth`], [`Error::Unsigned`], [`Error::Algorithm`],
    /// [`Error::Claim`], [`Error::KeyLength`], [`Error::Parent`], [`Error::Raised`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let blocks = chain::read(bytes)?;
        Ok(Self {
            bytes: bytes.to_vec(),
            issuer: blocks[0].signer,
            claims: blocks.into_iter().map(|block| block.claims).collect(),
        })
    }

    /// The token's bytes: one tagged `COSE_Sign1` after the other, the issuer's first.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The claims of all blocks, the issuer's first.
    #[must_use]
    pub fn claims(&self) -> &[Claims] {
        &self.claims
    }

    /// The claims of the last block: all that the token grants.
    #[must_use]
    pub fn granted(&self) -> &Claims {
        // There is a block in every token.
        &self.claims[self.claims.len() - 1]
    }

    /// The name ([`PublicKey::id`](crate::PublicKey::id)) of the key that is said to have issued it.
    #[must_use]
    pub fn issuer(&self) -> &[u8; 32] {
        &self.issuer
    }
}

#[cfg(feature = "sign")]
impl Token {
    /// A token of one block.
    ///
    /// # Errors
    /// [`Error::Claim`].
    pub fn issue(claims: &Claims, issuer: &crate::SigningKey) -> Result<Self, Error> {
        let claims = claims.ordered()?;
        Ok(Self {
            bytes: crate::block::write(&claims, None, issuer),
            issuer: issuer.public().id(),
            claims: vec![claims],
        })
    }

    /// A token that grants no more, to a holder who may be a different one. It is one block longer, signed by this
    /// token's holder, without the issuer.
    ///
    /// # Errors
    /// [`Error::Key`] if `holder` is not the key of this token's holder. [`Error::Raised`] if the claims grant more
    /// than this token does. [`Error::Depth`] if it was narrowed three times before. [`Error::Claim`].
    pub fn attenuate(&self, claims: &Claims, holder: &crate::SigningKey) -> Result<Self, Error> {
        use crate::chain::MAX_BLOCKS;

        let block = self.claims.len();
        if block >= MAX_BLOCKS {
            return Err(Error::Depth { most: MAX_BLOCKS });
        }
        let (claims, before) = (claims.ordered()?, &self.claims[block - 1]);
        if *holder.public() != before.holder {
            return Err(Error::Key);
        }
        claims.check_within(before, block)?;
        let last = chain::read(&self.bytes)?.pop();
        let parent = last.map(|block| block.digest());
        let mut narrowed = self.clone();
        let bytes = crate::block::write(&claims, parent.as_ref(), holder);
        narrowed.bytes.extend(bytes);
        narrowed.claims.push(claims);
        Ok(narrowed)
    }
}
