//! The blocks of a token, each of which continues the one before.

use crate::block::Block;
use crate::cbor::Reader;
use crate::error::Error;

/// The largest number of blocks of a token: the issuer's block, and three by which holders narrow it.
pub const MAX_BLOCKS: usize = 4;

/// The largest number of bytes of a token. Four blocks with the longest keys, signatures and claims have fewer.
pub const MAX_LEN: usize = 24 << 10;

/// Reads a token's blocks, from the issuer's to the last holder's. It checks everything except signatures, times and the
/// issuer.
pub(crate) fn read(token: &[u8]) -> Result<Vec<Block<'_>>, Error> {
    let (found, most) = (token.len(), MAX_LEN);
    if found > most {
        return Err(Error::Length { found, most });
    }
    let mut reader = Reader::new(token);
    let mut blocks: Vec<Block<'_>> = Vec::with_capacity(1);
    // An empty token enters the loop too: reading its first block then fails with the right error.
    while blocks.is_empty() || !reader.is_empty() {
        if blocks.len() == MAX_BLOCKS {
            return Err(Error::Depth { most: MAX_BLOCKS });
        }
        let number = blocks.len();
        let block = Block::read(&mut reader, number)?;
        if let Some(before) = blocks.last() {
            continues(&block, before, number)?;
        }
        blocks.push(block);
    }
    Ok(blocks)
}

/// Checks that a block follows from the one before it, and grants no more.
fn continues(block: &Block<'_>, before: &Block<'_>, number: usize) -> Result<(), Error> {
    let holder = &before.claims.holder;
    let follows = block.algorithm == holder.algorithm()
        && block.signer == holder.id()
        && block.parent == Some(before.digest());
    if !follows {
        return Err(Error::Parent { block: number });
    }
    block.claims.check_within(&before.claims, number)
}
