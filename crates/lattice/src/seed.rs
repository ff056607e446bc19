//! Where public matrices and polynomials come from.

use rand_core::CryptoRng;

use crate::sample::hedge::Hedge;

/// The 32 bytes that public randomness is expanded from: `A` of LWE, `a` of RLWE. Not a secret; it must
/// be random, or derived from a value that neither party could choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Seed(pub [u8; 32]);

impl Seed {
    /// A random seed.
    ///
    /// # Security
    /// It is a hash of 32 bytes of `rng` and not these bytes, because a seed is shown to everyone. Where a generator
    /// repeats itself (a machine restored from a snapshot, a `fork`) the same bytes may be a secret's.
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
