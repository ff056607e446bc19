//! Halves of FF1 that are machine integers, and the ten rounds on these integers. Numerals are
//! converted before the first round and after the last.

use super::mac::Mac;
use crate::{
    feistel::{Direction, Half, rounds},
    reciprocal::{Modulus64, Modulus128, mix_mod, mix_mod_128},
    residue::Residue,
};
use sordino_aes::{Aes, LANES, Operation};

/// `m <= 2^32` and `y < 2^64`.
pub(crate) type Half32 = Residue<64, 2>;

impl Half32 {
    /// # Panics
    /// Panics if `m` is not a power of a radix. The tests of `residue` try all such powers.
    pub(crate) fn of(m: u64) -> Self {
        Self::new(m, [32; 2]).expect("powers of a radix fit two words")
    }
}

impl Half for Half32 {
    type Int = u64;

    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "words of y")]
    fn mix<A: Aes, const D: Direction>(&self, aes: A, a: u64, s: A::Block) -> u64 {
        let y = aes.high(s);
        Self::mix::<D>(self, a, [y as u32, (y >> 32) as u32])
    }
    #[inline(always)]
    fn absorb<A: Aes>(aes: A, block: A::Block, x: u64) -> A::Block {
        aes.xor_low(block, x)
    }
}

/// `m < 2^64` and `y < 2^96`.
#[derive(Clone, Copy)]
pub(crate) struct Half64(Modulus64);

impl Half64 {
    pub(crate) fn new(m: u64) -> Self {
        Self(Modulus64::new(m))
    }

    pub(crate) fn m(self) -> u64 {
        self.0.m
    }
}

impl Half for Half64 {
    type Int = u64;

    #[inline(always)]
    fn mix<A: Aes, const D: Direction>(&self, aes: A, a: u64, s: A::Block) -> u64 {
        mix_mod::<D>(a, self.0.reduce(aes.store(s) >> 32), self.m())
    }
    #[inline(always)]
    fn absorb<A: Aes>(aes: A, block: A::Block, x: u64) -> A::Block {
        aes.xor_low(block, x)
    }
}

/// `m < 2^128` and `y < 2^160`.
#[derive(Clone, Copy)]
pub(crate) struct Half128 {
    modulus: Modulus128,
    /// The number of bits of `y`: 96, 128 or 160.
    bits: u32,
}

impl Half128 {
    /// A half of a string whose `NUM(B)` has `b` bytes.
    pub(crate) fn new(m: u128, b: u32) -> Self {
        Self {
            modulus: Modulus128::new(m),
            bits: 32 * b.div_ceil(4) + 32,
        }
    }

    pub(crate) fn m(self) -> u128 {
        self.modulus.m
    }
}

impl Half for Half128 {
    type Int = u128;

    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "the low limb of y")]
    fn mix<A: Aes, const D: Direction>(&self, aes: A, a: u128, s: A::Block) -> u128 {
        let r = aes.store(s);
        let r = if self.bits == 160 {
            let next = aes.store(aes.encrypt(aes.xor_low(s, 1))) >> 96;
            self.modulus
                .reduce(r >> 32, ((r as u64) << 32) | next as u64)
        } else {
            let y = r >> (128 - self.bits);
            self.modulus.reduce(y >> 64, y as u64)
        };
        mix_mod_128::<D>(a, r, self.m())
    }
    #[inline(always)]
    fn absorb<A: Aes>(aes: A, block: A::Block, x: u128) -> A::Block {
        aes.xor(block, aes.load(x))
    }
}

/// Algorithms 7 and 8 on the two integers `NUM(A)` and `NUM(B)`.
pub(crate) struct Feistel<'a, H: Half, const D: Direction> {
    pub(crate) mac: &'a Mac,
    pub(crate) halves: &'a [H; 2],
    pub(crate) tweak: &'a [u8],
    pub(crate) number: (H::Int, H::Int),
}

impl<H: Half, const D: Direction> Operation for Feistel<'_, H, D> {
    type Output = (H::Int, H::Int);

    #[inline(always)]
    fn run<A: Aes>(self, aes: A) -> (H::Int, H::Int) {
        let (halves, mac) = (*self.halves, self.mac);
        let tweak = mac.tweak(aes, self.tweak);
        let mut x = <[H::Int; 2]>::from(self.number);
        rounds!(D, 10, |half, i| {
            let s = mac.encrypt::<A, H>(aes, tweak, i, x[1 - half]);
            x[half] = halves[half].mix::<A, D>(aes, x[half], s);
        });
        x.into()
    }
}

/// Eight strings in step, each with its own tweak.
pub(crate) struct Feistel8<'a, H: Half, const D: Direction> {
    pub(crate) mac: &'a Mac,
    pub(crate) halves: &'a [H; 2],
    pub(crate) tweaks: [&'a [u8]; LANES],
    pub(crate) numbers: &'a mut [[H::Int; 2]; LANES],
}

impl<H: Half, const D: Direction> Operation for Feistel8<'_, H, D> {
    type Output = ();

    #[inline(always)]
    fn run<A: Aes>(self, aes: A) {
        let (halves, mac) = (*self.halves, self.mac);
        let mut tweaks = [aes.load(0); LANES];
        for (block, tweak) in tweaks.iter_mut().zip(self.tweaks) {
            *block = mac.tweak(aes, tweak);
        }
        rounds!(D, 10, |half, i| {
            let s = mac.encrypt8::<A, H>(aes, &tweaks, i, 1 - half, self.numbers);
            for (x, s) in self.numbers.iter_mut().zip(s) {
                x[half] = halves[half].mix::<A, D>(aes, x[half], s);
            }
        });
    }
}
