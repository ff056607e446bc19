//! Modulus switching: rounds residues mod `q` to the nearest of `2^r` steps.

use crate::Modulus;

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;

/// Switches residues mod `q` to residues mod `2^r`: `c` becomes `round(c 2^r / q) mod 2^r`.
///
/// One product defines it: `h = floor(c M / 2^52)` with `M = floor(2^(bits + 50) / q)`. `h` is a `(bits - 2)`-bit
/// number within 1.25 of `c 2^(bits-2) / q`, and is rounded to its top `r` bits. The distance to the resulting step is
/// at most `1/2 + 1.25 * 2^(r + 2 - bits)` of a step. Dropped bits and ties upwards shift the mean by less than `2^(r +
/// 2 - bits)` of a step. In the named sets this is `2^-18` or less.
#[derive(Clone, Copy, Debug)]
pub struct Switch {
    factor: u64,
    shift: u32,
    half: u64,
    mask: u64,
}

impl Switch {
    /// The switch from residues of `modulus` to `r` bits.
    ///
    /// # Panics
    /// Panics if `r` is not between 1 and `bits - 3`.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "2^(bits + 50) / q is below 2^51"
    )]
    #[must_use]
    pub const fn new(modulus: Modulus, r: u32) -> Self {
        let bits = modulus.bits();
        assert!(1 <= r && r + 3 <= bits, "reply modulus");
        let shift = bits - 2 - r;
        Self {
            factor: ((1u128 << (bits + 50)) / modulus.q() as u128) as u64,
            shift,
            half: 1 << (shift - 1),
            mask: (1 << r) - 1,
        }
    }

    /// Switches one residue.
    #[inline]
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "c M / 2^52 is below 2^50")]
    pub const fn switch(self, c: u64) -> u64 {
        let scaled = ((c as u128 * self.factor as u128) >> 52) as u64;
        ((scaled + self.half) >> self.shift) & self.mask
    }
}

impl Switch {
    /// Switches all of `residues`, in place.
    pub fn apply(self, residues: &mut [u64]) {
        #[cfg(target_arch = "x86_64")]
        if let Some(token) = sordino_cpu::Avx512Ifma::detect() {
            return avx512::apply(token, self, residues);
        }
        #[cfg(target_arch = "x86_64")]
        if let Some(token) = sordino_cpu::Avx2::detect() {
            return avx2::apply(token, self, residues);
        }
        self.apply_portable(residues);
    }

    fn apply_portable(self, residues: &mut [u64]) {
        for residue in residues {
            *residue = self.switch(*residue);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn is_the_nearest_step(c in 0..1_099_511_590_913u64, r in 1..30u32) {
            for q in [1_099_511_590_913u64, 1_125_899_906_826_241] {
                let c = c * (q / 1_099_511_590_913);
                let switch = Switch::new(Modulus::new(q).unwrap(), r);
                for count in [1, 7, 8, 9, 33] {
                    let mut all: Vec<u64> = (0..count).map(|i| (c + 977 * i) % q).collect();
                    let expected: Vec<u64> = all.iter().map(|&c| switch.switch(c)).collect();
                    #[cfg(target_arch = "x86_64")]
                    if let Some(token) = sordino_cpu::Avx2::detect() {
                        let mut all = all.clone();
                        avx2::apply(token, switch, &mut all);
                        prop_assert_eq!(&all, &expected);
                    }
                    switch.apply(&mut all);
                    prop_assert_eq!(all, expected);
                }
                // Twice the distance to the resulting step, in units of 1 / q.
                let found = i128::from(switch.switch(c)) * i128::from(q);
                let exact = i128::from(c) << r;
                let modulus = i128::from(q) << r;
                let distance = (exact - found).rem_euclid(modulus);
                let distance = distance.min(modulus - distance);
                let part = 1i128 << switch.shift;
                prop_assert!(2 * distance * part <= i128::from(q) * (part + 3), "{c} {r} {q}");
            }
        }
    }

    #[test]
    fn the_mean_error_of_the_named_sets_is_next_to_nothing() {
        // For each modulus, the bits of answers, hints and replies that use it.
        let (q40, q50) = (1_099_511_590_913u64, 1_125_899_906_826_241u64);
        for (q, r) in [
            (q40, 15),
            (q40, 19),
            (q40, 20),
            (q50, 25),
            (q50, 28),
            (q50, 27),
        ] {
            let switch = Switch::new(Modulus::new(q).unwrap(), r);
            // The residues are not aligned with the grid, so their mean error is known to 0.0003 of a step.
            let count = 1u64 << 20;
            let errors = (0..count).map(|i| {
                let c = i.wrapping_mul(0x9e37_79b9_7f4a_7c15) % q;
                let found = i128::from(switch.switch(c)) * i128::from(q);
                let (exact, whole) = (i128::from(c) << r, i128::from(q) << r);
                let error = (found - exact).rem_euclid(whole);
                let error = if 2 * error > whole {
                    error - whole
                } else {
                    error
                };
                error as f64 / q as f64
            });
            let (sum, worst) = errors.fold((0.0, 0f64), |(sum, worst), error| {
                (sum + error, worst.max(error.abs()))
            });
            assert!((sum / count as f64).abs() < 2e-3, "{q} {r}: {sum}");
            assert!(worst < 0.5 + 1e-4, "{q} {r}: {worst}");
        }
    }
}
