//! Steps 6.i and 6.ii of FF1 on a half that is a machine integer: `R = PRF(P || Q)`.
//!
//! `Q = T || 0...0 || [i] || [NUM(B)]^b` differs from round to round only in its last `b + 1` bytes. For `b <= 15`
//! these lie in its last block. Take the CBC-MAC of all blocks before the last, XORed with the bytes of the last one
//! that come from `T` and the zeros. This value is the same in every round, and [`Mac::tweak`] computes it once for
//! each string. A round XORs `i` and `NUM(B)` into it, and encrypts that one block.

use crate::{
    block::{self, BlockCipher},
    feistel::Half,
};
use sordino_aes::{Aes, LANES};

/// The start of the CBC-MAC, which depends on neither the round nor the half.
#[derive(Clone)]
pub(crate) struct Mac {
    /// `P` without the tweak's length.
    p: u128,
    /// The number of bytes of `NUM(B)`.
    pub(crate) b: u32,
    /// The tweak's length for which `e` holds.
    tweak_len: usize,
    /// `E(P)`.
    e: u128,
}

impl Mac {
    pub(crate) fn new(cipher: &impl BlockCipher, p: u128, b: u32, tweak_len: usize) -> Self {
        Self {
            p,
            b,
            tweak_len,
            e: block::encrypt(cipher, p | (tweak_len as u128 & 0xffff_ffff)),
        }
    }

    /// The state of the CBC-MAC before its last block, XORed with the bytes of that block that come from `T` and the
    /// zeros. [`Mac::encrypt`] adds the bytes of `i` and `NUM(B)`.
    ///
    /// For `b = 16` this is the last block but one. The index is its last byte, and `NUM(B)` is the whole block
    /// after it.
    #[inline(always)]
    pub(crate) fn tweak<A: Aes>(&self, aes: A, tweak: &[u8]) -> A::Block {
        let mut state = if tweak.len() == self.tweak_len {
            aes.load(self.e)
        } else {
            aes.encrypt(aes.load(self.p | tweak.len() as u128))
        };
        // The number of bytes that come before the index in its block.
        let before = (31 - self.b as usize % 16) % 16;
        let mut tail = tweak;
        if tweak.len() > before {
            let zeros = (before + 16 - tweak.len() % 16) % 16;
            for _ in 0..(tweak.len() + zeros) / 16 {
                let (block, rest) = tail.split_at(tail.len().min(16));
                state = aes.encrypt(aes.xor(state, aes.load(left(block))));
                tail = rest;
            }
        }
        aes.xor(state, aes.load(left(tail)))
    }

    /// The input of the last AES call of round `i`, without `NUM(B)`; for `b <= 16`.
    #[inline(always)]
    fn round<A: Aes>(&self, aes: A, tweak: A::Block, i: u8) -> A::Block {
        if self.b == 16 {
            return aes.encrypt(aes.xor_low(tweak, i.into()));
        }
        aes.xor(tweak, aes.load(u128::from(i) << (8 * self.b)))
    }

    /// Step 6.ii of round `i` on the half `x`.
    #[inline(always)]
    pub(super) fn encrypt<A: Aes, H: Half>(
        &self,
        aes: A,
        tweak: A::Block,
        i: u8,
        x: H::Int,
    ) -> A::Block {
        // NUM(B) is added last, because everything else is ready before it.
        let block = aes.whiten(self.round(aes, tweak, i));
        aes.encrypt_whitened(H::absorb(aes, block, x))
    }

    /// Step 6.ii of round `i` on one half of eight strings.
    #[inline(always)]
    pub(super) fn encrypt8<A: Aes, H: Half>(
        &self,
        aes: A,
        tweaks: &[A::Block; LANES],
        i: u8,
        half: usize,
        numbers: &[[H::Int; 2]; LANES],
    ) -> [A::Block; LANES] {
        let mut blocks = *tweaks;
        for (block, x) in blocks.iter_mut().zip(numbers) {
            *block = H::absorb(aes, self.round(aes, *block, i), x[half]);
        }
        aes.encrypt8(blocks)
    }
}

/// Puts up to 16 bytes at the beginning of a block, with zeros behind them.
#[inline]
pub(crate) fn left(bytes: &[u8]) -> u128 {
    if let Ok(eight) = <[u8; 8]>::try_from(bytes) {
        return u128::from(u64::from_be_bytes(eight)) << 64;
    }
    let mut block = 0;
    for &byte in bytes {
        block = (block << 8) | u128::from(byte);
    }
    // Without bytes the shift would be by 128, so it is reduced mod 128.
    block << (8 * (16 - bytes.len()) % 128)
}
