//! FF1 whose halves are machine integers: ten rounds with no numeral in sight.
//!
//! The last block of `P || Q` is `[end of T, zeros, i, NUM(B)]`, so a round's last block is a
//! fixed block of this tweak, plus (by XOR) the round's index, plus `NUM(B)`: the whole round
//! function is one AES block for `b <= 15`.

use crate::{
    aes::{Aes, Key, LANES, Operation},
    reciprocal::{
        Divisor64, Divisor128, Modulus64, Modulus128, add_mod, add_mod_128, sub_mod, sub_mod_128,
    },
    residue::Residue,
};

/// Whether rounds run forward.
pub(crate) type Direction = bool;
/// Algorithm 7.
pub(crate) const ENCRYPT: Direction = true;
/// Algorithm 8.
pub(crate) const DECRYPT: Direction = false;

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
    fn encrypt<A: Aes, H: Half>(&self, aes: A, tweak: A::Block, i: u8, x: H::Int) -> A::Block {
        // The half comes last: all else is ready before it.
        let block = aes.whiten(self.round(aes, tweak, i));
        aes.encrypt_whitened(H::absorb(aes, block, x))
    }

    /// Step 6.ii of round `i` on eight strings: on `B` in even rounds, on `A` in odd ones.
    #[inline(always)]
    fn encrypt8<A: Aes, H: Half>(
        &self,
        aes: A,
        tweaks: &[A::Block; LANES],
        i: u8,
        x: &[(H::Int, H::Int); LANES],
    ) -> [A::Block; LANES] {
        let mut blocks = *tweaks;
        for (block, x) in blocks.iter_mut().zip(x) {
            let x = if i.is_multiple_of(2) { x.1 } else { x.0 };
            *block = H::absorb(aes, self.round(aes, *block, i), x);
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

/// One half: its modulus, and what a round does to it.
pub(crate) trait Half: Copy {
    type Int: Copy;

    /// `(a + y) mod m`, or `(a - y) mod m`, where `y` is what step 6.iv takes from the encrypted
    /// block `s`.
    fn mix<A: Aes, const D: Direction>(&self, aes: A, a: Self::Int, s: A::Block) -> Self::Int;

    /// `block ^ NUM(x)`.
    fn absorb<A: Aes>(aes: A, block: A::Block, x: Self::Int) -> A::Block;
}

/// `m <= 2^32` and `y < 2^64`.
#[derive(Clone, Copy)]
pub(crate) struct Half32 {
    pub(crate) m: u64,
    forward: Residue<2>,
    backward: Residue<2>,
}

impl Half32 {
    /// # Panics
    /// If `m` is not a power of a radix: `residue` tests all of them.
    pub(crate) fn new(m: u64) -> Self {
        const FITS: &str = "powers of a radix fit two words";
        Self {
            m,
            forward: Residue::new(m, false).expect(FITS),
            backward: Residue::new(m, true).expect(FITS),
        }
    }
}

impl Half for Half32 {
    type Int = u64;

    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "words of y")]
    fn mix<A: Aes, const D: Direction>(&self, aes: A, a: u64, s: A::Block) -> u64 {
        let y = aes.high(s);
        let residue = if D { &self.forward } else { &self.backward };
        residue.mix(a, [y as u32, (y >> 32) as u32])
    }
    #[inline(always)]
    fn absorb<A: Aes>(aes: A, block: A::Block, x: u64) -> A::Block {
        aes.xor_low(block, x)
    }
}

/// `m < 2^64` and `y < 2^96`.
#[derive(Clone, Copy)]
pub(crate) struct Half64 {
    pub(crate) modulus: Modulus64,
}

impl Half64 {
    pub(crate) fn new(m: u64) -> Self {
        Self {
            modulus: Modulus64::new(m),
        }
    }
}

impl Half for Half64 {
    type Int = u64;

    #[inline(always)]
    fn mix<A: Aes, const D: Direction>(&self, aes: A, a: u64, s: A::Block) -> u64 {
        let r = self.modulus.reduce(aes.store(s) >> 32);
        if D {
            add_mod(a, r, self.modulus.m)
        } else {
            sub_mod(a, r, self.modulus.m)
        }
    }
    #[inline(always)]
    fn absorb<A: Aes>(aes: A, block: A::Block, x: u64) -> A::Block {
        aes.xor_low(block, x)
    }
}

/// `m < 2^128` and `y < 2^160`.
#[derive(Clone, Copy)]
pub(crate) struct Half128 {
    pub(crate) modulus: Modulus128,
    /// Bits of `y`: 96, 128 or 160.
    bits: u32,
    radix: u32,
    /// `radix^chunk`: the largest power below `2^64`.
    power: Divisor128,
    chunk: usize,
}

impl Half128 {
    #[expect(clippy::cast_possible_truncation, reason = "a radix is at most 65536")]
    pub(crate) fn new(radix: u64, m: u128, b: u32) -> Self {
        let (chunk, power) = chunk(radix);
        Self {
            modulus: Modulus128::new(m),
            bits: 32 * b.div_ceil(4) + 32,
            radix: radix as u32,
            power: Divisor128::new(power.into()),
            chunk,
        }
    }

    /// `STR^n_radix(x)`, for `n = out.len()`.
    #[expect(clippy::cast_possible_truncation, reason = "a remainder is below 2^64")]
    pub(crate) fn numerals(&self, mut x: u128, out: &mut [u16]) {
        for part in out.rchunks_mut(self.chunk) {
            let (q, r) = self.power.div_rem(x);
            numerals(r as u64, self.radix, part);
            x = q;
        }
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
        if D {
            add_mod_128(a, r, self.modulus.m)
        } else {
            sub_mod_128(a, r, self.modulus.m)
        }
    }
    #[inline(always)]
    fn absorb<A: Aes>(aes: A, block: A::Block, x: u128) -> A::Block {
        aes.xor(block, aes.load(x))
    }
}

/// The most numerals that fit in 64 bits, and their number of values.
pub(crate) fn chunk(radix: u64) -> (usize, u64) {
    let (mut len, mut power) = (1, radix);
    while let Some(next) = power.checked_mul(radix) {
        power = next;
        len += 1;
    }
    (len, power)
}

/// `NUM_radix(x)` (Algorithm 1), below `2^64`.
#[inline]
pub(crate) fn number(x: &[u16], radix: u32) -> u64 {
    x.iter().fold(0u64, |n, &x| {
        n.wrapping_mul(radix.into()).wrapping_add(x.into())
    })
}

/// `NUM_radix(x)` (Algorithm 1), below `2^128`.
#[inline]
pub(crate) fn number_128(x: &[u16], radix: u32) -> u128 {
    x.iter().fold(0u128, |n, &x| {
        n.wrapping_mul(radix.into()).wrapping_add(x.into())
    })
}

/// `STR^n_radix(x)` (Algorithm 3), for `n = out.len()` and `x < radix^n`.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "a numeral is below 65536")]
pub(crate) fn numerals(mut x: u64, radix: u32, out: &mut [u16]) {
    let divisor = Divisor64::new(radix.into());
    for numeral in out.iter_mut().rev() {
        let (q, r) = divisor.div_rem(x);
        *numeral = r as u16;
        x = q;
    }
}

/// Algorithms 7 and 8 on the two integers `NUM(A)` and `NUM(B)`.
pub(crate) struct Feistel<'a, H: Half, const D: Direction> {
    mac: &'a Mac,
    halves: &'a [H; 2],
    tweak: &'a [u8],
    number: (H::Int, H::Int),
}

impl<'a, H: Half, const D: Direction> Feistel<'a, H, D> {
    #[inline]
    pub(crate) fn new(
        mac: &'a Mac,
        halves: &'a [H; 2],
        tweak: &'a [u8],
        number: (H::Int, H::Int),
    ) -> Self {
        Self {
            mac,
            halves,
            tweak,
            number,
        }
    }
}

impl<H: Half, const D: Direction> Operation for Feistel<'_, H, D> {
    type Output = (H::Int, H::Int);

    #[inline(always)]
    fn run<A: Aes>(self, aes: A) -> (H::Int, H::Int) {
        let [u, v] = *self.halves;
        let (mac, tweak) = (self.mac, self.mac.tweak(aes, self.tweak));
        let (mut a, mut b) = self.number;
        // Two rounds at a time: the exchange of the halves is a change of names.
        for k in 0..5 {
            let i = if D { 2 * k } else { 8 - 2 * k };
            if D {
                a = u.mix::<A, D>(aes, a, mac.encrypt::<A, H>(aes, tweak, i, b));
                b = v.mix::<A, D>(aes, b, mac.encrypt::<A, H>(aes, tweak, i + 1, a));
            } else {
                b = v.mix::<A, D>(aes, b, mac.encrypt::<A, H>(aes, tweak, i + 1, a));
                a = u.mix::<A, D>(aes, a, mac.encrypt::<A, H>(aes, tweak, i, b));
            }
        }
        (a, b)
    }
}

/// Eight strings in step, each with its own tweak's block.
pub(crate) struct Feistel8<'a, H: Half, const D: Direction> {
    pub(crate) mac: &'a Mac,
    pub(crate) halves: &'a [H; 2],
    pub(crate) tweaks: [&'a [u8]; LANES],
    pub(crate) numbers: &'a mut [(H::Int, H::Int); LANES],
}

impl<H: Half, const D: Direction> Operation for Feistel8<'_, H, D> {
    type Output = ();

    #[inline(always)]
    fn run<A: Aes>(self, aes: A) {
        let [u, v] = *self.halves;
        let mut tweaks = [aes.load(0); LANES];
        for (block, tweak) in tweaks.iter_mut().zip(self.tweaks) {
            *block = self.mac.tweak(aes, tweak);
        }
        for k in 0..5 {
            let i = if D { 2 * k } else { 8 - 2 * k };
            if D {
                let y = self.mac.encrypt8::<A, H>(aes, &tweaks, i, self.numbers);
                for (pair, y) in self.numbers.iter_mut().zip(y) {
                    pair.0 = u.mix::<A, D>(aes, pair.0, y);
                }
                let y = self.mac.encrypt8::<A, H>(aes, &tweaks, i + 1, self.numbers);
                for (pair, y) in self.numbers.iter_mut().zip(y) {
                    pair.1 = v.mix::<A, D>(aes, pair.1, y);
                }
            } else {
                let y = self.mac.encrypt8::<A, H>(aes, &tweaks, i + 1, self.numbers);
                for (pair, y) in self.numbers.iter_mut().zip(y) {
                    pair.1 = v.mix::<A, D>(aes, pair.1, y);
                }
                let y = self.mac.encrypt8::<A, H>(aes, &tweaks, i, self.numbers);
                for (pair, y) in self.numbers.iter_mut().zip(y) {
                    pair.0 = u.mix::<A, D>(aes, pair.0, y);
                }
            }
        }
    }
}
