//! Arithmetic modulo a prime `q` of 20 to 50 bits.

/// Why a number is not accepted as a modulus, or a length as a transform length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ModulusError {
    /// `q` is not in the range that the kernels are proven for.
    #[error("modulus {found} is outside 2^20..2^50")]
    Range {
        /// The given modulus.
        found: u64,
    },
    /// `q` is not a prime.
    #[error("modulus {found} is not a prime")]
    Composite {
        /// The given modulus.
        found: u64,
    },
    /// The field has no primitive root of unity of order `2n`.
    #[error("no root of unity of order {order} modulo {q}: need q = 1 mod {order}")]
    NoRoot {
        /// The modulus.
        q: u64,
        /// The required order, `2n`.
        order: u64,
    },
    /// The transform length is not a power of two in the supported range.
    #[error("transform length {found} is not a power of two in 16..=65536")]
    Length {
        /// The given length.
        found: usize,
    },
}

/// A prime `q` with `2^20 < q < 2^50`.
///
/// The upper end makes `4q` fit into the 52 bits that IFMA multiplies, which the lazy butterflies of [`ntt`](crate::ntt) need.
/// All functions take and return values in `[0, q)` unless they say otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Modulus {
    q: u64,
    /// Barrett's `floor(2^(2 bits) / q)`, below `2^(bits + 1)`.
    #[cfg(any(test, not(target_family = "wasm")))]
    barrett: u64,
    /// `floor(2^64 / q)`.
    one_quotient: u64,
    /// `1 / q` in double precision, as bits.
    #[cfg(any(test, target_family = "wasm"))]
    inverse: u64,
    /// `2^64 mod q` and its Shoup quotient `floor((2^64 mod q) 2^64 / q)`.
    two64: (u64, u64),
}

impl Modulus {
    /// The field of `q` elements.
    ///
    /// # Errors
    /// [`ModulusError::Range`] if `q` is not between `2^20` and `2^50`. [`ModulusError::Composite`] if `q` is not a prime.
    pub const fn new(q: u64) -> Result<Self, ModulusError> {
        if q <= 1 << 20 || q >= 1 << 50 {
            return Err(ModulusError::Range { found: q });
        }
        if !is_prime(q) {
            return Err(ModulusError::Composite { found: q });
        }
        #[cfg(any(test, not(target_family = "wasm")))]
        let bits = u64::BITS - q.leading_zeros();
        let two64 = mul_mod(1 << 32, 1 << 32, q);
        #[cfg(any(test, not(target_family = "wasm")))]
        #[expect(clippy::cast_possible_truncation, reason = "at most bits + 1 bits")]
        let barrett = ((1u128 << (2 * bits)) / q as u128) as u64;
        Ok(Self {
            q,
            #[cfg(any(test, not(target_family = "wasm")))]
            barrett,
            one_quotient: shoup_quotient(1, q),
            #[cfg(any(test, target_family = "wasm"))]
            inverse: (1.0 / q as f64).to_bits(),
            two64: (two64, shoup_quotient(two64, q)),
        })
    }

    /// The modulus.
    #[must_use]
    pub const fn q(self) -> u64 {
        self.q
    }

    /// The number of bits of `q`.
    #[must_use]
    pub const fn bits(self) -> u32 {
        u64::BITS - self.q.leading_zeros()
    }

    /// `a + b`.
    #[inline]
    #[must_use]
    pub const fn add(self, a: u64, b: u64) -> u64 {
        subtract_once(a + b, self.q)
    }

    /// `a - b`.
    #[inline]
    #[must_use]
    pub const fn sub(self, a: u64, b: u64) -> u64 {
        subtract_once(a + self.q - b, self.q)
    }

    /// `a b` in constant time, by Barrett's reduction (Handbook of Applied Cryptography, 14.42): the
    /// estimate of the quotient is at most two too small.
    #[inline]
    #[must_use]
    pub const fn mul(self, a: u64, b: u64) -> u64 {
        #[cfg(target_family = "wasm")]
        return self.mul_real(a, b);
        #[cfg(not(target_family = "wasm"))]
        self.mul_wide(a, b)
    }

    /// The definition of [`mul`](Self::mul).
    #[inline]
    #[cfg(any(test, not(target_family = "wasm")))]
    #[expect(clippy::cast_possible_truncation, reason = "parts of known width")]
    const fn mul_wide(self, a: u64, b: u64) -> u64 {
        let product = a as u128 * b as u128;
        let bits = self.bits();
        let top = (product >> (bits - 1)) as u64;
        let quotient = ((top as u128 * self.barrett as u128) >> (bits + 1)) as u64;
        let rest = (product as u64).wrapping_sub(quotient.wrapping_mul(self.q));
        subtract_once(subtract_once(rest, self.q), self.q)
    }

    /// Like [`mul`](Self::mul), without wide products of integers. The quotient in double precision is off by at most 7/8.
    /// Rounding to an integer adds 1/2; the errors of `1 / q` and of the two products add 1/8 each.
    #[inline]
    #[cfg(any(test, target_family = "wasm"))]
    const fn mul_real(self, a: u64, b: u64) -> u64 {
        let product = a.cast_signed() as f64 * b.cast_signed() as f64;
        let quotient = nearest(product * f64::from_bits(self.inverse));
        let rest = a
            .wrapping_mul(b)
            .wrapping_sub(quotient.wrapping_mul(self.q));
        rest.wrapping_add(self.q & (rest.cast_signed() >> 63).cast_unsigned())
    }

    /// Reduces any 64-bit `x`, in constant time.
    #[inline]
    #[must_use]
    pub const fn reduce(self, x: u64) -> u64 {
        subtract_once(mul_lazy(x, 1, self.one_quotient, self.q), self.q)
    }

    /// The residue of a signed integer, `|x| <= 2^52`, in constant time.
    #[inline]
    #[must_use]
    #[expect(
        clippy::cast_sign_loss,
        reason = "raised by a multiple of q above 2^52"
    )]
    pub const fn reduce_signed(self, x: i64) -> u64 {
        self.reduce((x + (self.q << (53 - self.bits())).cast_signed()) as u64)
    }

    /// Reduces any `x`, in constant time. The halves are multiplied by `2^64` and by 1 with Shoup's quotients, which are valid
    /// for every 64-bit factor.
    #[inline]
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "the two halves")]
    pub const fn reduce_wide(self, x: u128) -> u64 {
        let high = mul_lazy((x >> 64) as u64, self.two64.0, self.two64.1, self.q);
        let low = mul_lazy(x as u64, 1, self.one_quotient, self.q);
        subtract_once(subtract_once(high + low, 2 * self.q), self.q)
    }

    /// `a^e`. Not constant-time.
    pub(crate) const fn pow_vartime(self, a: u64, e: u64) -> u64 {
        pow_mod(a, e, self.q)
    }

    /// `1 / a` for `a` not 0. Not constant-time.
    #[must_use]
    pub const fn inverse_vartime(self, a: u64) -> u64 {
        pow_mod(a, self.q - 2, self.q)
    }

    /// The residue of a small signed integer, `|x| < q`, in constant time.
    #[inline]
    #[must_use]
    #[expect(clippy::cast_sign_loss, reason = "the sign is what is folded away")]
    pub const fn from_signed(self, x: i64) -> u64 {
        // x >> 63 is all ones for a negative x.
        (x + ((x >> 63) & self.q.cast_signed())) as u64
    }

    /// The representative of `a` in `(-q/2, q/2)`, in constant time.
    #[inline]
    #[must_use]
    pub const fn centred(self, a: u64) -> i64 {
        // q / 2 - a is negative exactly when a is in the upper half.
        let upper = ((self.q >> 1).wrapping_sub(a)).cast_signed() >> 63;
        a.cast_signed() - (upper & self.q.cast_signed())
    }

    /// The root of unity of order `2n` with the smallest generator: `x^((q-1)/2n)` for the smallest `x` that gives order
    /// exactly `2n`. This choice fixes the order of values in NTT form. Not constant-time.
    pub(crate) fn root_of_unity_vartime(self, order: u64) -> Result<u64, ModulusError> {
        if !(self.q - 1).is_multiple_of(order) {
            return Err(ModulusError::NoRoot { q: self.q, order });
        }
        (2..self.q)
            .map(|x| self.pow_vartime(x, (self.q - 1) / order))
            .find(|&root| self.pow_vartime(root, order / 2) == self.q - 1)
            .ok_or(ModulusError::NoRoot { q: self.q, order })
    }
}

/// Reduces `x < 2q` by at most one subtraction of `q`, without a branch.
#[inline]
pub(crate) const fn subtract_once(x: u64, q: u64) -> u64 {
    let reduced = x.wrapping_sub(q);
    // The top bit is set exactly when x < q.
    let below = (reduced.cast_signed() >> 63).cast_unsigned();
    reduced.wrapping_add(q & below)
}

/// `x w mod q` plus at most one `q`: in `[0, 2q)` for every 64-bit `x`, given `w < q` and `quotient = floor(w 2^64 / q)`.
#[inline]
pub(crate) const fn mul_lazy(x: u64, w: u64, quotient: u64, q: u64) -> u64 {
    let times = ((x as u128 * quotient as u128) >> 64) as u64;
    x.wrapping_mul(w).wrapping_sub(times.wrapping_mul(q))
}

/// The integer nearest to `x`, mod `2^64`, for `|x| < 2^51`. It is constant-time: the sum of `x` and `1.5 2^52` has the integer
/// in its low bits.
#[inline]
#[cfg(any(test, target_family = "wasm"))]
pub(crate) const fn nearest(x: f64) -> u64 {
    const INTEGER: f64 = 6_755_399_441_055_744.0;
    (x + INTEGER).to_bits().wrapping_sub(INTEGER.to_bits())
}

/// `floor(w 2^64 / q)` for `w < q`.
#[expect(clippy::cast_possible_truncation, reason = "w < q")]
pub(crate) const fn shoup_quotient(w: u64, q: u64) -> u64 {
    (((w as u128) << 64) / q as u128) as u64
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "a remainder of q fits 64 bits"
)]
const fn mul_mod(a: u64, b: u64, q: u64) -> u64 {
    (a as u128 * b as u128 % q as u128) as u64
}

const fn pow_mod(a: u64, mut e: u64, q: u64) -> u64 {
    let (mut base, mut power) = (a % q, 1);
    while e > 0 {
        if e & 1 == 1 {
            power = mul_mod(power, base, q);
        }
        base = mul_mod(base, base, q);
        e >>= 1;
    }
    power
}

/// Miller and Rabin's test; these twelve bases decide every 64-bit number (Sorenson and Webster 2015).
const fn is_prime(q: u64) -> bool {
    const BASES: [u64; 12] = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37];
    let twos = (q - 1).trailing_zeros();
    let odd = (q - 1) >> twos;
    let mut index = 0;
    'bases: while index < BASES.len() {
        let mut x = pow_mod(BASES[index], odd, q);
        index += 1;
        if x == 1 || x == q - 1 {
            continue;
        }
        let mut round = 1;
        while round < twos {
            x = mul_mod(x, x, q);
            if x == q - 1 {
                continue 'bases;
            }
            round += 1;
        }
        return false;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const Q: u64 = 1_125_899_906_826_241;

    #[test]
    fn refuses_what_it_must() {
        assert_eq!(
            Modulus::new(1 << 50),
            Err(ModulusError::Range { found: 1 << 50 })
        );
        assert_eq!(Modulus::new(7), Err(ModulusError::Range { found: 7 }));
        let carmichael = 825_265; // 5 * 7 * 17 * 19 * 73
        assert_eq!(
            Modulus::new(carmichael * 101),
            Err(ModulusError::Composite {
                found: carmichael * 101
            })
        );
        assert_eq!(
            Modulus::new(Q).unwrap().root_of_unity_vartime(1 << 40),
            Err(ModulusError::NoRoot {
                q: Q,
                order: 1 << 40
            })
        );
    }

    #[test]
    fn primality_agrees_with_trial_division() {
        for q in (1 << 20) + 1..(1 << 20) + 2000 {
            let divisor = (2u64..1100).find(|d| q % d == 0);
            assert_eq!(Modulus::new(q).is_ok(), divisor.is_none(), "{q}");
        }
    }

    proptest! {
        #[test]
        fn agrees_with_wide_integers(a in 0..Q, b in 0..Q, x: u128, word: u64) {
            let q = Modulus::new(Q).unwrap();
            prop_assert_eq!(q.add(a, b), (a + b) % Q);
            prop_assert_eq!(q.sub(a, b), (a + Q - b) % Q);
            prop_assert_eq!(q.mul(a, b), mul_mod(a, b, Q));
            for (a, b) in [(a, b), (Q - 1, Q - 1), (a, Q - 1), (0, b)] {
                prop_assert_eq!(q.mul_real(a, b), mul_mod(a, b, Q));
            }
            prop_assert_eq!(q.reduce(word), word % Q);
            let signed = word.cast_signed() >> 12;
            prop_assert_eq!(i64::try_from(q.reduce_signed(signed)).unwrap(), signed.rem_euclid(Q as i64));
            prop_assert_eq!(u128::from(q.reduce_wide(x)), x % u128::from(Q));
            let small = Modulus::new((1 << 21) + 17).unwrap();
            let (a21, b21) = (a % small.q(), b % small.q());
            prop_assert_eq!(small.mul(a21, b21), a21 * b21 % small.q());
            prop_assert_eq!(small.mul_real(a21, b21), a21 * b21 % small.q());
            prop_assert_eq!(q.from_signed(q.centred(a)), a);
            prop_assert!(q.centred(a).unsigned_abs() <= Q / 2);
            if a != 0 {
                prop_assert_eq!(q.mul(q.inverse_vartime(a), a), 1);
            }
        }
    }
}
