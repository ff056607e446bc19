//! Uniform words mod 2^32 from a 32-byte seed.
//!
//! Row `i` of a matrix is the stream with number `domain << 56 | i` under the seed (see [`Stream`]), read as
//! little-endian words. Matrices of different domains share no keystream. Every row can be drawn on its own, in any
//! order and by any thread.

use super::stream::Stream;

/// The rows of one matrix. The words are public: they are a function of the seed alone.
#[derive(Debug)]
pub struct Rows {
    stream: Stream,
    domain: u8,
}

impl Rows {
    /// The matrix of `domain` under `seed`.
    #[must_use]
    pub fn new(seed: &[u8; 32], domain: u8) -> Self {
        let stream = Stream::new(seed, 0);
        Self { stream, domain }
    }

    /// Fills `out` with row `row`.
    ///
    /// # Panics
    /// Panics if `row` needs more than 56 bits.
    pub fn fill(&mut self, row: u64, out: &mut [u32]) {
        assert!(row < 1 << 56, "row {row} does not fit next to the domain");
        self.stream.restart(u64::from(self.domain) << 56 | row);
        let mut out = out.iter_mut();
        while out.len() > 0 {
            let (words, _) = self.stream.chunk(4 * out.len()).as_chunks();
            // In this order of the zip, no word is taken when the bytes have ended.
            for (bytes, word) in words.iter().zip(out.by_ref()) {
                *word = u32::from_le_bytes(*bytes);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(domain: u8, row: u64, len: usize) -> Vec<u32> {
        let mut words = vec![0; len];
        Rows::new(&[7; 32], domain).fill(row, &mut words);
        words
    }

    #[test]
    fn the_words_are_the_blocks_of_fips_197() {
        // For an all-zero key and block, AES-256 of FIPS 197 gives dc95c078 a2408989 ad48a214 92842087.
        let mut words = [0; 4];
        Rows::new(&[0; 32], 0).fill(0, &mut words);
        let expected = [0x78c0_95dc, 0x8989_40a2, 0x14a2_48ad, 0x8720_8492];
        assert_eq!(words, expected);
    }

    #[test]
    fn rows_and_domains_differ_and_a_prefix_is_a_prefix() {
        for len in [0, 1, 3, 33, 1023, 1024] {
            assert_eq!(row(1, 5, 1500)[..len], row(1, 5, len));
        }
        assert_ne!(row(1, 5, 33), row(1, 6, 33));
        assert_ne!(row(1, 5, 33), row(2, 5, 33));
        let mut rows = Rows::new(&[7; 32], 1);
        for at in [5, 0, 5, 1 << 40] {
            let mut words = vec![0; 33];
            rows.fill(at, &mut words);
            assert_eq!(words, row(1, at, 33));
        }
    }
}
