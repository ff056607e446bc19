//! The CBC-MAC of Riffpe, and the tweak's state, which it computes.

use crate::ff1::mac::left;
use sordino_aes::{Aes, Key, Operation};

/// CBC-MAC with the padding of PKCS #7.
struct Mac<A: Aes> {
    aes: A,
    state: A::Block,
    /// The bytes of the incomplete block, the first one most significant.
    block: u128,
    len: usize,
}

impl<A: Aes> Mac<A> {
    #[inline(always)]
    fn absorb(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let (part, rest) = bytes.split_at(bytes.len().min(16 - self.len));
            self.block |= left(part) >> (8 * self.len);
            self.len += part.len();
            bytes = rest;
            if self.len == 16 {
                let x = self.aes.xor(self.state, self.aes.load(self.block));
                self.state = self.aes.encrypt(x);
                (self.block, self.len) = (0, 0);
            }
        }
    }

    #[inline(always)]
    fn finish(self) -> A::Block {
        let padding = (u128::MAX / 255) * (16 - self.len) as u128;
        let block = self.block | (padding & (u128::MAX >> (8 * self.len)));
        let x = self.aes.xor(self.state, self.aes.load(block));
        self.aes.encrypt(x)
    }
}

/// The part of the tweak's state that is absorbed before the tweak: the radices and, for Riffpe,
/// the number of digits.
#[derive(Clone, Copy)]
pub(super) struct Prefix {
    state: u128,
    block: u128,
    len: usize,
    /// True if the tweak's length follows, as in Riffpe but not in RiffpeX.
    with_length: bool,
}

impl Prefix {
    pub(super) fn new(key: &Key, bases: &[u32], uniform: bool) -> Self {
        struct Absorb<'a>(&'a [u32], bool);
        impl Operation for Absorb<'_> {
            type Output = Prefix;
            #[inline(always)]
            fn run<A: Aes>(self, aes: A) -> Prefix {
                let Self(bases, uniform) = self;
                let mut mac = Mac {
                    aes,
                    state: aes.load(0),
                    block: 0,
                    len: 0,
                };
                if uniform {
                    mac.absorb(&bases[0].to_le_bytes());
                    mac.absorb(&(bases.len() as u64).to_le_bytes()[..4]);
                } else {
                    for (i, n) in bases.iter().enumerate() {
                        mac.absorb(&n.to_le_bytes());
                        mac.absorb(if i + 1 < bases.len() { b":" } else { b"^" });
                    }
                }
                Prefix {
                    state: aes.store(mac.state),
                    block: mac.block,
                    len: mac.len,
                    with_length: uniform,
                }
            }
        }
        key.run(Absorb(bases, uniform))
    }

    /// The tweak's state: the CBC-MAC of radices, digits and tweak.
    #[inline(always)]
    pub(super) fn tweak_state<A: Aes>(self, aes: A, tweak: &[u8]) -> A::Block {
        let mut mac = Mac {
            aes,
            state: aes.load(self.state),
            block: self.block,
            len: self.len,
        };
        if self.with_length {
            mac.absorb(&(tweak.len() as u64).to_le_bytes());
        }
        mac.absorb(tweak);
        mac.finish()
    }
}

/// The tweak's state, as an integer.
#[cfg(all(feature = "std", target_arch = "x86_64"))]
pub(super) struct TweakState<'a> {
    pub(super) prefix: Prefix,
    pub(super) tweak: &'a [u8],
}

#[cfg(all(feature = "std", target_arch = "x86_64"))]
impl Operation for TweakState<'_> {
    type Output = u128;

    #[inline(always)]
    fn run<A: Aes>(self, aes: A) -> u128 {
        aes.store(self.prefix.tweak_state(aes, self.tweak))
    }
}
