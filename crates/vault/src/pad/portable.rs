//! The portable definition. The `aes` crate uses AES instructions if the processor has them (x86-64, AArch64), and
//! otherwise constant-time bitslicing.

use aes::Aes256;
use aes::cipher::{Array, BlockCipherEncrypt, KeyInit};
use zeroize::Zeroizing;

use super::{first_block, shift};

/// The number of words of one call of the cipher: the blocks that keep its pipeline full.
pub(super) const WORDS: usize = 4 * BLOCKS;
const BLOCKS: usize = 16;

/// The increment of the counter, in the form in which a block's number is stored.
const STEP: u64 = 16;

/// The counter of a block.
pub(super) fn counter(version: u64, block: u64) -> [u8; 16] {
    let mut counter = [0; 16];
    counter[..8].copy_from_slice(&version.to_le_bytes());
    counter[8..].copy_from_slice(&block.to_be_bytes());
    counter
}

/// Words `chunk * WORDS..` of the keystream of the row that begins at block `first`. Words after the row's end belong to
/// other rows.
#[inline]
pub(super) fn keystream(
    cipher: &Aes256,
    version: u64,
    first: u64,
    chunk: u64,
) -> Zeroizing<[u32; WORDS]> {
    let mut blocks = [[0; 16]; BLOCKS];
    for (block, it) in (chunk * STEP..).zip(&mut blocks) {
        *it = counter(version, first.wrapping_add(block));
    }
    cipher.encrypt_blocks(Array::cast_slice_from_core_mut(&mut blocks));
    let mut words = Zeroizing::new([0; WORDS]);
    for (word, bytes) in words.iter_mut().zip(blocks.as_flattened().as_chunks().0) {
        *word = u32::from_le_bytes(*bytes);
    }
    words
}

pub(super) fn products(
    key: &[u8; 32],
    version: u64,
    first: u32,
    query: &[i32],
    products: &mut [u32],
) {
    let (cipher, shift) = (Aes256::new(&Array(*key)), shift(query.len()));
    for (row, product) in (first..).zip(products) {
        let first = first_block(row, shift);
        *product = 0;
        for (chunk, query) in (0..).zip(query.chunks(WORDS)) {
            let pad = keystream(&cipher, version, first, chunk);
            for (&word, &x) in pad.iter().zip(query) {
                *product = product.wrapping_add(word.wrapping_mul(x.cast_unsigned()));
            }
        }
    }
}
