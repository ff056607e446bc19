//! Seeds of public matrices and polynomials.

use rand_core::CryptoRng;

use crate::sample::hedge::Hedge;

/// The 32 bytes from which public randomness is expanded: `A` of LWE, `a` of RLWE. It is not a secret. It must be
/// random, or derived from a value that neither party could choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Seed(pub [u8; 32]);

impl Seed {
    /// A random seed.
    ///
    /// # Security
    /// It is a hash of 32 bytes of `rng` and not these bytes, because a seed is public. If a generator repeats
    /// itself (after a snapshot is restored, or a `fork`), the same bytes may be a secret's.
    pub fn random<R: CryptoRng + ?Sized>(rng: &mut R) -> Self {
        Self(Hedge::new(rng, "sordino public seed").seeds::<1>()[0])
    }
}

impl From<[u8; 32]> for Seed {
    fn from(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }
}

impl AsRef<[u8; 32]> for Seed {
    fn as_ref(&self) -> &[u8; 32] {
        &self.0
    }
}
