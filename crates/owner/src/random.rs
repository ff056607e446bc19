//! Seeds that everyone may see.

use rand_core::CryptoRng;
use sordino_pir::Seed;

/// A random seed, to be shown to everyone.
pub(crate) fn random<R: CryptoRng + ?Sized>(rng: &mut R) -> [u8; 32] {
    Seed::random(rng).0
}
