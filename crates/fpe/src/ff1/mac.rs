//! FF1's round function on a half that is a machine integer: one block of AES for `b <= 15`.
//!
//! The last block of `P || Q` is `[end of T, zeros, i, NUM(B)]`, so a round's last block is a
//! fixed block of this tweak, plus (by XOR) the round's index, plus `NUM(B)`.

use crate::{
    aes::{Aes, Key, LANES},
    feistel::Half,
};

/// The part of the round function's CBC-MAC that no half enters.
#[derive(Clone)]
pub(crate) struct Mac {
    /// `P` without the tweak's length.
    p: u128,
    /// Bytes of `NUM(B)`.
    pub(crate) b: u32,
    /// The tweak's length for which `e` holds.
    tweak_len: usize,
    /// `E(P)`.
    e: u128,
}

impl Mac {
    pub(crate) fn new(key: &Key, p: u128, b: u32, tweak_len: usize) -> Self {
        Self {
            p,
            b,
            tweak_len,
            e: key.block(p | (tweak_len as u128 & 0xffff_ffff)),
        }
    }

    /// The chaining value of `P` and all whole blocks of `T` and its zeros, plus what follows
    /// them in the block of the round's index, plus (by XOR) nothing yet for index and half.
    #[inline(always)]
    pub(crate) fn tweak<A: Aes>(&self, aes: A, tweak: &[u8]) -> A::Block {
        let mut state = if tweak.len() == self.tweak_len {
            aes.load(self.e)
        } else {
            aes.encrypt(aes.load(self.p | tweak.len() as u128))
        };
        // Bytes of the index's block that come before the index.
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

    /// The block of round `i`, for `b <= 16`: all but `NUM(B)`.
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
        // The half comes last: all else is ready before it.
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

/// Up to 16 bytes as the first of a block whose others are zero.
#[inline]
pub(crate) fn left(bytes: &[u8]) -> u128 {
    if let Ok(eight) = <[u8; 8]>::try_from(bytes) {
        return u128::from(u64::from_be_bytes(eight)) << 64;
    }
    let mut block = 0;
    for &byte in bytes {
        block = (block << 8) | u128::from(byte);
    }
    // No bytes would be a shift by 128.
    block << (8 * (16 - bytes.len()) % 128)
}
