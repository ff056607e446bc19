//! The bound on wrong records. Its terms are derived in the module's documentation.

use sordino_lattice::gadget::Gadget;
use sordino_lattice::noise;
use sordino_lattice::sample::cbd;

use super::Params;
use crate::hintless::ring::{DROPPED, GADGETS, N, modulus};

/// For sums of squares that exceed their mean.
const SLACK: f64 = 1.125;

/// The variance of a coefficient of a ternary secret.
const OF_SECRET: f64 = 2.0 / 3.0;

/// The variance that a switch with this gadget adds to a coefficient.
pub(crate) fn of_switch(gadget: Gadget) -> f64 {
    let squared = |log: u32| f64::from(2 * log).exp2();
    let digits = gadget.digits() as f64 * cbd::VARIANCE * (squared(gadget.log_z()) + 2.0) / 12.0;
    N as f64 * (digits + OF_SECRET * squared(gadget.dropped()) / 12.0)
}

/// `E`: the energy of a selector's noise, the sum of its coefficients' variances.
pub(crate) fn of_selector(depth: u32) -> f64 {
    let switches: f64 = GADGETS[..depth as usize]
        .iter()
        .zip((0..depth).rev())
        .map(|(gadget, later)| f64::from(later).exp2() * of_switch(*gadget))
        .sum();
    let fresh = cbd::VARIANCE + f64::from(2 * DROPPED).exp2() / 12.0 + 1.0 / 6.0;
    N as f64 * switches + f64::from(2 * depth).exp2() * fresh
}

impl Params {
    /// The variance of a coefficient of an answer before it is rounded.
    pub(crate) fn of_sum(&self) -> f64 {
        let plaintext = (f64::from(2 * self.log_p).exp2() + 2.0) / 12.0;
        self.columns() as f64 * of_selector(self.depth) * plaintext
    }

    /// The variance that rounding adds, in the units of `q`.
    pub(crate) fn of_rounding(&self) -> f64 {
        let [k0, k1] = self.answer_bits;
        let unit = modulus().q() as f64 / f64::from(k1).exp2();
        let steps = OF_SECRET * N as f64 + 1.0 + f64::from(2 * (k1 - k0)).exp2();
        unit * unit * steps / 12.0
    }

    /// `log2` of the probability that a record is wrong that was not left out.
    ///
    /// `scripts/hintless_failure.py` derives this number again from the scheme's definition.
    #[must_use]
    pub fn log2_failure(&self) -> f64 {
        let radius = noise::radius(modulus().q(), 1 << self.log_p);
        let variance = SLACK * (self.of_sum() + self.of_rounding());
        let coefficients = (8 * self.record_len).div_ceil(self.log_p as usize);
        noise::log2_union(noise::log2_tail(radius, variance), coefficients as f64)
    }
}
