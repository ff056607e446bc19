//! Check rows of routed mode's clusters, by which a client recognises scores that were changed.
//!
//! ```text
//! check_j0 = sum over the places v of part j of  s_v code_v          mod P
//! check_ji = sum over the places v of part j of  s_v b_iv code_v     mod P,    i = 1 .. COUNT
//! ```
//!
//! with signs `s_v` and bits `b_iv` of the cluster, of which a part is a run of 512 places. They lie behind the cluster's places, part
//! after part, under pads of their own. With
//! `F_i` for how far a check row's product is from the same sum of the places' products, a client computes
//!
//! ```text
//! G_i = F_i - F_0 / 2,     S = sum over i = 1 .. COUNT of G_i^2
//! ```
//!
//! and refuses a reply in which `S` of some part is above the [`tolerance`](crate::manifest::Grid::tolerance). Of an honest reply `G_i` has half of all errors,
//! with signs that are independent of each other: taking half of `F_0` off is what balances them. An error `E` in one score
//! makes two values of `G_i` that differ by `E`, for each `i` one or the other by a bit that the server does not know.
//!
//! A sum of 63 squares tells errors apart that are half as large as those that the largest of 40 would
//! ([`checks`](super)): a cluster's noise is large, and no search has scores of more places that could be summed together.
//! The bound and its proof are in docs/security/routed.md.

/// Check rows of a part of a cluster. Of as many less one the squares are summed: a changed reply is accepted with
/// probability `2^-40`, where none was refused before.
pub const COUNT: usize = 64;

/// Places of a part: as few as changes above .02 of a cosine take in groups of the most columns.
pub const PLACES: usize = 512;

/// Check rows of a cluster of so many places: an eighth, and less than 64 more.
#[must_use]
pub fn count(places: usize) -> usize {
    COUNT * places.div_ceil(PLACES)
}

/// Squares in a sum.
const SQUARES: f64 = 63.0;

/// Units of a product in a step of `P = 2^18`.
pub(crate) const STEP: f64 = 256.0;

/// The errors of a part's scores, in steps.
pub(crate) struct Noise {
    /// The variance of what each score has of its own.
    pub(crate) fixed: f64,
    /// The mean, over queries, of the variance that the errors of a query's words make.
    pub(crate) carried: f64,
    /// Those errors. Their sum of squares is a query's own, and common to all its scores.
    pub(crate) errors: f64,
    /// Scores that are summed.
    pub(crate) places: f64,
}

impl Noise {
    /// The largest sum of squares of an honest reply's part, in squares of a 256th of a step: one of so many parts
    /// exceeds it with probability below `2^-40`, over what an index and its queries draw.
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
        for _ in 0..40 {
            let middle = (low * high).sqrt();
            match self.log2_above(middle) < log2_failure {
                true => high = middle,
                false => low = middle,
            }
        }
        high
    }

    /// The probability of a sum of squares above this: the sum, over how large a query's errors are, of Chernoff's
    /// bounds.
    fn log2_above(&self, sum: f64) -> f64 {
        let half = self.errors / 2.0;
        let ratio = 1.0 + 0.2 / self.errors.sqrt();
        let (mut size, mut most, mut all) = (1.0f64, 0.0f64, 0.0f64);
        // Larger than this they are with a probability that does not count.
        while most > -96.0 {
            let larger = size * ratio;
            let variance = self.fixed + self.carried * larger;
            all += (most + self.log2_above_by(sum / variance)).exp2();
            size = larger;
            most = -half * (size - 1.0 - size.ln()) * std::f64::consts::LOG2_E;
        }
        (all + most.exp2()).log2()
    }

    /// The same where every score has an error of variance 1.
    ///
    /// The sums of different check rows have half of the places and the noise of their own row, all of them half of the
    /// noise of row 0.
    fn log2_above_by(&self, sum: f64) -> f64 {
        let own = self.places / 4.0 + 1.0;
        let common = own + SQUARES / 4.0;
        let bound = |at: i32| {
            let u = f64::from(at) / 64.0 / (2.0 * common);
            let spread =
                (1.0 - 2.0 * u * own).ln() * (SQUARES - 1.0) + (1.0 - 2.0 * u * common).ln();
            (-u * sum - spread / 2.0) * std::f64::consts::LOG2_E
        };
        (1..64).map(bound).fold(0.0, f64::min)
    }
}
