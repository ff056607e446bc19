//! The portable backend: the `aes` crate, which is constant-time on every processor.

use crate::{Aes, LANES};
use alloc::boxed::Box;
use cipher::{BlockCipherEncrypt, KeyInit};

/// A scheduled key. The `aes` crate erases it when dropped.
#[derive(Clone)]
pub struct Key(Cipher);

#[derive(Clone)]
enum Cipher {
    Aes128(Box<aes::Aes128>),
    Aes192(Box<aes::Aes192>),
    Aes256(Box<aes::Aes256>),
}

impl Key {
    /// # Panics
    /// Panics if the key is not of 16, 24 or 32 bytes.
    pub(crate) fn new(key: &[u8]) -> Self {
        const LENGTH: &str = "the bytes of an AES key";
        Self(match key.len() {
            16 => Cipher::Aes128(Box::new(aes::Aes128::new_from_slice(key).expect(LENGTH))),
            24 => Cipher::Aes192(Box::new(aes::Aes192::new_from_slice(key).expect(LENGTH))),
            _ => Cipher::Aes256(Box::new(aes::Aes256::new_from_slice(key).expect(LENGTH))),
        })
    }
}

impl Aes for &Key {
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
        let mut block = aes::Block::from(x.to_be_bytes());
        match &self.0 {
            Cipher::Aes128(aes) => aes.encrypt_block(&mut block),
            Cipher::Aes192(aes) => aes.encrypt_block(&mut block),
            Cipher::Aes256(aes) => aes.encrypt_block(&mut block),
        }
        u128::from_be_bytes(block.into())
    }
    fn encrypt8(self, x: [u128; LANES]) -> [u128; LANES] {
        let mut blocks = x.map(|x| aes::Block::from(x.to_be_bytes()));
        match &self.0 {
            Cipher::Aes128(aes) => aes.encrypt_blocks(&mut blocks),
            Cipher::Aes192(aes) => aes.encrypt_blocks(&mut blocks),
            Cipher::Aes256(aes) => aes.encrypt_blocks(&mut blocks),
        }
        blocks.map(|block| u128::from_be_bytes(block.into()))
    }
}

impl core::fmt::Debug for Key {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Key")
    }
}
