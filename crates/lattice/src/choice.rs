//! Comparisons without a branch, for numbers that may be secret.

/// 1 if two indices are equal, else 0, without a branch.
///
/// ```
/// use sordino_lattice::choice::equal;
/// assert_eq!([equal(7, 7), equal(7, 6)], [1, 0]);
/// ```
#[inline]
#[must_use]
#[expect(clippy::cast_possible_truncation, reason = "a flag")]
pub const fn equal(a: usize, b: usize) -> u32 {
    let difference = (a ^ b) as u64;
    let nonzero = (difference | difference.wrapping_neg()) >> 63;
    (nonzero ^ 1) as u32
}
