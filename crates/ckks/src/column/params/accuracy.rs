//! The errors of scores, derived from a parameter set.

use sordino_lattice::sample::cbd;

use super::{Encoding, N, NORM, Params};
use crate::precision::WorstError;

impl Params {
    /// The error of a decrypted score in `dim` dimensions for the worst vectors and query, in the units of the
    /// score.
    ///
    /// For a real-valued set, vectors and queries may be any of norm up to [`Self::norm_bound`]. For a modular set,
    /// they may be any integers in `[-P/2, P/2)`, and the error is the one before the final rounding to an integer.
    #[must_use]
    pub fn worst_error(&self, dim: usize) -> WorstError {
        let (q, d, per) = (self.q as f64, dim as f64, (N / self.t) as f64);
        // The norm of a vector's codes and their largest sum; a unit of the message, in units of the score. Then the
        // window, and the error of rounding.
        let (norm, sum, unit, window, coded) = match self.encoding {
            Encoding::Real { scale, window } => {
                let norm = NORM * scale + d.sqrt() / 2.0;
                // Single precision: half a unit in the last place of a score below 2.
                let coded = NORM * d.sqrt() / (2.0 * scale) + 2f64.powi(-24);
                (norm, norm * d.sqrt(), window / q, window, coded)
            }
            Encoding::Modular { log_p } => {
                let p = 2f64.powi(log_p.cast_signed());
                (d.sqrt() * p / 2.0, d * p / 2.0, p / q, p, 0.0)
            }
        };
        // A message is half a unit off at most. An answer is half a step off, and switching adds a little.
        let step = |bits: u32| window / 2f64.powi(bits.cast_signed());
        let rounding = coded + 0.5 * sum * unit + 0.501 * step(self.answer_bits);
        // Sampled errors and dropped bits are multiplied by all codes of a block. The hint's errors, half a step
        // each, are multiplied by the secret.
        let upload = cbd::VARIANCE + cut_off(self.dropped);
        let hint = (0..8)
            .map(|i| (0.501 * step(self.hint_width.of(i))).powi(2))
            .sum::<f64>()
            / 8.0;
        let noise = upload * per * (norm * unit).powi(2) + hint * 2.0 * N as f64 / 3.0;
        WorstError {
            rounding,
            noise: noise.sqrt(),
        }
    }

    /// The variance of a decrypted score's error in `dim` dimensions for the worst vectors, in squares of a
    /// [step](Self::step_bits) of a real-valued set. The first part comes from the errors of a query's polynomials, and
    /// equal vectors may share it. The second part is independent for each score. Neither part includes the rounding of
    /// codes and query.
    ///
    /// # Errors
    /// [`Error::Encoding`](crate::Error::Encoding) for a modular set.
    pub fn noise_in_steps(&self, dim: usize) -> Result<[f64; 2], crate::Error> {
        let (Encoding::Real { scale, window }, bits) = (self.encoding, self.step_bits()?) else {
            return Err(crate::Error::Encoding { modular: true });
        };
        let step = window / 2f64.powi(bits.cast_signed());
        let norm = NORM * scale + (dim as f64).sqrt() / 2.0;
        let upload = cbd::VARIANCE + cut_off(self.dropped);
        let per = (N / self.t) as f64;
        let carried = upload * per * (norm * window / self.q as f64).powi(2);
        let rounded = |bits: u32| (window / 2f64.powi(bits.cast_signed())).powi(2) / 12.0;
        let hint = (0..8).map(|i| rounded(self.hint_width.of(i))).sum::<f64>() / 8.0;
        let own = rounded(self.answer_bits) + hint * 2.0 * N as f64 / 3.0;
        Ok([carried, own].map(|variance| variance / (step * step)))
    }

    /// The standard deviation of a decrypted score's error in `dim` dimensions, in the units of the score. It holds for
    /// vectors and queries without structure. For all others use [`Self::worst_error`].
    ///
    /// For real-valued sets, it holds for vectors of norm one whose coordinates' rounding errors are independent, and
    /// includes the rounding of the stored codes. For modular sets, it holds for codes uniform mod `P`, in units of 1
    /// mod `P`, before the final rounding to an integer.
    #[must_use]
    pub fn statistical_error(&self, dim: usize) -> f64 {
        let step = 1.0 / 12.0;
        let q = self.q as f64;
        // The error of one coefficient of b: from sampling, from dropped bits, and from rounding the message.
        let upload = cbd::VARIANCE + cut_off(self.dropped) + step;
        let rounding = |window: f64| {
            let answer = step * (window / 2f64.powi(self.answer_bits.cast_signed())).powi(2);
            let hint = (0..8)
                .map(|i| step * (window / 2f64.powi(self.hint_width.of(i).cast_signed())).powi(2))
                .sum::<f64>()
                / 8.0;
            answer + hint * 2.0 * N as f64 / 3.0
        };
        let per = (N / self.t) as f64;
        let variance = match self.encoding {
            Encoding::Real { scale, window } => {
                step / scale.powi(2)
                    + upload * per * (window * scale / q).powi(2)
                    + rounding(window)
            }
            Encoding::Modular { log_p } => {
                let p = 2f64.powi(log_p.cast_signed());
                upload * per * dim as f64 * p.powi(2) * step * (p / q).powi(2) + rounding(p)
            }
        };
        variance.sqrt()
    }
}

/// The variance of the error from dropping bits, with ties to even.
fn cut_off(dropped: u32) -> f64 {
    if dropped == 0 {
        return 0.0;
    }
    4f64.powi(dropped.cast_signed()) / 12.0 + 1.0 / 6.0
}
