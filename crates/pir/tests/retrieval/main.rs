//! Retrieval by honest parties, which recovers records at every layout and after changes.

#![expect(clippy::unwrap_used, reason = "helpers fail as their tests do")]

mod double;
mod hedge;
mod hintless;
#[cfg(feature = "mmap")]
mod mapped;
mod params;
mod simple;
mod update;
mod verified;
mod worst_rows;

use chacha20::ChaCha20Rng;
use rand_core::SeedableRng;

/// A generator with the same output in every run.
fn rng(seed: u8) -> ChaCha20Rng {
    ChaCha20Rng::from_seed([seed; 32])
}
