//! Plaintexts and ciphertexts: residues modulo each prime of the level, in NTT form.

use sordino_lattice::aligned::Aligned;

use super::params::Params;
use crate::Error;

/// Encoded values, one for each slot.
#[derive(Clone, Debug)]
pub struct Plaintext {
    pub(super) params: Params,
    pub(super) level: usize,
    pub(super) scale: f64,
    /// Limb `j` is the polynomial modulo `q_j`.
    pub(super) limbs: Aligned<u64>,
}

/// An encryption `(c0, c1)` of slots under `s`: `c0 + c1 s` is the plaintext plus a small error.
#[derive(Clone)]
pub struct Ciphertext {
    pub(super) params: Params,
    pub(super) level: usize,
    pub(super) scale: f64,
    pub(super) c0: Aligned<u64>,
    pub(super) c1: Aligned<u64>,
    /// The seed that `c1` expands from. `None` after the first computation.
    pub(super) seed: Option<[u8; 32]>,
}

impl std::fmt::Debug for Ciphertext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ciphertext")
            .field("params", &self.params)
            .field("level", &self.level)
            .field("scale", &self.scale)
            .finish_non_exhaustive()
    }
}

impl Plaintext {
    /// The plaintext's level.
    #[must_use]
    pub fn level(&self) -> usize {
        self.level
    }

    /// The plaintext's scale.
    #[must_use]
    pub fn scale(&self) -> f64 {
        self.scale
    }
}

impl Ciphertext {
    /// The level: the number of rescalings that are left.
    #[must_use]
    pub fn level(&self) -> usize {
        self.level
    }

    /// The ciphertext's scale.
    #[must_use]
    pub fn scale(&self) -> f64 {
        self.scale
    }

    /// Checks that an operand belongs to this set and level.
    pub(super) fn check(&self, params: &Params, level: usize) -> Result<(), Error> {
        self.params.check_same(params)?;
        if self.level == level {
            return Ok(());
        }
        Err(Error::Level {
            found: level,
            most: self.level,
        })
    }
}
