//! The AES forward block (FIPS 197): one interface, and a key that knows its backend.
//!
//! Every cipher of this crate uses the block in the forward direction only. A computation over
//! blocks is an [`Operation`]; [`Key::run`] picks the backend once and runs the whole
//! operation with it, so that the block is inlined into the operation's own loop.

use crate::AesKey;
#[cfg(all(feature = "std", any(target_arch = "x86_64", target_arch = "aarch64")))]
use alloc::boxed::Box;
use zeroize::{Zeroize, ZeroizeOnDrop};

#[cfg(all(feature = "std", target_arch = "x86_64"))]
pub(crate) mod aesni;
#[cfg(all(feature = "std", target_arch = "aarch64"))]
mod neon;
mod portable;

/// Blocks that [`Aes::encrypt8`] takes: enough to hide the latency of one behind the others.
pub(crate) const LANES: usize = 8;

/// AES under one key. A block is kept in the kind of register that the backend works on; as an
/// integer it is big-endian, as all of SP 800-38G is.
pub(crate) trait Aes: Copy {
    /// A block of 16 bytes.
    type Block: Copy;

    /// The block whose bytes are `x`, most significant first.
    fn load(self, x: u128) -> Self::Block;
    /// The integer whose bytes, most significant first, are the block.
    fn store(self, x: Self::Block) -> u128;
    /// The integer of the first eight bytes.
    fn high(self, x: Self::Block) -> u64;
    /// `x ^ y`.
    fn xor(self, x: Self::Block, y: Self::Block) -> Self::Block;
    /// `x` with the integer `low` added by XOR to its last eight bytes.
    fn xor_low(self, x: Self::Block, low: u64) -> Self::Block;
    /// The integer whose bytes, least significant first, are the block.
    #[cfg(any(test, feature = "legacy-ff3"))]
    #[inline(always)]
    fn store_le(self, x: Self::Block) -> u128 {
        self.store(x).swap_bytes()
    }
    /// `x` with the integer `first` added by XOR to its first eight bytes, least significant first.
    #[cfg(any(test, feature = "legacy-ff3"))]
    #[inline(always)]
    fn xor_first_le(self, x: Self::Block, first: u64) -> Self::Block {
        self.xor(x, self.load(u128::from(first.swap_bytes()) << 64))
    }
    /// The encrypted block.
    fn encrypt(self, x: Self::Block) -> Self::Block;
    /// The block with the first round key added, on backends where that is a step of its own: it can
    /// then be done before the block is complete. A second call undoes it.
    #[inline(always)]
    fn whiten(self, x: Self::Block) -> Self::Block {
        x
    }
    /// `encrypt(whiten(x))`.
    #[inline(always)]
    fn encrypt_whitened(self, x: Self::Block) -> Self::Block {
        self.encrypt(x)
    }
    /// `whiten(encrypt(whiten(x)))`: the next of a chain.
    #[inline(always)]
    fn next_whitened(self, x: Self::Block) -> Self::Block {
        self.encrypt(x)
    }
    /// The encrypted blocks.
    fn encrypt8(self, x: [Self::Block; LANES]) -> [Self::Block; LANES];
}

/// A computation that uses AES. `run` is to be `#[inline(always)]`: it becomes part of a function
/// compiled for the instructions of `A`.
pub(crate) trait Operation {
    type Output;
    fn run<A: Aes>(self, aes: A) -> Self::Output;
}

/// A scheduled AES key of 128, 192 or 256 bits. Erased when dropped; boxed, so that a move
/// leaves no copy behind.
#[derive(Clone)]
pub(crate) enum Key {
    Portable(portable::Key),
    #[cfg(all(feature = "std", target_arch = "x86_64"))]
    AesNi(Box<aesni::Key>),
    #[cfg(all(feature = "std", target_arch = "aarch64"))]
    Neon(Box<neon::Key>),
}

impl core::fmt::Debug for Key {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Key")
    }
}

impl Key {
    pub(crate) fn new(key: &AesKey) -> Self {
        let key = key.bytes();
        #[cfg(all(feature = "std", target_arch = "x86_64"))]
        if let Some(token) = sordino_cpu::AesNi::detect() {
            return Self::AesNi(Box::new(aesni::Key::new(token, key)));
        }
        #[cfg(all(feature = "std", target_arch = "aarch64"))]
        if let Some(token) = sordino_cpu::NeonAes::detect() {
            return Self::Neon(Box::new(neon::Key::new(token, key)));
        }
        Self::Portable(portable::Key::new(key))
    }

    /// The same key on the portable backend, to compare with.
    #[cfg(test)]
    pub(crate) fn portable(key: &AesKey) -> Self {
        Self::Portable(portable::Key::new(key.bytes()))
    }

    #[inline]
    pub(crate) fn run<O: Operation>(&self, operation: O) -> O::Output {
        match self {
            Self::Portable(key) => operation.run(key),
            #[cfg(all(feature = "std", target_arch = "x86_64"))]
            Self::AesNi(key) => key.run(operation),
            #[cfg(all(feature = "std", target_arch = "aarch64"))]
            Self::Neon(key) => key.run(operation),
        }
    }

    /// One block, as an integer.
    pub(crate) fn block(&self, x: u128) -> u128 {
        struct Block(u128);
        impl Operation for Block {
            type Output = u128;
            #[inline(always)]
            fn run<A: Aes>(self, aes: A) -> u128 {
                aes.store(aes.encrypt(aes.load(self.0)))
            }
        }
        self.run(Block(x))
    }
}

/// Round keys `w` of FIPS 197, Section 5.2, for the backends with AES instructions.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
#[repr(C, align(16))]
pub(crate) struct Schedule {
    pub(crate) keys: [[u8; 16]; 15],
    /// The last round key plus the first: what lies between two blocks of a chain.
    pub(crate) link: [u8; 16],
    /// `Nr`: 10, 12 or 14.
    #[zeroize(skip)]
    pub(crate) rounds: usize,
}

impl Schedule {
    /// FIPS 197, Algorithm 2: KeyExpansion. `sub_word` applies the S-box to four bytes.
    #[cfg_attr(
        not(all(feature = "std", any(target_arch = "x86_64", target_arch = "aarch64"))),
        expect(
            dead_code,
            reason = "only the backends with AES instructions keep round keys"
        )
    )]
    fn expand(key: &[u8], sub_word: impl Fn(u32) -> u32) -> Self {
        let nk = key.len() / 4;
        let rounds = nk + 6;
        let mut w = [0u32; 60];
        for (word, bytes) in w.iter_mut().zip(key.as_chunks::<4>().0) {
            *word = u32::from_le_bytes(*bytes);
        }
        let mut rcon = 1u32;
        for i in nk..4 * (rounds + 1) {
            let mut t = w[i - 1];
            if i.is_multiple_of(nk) {
                // RotWord on little-endian words; Rcon is doubled in GF(2^8).
                t = sub_word(t).rotate_right(8) ^ rcon;
                rcon = (rcon << 1) ^ if rcon & 0x80 != 0 { 0x11b } else { 0 };
            } else if nk > 6 && i % nk == 4 {
                t = sub_word(t);
            }
            w[i] = w[i - nk] ^ t;
        }
        let mut keys = [[0u8; 16]; 15];
        for (bytes, word) in keys
            .as_flattened_mut()
            .as_chunks_mut::<4>()
            .0
            .iter_mut()
            .zip(&w)
        {
            *bytes = word.to_le_bytes();
        }
        w.zeroize();
        let mut link = keys[0];
        link.iter_mut().zip(keys[rounds]).for_each(|(x, k)| *x ^= k);
        Self { keys, link, rounds }
    }
}

#[cfg(test)]
#[expect(clippy::cast_possible_truncation, reason = "patterns cut to size")]
mod tests {
    use super::{Aes, Key, LANES, Operation};
    use crate::{AesKey, AesSize};

    /// FIPS 197, Appendix C.
    #[test]
    fn fips_197() {
        let key: [u8; 32] = core::array::from_fn(|i| u8::try_from(i).unwrap());
        let plain = 0x00112233445566778899aabbccddeeff;
        for (bytes, cipher) in [
            (16, 0x69c4e0d86a7b0430d8cdb78070b4c55a),
            (24, 0xdda97ca4864cdfe06eaf70a0ec0d7191),
            (32, 0x8ea2b7ca516745bfeafc49904b496089),
        ] {
            let size = AesSize::from_bytes(bytes).unwrap();
            let key = AesKey::from_slice(size, &key[..bytes]).unwrap();
            assert_eq!(Key::portable(&key).block(plain), cipher);
            assert_eq!(Key::new(&key).block(plain), cipher);
        }
    }

    /// The results of every method of the interface, as integers.
    struct Interface(u128, u64);
    impl Operation for Interface {
        type Output = Vec<u128>;
        #[inline(always)]
        fn run<A: Aes>(self, aes: A) -> Vec<u128> {
            let x = aes.load(self.0);
            let low = aes.xor_low(x, self.1);
            let blocks: [A::Block; LANES] =
                core::array::from_fn(|i| aes.xor_low(x, self.1.rotate_left(i as u32)));
            let mut out = vec![
                aes.store(x),
                u128::from(aes.high(x)),
                aes.store(low),
                aes.store(aes.xor(x, aes.encrypt(low))),
            ];
            out.extend(aes.encrypt8(blocks).map(|block| aes.store(block)));
            out.push(aes.store_le(x).swap_bytes());
            out.push(aes.store(aes.xor_first_le(x, self.1)));
            let white = aes.whiten(x);
            out.push(aes.store(aes.encrypt_whitened(white)));
            let next = aes.next_whitened(white);
            out.push(aes.store(aes.whiten(aes.next_whitened(next))));
            out
        }
    }

    #[test]
    fn the_backends_agree() {
        let mut x = 0x0123456789abcdef_fedcba9876543210_u128;
        for bytes in [16, 24, 32].repeat(50) {
            x = x
                .wrapping_mul(0x2545f4914f6cdd1d_1234567890abcdef)
                .rotate_left(29);
            let key = [x.to_le_bytes(), (!x).to_be_bytes()].concat();
            let low = (x >> 33) as u64;
            let size = AesSize::from_bytes(bytes).unwrap();
            let key = AesKey::from_slice(size, &key[..bytes]).unwrap();
            let portable = Key::portable(&key).run(Interface(x, low));
            let native = Key::new(&key).run(Interface(x, low));
            assert_eq!(portable, native);
            assert_eq!(portable[2], x ^ u128::from(low));
        }
    }
}
