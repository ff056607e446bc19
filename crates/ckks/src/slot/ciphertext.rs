//! Plaintexts and ciphertexts: residues modulo each prime of the level, in NTT form.

use sordino_lattice::aligned::Aligned;

use super::params::Params;
use crate::Error;

/// Encoded slots.
#[derive(Clone, Debug)]
pub struct Plaintext {
    pub(super) params: Params,
    pub(super) level: usize,
    pub(super) scale: f64,
    /// Limb `j` is the polynomial modulo `q_j`.
    pub(super) limbs: Aligned<u64>,
}

/// An encryption `(c0, c1)` of slots under `s`: `c0 + c1 s` is the plaintext and a small error.
#[derive(Clone)]
pub struct Ciphertext {
    pub(super) params: Params,
    pub(super) level: usize,
    pub(super) scale: f64,
    pub(super) c0: Aligned<u64>,
    pub(super) c1: Aligned<u64>,
    /// The seed that `c1` expands from, until something is computed.
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
    /// The level.
    #[must_use]
    pub fn level(&self) -> usize {
        self.level
    }

    /// The scale.
    #[must_use]
    pub fn scale(&self) -> f64 {
        self.scale
    }
}

impl Ciphertext {
    /// The level: how many rescalings are left.
    #[must_use]
    pub fn level(&self) -> usize {
        self.level
    }

    /// The scale.
    #[must_use]
    pub fn scale(&self) -> f64 {
        self.scale
    }

    /// Refuses an operand of another set or level.
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
