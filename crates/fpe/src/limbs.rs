//! Integers of any length, little-endian in 64-bit limbs. FF1 uses them for halves that no machine integer can hold.
//! This code is not constant-time. Products and carries are, but the final correction of [`Modulus`] is not.
//!
//! Notation: `beta = 2^64`.

use crate::reciprocal::{div_3by2, reciprocal_pair};
use alloc::{vec, vec::Vec};

/// Below this many limbs, schoolbook multiplication is faster. The two methods were measured equal between 24 and 40.
const KARATSUBA: usize = 32;

/// `x += y`. Returns the carry. `y` must not be longer than `x`.
pub(crate) fn add(x: &mut [u64], y: &[u64]) -> bool {
    let mut carry = false;
    let (low, high) = x.split_at_mut(y.len());
    for (x, &y) in low.iter_mut().zip(y) {
        (*x, carry) = x.carrying_add_(y, carry);
    }
    for x in high {
        (*x, carry) = x.overflowing_add(u64::from(carry));
    }
    carry
}

/// `x -= y`. Returns the borrow. `y` must not be longer than `x`.
pub(crate) fn sub(x: &mut [u64], y: &[u64]) -> bool {
    let mut borrow = false;
    let (low, high) = x.split_at_mut(y.len());
    for (x, &y) in low.iter_mut().zip(y) {
        (*x, borrow) = x.borrowing_sub_(y, borrow);
    }
    for x in high {
        (*x, borrow) = x.overflowing_sub(u64::from(borrow));
    }
    borrow
}

/// Addition and subtraction with a carry.
trait Carry: Sized {
    fn carrying_add_(self, y: Self, carry: bool) -> (Self, bool);
    fn borrowing_sub_(self, y: Self, borrow: bool) -> (Self, bool);
}

impl Carry for u64 {
    #[inline(always)]
    fn carrying_add_(self, y: Self, carry: bool) -> (Self, bool) {
        let (t, c) = self.overflowing_add(y);
        let (t, d) = t.overflowing_add(Self::from(carry));
        (t, c | d)
    }
    #[inline(always)]
    fn borrowing_sub_(self, y: Self, borrow: bool) -> (Self, bool) {
        let (t, c) = self.overflowing_sub(y);
        let (t, d) = t.overflowing_sub(Self::from(borrow));
        (t, c | d)
    }
}

/// `x < y`, for equal lengths.
pub(crate) fn less(x: &[u64], y: &[u64]) -> bool {
    x.iter().rev().lt(y.iter().rev())
}

/// `x = m * x + carry`. Returns the limb that does not fit.
#[expect(clippy::cast_possible_truncation, reason = "low half of a product")]
pub(crate) fn mul_small(x: &mut [u64], m: u64, mut carry: u64) -> u64 {
    for limb in x {
        let t = u128::from(*limb) * u128::from(m) + u128::from(carry);
        *limb = t as u64;
        carry = (t >> 64) as u64;
    }
    carry
}

/// `x += m * y`, for equal lengths. Returns the limb that does not fit.
#[expect(clippy::cast_possible_truncation, reason = "low half of a product")]
fn add_mul(x: &mut [u64], m: u64, y: &[u64]) -> u64 {
    let mut carry = 0;
    for (x, &y) in x.iter_mut().zip(y) {
        let t = u128::from(y) * u128::from(m) + u128::from(*x) + u128::from(carry);
        *x = t as u64;
        carry = (t >> 64) as u64;
    }
    carry
}

/// `x -= m * y`, for equal lengths. Returns the limb that is still to be subtracted.
#[expect(clippy::cast_possible_truncation, reason = "low half of a product")]
fn sub_mul(x: &mut [u64], m: u64, y: &[u64]) -> u64 {
    let mut carry = 0u64;
    for (x, &y) in x.iter_mut().zip(y) {
        let t = u128::from(y) * u128::from(m) + u128::from(carry);
        let (r, borrow) = x.overflowing_sub(t as u64);
        *x = r;
        carry = (t >> 64) as u64 + u64::from(borrow);
    }
    carry
}

/// `a * b`, of `a.len() + b.len()` limbs.
pub(crate) fn mul(a: &[u64], b: &[u64]) -> Vec<u64> {
    let mut out = vec![0; a.len() + b.len()];
    let (short, long) = if a.len() < b.len() { (a, b) } else { (b, a) };
    if short.len() < KARATSUBA {
        for (i, &m) in short.iter().enumerate() {
            out[i + long.len()] = add_mul(&mut out[i..i + long.len()], m, long);
        }
    } else if long.len() < 2 * short.len() {
        // Karatsuba: z1 = (a1 + a0)(b1 + b0) - z2 - z0, split at half of the longer factor.
        let half = long.len().div_ceil(2);
        let ((a0, a1), (b0, b1)) = (long.split_at(half), short.split_at(half));
        let (z0, z2) = (mul(a0, b0), mul(a1, b1));
        let sum = |low: &[u64], high: &[u64]| {
            let mut sum = low.to_vec();
            sum.push(0);
            add(&mut sum, high);
            sum
        };
        let mut z1 = mul(&sum(a0, a1), &sum(b0, b1));
        sub(&mut z1, &z0);
        sub(&mut z1, &z2);
        out[..z0.len()].copy_from_slice(&z0);
        out[2 * half..].copy_from_slice(&z2);
        let room = out.len() - half;
        add(&mut out[half..], trim(&z1[..z1.len().min(room)]));
    } else {
        for (i, piece) in long.chunks(short.len()).enumerate() {
            add(&mut out[i * short.len()..], &mul(piece, short));
        }
    }
    out
}

/// `x` without leading zero limbs.
pub(crate) fn trim(x: &[u64]) -> &[u64] {
    let len = x.iter().rposition(|&limb| limb != 0).map_or(0, |i| i + 1);
    &x[..len]
}

/// `radix^exponent`, without leading zero limbs.
pub(crate) fn power(radix: u64, exponent: usize) -> Vec<u64> {
    let mut x = vec![1];
    for bit in (0..usize::BITS - exponent.leading_zeros()).rev() {
        x = mul(&x, &x);
        if (exponent >> bit) & 1 == 1 {
            let carry = mul_small(&mut x, radix, 0);
            x.push(carry);
        }
        x.truncate(trim(&x).len());
    }
    x
}

/// Shifts `x` left within its limbs, by less than 64 bits, and returns the bits that do not fit.
pub(crate) fn shift_left(x: &mut [u64], shift: u32) -> u64 {
    let mut spill = 0;
    for limb in x {
        let out = (*limb >> 1) >> (63 - shift);
        *limb = (*limb << shift) | spill;
        spill = out;
    }
    spill
}

/// `x >> shift`, for a shift below 64.
fn shift_right(x: &mut [u64], shift: u32) {
    let mut spill = 0;
    for limb in x.iter_mut().rev() {
        let out = (*limb << 1) << (63 - shift);
        *limb = (*limb >> shift) | spill;
        spill = out;
    }
}

/// A public modulus of three limbs or more.
#[derive(Clone)]
pub(crate) struct Modulus {
    /// The modulus, without leading zero limbs.
    pub(crate) m: Vec<u64>,
    /// `m << shift`, whose top bit is set.
    pub(crate) d: Vec<u64>,
    pub(crate) shift: u32,
    v: u64,
}

impl Modulus {
    /// # Panics
    /// Panics if `m` has fewer than two limbs, or a leading zero limb.
    pub(crate) fn new(m: Vec<u64>) -> Self {
        let shift = m[m.len() - 1].leading_zeros();
        let mut d = m.clone();
        shift_left(&mut d, shift);
        let v = reciprocal_pair(top(&d));
        Self { m, d, shift, v }
    }

    /// `y mod m`, in the first limbs of `y`. `y` must be longer than `m`, and its last limb zero.
    ///
    /// Knuth, The Art of Computer Programming 4.3.1, Algorithm D. A reciprocal of the two top limbs gives the quotient
    /// limb, which is at most one too large.
    pub(crate) fn reduce(&self, y: &mut [u64]) {
        let n = self.d.len();
        let d = top(&self.d);
        shift_left(y, self.shift);
        for j in (0..y.len() - n).rev() {
            let window = &mut y[j..=j + n];
            let high = top(window);
            let q = if high >= d {
                u64::MAX
            } else {
                div_3by2(high, window[n - 2], d, self.v).0
            };
            let borrow = sub_mul(&mut window[..n], q, &self.d);
            let (rest, under) = window[n].overflowing_sub(borrow);
            window[n] = rest;
            if under {
                let carry = add(&mut window[..n], &self.d);
                window[n] = window[n].wrapping_add(u64::from(carry));
            }
        }
        shift_right(&mut y[..n], self.shift);
    }

    /// `a = (a + y) mod m` for `a, y < m`. `a` and `m` have the same number of limbs.
    pub(crate) fn add(&self, a: &mut [u64], y: &[u64]) {
        if add(a, y) || !less(a, &self.m) {
            sub(a, &self.m);
        }
    }

    /// `a = (a - y) mod m` for `a, y < m`. `a` and `m` have the same number of limbs.
    pub(crate) fn sub(&self, a: &mut [u64], y: &[u64]) {
        if sub(a, y) {
            add(a, &self.m);
        }
    }
}

/// The two top limbs.
fn top(x: &[u64]) -> u128 {
    (u128::from(x[x.len() - 1]) << 64) | u128::from(x[x.len() - 2])
}

/// `X` of `n + 1` limbs with `a X < beta^2n < a (X + 2)`, for `a` of `n` limbs whose top bit is set.
///
/// Brent and Zimmermann, Modern Computer Arithmetic, Algorithm 3.5: ApproximateReciprocal.
#[expect(clippy::cast_possible_truncation, reason = "limbs of a pair")]
pub(crate) fn reciprocal(a: &[u64]) -> Vec<u64> {
    let n = a.len();
    if n == 1 {
        let x = u128::MAX / u128::from(a[0]);
        return vec![x as u64, (x >> 64) as u64];
    }
    if n == 2 {
        // floor((beta^4 - 1) / a), whose first limb is 1.
        let (d, v) = (top(a), reciprocal_pair(top(a)));
        let (q1, r) = div_3by2(u128::MAX - d, u64::MAX, d, v);
        let (q0, _) = div_3by2(r, u64::MAX, d, v);
        return vec![q0, q1, 1];
    }
    let l = (n - 1) / 2;
    let h = n - l;
    let mut x = reciprocal(&a[l..]);
    let mut t = mul(a, &x);
    while t[n + h] != 0 {
        sub(&mut x, &[1]);
        sub(&mut t, a);
    }
    // beta^(n+h) - t
    let mut rest = vec![0; n + h + 1];
    rest[n + h] = 1;
    sub(&mut rest, &t[..n + h]);
    let u = mul(trim(&rest[l..]), &x);
    let mut out = vec![0; l];
    out.extend(x);
    let u = u.get(2 * h - l..).unwrap_or(&[]);
    add(&mut out, trim(u));
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::{collection::vec, prelude::*};

    /// `a * b`, by the definition.
    fn schoolbook(a: &[u64], b: &[u64]) -> Vec<u64> {
        let mut out = std::vec![0; a.len() + b.len()];
        for (i, &m) in a.iter().enumerate() {
            out[i + b.len()] = add_mul(&mut out[i..i + b.len()], m, b);
        }
        out
    }

    fn limb() -> impl Strategy<Value = u64> {
        prop_oneof![
            any::<u64>(),
            Just(0),
            Just(u64::MAX),
            Just(1),
            Just(1 << 63)
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]

        #[test]
        fn karatsuba_equals_schoolbook(a in vec(limb(), 1..200), b in vec(limb(), 1..200)) {
            prop_assert_eq!(mul(&a, &b), schoolbook(&a, &b));
        }

        #[test]
        fn reduction_equals_its_definition(
            mut m in vec(limb(), 2..20), q in vec(limb(), 1..4), r in vec(limb(), 20),
        ) {
            let last = m.len() - 1;
            m[last] |= 1;
            let modulus = Modulus::new(m.clone());
            let mut r = r[..m.len()].to_vec();
            r[last] &= m[last] >> 1;
            let mut y = schoolbook(&m, &q);
            prop_assume!(less(&r, &m));
            add(&mut y, &r);
            y.push(0);
            modulus.reduce(&mut y);
            prop_assert_eq!(&y[..m.len()], &r[..]);
        }

        #[test]
        fn reciprocals_are_close(mut a in vec(limb(), 1..120)) {
            let n = a.len();
            a[n - 1] |= 1 << 63;
            let mut x = reciprocal(&a);
            prop_assert_eq!(x.len(), n + 1);
            let below = |x: &[u64]| trim(&schoolbook(&a, x)).len() <= 2 * n;
            prop_assert!(below(&x));
            add(&mut x, &[2]);
            // a (X + 2) > beta^2n
            prop_assert!(!below(&x));
        }
    }
}
