//! The block ciphers that FF1 and FF3 can use.

use cipher::consts::U16;
use cipher::{Block, BlockCipherEncrypt};
#[cfg(all(feature = "std", target_arch = "x86_64"))]
use sordino_aes::aesni;
use sordino_aes::{Aes, Key, LANES, Operation};

/// A block cipher of 128 bits under one key: [`NativeAes`], or any that implements [`BlockCipherEncrypt`]. FF1 and
/// FF3 use only its forward direction.
pub trait BlockCipher: sealed::Sealed + Clone {
    /// Runs an operation with the cipher inlined into its loop.
    #[doc(hidden)]
    fn run<O: Operation>(&self, operation: O) -> O::Output;

    /// The key of AES-NI, for kernels that keep the key in registers.
    #[cfg(all(feature = "std", target_arch = "x86_64"))]
    #[doc(hidden)]
    fn aesni(&self) -> Option<&aesni::Key> {
        None
    }
}

mod sealed {
    use super::{BlockCipherEncrypt, NativeAes, U16};

    /// Prevents other crates from adding ways to run an operation.
    pub trait Sealed {}
    impl Sealed for NativeAes {}
    impl<C: BlockCipherEncrypt<BlockSize = U16> + Clone> Sealed for C {}
}

/// AES with the instructions of this processor, inlined into the rounds. Erased when dropped.
#[derive(Clone, Debug)]
pub struct NativeAes(pub(crate) Key);

impl BlockCipher for NativeAes {
    #[inline]
    fn run<O: Operation>(&self, operation: O) -> O::Output {
        self.0.run(operation)
    }

    #[cfg(all(feature = "std", target_arch = "x86_64"))]
    #[inline]
    fn aesni(&self) -> Option<&aesni::Key> {
        match &self.0 {
            Key::AesNi(key) => Some(key),
            _ => None,
        }
    }
}

impl<C: BlockCipherEncrypt<BlockSize = U16> + Clone> BlockCipher for C {
    fn run<O: Operation>(&self, operation: O) -> O::Output {
        operation.run(Integers(self))
    }
}

/// A cipher whose blocks are integers.
struct Integers<'a, C>(&'a C);

impl<C> Clone for Integers<'_, C> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<C> Copy for Integers<'_, C> {}

impl<C: BlockCipherEncrypt<BlockSize = U16>> Aes for Integers<'_, C> {
    type Block = u128;

    #[inline(always)]
    fn load(self, x: u128) -> u128 {
        x
    }
    #[inline(always)]
    fn store(self, x: u128) -> u128 {
        x
    }
    #[inline(always)]
    fn high(self, x: u128) -> u64 {
        (x >> 64) as u64
    }
    #[inline(always)]
    fn xor(self, x: u128, y: u128) -> u128 {
        x ^ y
    }
    #[inline(always)]
    fn xor_low(self, x: u128, low: u64) -> u128 {
        x ^ u128::from(low)
    }
    fn encrypt(self, x: u128) -> u128 {
        let mut block = Block::<C>::from(x.to_be_bytes());
        self.0.encrypt_block(&mut block);
        u128::from_be_bytes(block.into())
    }
    fn encrypt8(self, x: [u128; LANES]) -> [u128; LANES] {
        let mut blocks = x.map(|x| Block::<C>::from(x.to_be_bytes()));
        self.0.encrypt_blocks(&mut blocks);
        blocks.map(|block| u128::from_be_bytes(block.into()))
    }
}

/// Encrypts one block, given as an integer whose bytes are the block's, most significant first.
pub(crate) fn encrypt(cipher: &impl BlockCipher, x: u128) -> u128 {
    struct One(u128);
    impl Operation for One {
        type Output = u128;
        #[inline(always)]
        fn run<A: Aes>(self, aes: A) -> u128 {
            aes.store(aes.encrypt(aes.load(self.0)))
        }
    }
    cipher.run(One(x))
}
