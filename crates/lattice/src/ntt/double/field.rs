//! Arithmetic mod `q` on registers of doubles.

use super::{Factor, Factors, Lanes};
use crate::modulus::Modulus;

/// The modulus in the forms that the butterflies use.
#[derive(Clone, Copy)]
pub(in crate::ntt) struct Field<T: Lanes<L>, const L: usize> {
    pub(super) lanes: T,
    q: T::Vector,
    per_q: T::Vector,
}

impl<T: Lanes<L>, const L: usize> Field<T, L> {
    #[inline(always)]
    pub(super) fn new(lanes: T, modulus: Modulus) -> Self {
        let q = modulus.q() as f64;
        Self {
            lanes,
            q: lanes.splat(q),
            per_q: lanes.splat(1.0 / q),
        }
    }

    /// `y w mod q`, at most `1/2 + Y/8` in absolute value.
    #[inline(always)]
    pub(super) fn mul(self, y: T::Vector, factor: Factor<T::Vector>) -> T::Vector {
        let quotient = self.lanes.round(self.lanes.mul(y, factor.ratio));
        self.rest(y, factor.w, quotient)
    }

    /// `x y mod q` for canonical factors, at most 7/8 in absolute value.
    #[inline(always)]
    pub(super) fn mul_values(self, x: T::Vector, y: T::Vector) -> T::Vector {
        let product = self.lanes.mul(x, y);
        let quotient = self.lanes.round(self.lanes.mul(product, self.per_q));
        self.rest(x, y, quotient)
    }

    /// `x y - k q`.
    #[inline(always)]
    pub(super) fn rest(self, x: T::Vector, y: T::Vector, k: T::Vector) -> T::Vector {
        let high = self.lanes.mul(x, y);
        let error = self.lanes.sub_product(high, x, y);
        self.lanes
            .sub(self.lanes.sub_product(high, k, self.q), error)
    }

    /// `x mod q`, at most 1/2 in absolute value, plus the error of `1 / q`.
    #[inline(always)]
    pub(super) fn reduce(self, x: T::Vector) -> T::Vector {
        let quotient = self.lanes.round(self.lanes.mul(x, self.per_q));
        self.lanes.sub_product(x, quotient, self.q)
    }

    /// The canonical residue, as words.
    #[inline(always)]
    pub(super) fn canonical(self, x: T::Vector) -> T::Vector {
        let x = self.reduce(x);
        let raised = self.lanes.add(x, self.lanes.where_negative(x, self.q));
        self.lanes.words_of(raised)
    }

    /// Cooley and Tukey's `(x + w y, x - w y)`. Values grow from `Y` to `9 Y / 8 + 1/2`.
    #[inline(always)]
    pub(in crate::ntt) fn cooley_tukey(
        self,
        x: T::Vector,
        y: T::Vector,
        factor: Factor<T::Vector>,
    ) -> (T::Vector, T::Vector) {
        let odd = self.mul(y, factor);
        (self.lanes.add(x, odd), self.lanes.sub(x, odd))
    }

    /// Gentleman and Sande's `(x + y, w (x - y))`. Values grow from `Y` to `2 Y` and `1/2 + Y/4`.
    #[inline(always)]
    pub(in crate::ntt) fn gentleman_sande(
        self,
        x: T::Vector,
        y: T::Vector,
        factor: Factor<T::Vector>,
    ) -> (T::Vector, T::Vector) {
        let difference = self.mul(self.lanes.sub(x, y), factor);
        (self.lanes.add(x, y), difference)
    }

    /// Gentleman and Sande's butterfly with a reduced sum. Values up to `Y = 2` become at most 1.
    #[inline(always)]
    pub(in crate::ntt) fn gentleman_sande_reduced(
        self,
        x: T::Vector,
        y: T::Vector,
        factor: Factor<T::Vector>,
    ) -> (T::Vector, T::Vector) {
        let (sum, difference) = self.gentleman_sande(x, y, factor);
        (self.reduce(sum), difference)
    }

    /// Factor `i` in every lane.
    #[inline(always)]
    pub(super) fn splat(self, factors: &Factors, i: usize) -> Factor<T::Vector> {
        Factor {
            w: self.lanes.splat(factors.w[i]),
            ratio: self.lanes.splat(factors.ratio[i]),
        }
    }

    /// Factors from `i` on, one in each lane.
    #[inline(always)]
    pub(in crate::ntt) fn each(self, factors: &Factors, i: usize) -> Factor<T::Vector> {
        let load = |from: &[f64]| {
            let from = from[i..].first_chunk().expect("a register of factors");
            self.lanes.doubles(from)
        };
        Factor {
            w: load(&factors.w),
            ratio: load(&factors.ratio),
        }
    }
}
