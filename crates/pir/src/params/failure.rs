//! The bound on wrong records.

use sordino_lattice::noise;

use super::{ANSWER_BITS, KAPPA, LOG_Q, Params, Protocol, Scheme};

impl<P: Protocol> Params<P> {
    /// `log2` of the probability that a recovered record is wrong, for the worst database. The probability is over the
    /// seed, too, so the records must not depend on it. We know of no way to do harm with records that fit a seed, but
    /// derive no bound for them either.
    ///
    /// The noise of a digit is `D_i (e + f) - r s`, plus the error from rounding the answer. `f` are the rounding
    /// errors of the query, and `r` the rounding errors of a row of the hint. Rounding the answer adds at most `2^19`, which the
    /// radius allows for. `e` and `s` are subgaussian with their own variance. With uniform secrets, hints are whole,
    /// so `r` is 0; the radius allows for the mean of `e`, -1/2. `f` and `r` are the errors of uniform words. Over the
    /// seed, `A s` is uniform for every `e`, unless all of `s` is even, and `D_i A` is, unless the row is zero. Queries are
    /// rounded to even, so that the mean of `f` is 0. A row of equal digits would add up any other mean over all columns.
    /// `||D_i||` is the norm of the worst row.
    ///
    /// The 5/4 on the variance of `r s` is for rows with a large `||r||^2`. It exceeds its mean by that factor with a
    /// probability below `2^-45` for a row. The 5/4 does not also cover rows whose digits share a factor `2^v`. Their `r`
    /// is a multiple of `2^v`, so its variance is larger by `2^2v / 6`. This is at most 1/8 of itself with hints of 23 bits
    /// or fewer, and at most 1/2 with more bits. For such rows of 1 MiB, the formula with both factors would give
    /// `2^-39.7`. Their real probability is far lower, because the formula takes the worst error of rounding the answer.
    /// For the layouts at these limits that the script tries, Chernoff's bound is below `2^-43` for all rows.
    ///
    /// DoublePIR rounds only the query of its first level. Its second level must recover every one of the `kappa (n +
    /// 1)` digits that encode a byte of the record.
    ///
    /// `scripts/pir_failure.py` derives this number again from the scheme's definition. For every database, it checks
    /// the number against a Chernoff bound of the real distributions. For rows of zeros and of 0xff, it also checks the
    /// number against the exact probability.
    #[must_use]
    pub fn log2_failure(&self) -> f64 {
        let digit = match P::SCHEME {
            Scheme::Simple => self.log2_failure_rounded(self.columns()),
            Scheme::Double => {
                let digits = (KAPPA * (self.n() + 1)) as f64;
                let first = self.log2_failure_whole(self.columns());
                let second = self.log2_failure_rounded(self.per_column);
                noise::log2_either(first, noise::log2_union(second, digits))
            }
        };
        noise::log2_union(digit, self.record_len as f64)
    }

    /// The largest deviation of the errors of a sum over `terms` columns that still gives the right digit.
    fn radius(&self, terms: usize) -> f64 {
        // Errors of -2^9 to 2^9 - 1 are too small by 1/2 on average.
        let bias = if self.set.has_uniform_secrets() {
            terms as f64 * 128.0 / 2.0
        } else {
            0.0
        };
        noise::radius(1 << LOG_Q, 256) - bias
    }

    /// The variance of `D_i (e + f)` over `terms` columns.
    fn variance(&self, terms: usize) -> f64 {
        let of_word = self.set.sigma().powi(2) + rounding(self.query_bits);
        terms as f64 * 128.0 * 128.0 * of_word
    }

    /// The bound for one digit of a sum over `terms` columns, with whole answers and hints.
    fn log2_failure_whole(&self, terms: usize) -> f64 {
        noise::log2_tail(self.radius(terms), self.variance(terms))
    }

    /// The bound for one digit of a sum over `terms` columns, with rounded answers and hints.
    fn log2_failure_rounded(&self, terms: usize) -> f64 {
        let answer_error = f64::from(1u32 << (LOG_Q - ANSWER_BITS - 1));
        let radius = self.radius(terms) - answer_error;
        let hint = 1.25 * self.n() as f64 * rounding(self.hint_bits) * self.set.sigma().powi(2);
        noise::log2_tail(radius, self.variance(terms) + hint)
    }
}

/// The variance of the error from rounding a uniform word to `bits` bits.
fn rounding(bits: u32) -> f64 {
    match LOG_Q - bits {
        0 => 0.0,
        dropped => f64::from(2 * dropped).exp2() / 12.0,
    }
}
