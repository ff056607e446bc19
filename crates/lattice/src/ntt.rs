//! The negacyclic number-theoretic transform of `Z_q[X]/(X^n + 1)`.
//!
//! | symbol | meaning |
//! |---|---|
//! | `n` | length, a power of two |
//! | `psi` | primitive `2n`-th root of unity mod `q`: `x^((q-1)/2n)` for the least `x` that makes its order `2n` |
//! | `brv(i)` | the `log2 n` bits of `i` in reverse |
//! | `A[i]` | value `i` of the transform of `a`: `a(psi^(2 brv(i) + 1))` |
//!
//! This order is part of the interface. Seeds that expand to values in NTT form depend on it, and encoded databases on
//! disk depend on it, too. Butterflies are Cooley-Tukey forward and Gentleman-Sande backward (Longa and Naehrig, eprint
//! 2016/504), with Shoup's products and Harvey's lazy ranges (arXiv:1205.2926). AVX2 and NEON have no wide products of
//! 64-bit lanes, and work in double precision with fused multiply-add. WebAssembly finds quotients in double precision.
//! AVX-512 starts an inverse with cyclic butterflies. Every backend returns the same canonical residues.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod double;
mod factor;
#[cfg(target_arch = "aarch64")]
mod neon;
mod portable;

use sordino_cpu::{Backend, dispatch};

use crate::modulus::{Modulus, ModulusError};
use factor::Factor;

/// Constant factors `w` in the form in which kernels multiply with them.
#[derive(Clone, Default)]
struct Factors {
    each: Vec<Factor>,
    /// `w` in `(-q/2, q/2)` and `w / q`, in double precision.
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    double: double::Factors,
}

impl Factors {
    fn new(w: &[u64], modulus: Modulus) -> Self {
        Self {
            each: w.iter().map(|&w| Factor::new(w, modulus)).collect(),
            #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
            double: double::Factors::new(w, modulus),
        }
    }
}

#[cfg(target_arch = "x86_64")]
/// `floor(w 2^bits / q)` for `w < q`.
#[expect(
    clippy::cast_possible_truncation,
    reason = "w < q, so it is below 2^bits"
)]
const fn quotient(w: u64, bits: u32, q: u64) -> u64 {
    (((w as u128) << bits) / q as u128) as u64
}

sordino_cpu::kernels! {
    /// The kernels of transforms.
    enum Kernels {
        Avx512: Avx512Ifma,
        Avx2: Avx2Fma,
        Neon: Neon,
    }
}

/// Tables for one length and one modulus.
#[derive(Clone)]
pub struct Plan {
    modulus: Modulus,
    n: usize,
    /// `psi^brv(i)`: the factor of group `i - m` in the forward stage with `m` groups.
    forward: Factors,
    /// `psi^-brv(i)`. The entries for the last inverse stage are in `last`.
    inverse: Factors,
    /// The factors of the sums and of the differences of the last inverse stage: `1/n` and `psi^(-n/2)/n`.
    last: Factors,
    #[cfg(target_arch = "x86_64")]
    tables: avx512::Tables,
    kernels: Kernels,
}

impl std::fmt::Debug for Plan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Plan")
            .field("modulus", &self.modulus)
            .field("n", &self.n)
            .field("kernels", &self.kernels)
            .finish_non_exhaustive()
    }
}

impl Plan {
    /// Plans transforms of length `n` modulo `q`.
    ///
    /// # Errors
    /// [`ModulusError::Length`] if `n` is not a power of two in 16..=65536. [`ModulusError::NoRoot`] if `q` is not 1
    /// mod `2n`.
    pub fn new(n: usize, modulus: Modulus) -> Result<Self, ModulusError> {
        if !n.is_power_of_two() || !(16..=1 << 16).contains(&n) {
            return Err(ModulusError::Length { found: n });
        }
        let psi = modulus.root_of_unity_vartime(2 * n as u64)?;
        let powers = |root: u64| {
            let mut table = vec![0; n];
            let mut power = 1;
            for i in 0..n {
                table[i.reverse_bits() >> (usize::BITS - n.ilog2())] = power;
                power = modulus.mul(power, root);
            }
            table
        };
        let inverse = powers(modulus.inverse_vartime(psi));
        let forward = powers(psi);
        let per_n = modulus.inverse_vartime(n as u64);
        // A pruned stage leaves its division by two to the last stage, as every other stage does. So the same two
        // factors serve every stride.
        let last = vec![per_n, modulus.mul(inverse[1], per_n)];
        Ok(Self {
            modulus,
            n,
            #[cfg(target_arch = "x86_64")]
            tables: avx512::Tables::new(&forward, &inverse, per_n, modulus),
            forward: Factors::new(&forward, modulus),
            inverse: Factors::new(&inverse, modulus),
            last: Factors::new(&last, modulus),
            kernels: Kernels::of(Backend::detect()),
        })
    }

    /// The length `n`.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "a transform is never empty")]
    pub fn len(&self) -> usize {
        self.n
    }

    /// The modulus `q`.
    #[must_use]
    pub fn modulus(&self) -> Modulus {
        self.modulus
    }

    /// Replaces coefficients by values: `a` in natural order becomes `A` in the order above. Input and output are in
    /// `[0, q)`.
    ///
    /// # Panics
    /// Panics if `a.len() != n`.
    pub fn forward(&self, a: &mut [u64]) {
        assert_eq!(a.len(), self.n, "transform length");
        dispatch!(Kernels, self.kernels, self::forward(self, a));
    }

    /// Replaces values by coefficients, and divides by `n`: the inverse of [`forward`](Self::forward).
    ///
    /// # Panics
    /// Panics if `a.len() != n`.
    pub fn inverse(&self, a: &mut [u64]) {
        self.inverse_strided(a, 0);
    }

    /// Replaces values by every `2^k`-th coefficient alone: `a[v]` becomes coefficient
    /// `v 2^k + 2^k - 1` for `v < n / 2^k`; the rest of `a` is left undefined.
    ///
    /// The first `k` stages compute only the odd half of their outputs. So this costs about `n (1 - 2^-k)` products and
    /// one transform of length `n / 2^k`, instead of one of length `n`.
    ///
    /// # Panics
    /// Panics if `a.len() != n` or `2^k > n`.
    pub fn inverse_strided(&self, a: &mut [u64], k: u32) {
        assert_eq!(a.len(), self.n, "transform length");
        assert!(
            k <= self.n.ilog2(),
            "stride 2^{k} exceeds the length {}",
            self.n
        );
        dispatch!(Kernels, self.kernels, self::inverse_strided(self, a, k));
    }

    /// Replaces sums of neighbouring values by every `2^k`-th coefficient, where `2^k = n / a.len()`. If `a[j]` is the
    /// sum of values `j 2^k` to `j 2^k + 2^k - 1` of a transform, it becomes coefficient `j 2^k`.
    ///
    /// These values belong to the `2^k` roots of one `X^(2^k) = y`, over which all other powers of `X` cancel out. What
    /// remains is a transform of length `n / 2^k` at the points `y`.
    ///
    /// # Panics
    /// Panics if `a.len()` is not a power of two in `16..=n`.
    pub fn inverse_folded(&self, a: &mut [u64]) {
        assert!(
            a.len().is_power_of_two() && (16..=self.n).contains(&a.len()),
            "{} sums of {} values",
            a.len(),
            self.n
        );
        dispatch!(Kernels, self.kernels, self::inverse_strided(self, a, 0));
    }

    /// Writes every `2^k`-th coefficient of the product of `a` and `b`, both in NTT form, to `out`, as
    /// [`inverse_strided`](Self::inverse_strided) of the product does. The rest of `out` is left undefined.
    /// Constant-time.
    ///
    /// # Panics
    /// Panics if a length is not `n` or `2^k > n`.
    pub fn inverse_product(&self, a: &[u64], b: &[u64], out: &mut [u64], k: u32) {
        assert_eq!(
            (a.len(), b.len(), out.len()),
            (self.n, self.n, self.n),
            "transform length"
        );
        assert!(
            k <= self.n.ilog2(),
            "stride 2^{k} exceeds the length {}",
            self.n
        );
        dispatch!(
            Kernels,
            self.kernels,
            self::inverse_product(self, (a, b), out, k)
        );
    }

    /// The permutation of values under `X -> X^g`, for odd `g`: value `i` of `a(X^g)` is value `permutation[i]` of `a`.
    ///
    /// # Panics
    /// Panics if `g` is even.
    #[must_use]
    pub fn permutation(&self, g: usize) -> Vec<u32> {
        assert!(g % 2 == 1, "an automorphism takes X to an odd power");
        let unused = usize::BITS - self.n.ilog2();
        let brv = |i: usize| i.reverse_bits() >> unused;
        (0..self.n)
            .map(|i| {
                // The value at psi^e of a(X^g) is the value of a at psi^(g e).
                let exponent = (2 * brv(i) + 1) * g % (2 * self.n);
                u32::try_from(brv(exponent / 2)).expect("n is at most 2^16")
            })
            .collect()
    }

    /// `a = a b` value by value, both in NTT form, in constant time.
    ///
    /// # Panics
    /// Panics if a length is not `n`.
    pub fn multiply(&self, a: &mut [u64], b: &[u64]) {
        assert_eq!((a.len(), b.len()), (self.n, self.n), "transform length");
        dispatch!(Kernels, self.kernels, self::multiply(self, a, b));
    }
}

#[cfg(test)]
mod tests;
