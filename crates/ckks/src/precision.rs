//! The error of scores, predicted and measured.
//!
//! There are two predictions. One holds for all vectors, and the other for vectors without structure:
//!
//! | | for | what it is |
//! |---|---|---|
//! | [`WorstError`] | every vector and query of the set's norm | what rounding their coordinates can add up to, and a bound on the noise |
//! | [`statistical_bound`] | vectors and queries whose rounding errors are independent | a standard deviation, times what the probability asks for |
//!
//! Coordinates are rounded to a grid. Errors of unlike coordinates cancel each other, so their sum over `d` coordinates does not
//! grow with `d`. Errors of equal coordinates add up, to `sqrt(d)` times half a step of the grid. Coordinates are equal in
//! constant vectors, in integer features over a common norm, and where there are few distinct values. A public random rotation of
//! all vectors and queries makes their coordinates like random ones.
//!
//! ```
//! use sordino_ckks::dot::Params;
//! use sordino_ckks::precision;
//!
//! let params = Params::rlwe_2048_50();
//! // No score of 1,024 is off by more than this, except with probability 2^-40, whatever the vectors are.
//! let worst = params.worst_error(128).bound(1024, -40.0);
//! assert!(worst < 2f64.powi(-16));
//! // The same for random ones.
//! let statistical = precision::statistical_bound(params.statistical_error(128), 1024, -40.0);
//! assert!(statistical < 2f64.powi(-17));
//! ```

/// A bound on the worst of `scores` errors of the given standard deviation, exceeded with probability at most `2^log2_failure`.
/// It is a union bound over two-sided Gaussian tails, `2 exp(-x^2 / 2)` each.
///
/// With [`dot::Params::statistical_error`](crate::dot::Params::statistical_error) or
/// [`column::Params::statistical_error`](crate::column::Params::statistical_error), the bound holds for vectors and queries whose
/// rounding errors are independent, for example random ones. It does **not** hold for vectors with structure, such as constant
/// ones. For these use [`WorstError::bound`].
#[must_use]
pub fn statistical_bound(standard_deviation: f64, scores: usize, log2_failure: f64) -> f64 {
    let log2_tails = 1.0 + (scores.max(1) as f64).log2() - log2_failure;
    standard_deviation * (2.0 * std::f64::consts::LN_2 * log2_tails).sqrt()
}

/// The error of a score for the worst vectors and query within the set's norm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WorstError {
    /// The largest error that rounding adds, in the units of the score. It covers the rounding of coordinates, of the answer
    /// and of the score.
    pub rounding: f64,
    /// The subgaussian parameter of the noise, over the secret, the errors and the public polynomials. The noise exceeds `x`
    /// times this parameter with probability at most `2 exp(-x^2 / 2)`.
    pub noise: f64,
}

impl WorstError {
    /// A bound on the worst of `scores` errors, exceeded with probability at most `2^log2_failure`, for all
    /// vectors and queries within the set's norm.
    #[must_use]
    pub fn bound(self, scores: usize, log2_failure: f64) -> f64 {
        self.rounding + statistical_bound(self.noise, scores, log2_failure)
    }
}

/// The errors of some scores.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Statistics {
    /// The number of scores.
    pub count: usize,
    /// The mean of the errors.
    pub mean: f64,
    /// The root of the mean of the squared errors.
    pub rms: f64,
    /// The largest absolute value of the errors.
    pub worst: f64,
}

impl Statistics {
    /// The statistics of pairs of a score and its exact value.
    #[must_use]
    pub fn of(pairs: impl IntoIterator<Item = (f64, f64)>) -> Self {
        let (mut count, mut sum, mut squares, mut worst) = (0usize, 0.0, 0.0, 0f64);
        for (found, exact) in pairs {
            let error = found - exact;
            count += 1;
            sum += error;
            squares += error * error;
            worst = worst.max(error.abs());
        }
        let per = 1.0 / count.max(1) as f64;
        Self {
            count,
            mean: sum * per,
            rms: (squares * per).sqrt(),
            worst,
        }
    }

    /// The precision of the worst score in bits: `-log2` of its error.
    #[must_use]
    pub fn worst_bits(&self) -> f64 {
        -self.worst.log2()
    }

    /// The precision of the root mean square error in bits.
    #[must_use]
    pub fn rms_bits(&self) -> f64 {
        -self.rms.log2()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statistics_of_known_errors() {
        let found = Statistics::of([(1.5, 1.0), (2.0, 2.5), (0.25, 0.0), (3.0, 3.25)]);
        assert_eq!(found.count, 4);
        assert_eq!(found.mean, 0.0);
        assert_eq!(found.worst, 0.5);
        assert_eq!(found.rms, (0.625f64 / 4.0).sqrt());
        assert_eq!(found.worst_bits(), 1.0);
        assert_eq!(Statistics::of([]), Statistics::default());
    }

    #[test]
    fn bounds_of_known_tails() {
        // 2 exp(-x^2 / 2) = 2^-128 at x = 13.37.
        assert!((statistical_bound(1.0, 1, -128.0) - 13.37).abs() < 0.01);
        assert!((statistical_bound(1.0, 1, -40.0) - 7.539).abs() < 0.001);
        assert!(statistical_bound(2.0, 1 << 20, -40.0) > statistical_bound(2.0, 1 << 10, -40.0));
        let worst = WorstError {
            rounding: 3.0,
            noise: 1.0,
        };
        assert!((worst.bound(1, -40.0) - 10.539).abs() < 0.001);
    }
}
