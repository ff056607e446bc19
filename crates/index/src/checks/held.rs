//! Sums of open rows, which readers hold and the server does not know.
//!
//! ```text
//! held_ji = sum over the positions v of group j of  e_iv code_v,    i = 0 .. COUNT
//! ```
//!
//! with signs `e_iv` in `{-1, 1}` that are drawn under a key of the segment. A group is a run of [`GROUP`] positions. The server
//! knows the rows of open mode, and no pad could hide a sum of them. So sums are not stored with the rows: they are a sealed part
//! that readers download once. A client multiplies them with its query, and compares the results with the sums of the scores:
//!
//! ```text
//! X_i = sum over v of e_iv score_v  -  <held_ji, query>,      S = sum over i of X_i^2
//! ```
//!
//! A client refuses a reply if `S` of some group is above its [`tolerance`]. In an honest reply `X_i` is the sum of all errors,
//! with signs that are independent of the errors and of each other. An error `E` in one score makes two possible values of `X_i`,
//! by the sign, that differ by `2 E`. The bound and its proof are in docs/security/open.md.

use std::f64::consts::LOG2_E;

use sordino_ckks::column::Params;

/// The number of sums of a group. A changed reply is accepted with probability `2^-40`, if no reply was refused before.
pub const COUNT: usize = 64;

/// The number of positions of a group. With this number the sums have two bytes for each row of 128 coordinates.
pub const GROUP: usize = 12_288;

/// The number of bytes of a coordinate of a sum. In the worst case all rows are equal and have all weight in one
/// coordinate. 24 bits then suffice except with probability `2^-63`. For other rows, this probability is smaller.
pub const COORDINATE_LEN: usize = 3;

/// The size in bytes of the sums of `n` rows.
#[must_use]
pub fn len(n: usize, width: usize) -> usize {
    n.div_ceil(GROUP) * COUNT * width * COORDINATE_LEN
}

/// A group of fewer rows has the tolerance of a group of this number. A few errors may all be large, so that their squares are
/// far from the mean of many.
const LEAST: usize = 48;

/// A margin above the mean, for the randomness of one index's hint and one query's secret. If rows repeat from block to block of
/// polynomials, the number of independent draws is only the number of rows of a block. The sum of squares of 32 draws
/// varies more.
fn room(params: &Params) -> f64 {
    if params.block_vectors() < 64 {
        11.0 / 8.0
    } else {
        9.0 / 8.0
    }
}

/// The largest `S` of a group of `rows` rows in an honest reply, in squares of a step. For any vectors, one of `groups`
/// groups exceeds it with probability below `2^-40`. The probability is over the randomness of an index and its queries.
///
/// # Errors
/// [`Error::Encoding`](sordino_ckks::Error::Encoding) for a parameter set that is not real-valued.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "below 2^56"
)]
pub fn tolerance(
    params: &Params,
    width: usize,
    rows: usize,
    groups: usize,
) -> Result<u64, sordino_ckks::Error> {
    let [carried, own] = params.noise_in_steps(width)?;
    let rows = rows.max(LEAST) as f64;
    let noise = Noise {
        carried: rows * carried,
        own: room(params) * rows * own,
    };
    let log2_failure = -40.0 - (groups.max(1) as f64).log2();
    Ok(noise.bound(log2_failure).ceil() as u64)
}

/// The sums of squares of a group's errors. One is the mean sum of the errors that come from a query. The other is the sum
/// of each score's own errors.
struct Noise {
    carried: f64,
    own: f64,
}

impl Noise {
    /// A sum of squares that is exceeded with this probability at most.
    fn bound(&self, log2_failure: f64) -> f64 {
        let mean = COUNT as f64 * (self.carried + self.own);
        let (mut low, mut high) = (mean, 1024.0 * mean);
        for _ in 0..48 {
            let middle = (low * high).sqrt();
            match self.log2_above(middle) < log2_failure {
                true => high = middle,
                false => low = middle,
            }
        }
        high
    }

    /// The probability that a sum of squares is larger than `sum`. It sums Chernoff's bounds over the sizes of a query's errors.
    /// In the worst case, equal vectors, all errors from the query are one error with one square.
    fn log2_above(&self, sum: f64) -> f64 {
        const RATIO: f64 = 1.02;
        let (mut size, mut most, mut all) = (1.0f64, 0.0f64, 0.0f64);
        // Larger errors have a negligible probability.
        while most > -96.0 {
            size *= RATIO;
            let variance = self.own + self.carried * size;
            all += (most + log2_above_by(sum / variance)).exp2();
            most = -(size - 1.0 - size.ln()) / 2.0 * LOG2_E;
        }
        (all + most.exp2()).log2()
    }
}

/// The same probability for a sum of [`COUNT`] squares, each of a sum of independent signs of variance 1. It is Chernoff's bound
/// at its minimum, which has a closed form.
fn log2_above_by(sum: f64) -> f64 {
    let (count, ratio) = (COUNT as f64, sum / COUNT as f64);
    if ratio <= 1.0 {
        return 0.0;
    }
    -count / 2.0 * (ratio - 1.0 - ratio.ln()) * LOG2_E
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::Packing;

    #[test]
    fn tolerances_are_those_whose_failure_is_derived_elsewhere() {
        // scripts/held_failure.py computes this table from docs/scoring.md and docs/security/open.md: how often an honest reply
        // is refused with these tolerances.
        for line in include_str!("../../tests/held.csv").lines().skip(1) {
            let fields: Vec<usize> = line
                .split(',')
                .map(|field| field.parse().unwrap())
                .collect();
            let &[t, width, rows, groups, expected] = &fields[..] else {
                panic!("{line}");
            };
            let packing = Packing::ALL.into_iter().find(|it| it.open().t() == t);
            let params = packing.expect("a packing").open();
            let found = tolerance(&params, width, rows, groups).unwrap();
            let expected = expected as u64;
            // Logarithms differ in their last bits between machines, so the test allows a small difference.
            assert!(
                found.abs_diff(expected) <= expected >> 20,
                "{line}: {found}"
            );
        }
    }

    #[test]
    fn sums_have_two_bytes_for_each_row_of_128_coordinates() {
        assert_eq!(len(GROUP, 128), 2 * GROUP);
        assert_eq!(len(GROUP + 1, 128), 4 * GROUP);
        assert_eq!(len(1, 1), 192);
    }
}
