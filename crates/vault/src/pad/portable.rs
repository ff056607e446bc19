//! The definition. The `aes` crate brings AES instructions where the processor has them (x86-64, AArch64), and
//! constant-time bitslicing where it lacks them.

use aes::Aes256;
use aes::cipher::{Array, BlockCipherEncrypt, KeyInit};
use zeroize::Zeroizing;

/// Words of one call of the cipher: the blocks that keep its pipeline full.
pub(super) const WORDS: usize = 4 * BLOCKS;
const BLOCKS: usize = 16;

/// The same, as a block's number is stored.
const STEP: u32 = 16;

/// Words `chunk * WORDS..` of a row's keystream.
#[inline]
pub(super) fn keystream(
    cipher: &Aes256,
    row: u32,
    version: u64,
    chunk: u32,
) -> Zeroizing<[u32; WORDS]> {
    let mut blocks = [[0; 16]; BLOCKS];
    for (block, counter) in (chunk * STEP..).zip(&mut blocks) {
        counter[..4].copy_from_slice(&row.to_le_bytes());
        counter[4..12].copy_from_slice(&version.to_le_bytes());
        counter[12..].copy_from_slice(&block.to_le_bytes());
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
    let cipher = Aes256::new(&Array(*key));
    for (row, product) in (first..).zip(products) {
        *product = 0;
        for (chunk, query) in (0..).zip(query.chunks(WORDS)) {
            let pad = keystream(&cipher, row, version, chunk);
            for (&word, &x) in pad.iter().zip(query) {
                *product = product.wrapping_add(word.wrapping_mul(x.cast_unsigned()));
            }
        }
    }
}
