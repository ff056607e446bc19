//! Check rows of routed mode's clusters, by which a client recognises changed scores.
//!
//! ```text
//! check_j0 = sum over the places v of part j of  s_v code_v          mod P
//! check_ji = sum over the places v of part j of  s_v b_iv code_v     mod P,    i = 1 .. COUNT
//! ```
//!
//! with signs `s_v` and bits `b_iv` of the cluster's group, where a part is a run of 512 places. If each cluster had its
//! own signs and bits, a refusal would depend on which cluster the client chose. Check rows lie behind the cluster's
//! places, part after part, under their own pads. Let `F_i` be the difference between a check row's product and the same
//! sum of the places' products. A client computes
//!
//! ```text
//! G_i = F_i - F_0 / 2,     S = sum over i = 1 .. COUNT of G_i^2
//! ```
//!
//! and refuses a reply in which `S` of some part is above the [`tolerance`](crate::manifest::Grid::tolerance). In an honest
//! reply `G_i` has half of all errors, with signs that are independent of each other, because half of `F_0` is subtracted.
//! All 63 share the sum of squares of these errors. So an honest `S` varies as much as the sum of squares of the few
//! hundred errors does. That is more than a sum of 63 independent squares would vary. An error `E` in one score makes two
//! values of `G_i` that differ by `E`. For each `i` a bit that the server does not know chooses between them.
//!
//! A sum of 63 squares recognises errors half as large as the largest of 40 squares would ([`checks`](super)). This matters
//! because a cluster's noise is large, and a search has no further scores to sum up. The bound and its proof are in
//! docs/security/routed.md.

/// The number of check rows of a part of a cluster. The squares of all but one are summed up. A changed reply is
/// accepted with probability `2^-40`, if no reply was refused before.
pub const COUNT: usize = 64;

/// The number of places of a part. This is the smallest number that detects changes above 0.023 of a cosine in groups
/// of the most columns, if both residuals have length 0.5. For residuals of length 1, the limit is four times as large.
pub const PLACES: usize = 512;

/// The number of check rows of a cluster of `places` places: an eighth of them, plus less than 64.
#[must_use]
pub fn count(places: usize) -> usize {
    COUNT * places.div_ceil(PLACES)
}

/// The number of squares in a sum.
const SQUARES: f64 = 63.0;

/// The number of units of a product in one step of `P = 2^18`.
pub const STEP: f64 = 256.0;

/// The errors of a part's scores, in steps.
pub(crate) struct Noise {
    /// The variance of each score's own error.
    pub(crate) fixed: f64,
    /// The mean, over queries, of the variance that comes from the errors of a query's words.
    pub(crate) carried: f64,
    /// The number of errors of a query's words. Their sum of squares depends on the query, and all its scores share it.
    pub(crate) errors: f64,
    /// The number of summed scores.
    pub(crate) places: f64,
}

impl Noise {
    /// The largest sum of squares of an honest reply's part, in squares of a 256th of a step. One of `parts` parts exceeds
    /// it with probability below `2^-40`, over the randomness of an index and its queries.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "below 2^56"
    )]
    pub(crate) fn tolerance(&self, parts: f64) -> u64 {
        let bound = self.bound(-40.0 - parts.log2());
        (bound * STEP * STEP).ceil() as u64
    }

    /// A sum of squares that is exceeded with this probability at most.
    fn bound(&self, log2_failure: f64) -> f64 {
        let mean = SQUARES * (self.places / 4.0 + 2.0) * (self.fixed + self.carried);
        let (mut low, mut high) = (mean, 64.0 * mean);
        for _ in 0..30 {
            let middle = (low * high).sqrt();
            match self.above(middle).log2() < log2_failure {
                true => high = middle,
                false => low = middle,
            }
        }
        high
    }

    /// A bound on the probability that a sum of squares is larger than `sum`. It is the mean over the sizes of a query's
    /// errors and of the places' errors.
    fn above(&self, sum: f64) -> f64 {
        mean_over(self.errors, |size| {
            let variance = self.fixed + self.carried * size;
            mean_over(self.places, |size| {
                above_by(sum / variance, self.places * size / 4.0)
            })
        })
    }
}

/// A bound on the mean of a probability that grows with the mean square of independent errors of variance 1.
///
/// Errors are subgaussian with their variance: normal ones, uniform ones and sums of both are. Their squares are then above
/// `size` times the mean with probability `e^(-count (size - 1 - ln size) / 2)` at most.
fn mean_over(count: f64, probability: impl Fn(f64) -> f64) -> f64 {
    let ratio = 1.0 + 0.2 / count.sqrt();
    let mut size = ratio;
    let mut before = probability(size);
    let mut mean = before;
    loop {
        let larger = (-count / 2.0 * (size - 1.0 - size.ln())).exp();
        // The remaining terms add no more than this.
        if larger < 1e-30 {
            return mean + larger;
        }
        size *= ratio;
        let now = probability(size);
        mean += larger * (now - before);
        before = now;
    }
}

/// A bound on the probability that a sum of squares is larger than `sum`: Chernoff's bound. The places' errors give each
/// term a variance of `spread`, and every check row has an error of variance 1.
///
/// For fixed errors of the places, each term has half of them with independent signs, which is subgaussian. Each term also
/// has its own row's error, and all terms share half of the error of row 0.
fn above_by(sum: f64, spread: f64) -> f64 {
    let own = spread + 1.0;
    let common = own + SQUARES / 4.0;
    let mean = (SQUARES - 1.0) * own + common;
    if sum <= mean {
        return 1.0;
    }
    // The minimum of the bound: the smaller root of a u^2 - b u + c, where u is twice Chernoff's parameter.
    let (a, b) = (
        sum * own * common,
        sum * (own + common) - SQUARES * own * common,
    );
    let u = 2.0 * (sum - mean) / (b + (b * b - 4.0 * a * (sum - mean)).max(0.0).sqrt());
    let spread = (SQUARES - 1.0) * (1.0 - u * own).ln() + (1.0 - u * common).ln();
    (-(u * sum + spread) / 2.0).exp().min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::rngs::StdRng;
    use rand::{RngExt, SeedableRng};

    /// Draws sums by their definition, with errors that are nearly normal. A simpler bound would assume that the errors of
    /// all places have the same size; sums would exceed it sixteen times too often.
    #[test]
    fn sums_of_honest_replies_are_above_their_bound_as_seldom_as_derived() {
        const PLACES: u16 = 32;
        const TRIALS: u32 = 60_000;
        let noise = Noise {
            fixed: 1.0,
            carried: 0.0,
            errors: 8.0,
            places: PLACES.into(),
        };
        let mut rng = StdRng::seed_from_u64(4);
        let mut bits = StdRng::seed_from_u64(5);
        let mut error = || {
            let uniform = (0..6).map(|_| rng.random_range(-1f32..1.0));
            uniform.sum::<f32>() / 2f32.sqrt()
        };
        let sums = (0..TRIALS).map(|_| {
            let mut sums = [0.0f32; 63];
            for _ in 0..PLACES {
                let half = error() / 2.0;
                let signs: u64 = bits.random();
                for (at, sum) in sums.iter_mut().enumerate() {
                    *sum += if signs >> at & 1 == 1 { half } else { -half };
                }
            }
            let half = error() / 2.0;
            let squares = sums.map(|sum| (sum + error() - half).powi(2));
            f64::from(squares.iter().sum::<f32>())
        });
        let sums: Vec<f64> = sums.collect();
        let above = |bound: f64| sums.iter().filter(|&&sum| sum > bound).count() as f64;
        let trials = f64::from(TRIALS);
        for log2_failure in [-2.0, -4.0, -7.0, -10.0] {
            let found = above(noise.bound(log2_failure));
            assert!(found <= trials * log2_failure.exp2(), "{found}");
        }
        // Some sums exceed a weaker bound, so the bound is not trivial.
        assert!(above(noise.bound(-2.0)) > 20.0);
        let size = f64::from(PLACES) / 4.0;
        let one_size = (1..).map(|at| 500.0 + f64::from(at));
        let one_size = one_size
            .into_iter()
            .find(|&sum| above_by(sum, size) < 2f64.powi(-13));
        assert!(above(one_size.expect("a sum")) > 4.0 * trials * 2f64.powi(-13));
    }
}
