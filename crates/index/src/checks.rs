//! Check rows: sums of masked rows, by which a client recognises a changed reply.
//!
//! ```text
//! check_ji = sum over the positions v of group j of  s_v b_iv row_v   mod P,    i = 0 .. COUNT
//! ```
//!
//! Groups are runs of `group` positions of a segment. The signs `s_v` and the bits `b_iv` are drawn under a key of the segment.
//! Check rows follow the `n` rows, group after group, under the pads of their own positions. So a server knows where they are,
//! but nothing about the rows that they sum up.
//!
//! A check row's score is the same sum of the group's scores, up to the noise of all of them, and a client checks that. Suppose
//! that the score of one row is off by more than twice the `tolerance`. Then the reply is accepted for at most one of the two
//! values of `b_iv`. This holds whatever other errors the reply has, because the two sums differ by this one. So the reply
//! passes with probability `2^-COUNT` at most. Refusals that the server notices can reveal bits to it and raise this
//! probability (docs/security/masked.md). Signs alone, `b_iv` in `{-1, 1}`, would not suffice: sums mod P that differ by
//! twice an error of `P/2` are equal.
//!
//! The signs are needed because of the noise. Errors of neighbouring rows are coefficients of one product of polynomials. A sum
//! of them without signs would put half of its weight on two frequencies of the product.

use sordino_ckks::column::Params;
use sordino_ckks::precision::statistical_bound;

pub mod balance;
pub mod exact;
pub mod held;

/// The number of check rows of a group. A changed reply is accepted with probability `2^-40`, if no reply was refused
/// before.
pub const COUNT: usize = 40;

/// The number of positions whose bits are drawn together.
pub const RUN: usize = 32;

/// The number of rows in a group, for rows of `width` coordinates. Noise grows with the coordinates and with the rows
/// of a group. Up to 192 coordinates, a group has 1,216 rows, so check rows add 3.3 %. From 522 coordinates on, a group
/// has 416 rows, so they add 9.6 %.
#[must_use]
pub fn group(width: usize) -> usize {
    RUN * (7296 / width.max(1)).clamp(13, 38)
}

/// The number of check rows of a segment of `n` rows.
#[must_use]
pub fn count(n: usize, width: usize) -> usize {
    COUNT * n.div_ceil(group(width))
}

/// The number of rows that a masked segment of `n` records stores.
#[must_use]
pub fn stored(n: usize, width: usize) -> usize {
    n + count(n, width)
}

/// A margin for the variance of one index's noise above its mean over all indexes. An index draws its public polynomials and rows
/// only once.
const VARIANCE: f64 = 9.0 / 8.0;

/// The largest difference, mod P, between the score of a check row and the sum of its group. An honest reply to an index of
/// `rows` check rows exceeds it with probability below `2^-40`.
///
/// A sum covers about half of a group's rows, each with its own error. The check row has an error, too.
#[must_use]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the sum of some hundred errors is far below 2^31"
)]
pub fn tolerance(params: &Params, width: usize, rows: usize) -> u32 {
    // Counts half of the rows plus two standard deviations, and the check row.
    let group = group(width) as f64;
    let terms = group / 2.0 + group.sqrt() + 1.0;
    let sigma = params.statistical_error(width) * (VARIANCE * terms).sqrt();
    statistical_bound(sigma, rows, -40.0).ceil() as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::Packing;

    #[test]
    fn groups_are_whole_runs_and_cost_a_tenth_at_most() {
        for width in [1, 2, 100, 128, 129, 300, 384, 1024, 8194] {
            let group = group(width);
            assert!(group.is_multiple_of(RUN) && (416..=1216).contains(&group));
            assert!(count(1_000_000, width) < 97_000);
            assert_eq!(count(1, width), COUNT);
            assert_eq!(count(group, width), COUNT);
            assert_eq!(count(group + 1, width), 2 * COUNT);
        }
        assert_eq!([192, 384, 521, 522].map(group), [1216, 608, 448, 416]);
    }

    #[test]
    fn tolerances_are_those_whose_failure_is_derived_elsewhere() {
        // scripts/checks_failure.py computes this table from docs/scoring.md and docs/security/masked.md: how often an honest
        // reply is refused with these tolerances.
        let table = include_str!("../tests/checks.csv");
        for line in table.lines().skip(1) {
            let fields: Vec<usize> = line
                .split(',')
                .map(|field| field.parse().unwrap())
                .collect();
            let &[t, width, n, expected] = &fields[..] else {
                panic!("{line}");
            };
            let params = Packing::of(t).expect("a packing").masked();
            let found = tolerance(&params, width, count(n, width));
            assert_eq!(found as usize, expected, "{line}");
        }
    }
}
