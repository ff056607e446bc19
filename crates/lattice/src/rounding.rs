//! Rounding without a branch, ties to even, for values that may be secret.
//!
//! The direction of ties matters where many errors are added up. Dropping `s` bits with ties upwards errs by
//! `-(2^(s-1) - 1)` to `2^(s-1)`, half a unit on average. If `m` such errors are added with equal signs, their mean
//! alone moves the sum by `m / 2`. With ties to even the mean is zero.

/// The integer nearest to `x`, ties to even, for `|x| < 2^51`: adding `1.5 * 2^52` leaves the integer in the low bits
/// of the sum. For any other `x` the returned integer is arbitrary.
///
/// ```
/// use sordino_lattice::rounding::nearest;
/// assert_eq!([2.5, 3.5, -0.4, -7.6].map(nearest), [2, 4, 0, -8]);
/// ```
#[inline]
#[must_use]
pub const fn nearest(x: f64) -> i64 {
    const SHIFT: f64 = 6_755_399_441_055_744.0;
    (x + SHIFT).to_bits().cast_signed() - SHIFT.to_bits().cast_signed()
}

/// `x / 2^dropped` to the nearest integer, ties to even, for `x` below `2^63` and `dropped` below 63. The
/// number of dropped bits is public.
///
/// ```
/// use sordino_lattice::rounding::shift;
/// assert_eq!([9, 10, 11, 14].map(|x| shift(x, 2)), [2, 2, 3, 4]);
/// ```
#[inline]
#[must_use]
pub const fn shift(x: u64, dropped: u32) -> u64 {
    if dropped == 0 {
        return x;
    }
    let odd = x >> dropped & 1;
    (x + ((1 << (dropped - 1)) - 1 + odd)) >> dropped
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn nearest_is_round_ties_even(x in -2e15..2e15f64, y in -4.0..4.0f64, half in -1000..1000i32) {
            prop_assert_eq!(nearest(x) as f64, x.round_ties_even());
            prop_assert_eq!(nearest(y) as f64, y.round_ties_even());
            let tie = f64::from(half) / 2.0;
            prop_assert_eq!(nearest(tie) as f64, tie.round_ties_even());
        }

        #[test]
        fn shift_is_round_ties_even(x in 0..1u64 << 52, dropped in 0..52u32) {
            let quotient = x as f64 / 2f64.powi(dropped.cast_signed());
            prop_assert_eq!(shift(x, dropped) as f64, quotient.round_ties_even());
        }
    }

    #[test]
    fn errors_of_shift_add_up_to_nothing_over_a_period() {
        for dropped in 0..=16 {
            let errors = (0..1u64 << (dropped + 1)).map(|x| {
                let rounded = shift(x, dropped) << dropped;
                rounded.cast_signed() - x.cast_signed()
            });
            let (sum, worst) = errors.fold((0, 0), |(sum, worst), error| {
                (sum + error, worst.max(error.abs()))
            });
            assert_eq!((sum, worst), (0, (1 << dropped) >> 1), "{dropped} bits");
        }
    }
}
