//! Check rows: sums of masked rows. A client recognises a changed reply by them.
//!
//! ```text
//! check_ji = sum over the positions v of group j of  s_v b_iv row_v   mod P,    i = 0 .. COUNT
//! ```
//!
//! Groups are runs of `group` positions of a segment. The signs `s_v` and the bits `b_iv` are drawn under a key of the
//! segment. Check rows follow the `n` rows, group after group, under the pads of their own positions. So a server knows
//! where they are and nothing of what they sum up.
//!
//! A check row's score is the same sum of the group's scores, up to the noise of them all, and a client asks for that.
//! Let the score of one row be off by more than twice the `tolerance`. Then the reply is accepted for at most one of
//! the two values of `b_iv`. This holds whatever the other errors in it are: the two sums differ by that error. So it
//! passes with probability `2^-COUNT` at most, until refusals that the server notices have told it bits
//! (docs/security/masked.md). Signs alone, `b_iv` in `{-1, 1}`, would not do: sums mod P that differ by twice an error
//! of `P/2` are equal.
//!
//! The signs are there for the noise. Errors of neighbouring rows are coefficients of one product of polynomials. A sum
//! of them with a mean would put half of its weight on two frequencies of it.

use sordino_ckks::column::Params;
use sordino_ckks::precision::statistical_bound;

pub mod balance;
pub mod exact;
pub mod held;

/// Check rows of a group: a changed reply is accepted with probability `2^-40`, where none was refused before.
pub const COUNT: usize = 40;

/// Positions whose bits are drawn together.
pub const RUN: usize = 32;

/// Rows of a group, by the coordinates of a row: noise grows with these, and with the rows of a group. A group has
/// 1,216 rows up to 192 coordinates, which makes 3.3 % more of them, and 416 from 522 on, 9.6 %.
#[must_use]
pub fn group(width: usize) -> usize {
    RUN * (7296 / width.max(1)).clamp(13, 38)
}

/// Check rows of a segment of `n` rows.
#[must_use]
pub fn count(n: usize, width: usize) -> usize {
    COUNT * n.div_ceil(group(width))
}

/// Rows that a masked segment of `n` records stores.
#[must_use]
pub fn stored(n: usize, width: usize) -> usize {
    n + count(n, width)
}

/// Room for the variance of one index's noise, whose public polynomials and rows are drawn once, above the mean
/// over all of them.
const VARIANCE: f64 = 9.0 / 8.0;

/// The most that the score of a check row may be away from the sum of its group, mod P. An honest reply to an index of
/// `rows` check rows exceeds it with probability below `2^-40`.
///
/// A sum is of about half of a group's rows, each with its own error, and the check row has one too.
#[must_use]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the sum of some hundred errors is far below 2^31"
)]
pub fn tolerance(params: &Params, width: usize, rows: usize) -> u32 {
    // Two standard deviations more rows than half of them, and the check row.
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
        // scripts/checks_failure.py derives from docs/scoring.md and docs/security/masked.md how often an honest reply is refused with these.
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
