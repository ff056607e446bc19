//! Digits of residues in a base `z = 2^w`, for key switching and external products.
//!
//! | symbol | meaning |
//! |---|---|
//! | `l` | digits of a residue |
//! | `w` | bits of a digit: digits lie in `-z/2..=z/2`, `z = 2^w` |
//! | `b` | low bits that are rounded away: `l w + b` is at least the bits of `q` |
//! | `g_i = 2^(b + w i)` | the factor of digit `i < l` |
//!
//! `sum_i d_i g_i` differs from the residue by at most `2^(b-1)`, mod `q`. Every backend gives the
//! same digits.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "aarch64")]
mod neon;
mod portable;

use sordino_cpu::{Backend, dispatch};

use crate::Modulus;

sordino_cpu::kernels! {
    /// The kernels of decomposition.
    enum Kernels {
        Avx512: Avx512,
        Avx2: Avx2,
        Neon: Neon,
    }
}

/// A gadget: `l` digits of `w` bits above `b` bits that are dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gadget {
    digits: u32,
    log_z: u32,
    dropped: u32,
}

impl Gadget {
    /// # Panics
    /// Panics if there is no digit, a digit has no bit, or the digits end above bit 62.
    #[must_use]
    pub const fn new(digits: u32, log_z: u32, dropped: u32) -> Self {
        assert!(digits > 0 && log_z > 0, "a gadget of nothing");
        // As u64, this sum does not overflow for any u32 values.
        let end = digits as u64 * log_z as u64 + dropped as u64;
        assert!(end <= 62, "digits above bit 62");
        Self {
            digits,
            log_z,
            dropped,
        }
    }

    /// `l`, the number of digits.
    #[must_use]
    pub const fn digits(self) -> usize {
        self.digits as usize
    }

    /// `w`, the bits of a digit.
    #[must_use]
    pub const fn log_z(self) -> u32 {
        self.log_z
    }

    /// `b`, the bits that are dropped.
    #[must_use]
    pub const fn dropped(self) -> u32 {
        self.dropped
    }

    /// `g_i`, the factor of digit `i`.
    #[must_use]
    pub const fn factor(self, i: usize) -> u64 {
        1 << (self.dropped as usize + self.log_z as usize * i)
    }

    /// True if the digits reach every residue mod `q`.
    #[must_use]
    pub const fn covers(self, modulus: Modulus) -> bool {
        self.digits * self.log_z + self.dropped >= modulus.bits()
    }

    /// Writes the digits of `residues` as residues: `l` lists one after the other, the lowest digit
    /// first.
    ///
    /// # Panics
    /// Panics if `out` does not have exactly the length of the digits, or the digits do not reach
    /// every residue.
    pub fn decompose(self, modulus: Modulus, residues: &[u64], out: &mut [u64]) {
        self.decompose_by(Kernels::of(Backend::detect()), modulus, residues, out);
    }

    fn decompose_by(self, kernels: Kernels, modulus: Modulus, residues: &[u64], out: &mut [u64]) {
        assert!(self.covers(modulus), "digits that end below the modulus");
        assert_eq!(out.len(), self.digits() * residues.len(), "room for digits");
        for (i, out) in (0..self.digits).zip(out.chunks_exact_mut(residues.len().max(1))) {
            dispatch!(
                Kernels,
                kernels,
                self::digit(self, modulus, i, residues, out)
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const Q: u64 = 1_125_899_906_826_241;

    fn check(gadget: Gadget, residues: &[u64]) {
        let modulus = Modulus::new(Q).expect("a prime");
        let mut digits = vec![0; gadget.digits() * residues.len()];
        let portable = Kernels::of(Backend::PORTABLE);
        gadget.decompose_by(portable, modulus, residues, &mut digits);
        for backend in Backend::available() {
            let mut found = vec![1; digits.len()];
            gadget.decompose_by(Kernels::of(backend), modulus, residues, &mut found);
            assert_eq!(found, digits, "{gadget:?} {backend:?}");
        }
        let half = 1i64 << (gadget.log_z() - 1);
        for (k, &residue) in residues.iter().enumerate() {
            let mut sum = 0i128;
            for i in 0..gadget.digits() {
                let digit = modulus.centred(digits[i * residues.len() + k]);
                assert!((-half..=half).contains(&digit), "{gadget:?}: {digit}");
                sum += i128::from(digit) * i128::from(gadget.factor(i));
            }
            let off = (sum - i128::from(residue)).rem_euclid(i128::from(Q));
            let off = off.min(i128::from(Q) - off);
            assert!(2 * off <= 1 << gadget.dropped(), "{gadget:?}: off by {off}");
        }
    }

    #[test]
    fn digits_add_up_at_the_ends() {
        let ends = [0, 1, 2, Q / 2 - 1, Q / 2, Q / 2 + 1, Q - 2, Q - 1];
        for (digits, log_z, dropped) in
            [(3, 12, 14), (4, 10, 10), (5, 10, 0), (6, 7, 8), (1, 50, 0)]
        {
            let gadget = Gadget::new(digits, log_z, dropped);
            check(gadget, &ends);
            // Numbers around every border of a digit.
            let near = |bit: u32| (0..5).map(move |i| ((1u64 << bit) + i - 2) % Q);
            check(gadget, &(1..50).flat_map(near).collect::<Vec<_>>());
        }
    }

    proptest! {
        #[test]
        fn digits_add_up(residues in proptest::collection::vec(0..Q, 0..40), shape in 0..4usize) {
            let (digits, log_z, dropped) = [(3, 12, 14), (4, 10, 10), (5, 8, 10), (7, 6, 8)][shape];
            check(Gadget::new(digits, log_z, dropped), &residues);
        }
    }
}
