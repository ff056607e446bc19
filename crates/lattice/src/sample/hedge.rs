//! Seeds of one-time secrets, hedged against a generator that repeats itself.
//!
//! A generator repeats itself after a virtual machine is restored from a snapshot, and in a child process if `fork`
//! copied its state. If a query's secret were only the generator's bytes, two queries from one state would share it,
//! and show their difference. So the bytes key BLAKE3, whose input is everything that the query asks. From one state,
//! different queries get independent secrets. The same query gives the same message, which shows only the repetition.
//!
//! Bytes of a generator are never shown, not even as the seed of something public. A copy of the generator may use the
//! same bytes for the key of a secret. So public seeds are outputs of the hash, too.

use rand_core::CryptoRng;
use zeroize::{Zeroize, Zeroizing};

/// `BLAKE3(key = 32 bytes of a generator, purpose || fields)`, with the length in front of every part.
///
/// The key and the state are zeroised. BLAKE3 has no branch and no address that depends on its input. Only the length
/// of the input shows.
pub struct Hedge {
    hasher: Zeroizing<blake3::Hasher>,
}

impl std::fmt::Debug for Hedge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hedge").finish_non_exhaustive()
    }
}

impl Hedge {
    /// Takes 32 bytes of `rng`. No other use may have the same `purpose`.
    pub fn new<R: CryptoRng + ?Sized>(rng: &mut R, purpose: &str) -> Self {
        let mut key = Zeroizing::new([0; 32]);
        rng.fill_bytes(key.as_mut());
        let hedge = Self {
            hasher: Zeroizing::new(blake3::Hasher::new_keyed(&key)),
        };
        hedge.field(purpose.as_bytes())
    }

    /// Adds a part of the query.
    #[must_use]
    pub fn field(mut self, bytes: &[u8]) -> Self {
        self.hasher.update(&(bytes.len() as u64).to_le_bytes());
        self.hasher.update(bytes);
        self
    }

    /// Adds the words of a secret, 32 at a time, so that no copy of all of them is made.
    #[must_use]
    pub fn words<T>(mut self, words: &[T], bytes: impl Fn(&T) -> [u8; 8]) -> Self {
        self.hasher.update(&(words.len() as u64).to_le_bytes());
        let mut block = Zeroizing::new([0; 8 * 32]);
        for words in words.chunks(32) {
            for (place, word) in block.as_chunks_mut().0.iter_mut().zip(words) {
                *place = bytes(word);
            }
            self.hasher.update(&block[..8 * words.len()]);
        }
        self
    }

    /// `N` independent seeds.
    #[must_use]
    pub fn seeds<const N: usize>(self) -> Zeroizing<[[u8; 32]; N]> {
        let mut seeds = Zeroizing::new([[0; 32]; N]);
        let mut out = Zeroizing::new(self.hasher.finalize_xof());
        for seed in seeds.iter_mut() {
            out.fill(seed);
        }
        out.zeroize();
        seeds
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A generator that always gives the same bytes.
    struct Stuck(u8);

    impl rand_core::TryRng for Stuck {
        type Error = std::convert::Infallible;

        fn try_next_u32(&mut self) -> Result<u32, Self::Error> {
            Ok(u32::from_le_bytes([self.0; 4]))
        }

        fn try_next_u64(&mut self) -> Result<u64, Self::Error> {
            Ok(u64::from_le_bytes([self.0; 8]))
        }

        fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Self::Error> {
            out.fill(self.0);
            Ok(())
        }
    }

    impl rand_core::TryCryptoRng for Stuck {}

    fn seed(byte: u8, purpose: &str, fields: &[&[u8]]) -> [u8; 32] {
        let hedge = Hedge::new(&mut Stuck(byte), purpose);
        let hedge = fields.iter().fold(hedge, |hedge, field| hedge.field(field));
        hedge.seeds::<1>()[0]
    }

    #[test]
    fn every_part_counts_and_parts_do_not_run_into_each_other() {
        let all = [
            seed(1, "a", &[b"bc"]),
            seed(2, "a", &[b"bc"]),
            seed(1, "b", &[b"bc"]),
            seed(1, "a", &[b"b", b"c"]),
            seed(1, "ab", &[b"c"]),
            seed(1, "a", &[b"bc", b""]),
            seed(1, "a", &[]),
        ];
        for (i, one) in all.iter().enumerate() {
            assert!(all[..i].iter().all(|other| other != one), "{i}");
        }
        assert_eq!(seed(1, "a", &[b"bc"]), all[0]);
    }

    #[test]
    fn it_is_keyed_blake3_of_the_parts_behind_their_lengths() {
        let mut input = vec![2, 0, 0, 0, 0, 0, 0, 0];
        input.extend(b"ab");
        input.extend([3, 0, 0, 0, 0, 0, 0, 0]);
        input.extend(b"cde");
        input.extend([40, 0, 0, 0, 0, 0, 0, 0]);
        input.extend((0..40u64).flat_map(u64::to_le_bytes));
        let mut expected = [0; 64];
        let mut hasher = blake3::Hasher::new_keyed(&[7; 32]);
        hasher.update(&input).finalize_xof().fill(&mut expected);
        let words: Vec<u64> = (0..40).collect();
        let hedge = Hedge::new(&mut Stuck(7), "ab").field(b"cde");
        let seeds = hedge.words(&words, |word| word.to_le_bytes()).seeds::<2>();
        assert_eq!(seeds.as_flattened(), expected);
    }
}
