//! Seeds and names that everyone may see: hashes of what a generator gives, never its own bytes.

use rand_core::CryptoRng;
use sordino_pir::Seed;

/// A random seed, to be shown to everyone.
pub(crate) fn random<R: CryptoRng + ?Sized>(rng: &mut R) -> [u8; 32] {
    Seed::random(rng).0
}

/// A random name of a build, to be shown to everyone.
pub(crate) fn build_name<R: CryptoRng + ?Sized>(rng: &mut R) -> [u8; 16] {
    let mut name = [0; 16];
    name.copy_from_slice(&random(rng)[..16]);
    name
}
