//! Randomness.

use crate::Error;
use rand::{SeedableRng, rngs::StdRng, rngs::SysRng};

/// A generator seeded by the system.
///
/// # Errors
/// Fails if the system has no randomness.
pub(crate) fn random() -> Result<StdRng, Error> {
    StdRng::try_from_rng(&mut SysRng).map_err(|error| Error::Random(error.to_string()))
}
