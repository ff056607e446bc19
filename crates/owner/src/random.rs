//! Public seeds and names, which are hashes of a generator's output, never the output itself; and numbers derived from
//! a seed.

use rand_core::CryptoRng;
use sordino_pir::Seed;

/// A random seed. The seed becomes public.
pub(crate) fn random<R: CryptoRng + ?Sized>(rng: &mut R) -> [u8; 32] {
    Seed::random(rng).0
}

/// A random name for a build. The name becomes public.
pub(crate) fn build_name<R: CryptoRng + ?Sized>(rng: &mut R) -> [u8; 16] {
    let mut name = [0; 16];
    name.copy_from_slice(&random(rng)[..16]);
    name
}

/// The output function of SplitMix64 (Steele, Lea, Flood, 2014), one step after this state.
pub(crate) fn mixed(state: u64) -> u64 {
    let x = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}
