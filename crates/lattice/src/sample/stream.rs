//! The stream that every sampler reads: AES-256 in counter mode under a seed.

use aes::Aes256;
use aes::cipher::{Array, BlockCipherEncrypt, KeyInit};
use zeroize::Zeroize;

/// Blocks that are encrypted in one call: enough for the widest AES unit, small enough for L1.
const BATCH: usize = 64;

/// Bytes of one batch of blocks.
pub const CHUNK: usize = 16 * BATCH;

/// The keystream of AES-256 under a 32-byte seed: block `i` of the stream with number `nonce` is the
/// encryption of `i || nonce`, both as 64-bit little-endian integers.
///
/// The key schedule and the last chunk are zeroised on drop. AES runs in constant time: by the
/// processor's instructions, or bitsliced where there are none.
pub struct Stream {
    cipher: Aes256,
    nonce: u64,
    counter: u64,
    blocks: [u8; CHUNK],
}

impl Stream {
    /// The stream of `seed` with number `nonce`, at its start.
    #[must_use]
    pub fn new(seed: &[u8; 32], nonce: u64) -> Self {
        Self {
            cipher: Aes256::new(&Array(*seed)),
            nonce,
            counter: 0,
            blocks: [0; CHUNK],
        }
    }

    /// The next [`CHUNK`] bytes.
    pub fn chunk(&mut self) -> &[u8; CHUNK] {
        let (blocks, _) = self.blocks.as_chunks_mut::<16>();
        for block in &mut *blocks {
            block[..8].copy_from_slice(&self.counter.to_le_bytes());
            block[8..].copy_from_slice(&self.nonce.to_le_bytes());
            self.counter += 1;
        }
        self.cipher
            .encrypt_blocks(Array::cast_slice_from_core_mut(blocks));
        &self.blocks
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.blocks.zeroize();
    }
}

impl std::fmt::Debug for Stream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stream").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_counter_mode() {
        let seed = std::array::from_fn(|i| u8::try_from(3 * i).expect("below 96"));
        let mut stream = Stream::new(&seed, 3);
        let cipher = Aes256::new(&Array(seed));
        for batch in 0..3u64 {
            let chunk = stream.chunk();
            for (i, block) in (batch * BATCH as u64..).zip(chunk.chunks_exact(16)) {
                let mut expected = Array([0; 16]);
                expected[..8].copy_from_slice(&i.to_le_bytes());
                expected[8] = 3;
                cipher.encrypt_block(&mut expected);
                assert_eq!(block, expected.as_slice());
            }
        }
    }
}
