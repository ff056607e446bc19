//! Division of secret integers by public ones, without a division instruction and without a branch. It multiplies by a
//! reciprocal that is computed once, from the public divisor.
//!
//! | name | what | source |
//! |---|---|---|
//! | [`Divisor64`], [`Divisor128`] | exact quotient and remainder | Granlund and Montgomery, "Division by invariant integers using multiplication", Figure 4.1 |
//! | [`Modulus64`], [`Modulus128`] | remainder of a wider integer | Möller and Granlund, "Improved division by invariant integers", Algorithms 4 and 5 |

#![expect(
    clippy::cast_possible_truncation,
    reason = "every narrowing here takes the low half of a product or of a pair of limbs"
)]

use crate::feistel::Direction;

/// All ones if `x`, else zero. The black box hides from the compiler that there are only two cases, because compilers turn these
/// into branches.
#[inline(always)]
fn mask(x: bool) -> u64 {
    core::hint::black_box(u64::from(x)).wrapping_neg()
}

/// Like [`mask`], with 128 bits.
#[inline(always)]
fn mask128(x: bool) -> u128 {
    let half = u128::from(mask(x));
    (half << 64) | half
}

/// `(a + r) mod m` for `a, r < m`, even if `a + r` overflows.
#[inline(always)]
fn add_mod(a: u64, r: u64, m: u64) -> u64 {
    let (sum, carry) = a.overflowing_add(r);
    let (t, borrow) = sum.overflowing_sub(m);
    t.wrapping_add(m & mask(borrow & !carry))
}

/// `(a - r) mod m` for `a, r < m`.
#[inline(always)]
fn sub_mod(a: u64, r: u64, m: u64) -> u64 {
    let (t, borrow) = a.overflowing_sub(r);
    t.wrapping_add(m & mask(borrow))
}

/// `(a + r) mod m` for `a, r < m`, even if `a + r` overflows.
#[inline(always)]
fn add_mod_128(a: u128, r: u128, m: u128) -> u128 {
    let (sum, carry) = a.overflowing_add(r);
    let (t, borrow) = sum.overflowing_sub(m);
    t.wrapping_add(m & mask128(borrow & !carry))
}

/// `(a - r) mod m` for `a, r < m`.
#[inline(always)]
fn sub_mod_128(a: u128, r: u128, m: u128) -> u128 {
    let (t, borrow) = a.overflowing_sub(r);
    t.wrapping_add(m & mask128(borrow))
}

/// [`add_mod`] forward, or [`sub_mod`] backward.
#[inline(always)]
pub(crate) fn mix_mod<const D: Direction>(a: u64, r: u64, m: u64) -> u64 {
    if D {
        add_mod(a, r, m)
    } else {
        sub_mod(a, r, m)
    }
}

/// Like [`mix_mod`], with 128 bits.
#[inline(always)]
pub(crate) fn mix_mod_128<const D: Direction>(a: u128, r: u128, m: u128) -> u128 {
    if D {
        add_mod_128(a, r, m)
    } else {
        sub_mod_128(a, r, m)
    }
}

/// The upper and the lower half of `a * b`.
#[inline(always)]
fn widening(a: u64, b: u64) -> (u64, u64) {
    let p = u128::from(a) * u128::from(b);
    ((p >> 64) as u64, p as u64)
}

/// The upper half of the 256 bits of `a * b`.
#[inline(always)]
fn high_128(a: u128, b: u128) -> u128 {
    let (a1, a0) = ((a >> 64) as u64, a as u64);
    let (b1, b0) = ((b >> 64) as u64, b as u64);
    let low = u128::from(a0) * u128::from(b0);
    let m = u128::from(a1) * u128::from(b0) + (low >> 64);
    let n = u128::from(a0) * u128::from(b1) + u128::from(m as u64);
    u128::from(a1) * u128::from(b1) + (m >> 64) + (n >> 64)
}

/// A public divisor of 64-bit integers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Divisor64 {
    d: u64,
    reciprocal: u64,
    shift: u32,
}

impl Divisor64 {
    /// A divisor `d >= 2`.
    pub(crate) const fn new(d: u64) -> Self {
        debug_assert!(d >= 2);
        let l = 64 - (d - 1).leading_zeros();
        let power = 1u128 << l;
        let reciprocal = (((power - d as u128) << 64) / d as u128 + 1) as u64;
        Self {
            d,
            reciprocal,
            shift: l - 1,
        }
    }

    /// `(x / d, x mod d)`.
    #[inline(always)]
    pub(crate) fn div_rem(self, x: u64) -> (u64, u64) {
        let (t, _) = widening(self.reciprocal, x);
        let q = t.wrapping_add(x.wrapping_sub(t) >> 1) >> self.shift;
        (q, x.wrapping_sub(q.wrapping_mul(self.d)))
    }
}

/// A public divisor of 128-bit integers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Divisor128 {
    d: u128,
    reciprocal: u128,
    shift: u32,
}

impl Divisor128 {
    /// A divisor `d >= 2`.
    pub(crate) fn new(d: u128) -> Self {
        debug_assert!(d >= 2);
        let l = 128 - (d - 1).leading_zeros();
        // 2^128 (2^l - d) / d, one bit at a time. This happens once per plan, and on public numbers.
        let mut rest = if l == 128 {
            d.wrapping_neg()
        } else {
            (1 << l) - d
        };
        let mut reciprocal = 0u128;
        for _ in 0..128 {
            let carry = rest >> 127 == 1;
            rest <<= 1;
            reciprocal <<= 1;
            if carry || rest >= d {
                rest = rest.wrapping_sub(d);
                reciprocal |= 1;
            }
        }
        Self {
            d,
            reciprocal: reciprocal.wrapping_add(1),
            shift: l - 1,
        }
    }

    /// `(x / d, x mod d)`.
    #[inline(always)]
    pub(crate) fn div_rem(self, x: u128) -> (u128, u128) {
        let t = high_128(self.reciprocal, x);
        let q = t.wrapping_add(x.wrapping_sub(t) >> 1) >> self.shift;
        (q, x.wrapping_sub(q.wrapping_mul(self.d)))
    }
}

/// Möller and Granlund, `RECIPROCAL_WORD`: `floor((2^128 - 1) / d) - 2^64` for `d >= 2^63`.
pub(crate) const fn reciprocal_word(d: u64) -> u64 {
    debug_assert!(d >> 63 == 1);
    (u128::MAX / d as u128) as u64
}

/// Möller and Granlund, Algorithm 4: the quotient and the remainder of `u1 u0` by `d`, for
/// `u1 < d`, `d >= 2^63` and `v` the reciprocal word of `d`.
#[inline(always)]
pub(crate) fn div_2by1(u1: u64, u0: u64, d: u64, v: u64) -> (u64, u64) {
    let q = u128::from(v)
        .wrapping_mul(u128::from(u1))
        .wrapping_add((u128::from(u1) << 64) | u128::from(u0));
    let (q1, q0) = (((q >> 64) as u64).wrapping_add(1), q as u64);
    let r = u0.wrapping_sub(q1.wrapping_mul(d));
    let over = mask(r > q0);
    let (q1, r) = (q1.wrapping_add(over), r.wrapping_add(d & over));
    let under = mask(r >= d);
    (q1.wrapping_sub(under), r.wrapping_sub(d & under))
}

/// Möller and Granlund, Algorithm 6: the reciprocal of the two-word divisor `d >= 2^127`.
pub(crate) fn reciprocal_pair(d: u128) -> u64 {
    let (d1, d0) = ((d >> 64) as u64, d as u64);
    let mut v = reciprocal_word(d1);
    let mut p = d1.wrapping_mul(v).wrapping_add(d0);
    if p < d0 {
        v = v.wrapping_sub(1);
        if p >= d1 {
            v = v.wrapping_sub(1);
            p = p.wrapping_sub(d1);
        }
        p = p.wrapping_sub(d1);
    }
    let (t1, t0) = widening(v, d0);
    p = p.wrapping_add(t1);
    if p < t1 {
        v = v.wrapping_sub(1);
        if ((u128::from(p) << 64) | u128::from(t0)) >= d {
            v = v.wrapping_sub(1);
        }
    }
    v
}

/// Möller and Granlund, Algorithm 5: the quotient and the remainder of `u21 u0` by `d`, for `u21 < d`, `d >= 2^127` and `v` the
/// reciprocal of the pair.
#[inline(always)]
pub(crate) fn div_3by2(u21: u128, u0: u64, d: u128, v: u64) -> (u64, u128) {
    let (u2, u1) = ((u21 >> 64) as u64, u21 as u64);
    let (d1, d0) = ((d >> 64) as u64, d as u64);
    let q = u128::from(v).wrapping_mul(u128::from(u2)).wrapping_add(u21);
    let (q1, q0) = ((q >> 64) as u64, q as u64);
    let r1 = u1.wrapping_sub(q1.wrapping_mul(d1));
    let t = u128::from(d0) * u128::from(q1);
    let r = ((u128::from(r1) << 64) | u128::from(u0))
        .wrapping_sub(t)
        .wrapping_sub(d);
    let q1 = q1.wrapping_add(1);
    let over = (r >> 64) as u64 >= q0;
    let (q1, r) = (
        q1.wrapping_add(mask(over)),
        r.wrapping_add(d & mask128(over)),
    );
    let under = r >= d;
    (
        q1.wrapping_sub(mask(under)),
        r.wrapping_sub(d & mask128(under)),
    )
}

/// A public modulus `2 <= m < 2^64` of integers below `2^128`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Modulus64 {
    pub(crate) m: u64,
    d: u64,
    v: u64,
    shift: u32,
}

impl Modulus64 {
    pub(crate) const fn new(m: u64) -> Self {
        let shift = m.leading_zeros();
        let d = m << shift;
        Self {
            m,
            d,
            v: reciprocal_word(d),
            shift,
        }
    }

    /// `y mod m` for `y < 2^128`.
    #[inline(always)]
    pub(crate) fn reduce(self, y: u128) -> u64 {
        // The shifted y has three words. The first one is below 2^shift <= d.
        let top = ((y >> 64) as u64 >> 1) >> (63 - self.shift);
        let y = y << self.shift;
        let (_, r) = div_2by1(top, (y >> 64) as u64, self.d, self.v);
        let (_, r) = div_2by1(r, y as u64, self.d, self.v);
        r >> self.shift
    }
}

/// A public modulus `2 <= m < 2^128` of integers below `2^192`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Modulus128 {
    pub(crate) m: u128,
    d: u128,
    v: u64,
    shift: u32,
}

impl Modulus128 {
    pub(crate) fn new(m: u128) -> Self {
        let shift = m.leading_zeros();
        let d = m << shift;
        Self {
            m,
            d,
            v: reciprocal_pair(d),
            shift,
        }
    }

    /// `y mod m` for `y = high * 2^64 + low`.
    #[inline(always)]
    pub(crate) fn reduce(self, high: u128, low: u64) -> u128 {
        // The shifted y has five words. The shift is below 128 and public.
        let (word, bit) = (self.shift / 64, self.shift % 64);
        let y = [low, high as u64, (high >> 64) as u64, 0];
        let spill = |x: u64| (x >> 1) >> (63 - bit);
        let z = [
            y[0] << bit,
            (y[1] << bit) | spill(y[0]),
            (y[2] << bit) | spill(y[1]),
            spill(y[2]),
        ];
        let pair = |a: u64, b: u64| (u128::from(a) << 64) | u128::from(b);
        let (d, v) = (self.d, self.v);
        let r = if word == 0 {
            let (_, r) = div_3by2(pair(z[3], z[2]), z[1], d, v);
            div_3by2(r, z[0], d, v).1
        } else {
            let (_, r) = div_3by2(pair(0, z[3]), z[2], d, v);
            let (_, r) = div_3by2(r, z[1], d, v);
            let (_, r) = div_3by2(r, z[0], d, v);
            div_3by2(r, 0, d, v).1
        };
        r >> self.shift
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Divisors near powers of two and powers of radices, where mistakes in reciprocals are likely.
    fn divisor() -> impl Strategy<Value = u128> {
        prop_oneof![
            (1u32..128, -2i32..3)
                .prop_map(|(bits, off)| (1u128 << bits).wrapping_add_signed(off.into()).max(2)),
            (2u128..70_000, 1u32..8).prop_map(|(radix, n)| radix.pow(n)),
            any::<u128>().prop_map(|x| x.max(2)),
            (any::<u128>(), 0u32..127).prop_map(|(x, s)| (x >> s).max(2)),
        ]
    }

    fn dividend() -> impl Strategy<Value = u128> {
        prop_oneof![
            any::<u128>(),
            (0u32..128, -2i32..3)
                .prop_map(|(bits, off)| (1u128 << bits).wrapping_add_signed(off.into())),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]

        #[test]
        fn quotients_are_exact(d in divisor(), x in dividend(), near in any::<bool>()) {
            let x = if near { (x / d).wrapping_mul(d).wrapping_sub(u128::from(x & 1 == 1)) } else { x };
            prop_assert_eq!(Divisor128::new(d).div_rem(x), (x / d, x % d));
            let (d, x) = ((d as u64).max(2), x as u64);
            prop_assert_eq!(Divisor64::new(d).div_rem(x), (x / d, x % d));
        }

        #[test]
        fn remainders_are_exact(m in divisor(), x in dividend(), low in any::<u64>()) {
            // Computes 2^64 (x mod m) + low, mod m, by doubling.
            let mut r = x % m;
            for bit in (0..64).rev() {
                r = add_mod_128(r, r, m);
                r = add_mod_128(r, u128::from((low >> bit) & 1) % m, m);
            }
            prop_assert_eq!(Modulus128::new(m).reduce(x, low), r);
            let m = (m as u64).max(2);
            prop_assert_eq!(u128::from(Modulus64::new(m).reduce(x)), x % u128::from(m));
        }

        #[test]
        fn sums_wrap_once(m in divisor(), a in any::<u128>(), b in any::<u128>()) {
            let (a, b) = (a % m, b % m);
            let sum = add_mod_128(a, b, m);
            prop_assert!(sum < m);
            prop_assert_eq!(sub_mod_128(sum, b, m), a);
            let m = (m as u64).max(2);
            let (a, b) = (a as u64 % m, b as u64 % m);
            prop_assert_eq!(u128::from(add_mod(a, b, m)), (u128::from(a) + u128::from(b)) % u128::from(m));
            prop_assert_eq!(sub_mod(add_mod(a, b, m), b, m), a);
        }
    }
}
