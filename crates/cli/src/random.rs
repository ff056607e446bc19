//! Random numbers from the operating system.

use crate::Error;
use rand::{SeedableRng, rngs::StdRng, rngs::SysRng};

/// A generator seeded by the operating system.
///
/// # Errors
/// Fails if the system has no source of randomness.
pub(crate) fn random() -> Result<StdRng, Error> {
    StdRng::try_from_rng(&mut SysRng).map_err(|error| Error::Random(error.to_string()))
}
