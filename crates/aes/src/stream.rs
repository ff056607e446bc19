//! The stream of random bytes that every sampler reads: AES-256 in counter mode under a seed.

use aes::Aes256;
use aes::cipher::{Array, BlockCipherEncrypt, KeyInit};

#[cfg(all(feature = "std", target_arch = "x86_64"))]
use crate::vaes;

/// The number of blocks encrypted in one call. Calls of 64 blocks cost a third more than calls of 256.
/// Calls of a whole ring of 1024 cost a tenth less (Zen 4, VAES).
const BATCH: usize = 256;

/// The size in bytes of one batch of blocks.
pub const CHUNK: usize = 16 * BATCH;

/// The keystream of AES-256 under a 32-byte seed. Block `i` of the stream with number `nonce` is the
/// encryption of `i || nonce`, both as 64-bit little-endian integers.
///
/// The key schedule and the last chunk are zeroised on drop. AES runs in constant time, with the
/// processor's instructions or else bitsliced.
pub struct Stream {
    cipher: Cipher,
    nonce: u64,
    counter: u64,
    blocks: Blocks,
}

#[cfg_attr(
    all(feature = "std", target_arch = "x86_64"),
    expect(
        clippy::large_enum_variant,
        reason = "a box would be an allocation for every stream"
    )
)]
enum Cipher {
    /// The crate `aes`, which chooses its own backend.
    Aes(Aes256),
    #[cfg(all(feature = "std", target_arch = "x86_64"))]
    Vaes(vaes::Counter),
}

/// A chunk aligned to a cache line, so that no vector load crosses two lines.
#[repr(align(64))]
struct Blocks([u8; CHUNK]);

impl Cipher {
    fn new(seed: &[u8; 32]) -> Self {
        #[cfg(all(feature = "std", target_arch = "x86_64"))]
        if let Some(token) = sordino_cpu::Avx512Vaes::detect() {
            return Self::Vaes(vaes::Counter::new(token, seed));
        }
        Self::Aes(Aes256::new(&Array(*seed)))
    }
}

impl Stream {
    /// The stream with number `nonce` under `seed`, at its start.
    #[must_use]
    pub fn new(seed: &[u8; 32], nonce: u64) -> Self {
        Self {
            cipher: Cipher::new(seed),
            nonce,
            counter: 0,
            blocks: Blocks([0; CHUNK]),
        }
    }

    /// Moves to the start of the stream with number `nonce` under the same seed.
    pub fn restart(&mut self, nonce: u64) {
        self.nonce = nonce;
        self.counter = 0;
    }

    /// The next `len` bytes, rounded up to a whole block, at most [`CHUNK`].
    pub fn chunk(&mut self, len: usize) -> &[u8] {
        let count = len.div_ceil(16).min(BATCH);
        let counter = self.counter;
        self.counter += count as u64;
        match &self.cipher {
            #[cfg(all(feature = "std", target_arch = "x86_64"))]
            Cipher::Vaes(keys) => {
                let (groups, _) = self.blocks.0.as_chunks_mut();
                let groups = &mut groups[..(16 * count).div_ceil(vaes::GROUP)];
                keys.encrypt(counter, self.nonce, groups);
            }
            Cipher::Aes(cipher) => {
                let (blocks, _) = self.blocks.0.as_chunks_mut::<16>();
                let blocks = &mut blocks[..count];
                for (counter, block) in (counter..).zip(&mut *blocks) {
                    block[..8].copy_from_slice(&counter.to_le_bytes());
                    block[8..].copy_from_slice(&self.nonce.to_le_bytes());
                }
                cipher.encrypt_blocks(Array::cast_slice_from_core_mut(blocks));
            }
        }
        &self.blocks.0[..16 * count]
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.blocks.0.fill(0);
        zeroize::optimization_barrier(&self.blocks.0);
    }
}

impl core::fmt::Debug for Stream {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Stream").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_counter_mode() {
        let seed = core::array::from_fn(|i| u8::try_from(3 * i).expect("below 96"));
        let mut stream = Stream::new(&seed, 3);
        let cipher = Aes256::new(&Array(seed));
        let mut blocks = 0;
        for (len, expected) in [
            (CHUNK, CHUNK),
            (1, 16),
            (100, 112),
            (2 * CHUNK, CHUNK),
            (0, 0),
            (511, 512),
            (513, 528),
        ] {
            let chunk = stream.chunk(len);
            assert_eq!(chunk.len(), expected);
            // Under Miri the test checks one block in 37.
            let step = if cfg!(miri) { 37 } else { 1 };
            for (i, block) in (blocks..).zip(chunk.chunks_exact(16)).step_by(step) {
                let mut encrypted = Array([0; 16]);
                encrypted[..8].copy_from_slice(&u64::to_le_bytes(i));
                encrypted[8] = 3;
                cipher.encrypt_block(&mut encrypted);
                assert_eq!(block, encrypted.as_slice());
            }
            blocks += expected as u64 / 16;
        }
        let first = Stream::new(&seed, 5).chunk(48).to_vec();
        stream.restart(5);
        assert_eq!(stream.chunk(48), first);
    }
}
