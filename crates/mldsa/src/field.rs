//! Arithmetic modulo q = 8,380,417 = 2^23 - 2^13 + 1, in signed 32-bit words.
//!
//! A `Poly` has 256 coefficients. Each function states their range.

#![expect(
    clippy::cast_possible_truncation,
    reason = "Montgomery's reduction is defined by the truncation to 32 bits"
)]

/// The modulus q.
pub(crate) const Q: i32 = 8_380_417;

/// q^-1 modulo 2^32.
pub(crate) const Q_INV: i32 = 58_728_449;

/// A polynomial of degree below 256, by its coefficients or by its values (`ntt` gives their
/// order).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C, align(64))]
pub(crate) struct Poly(pub(crate) [i32; 256]);

impl Poly {
    pub(crate) const ZERO: Self = Self([0; 256]);
}

/// FIPS 204, Algorithm 49: `MontgomeryReduce`.
///
/// For |a| < 2^31 q: a value congruent to `a / 2^32`, of absolute value at most `|a| / 2^32 + q /
/// 2`, so below q. (All callers have |a| < 2^55.)
#[inline]
pub(crate) const fn montgomery_reduce(a: i64) -> i32 {
    let m = (a as i32).wrapping_mul(Q_INV);
    ((a - m as i64 * Q as i64) >> 32) as i32
}

/// `a b / 2^32` modulo q, of absolute value below q, for |a b| < 2^31 q.
#[inline]
pub(crate) const fn montgomery_mul(a: i32, b: i32) -> i32 {
    montgomery_reduce(a as i64 * b as i64)
}

/// The value in [0, q) congruent to `a`, for `a` in (-q, q).
#[inline]
pub(crate) const fn canonical(a: i32) -> i32 {
    a + ((a >> 31) & Q)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn q_inv_is_the_inverse_of_q() {
        assert_eq!(Q.wrapping_mul(Q_INV), 1);
    }

    #[test]
    fn montgomery_reduce_at_its_bounds() {
        let limit = (1_i64 << 31) * i64::from(Q) - 1;
        for a in [
            0,
            1,
            -1,
            limit,
            -limit,
            1 << 52,
            -(1 << 52),
            i64::from(Q),
            12_345_678_901,
        ] {
            let r = i64::from(montgomery_reduce(a));
            assert!(r.abs() < i64::from(Q), "{a}: {r}");
            assert_eq!(((r << 32) - a).rem_euclid(i64::from(Q)), 0, "{a}");
        }
    }

    #[test]
    fn canonical_at_its_bounds() {
        for a in [1 - Q, -1, 0, 1, Q - 1] {
            assert_eq!(canonical(a), a.rem_euclid(Q));
        }
    }
}
