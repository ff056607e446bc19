//! AES keys that choose their backend.

#[cfg(all(feature = "std", any(target_arch = "x86_64", target_arch = "aarch64")))]
use alloc::boxed::Box;

#[cfg(all(feature = "std", target_arch = "x86_64"))]
use crate::aesni;
#[cfg(all(feature = "std", target_arch = "aarch64"))]
use crate::neon;
use crate::portable;
use crate::{Aes, Operation};

/// A scheduled AES key of 128, 192 or 256 bits. It is erased when dropped, and boxed, so that a
/// move leaves no copy of it.
#[derive(Clone)]
#[non_exhaustive]
pub enum Key {
    /// The key for software without AES instructions.
    Portable(portable::Key),
    /// The key for AES-NI.
    #[cfg(all(feature = "std", target_arch = "x86_64"))]
    AesNi(Box<aesni::Key>),
    /// The key for Arm's AES instructions.
    #[cfg(all(feature = "std", target_arch = "aarch64"))]
    Neon(Box<neon::Key>),
}

impl core::fmt::Debug for Key {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Key")
    }
}

impl Key {
    /// Schedules these bytes as a key, for the fastest backend of this processor.
    ///
    /// # Panics
    /// Panics if there are not 16, 24 or 32 bytes.
    #[must_use]
    pub fn new(key: &[u8]) -> Self {
        assert!(matches!(key.len(), 16 | 24 | 32), "bytes of an AES key");
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

    /// The same key on the portable backend, for comparisons.
    ///
    /// # Panics
    /// Panics if there are not 16, 24 or 32 bytes.
    #[must_use]
    pub fn portable(key: &[u8]) -> Self {
        Self::Portable(portable::Key::new(key))
    }

    /// Runs an operation with the block inlined into its loop.
    #[inline]
    pub fn run<O: Operation>(&self, operation: O) -> O::Output {
        match self {
            Self::Portable(key) => operation.run(key),
            #[cfg(all(feature = "std", target_arch = "x86_64"))]
            Self::AesNi(key) => key.run(operation),
            #[cfg(all(feature = "std", target_arch = "aarch64"))]
            Self::Neon(key) => key.run(operation),
        }
    }

    /// Encrypts one block, given as an integer whose bytes are the block's, most significant first.
    #[must_use]
    pub fn block(&self, x: u128) -> u128 {
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

#[cfg(test)]
#[expect(clippy::cast_possible_truncation, reason = "patterns cut to size")]
mod tests {
    use super::Key;
    use crate::{Aes, LANES, Operation};

    /// The example of FIPS 197, Appendix C.
    #[test]
    fn fips_197() {
        let key: [u8; 32] = core::array::from_fn(|i| u8::try_from(i).unwrap());
        let plain = 0x00112233445566778899aabbccddeeff;
        for (bytes, cipher) in [
            (16, 0x69c4e0d86a7b0430d8cdb78070b4c55a),
            (24, 0xdda97ca4864cdfe06eaf70a0ec0d7191),
            (32, 0x8ea2b7ca516745bfeafc49904b496089),
        ] {
            let key = &key[..bytes];
            assert_eq!(Key::portable(key).block(plain), cipher);
            assert_eq!(Key::new(key).block(plain), cipher);
        }
    }

    /// Calls every method of the interface, and collects the results as integers.
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
        // Under Miri each key takes a second.
        let times = if cfg!(miri) { 1 } else { 50 };
        for bytes in [16, 24, 32].repeat(times) {
            x = x
                .wrapping_mul(0x2545f4914f6cdd1d_1234567890abcdef)
                .rotate_left(29);
            let key = [x.to_le_bytes(), (!x).to_be_bytes()].concat();
            let low = (x >> 33) as u64;
            let key = &key[..bytes];
            let portable = Key::portable(key).run(Interface(x, low));
            let native = Key::new(key).run(Interface(x, low));
            assert_eq!(portable, native);
            assert_eq!(portable[2], x ^ u128::from(low));
        }
    }
}
