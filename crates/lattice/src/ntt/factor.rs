//! Products with constant factors, lazily reduced.

use crate::modulus::Modulus;

/// The factor type of portable transforms. WebAssembly has no wide products of integers, so there the quotient is computed in
/// double precision.
#[cfg(not(target_family = "wasm"))]
pub(super) type Factor = Wide;
#[cfg(target_family = "wasm")]
pub(super) type Factor = Real;

/// The portable definition: a factor `w < q` with Shoup's quotient.
#[derive(Clone, Copy, Debug)]
#[cfg(any(test, not(target_family = "wasm")))]
pub(super) struct Wide {
    w: u64,
    quotient: u64,
}

#[cfg(any(test, not(target_family = "wasm")))]
impl Wide {
    pub(super) fn new(w: u64, modulus: Modulus) -> Self {
        let quotient = crate::modulus::shoup_quotient(w, modulus.q());
        Self { w, quotient }
    }

    /// `x w mod q` plus at most one `q`: in `[0, 2q)` for every 64-bit `x`.
    #[inline]
    pub(super) fn times(self, x: u64, q: u64) -> u64 {
        crate::modulus::mul_lazy(x, self.w, self.quotient, q)
    }
}

/// A factor in `(-q/2, q/2)`, and its quotient by `q`.
#[derive(Clone, Copy, Debug)]
#[cfg(any(test, target_family = "wasm"))]
pub(super) struct Real {
    w: u64,
    ratio: f64,
}

#[cfg(any(test, target_family = "wasm"))]
impl Real {
    pub(super) fn new(w: u64, modulus: Modulus) -> Self {
        let w = modulus.centred(w);
        Self {
            w: w.cast_unsigned(),
            ratio: w as f64 / modulus.q() as f64,
        }
    }

    /// `x w mod q` plus at most one `q`: in `(0, 2q)` for `x < 4q`.
    ///
    /// The quotient `x w / q` is below `2^51` in absolute value. Rounding moves it by at most 1/4 in `w / q`, 1/8 in the product
    /// and 1/2 in the integer. So the remainder is in `(-7q/8, 7q/8)`, and right mod `2^64`.
    #[inline]
    pub(super) fn times(self, x: u64, q: u64) -> u64 {
        let quotient = crate::modulus::nearest(x.cast_signed() as f64 * self.ratio);
        let rest = x
            .wrapping_mul(self.w)
            .wrapping_sub(quotient.wrapping_mul(q));
        rest.wrapping_add(q)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn both_products_are_the_same_residue(w: u64, x: u64, at in 0usize..3) {
            let q = [1_125_899_906_826_241, 1_099_511_590_913, (1 << 21) + 17][at];
            let modulus = Modulus::new(q).unwrap();
            for (w, x) in [(w % q, x % (4 * q)), (q / 2, 4 * q - 1), (q / 2 + 1, 4 * q - 1), (q - 1, x % (4 * q)), (0, 7), (w % q, 0)] {
                let (wide, real) = (Wide::new(w, modulus).times(x, q), Real::new(w, modulus).times(x, q));
                prop_assert!(wide < 2 * q && real < 2 * q, "{} {} {}", w, x, q);
                let expected = u128::from(w) * u128::from(x) % u128::from(q);
                prop_assert_eq!(u128::from(wide % q), expected);
                prop_assert_eq!(u128::from(real % q), expected);
            }
        }
    }
}
