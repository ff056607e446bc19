//! How far scores are from exact: what is predicted, and what is measured.
//!
//! Every parameter set predicts the standard deviation of its scores' errors
//! ([`dot::Params::predicted_error`](crate::dot::Params::predicted_error),
//! [`column::Params::predicted_error`](crate::column::Params::predicted_error)). The errors are sums of
//! thousands of independent terms, so [`bound`] turns that into a bound for a whole reply.
//!
//! ```
//! use sordino_ckks::dot::Params;
//! use sordino_ckks::precision;
//!
//! let params = Params::rlwe_2048_50();
//! // No score of 1,024 is off by more than this, except with probability 2^-40.
//! let bound = precision::bound(params.predicted_error(128), 1024, -40.0);
//! assert!(bound < 2f64.powi(-17));
//! ```

/// A bound on the worst of `scores` errors of the given standard deviation, exceeded with probability
/// at most `2^log2_failure`: the union bound over two-sided Gaussian tails, `2 exp(-x^2 / 2)` each.
#[must_use]
pub fn bound(standard_deviation: f64, scores: usize, log2_failure: f64) -> f64 {
    let log2_tails = 1.0 + (scores.max(1) as f64).log2() - log2_failure;
    standard_deviation * (2.0 * std::f64::consts::LN_2 * log2_tails).sqrt()
}

/// The errors of some scores.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Statistics {
    /// The number of scores.
    pub count: usize,
    /// The mean of the errors.
    pub mean: f64,
    /// The root of the mean of their squares.
    pub rms: f64,
    /// The largest, without its sign.
    pub worst: f64,
}

impl Statistics {
    /// Of pairs of a score and its exact value.
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

    /// The precision of the mean square in bits.
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
        assert!((bound(1.0, 1, -128.0) - 13.37).abs() < 0.01);
        assert!((bound(1.0, 1, -40.0) - 7.539).abs() < 0.001);
        assert!(bound(2.0, 1 << 20, -40.0) > bound(2.0, 1 << 10, -40.0));
    }
}
