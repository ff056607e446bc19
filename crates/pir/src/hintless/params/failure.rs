//! The bound on wrong records. Its terms are derived in the module's documentation.

use std::sync::OnceLock;

use sordino_lattice::gadget::Gadget;
use sordino_lattice::noise;
use sordino_lattice::sample::cbd;

use super::Params;
use crate::hintless::ring::{DEPTH, DROPPED, GADGETS, N, OF_C0, OF_C1, SQUARE, modulus};

/// A margin for sums of squares that exceed their mean.
const SLACK: f64 = 1.125;

/// The variance of a coefficient of a ternary secret.
const OF_SECRET: f64 = 2.0 / 3.0;

/// The variance of a coefficient of the square of a ternary secret: each is a sum of `N / 2` products, twice.
const OF_SQUARE: f64 = 2.0 * N as f64 * OF_SECRET * OF_SECRET;

const fn squared(log: u32) -> f64 {
    (1u64 << (2 * log)) as f64
}

/// The sum of the mean squares of all digits of a gadget.
fn of_digits(gadget: Gadget) -> f64 {
    gadget.digits() as f64 * (squared(gadget.log_z()) + 2.0) / 12.0
}

/// The variance that a switch with this gadget adds to a coefficient. The rounded-away part is multiplied by
/// a polynomial whose coefficients have the variance `met`.
pub(crate) fn of_switch(gadget: Gadget, met: f64) -> f64 {
    N as f64 * (cbd::VARIANCE * of_digits(gadget) + met * squared(gadget.dropped()) / 12.0)
}

/// `E`: the energy of a selector's noise, which is the sum of its coefficients' variances. The part that was rounded
/// away is multiplied by `times`.
fn energy(depth: u32, times: f64) -> f64 {
    let switches: f64 = GADGETS[..depth as usize]
        .iter()
        .zip((0..depth).rev())
        .map(|(gadget, later)| f64::from(later).exp2() * of_switch(*gadget, times * OF_SECRET))
        .sum();
    let fresh = cbd::VARIANCE + squared(DROPPED) / 12.0 + 1.0 / 6.0;
    N as f64 * (switches + f64::from(depth).exp2() * fresh)
}

/// `E` of a selector.
pub(crate) fn of_selector(depth: u32) -> f64 {
    energy(depth, 1.0)
}

/// `E'`: the energy of the noise of a bit's encryption times `s`.
pub(crate) fn of_bit(depth: u32) -> f64 {
    let switch = of_switch(GADGETS[SQUARE], OF_SQUARE);
    N as f64 * (OF_SECRET * energy(depth, 2.0) + switch)
}

/// `X`: the variance that an external product adds to a coefficient.
pub(crate) fn of_external(depth: u32) -> f64 {
    static FOUND: OnceLock<[f64; DEPTH + 1]> = OnceLock::new();
    let found = FOUND.get_or_init(|| {
        let mut depths = 0..;
        std::array::from_fn(|_| {
            let depth = depths.next().unwrap_or_default();
            let rounded =
                squared(OF_C0.dropped()) + OF_SECRET * N as f64 * squared(OF_C1.dropped());
            of_digits(OF_C0) * of_selector(depth)
                + of_digits(OF_C1) * of_bit(depth)
                + rounded / 12.0
        })
    });
    found[depth as usize]
}

impl Params {
    /// The variance of a coefficient of an answer before it is rounded.
    pub(crate) fn of_sum(&self) -> f64 {
        let plaintext = (squared(self.log_p) + 2.0) / 12.0;
        let columns = self.columns() as f64 * of_selector(self.depth) * plaintext;
        columns + self.of_fold()
    }

    /// The part of [`Self::of_sum`] that the second dimension adds.
    pub(crate) fn of_fold(&self) -> f64 {
        f64::from(self.fold) * of_external(self.fold_depth)
    }

    /// The variance that rounding adds, in the units of `q`.
    pub(crate) fn of_rounding(&self) -> f64 {
        let [k0, k1] = self.answer_bits;
        let unit = modulus().q() as f64 / f64::from(k1).exp2();
        let steps = OF_SECRET * N as f64 + 1.0 + f64::from(2 * (k1 - k0)).exp2();
        unit * unit * steps / 12.0
    }

    /// `log2` of the probability that a record is wrong, given that the request did not leave it out.
    ///
    /// `scripts/hintless_failure.py` derives this number again from the scheme's definition.
    #[must_use]
    pub fn log2_failure(&self) -> f64 {
        let radius = noise::radius(modulus().q(), 1 << self.log_p);
        let variance = SLACK * (self.of_sum() + self.of_rounding());
        noise::log2_union(noise::log2_tail(radius, variance), self.touched() as f64)
    }

    /// The largest number of coefficients that hold bits of a record. A record that shares its unit may start within a
    /// coefficient.
    fn touched(&self) -> usize {
        let (bits, log_p) = (8 * self.record_len, self.log_p as usize);
        if self.per_unit() > 1 {
            (bits + log_p - 2) / log_p + 1
        } else {
            bits.div_ceil(log_p)
        }
    }
}
