//! Codes and scores of the real-valued sets.

use sordino_lattice::rounding::nearest;

use super::{Encoding, NORM, Params};
use crate::rounding::check_norms;
use crate::{Error, wire};

impl Params {
    /// The codes of real-valued vectors, `round(8000 x)` with ties to even. The database stores and scores
    /// them.
    ///
    /// # Errors
    /// - [`Error::Encoding`] for a modular set
    /// - [`Error::Dimension`] if the dimension is 0 or too large
    /// - [`Error::Length`] if the coordinates do not fill whole vectors
    /// - [`Error::NotFinite`] if a coordinate is infinite or NaN
    /// - [`Error::Norm`] if a vector is longer than the norm bound of the set
    #[expect(
        clippy::cast_possible_truncation,
        reason = "at most 8008 by the norm bound"
    )]
    pub fn real_codes(&self, vectors: &[f32], dim: usize) -> Result<Vec<i32>, Error> {
        let Encoding::Real { scale, .. } = self.encoding else {
            return Err(Error::Encoding { modular: true });
        };
        self.check_dim(dim)?;
        wire::check_rows(vectors.len(), dim)?;
        check_norms(vectors, dim, NORM)?;
        Ok(vectors
            .iter()
            .map(|&x| nearest(f64::from(x) * scale) as i32)
            .collect())
    }

    /// Bits of a decrypted score of a real-valued set: the score window has `2^bits` steps.
    ///
    /// # Errors
    /// [`Error::Encoding`] for a modular set.
    pub fn step_bits(&self) -> Result<u32, Error> {
        match self.encoding {
            Encoding::Real { .. } => Ok(self.hint_bits().max(self.answer_bits)),
            Encoding::Modular { .. } => Err(Error::Encoding { modular: true }),
        }
    }

    /// Converts a number of steps to the score of a real-valued set. Gives 0 for a modular set.
    #[must_use]
    #[expect(
        clippy::cast_possible_truncation,
        reason = "scores are single precision"
    )]
    pub fn score(&self, step: i64) -> f32 {
        let Encoding::Real { window, .. } = self.encoding else {
            return 0.0;
        };
        let bits = self.hint_bits().max(self.answer_bits);
        (step as f64 * (window / 2f64.powi(bits.cast_signed()))) as f32
    }
}
