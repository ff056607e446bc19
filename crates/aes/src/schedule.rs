//! Round keys.

use zeroize::{Zeroize, ZeroizeOnDrop};

/// The round keys `w` of FIPS 197, section 5.2, for kernels with AES instructions. Erased when dropped.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
#[repr(C, align(16))]
pub struct Schedule {
    /// The round keys as words of four bytes in memory order.
    keys: [[u32; 4]; 15],
    /// The XOR of the last and the first round key, which chains on x86-64 add in one step.
    link: [u32; 4],
    /// The number of rounds `Nr`: 10, 12 or 14.
    #[zeroize(skip)]
    rounds: usize,
}

impl Schedule {
    /// The number of rounds `Nr`: 10, 12 or 14. There are `Nr` + 1 round keys.
    #[inline]
    #[must_use]
    pub fn rounds(&self) -> usize {
        self.rounds
    }

    /// Round key `r`, whose bytes in memory have the order of a block's.
    ///
    /// # Panics
    /// Panics if `r` is above 14.
    #[inline]
    #[must_use]
    pub fn round_key(&self, r: usize) -> &[u32; 4] {
        &self.keys[r]
    }

    /// The XOR of the last and the first round key: the step between two blocks of a chain.
    #[cfg(target_arch = "x86_64")]
    #[inline]
    pub(crate) fn link(&self) -> &[u32; 4] {
        &self.link
    }

    /// FIPS 197, Algorithm 2: KeyExpansion. `sub_word` applies the S-box to four bytes.
    #[inline(always)]
    pub(crate) fn expand(key: &[u8], sub_word: impl Fn(u32) -> u32) -> Self {
        assert!(matches!(key.len(), 16 | 24 | 32), "bytes of an AES key");
        let nk = key.len() / 4;
        let rounds = nk + 6;
        let mut keys = [[0u32; 4]; 15];
        let w = keys.as_flattened_mut();
        for (word, bytes) in w.iter_mut().zip(key.as_chunks::<4>().0) {
            *word = u32::from_le_bytes(*bytes);
        }
        // `i mod nk`, without a division.
        let mut place = 0;
        let mut rcon = 1u32;
        for i in nk..4 * (rounds + 1) {
            let mut t = w[i - 1];
            if place == 0 {
                // RotWord rotates little-endian words, and Rcon is doubled in GF(2^8).
                t = sub_word(t).rotate_right(8) ^ rcon;
                rcon = (rcon << 1) ^ if rcon & 0x80 != 0 { 0x11b } else { 0 };
            } else if nk > 6 && place == 4 {
                t = sub_word(t);
            }
            w[i] = w[i - nk] ^ t;
            place = if place + 1 == nk { 0 } else { place + 1 };
        }
        for word in w {
            *word = word.to_le();
        }
        let link = core::array::from_fn(|i| keys[0][i] ^ keys[rounds][i]);
        Self { keys, link, rounds }
    }
}

impl core::fmt::Debug for Schedule {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Schedule")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_of_another_length_is_refused() {
        for len in 0..=64 {
            let expanded = std::panic::catch_unwind(|| Schedule::expand(&[7; 64][..len], |x| x));
            assert_eq!(expanded.is_ok(), matches!(len, 16 | 24 | 32), "{len}");
        }
    }
}
