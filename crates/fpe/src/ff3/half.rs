//! Halves of FF3, which are always machine integers, and the eight rounds on these integers.
//! `y` is the cipher's output block, read least significant byte first. The other half enters the
//! block in the same byte order.

use crate::{
    feistel::{Direction, Half, rounds},
    reciprocal::{Modulus64, Modulus128, mix_mod, mix_mod_128},
    residue::Residue,
};
use sordino_aes::{Aes, Operation};

/// `m <= 2^30`.
pub(super) type Half30 = Residue<64, 4>;

impl Half30 {
    /// # Panics
    /// Panics if `m` is above `2^30`.
    pub(super) fn of(m: u64) -> Self {
        Self::new(m, [32; 4]).expect("2^30 fits four words")
    }
}

impl Half for Half30 {
    type Int = u64;

    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "words of y")]
    fn mix<A: Aes, const D: Direction>(&self, aes: A, a: u64, s: A::Block) -> u64 {
        let y = aes.store_le(s);
        let words = [0, 32, 64, 96].map(|bit| (y >> bit) as u32);
        Self::mix::<D>(self, a, words)
    }
    #[inline(always)]
    fn absorb<A: Aes>(aes: A, block: A::Block, x: u64) -> A::Block {
        aes.xor_first_le(block, x)
    }
}

impl Half for Modulus64 {
    type Int = u64;

    #[inline(always)]
    fn mix<A: Aes, const D: Direction>(&self, aes: A, a: u64, s: A::Block) -> u64 {
        mix_mod::<D>(a, self.reduce(aes.store_le(s)), self.m)
    }
    #[inline(always)]
    fn absorb<A: Aes>(aes: A, block: A::Block, x: u64) -> A::Block {
        aes.xor_first_le(block, x)
    }
}

impl Half for Modulus128 {
    type Int = u128;

    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "the low limb")]
    fn mix<A: Aes, const D: Direction>(&self, aes: A, a: u128, s: A::Block) -> u128 {
        let y = aes.store_le(s);
        mix_mod_128::<D>(a, self.reduce(y >> 64, y as u64), self.m)
    }
    #[inline(always)]
    fn absorb<A: Aes>(aes: A, block: A::Block, x: u128) -> A::Block {
        aes.xor(block, aes.load(x.swap_bytes()))
    }
}

/// Algorithms 9 and 10 on the two integers `NUM(REV(A))` and `NUM(REV(B))`.
pub(super) struct Feistel<'a, H: Half, const D: Direction> {
    pub(super) halves: &'a [H; 2],
    /// `T_L` and `T_R`.
    pub(super) tweak: [u32; 2],
    pub(super) number: (H::Int, H::Int),
}

impl<H: Half, const D: Direction> Operation for Feistel<'_, H, D> {
    type Output = (H::Int, H::Int);

    #[inline(always)]
    fn run<A: Aes>(self, aes: A) -> (H::Int, H::Int) {
        let (halves, [left, right]) = (*self.halves, self.tweak);
        let mut x = <[H::Int; 2]>::from(self.number);
        rounds!(D, 8, |half, i| {
            // Steps 4.ii to 4.iv. The other half is added last, because everything else is ready
            // before it.
            let w = [right, left][half] ^ u32::from(i);
            let block = aes.whiten(aes.load(w.swap_bytes().into()));
            let s = aes.encrypt_whitened(H::absorb(aes, block, x[1 - half]));
            x[half] = halves[half].mix::<A, D>(aes, x[half], s);
        });
        x.into()
    }
}
