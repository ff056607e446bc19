//! Randomness of the hash functions. The same seed gives the same functions on every machine.

use chacha20::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};

/// The seed of a family of hash functions. ChaCha20 expands it.
///
/// A seed is a parameter, not a key. A hash reveals the direction of the vector to anyone who knows or guesses the
/// seed. It reveals equality and distances of vectors to everyone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seed(pub [u8; 32]);

impl From<[u8; 32]> for Seed {
    fn from(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }
}

impl Seed {
    /// The seed's bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// A generator for one purpose. Generators for different purposes are independent.
    pub(crate) fn stream(self, purpose: u64) -> Draws {
        let mut rng = ChaCha20Rng::from_seed(self.0);
        rng.set_stream(purpose);
        Draws(rng)
    }
}

/// Draws random values by operations whose rounding is the same on all machines.
pub(crate) struct Draws(ChaCha20Rng);

impl Draws {
    /// 64 uniform bits.
    pub(crate) fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A uniform multiple of 2^-24 in [0, 1).
    #[expect(
        clippy::cast_precision_loss,
        reason = "24 bits fit into the significand"
    )]
    pub(crate) fn uniform(&mut self) -> f32 {
        (self.bits() >> 40) as f32 / (1 << 24) as f32
    }

    /// A value close to a Gaussian of mean 0 and variance 1. It is the number of ones among 256 fair bits, minus
    /// 128, plus a uniform number from -1/2 to 1/2, scaled. The excess kurtosis is -1/128, and no single value has a
    /// noticeable probability.
    #[expect(clippy::cast_precision_loss, reason = "at most 256")]
    pub(crate) fn gaussian(&mut self) -> f32 {
        let ones: u32 = (0..4).map(|_| self.bits().count_ones()).sum();
        // 1 / sqrt(64 + 1/12)
        (ones as f32 - 128.5 + self.uniform()) * 0.124_918_72
    }
}
