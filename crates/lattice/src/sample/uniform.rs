//! Uniform words mod 2^32 from a 32-byte seed.
//!
//! Row `i` of a matrix is the ChaCha20 keystream (RFC 8439's block function with a 64-bit block
//! counter and a 64-bit stream number) under the seed as key, read as little-endian words. The
//! stream number is `domain << 56 | i`, so that matrices of different domains share no keystream
//! and every row can be drawn on its own, in any order and by any thread.

use chacha20::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};

/// Fills `out` with row `row` of the matrix of `domain` under `seed`.
///
/// The words are public: they are a function of the seed alone.
///
/// # Panics
/// If `row` needs more than 56 bits.
pub fn fill_row(seed: &[u8; 32], domain: u8, row: u64, out: &mut [u32]) {
    assert!(row < 1 << 56, "row {row} does not fit beside the domain");
    let mut rng = ChaCha20Rng::from_seed(*seed);
    rng.set_stream(u64::from(domain) << 56 | row);
    rng.fill_bytes(bytemuck::cast_slice_mut(out));
    for word in out {
        *word = u32::from_le(*word);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_are_the_keystream_of_rfc_8439() {
        // Appendix A.1, test vector 1: key, nonce and counter zero.
        let mut words = [0; 4];
        fill_row(&[0; 32], 0, 0, &mut words);
        let expected = [0xade0_b876, 0x903d_f1a0, 0xe56a_5d40, 0x28bd_8653];
        assert_eq!(words, expected);
    }

    #[test]
    fn rows_and_domains_differ_and_a_prefix_is_a_prefix() {
        let row = |domain, row, len| {
            let mut words = vec![0; len];
            fill_row(&[7; 32], domain, row, &mut words);
            words
        };
        assert_eq!(row(1, 5, 100)[..33], row(1, 5, 33));
        assert_ne!(row(1, 5, 33), row(1, 6, 33));
        assert_ne!(row(1, 5, 33), row(2, 5, 33));
    }
}
