//! A token as bytes: how it is issued, narrowed and read.

use crate::chain;
use crate::claims::Claims;
use crate::error::Error;

/// A token in the right form: its blocks are complete, name each other, and grant no more than the block before.
///
/// Its signatures and times are not checked: a [`Verifier`](crate::Verifier) does that. Two tokens are equal if their bytes
/// are.
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
    /// - [`Error::Length`] if the bytes are longer than any token
    /// - [`Error::Truncated`] if the bytes end too early
    /// - [`Error::Form`] if the bytes do not have a token's form
    /// - [`Error::Depth`] if there are too many blocks
    /// - [`Error::Unsigned`] if a block names no algorithm, or `none`
    /// - [`Error::Algorithm`] if a block's algorithm is not allowed
    /// - [`Error::Claim`] if a claim is outside its bounds
    /// - [`Error::KeyLength`] if a public key has a wrong length
    /// - [`Error::Parent`] if a block does not follow from the block before it
    /// - [`Error::Raised`] if a block grants more than the block before it
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let blocks = chain::read(bytes)?;
        Ok(Self {
            bytes: bytes.to_vec(),
            issuer: blocks[0].signer,
            claims: blocks.into_iter().map(|block| block.claims).collect(),
        })
    }

    /// The token's bytes: one tagged `COSE_Sign1` after the other, from the issuer's on.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The claims of all blocks, from the issuer's on.
    #[must_use]
    pub fn claims(&self) -> &[Claims] {
        &self.claims
    }

    /// The claims of the last block, which are all that the token grants.
    #[must_use]
    pub fn granted(&self) -> &Claims {
        // Every token has at least one block.
        &self.claims[self.claims.len() - 1]
    }

    /// The name ([`PublicKey::id`](crate::PublicKey::id)) of the key that the token claims to be issued by.
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
    /// [`Error::Claim`] if a claim is outside its bounds.
    pub fn issue(claims: &Claims, issuer: &crate::SigningKey) -> Result<Self, Error> {
        let claims = claims.ordered()?;
        Ok(Self {
            bytes: crate::block::write(&claims, None, issuer),
            issuer: issuer.public().id(),
            claims: vec![claims],
        })
    }

    /// Makes a token that grants no more than this one, for the same holder or another. It has one block more, signed by this
    /// token's holder without the issuer's help.
    ///
    /// # Errors
    /// [`Error::Key`] if `holder` is not the key of this token's holder. [`Error::Raised`] if the claims grant more than this
    /// token does. [`Error::Depth`] if the token was narrowed three times before. [`Error::Claim`] if a claim is outside its
    /// bounds.
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
