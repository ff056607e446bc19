//! The noise of an answer, in steps, which are units of 1 mod `P`.

use sordino_lattice::noise::log2_tail;

use super::{HINT_BITS, N, Params, Q, RANK, WORD_BITS};

/// The variance of a rounding error, in squares of the rounding unit.
const ROUNDED: f64 = 1.0 / 12.0;
/// The variance of an entry of a secret.
const TERNARY: f64 = 2.0 / 3.0;

impl Params {
    /// The standard deviation of the noise of `y - H s`, for entries that are uniform mod `P`, such as padded ones.
    ///
    /// Each of the `columns` words is off by its error and by half a unit at most. Each number of the hint is off by half of
    /// its own unit at most.
    #[must_use]
    pub fn statistical_noise(&self, columns: usize) -> f64 {
        let p = f64::from(self.log_p).exp2();
        let entry = p * p * ROUNDED;
        let words = columns as f64 * entry * self.word_variance();
        let hint = (RANK * N) as f64 * TERNARY * ROUNDED;
        (words + hint * hint_unit().powi(2)).sqrt() * self.word_step()
    }

    /// The subgaussian parameter of the noise of `y - H s` for any entries, over secret, errors and public polynomials. The
    /// noise exceeds `x` times this parameter plus [`worst_offset`](Self::worst_offset) with probability at most `2 exp(-x^2
    /// / 2)`.
    #[must_use]
    pub fn worst_noise(&self, columns: usize) -> f64 {
        let entry = f64::from(2 * self.log_p - 2).exp2();
        let words = columns as f64 * entry * self.word_variance();
        let hint = (RANK * N) as f64 * TERNARY / 4.0;
        (words + hint * hint_unit().powi(2)).sqrt() * self.word_step()
    }

    /// The largest amount that rounding adds to the noise of a message with `coordinates` nonzero numbers in a group.
    #[must_use]
    pub fn worst_offset(&self, coordinates: usize) -> f64 {
        let unit = f64::from(WORD_BITS).exp2() / Q as f64;
        coordinates as f64 * f64::from(self.log_p - 1).exp2() * 0.5 * unit * self.word_step()
    }

    /// `log2` of a bound on the probability that a byte is wrong, which means that its error exceeds half a step. It holds
    /// for any bytes.
    ///
    /// `rounding` and `noise` are the worst error of the product with the hint, in units of 1 mod `2^26`. `rounding` is the
    /// largest amount that rounding adds, and `noise` a subgaussian parameter.
    #[must_use]
    pub fn log2_byte_failure(&self, columns: usize, rounding: f64, noise: f64) -> f64 {
        let unit = (f64::from(self.log_p) - f64::from(HINT_BITS)).exp2();
        let radius = 0.5 - self.worst_offset(1) - rounding * unit;
        let noise = self.worst_noise(columns).powi(2) + (noise * unit).powi(2);
        log2_tail(radius, noise)
    }

    /// A unit of a word, in steps.
    fn word_step(&self) -> f64 {
        (f64::from(self.log_p) - f64::from(WORD_BITS)).exp2()
    }

    /// The variance of a word's error: the sampled error plus the rounding error.
    fn word_variance(&self) -> f64 {
        let unit = f64::from(WORD_BITS).exp2() / Q as f64;
        (f64::from(self.sigma) * unit).powi(2) + ROUNDED
    }
}

/// A unit of the hint, in units of a word.
fn hint_unit() -> f64 {
    (f64::from(WORD_BITS) - f64::from(HINT_BITS)).exp2()
}
