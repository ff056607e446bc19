//! One step of expansion: `c` and its image under `X -> X^g` become their sum, and their difference times a
//! power of `X`.
//!
//! Expansion (Angel, Chen, Laine, Setty, eprint 2017/1142; Chen, Chillotti, Ren, eprint 2019/736) splits a polynomial
//! by the parity of exponents. Under `g = N / 2^i + 1`, the even powers of `X^(2^i)` stay and the odd ones change their
//! sign.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "aarch64")]
mod neon;
mod portable;

use sordino_cpu::{Backend, dispatch};

use crate::aligned::Aligned;
use crate::ntt::Plan;

sordino_cpu::kernels! {
    /// The kernels of splitting.
    enum Kernels {
        Avx512: Avx512,
        Avx2: Avx2,
        Neon: Neon,
    }
}

/// Step `i` of expansion, for polynomials in NTT form: the automorphism `tau: X -> X^(N / 2^i + 1)`.
#[derive(Debug)]
pub struct Step {
    permutation: Vec<u32>,
    /// `X^(-2^i)`, in NTT form.
    monomial: Aligned<u64>,
    kernels: Kernels,
}

impl Step {
    /// # Panics
    /// Panics if `2^i` is not below the degree.
    #[must_use]
    pub fn new(plan: &Plan, i: u32) -> Self {
        let n = plan.len();
        assert!(i < n.ilog2(), "step {i} of degree {n}");
        let mut monomial = Aligned::new(n);
        // X^(-2^i) = -X^(N - 2^i).
        monomial[n - (1 << i)] = plan.modulus().q() - 1;
        plan.forward(&mut monomial);
        Self {
            permutation: plan.permutation((n >> i) + 1),
            monomial,
            kernels: Kernels::of(Backend::detect()),
        }
    }

    /// The permutation of `g = N / 2^i + 1`: value `k` of `tau(a)` is value `permutation[k]` of `a`.
    #[must_use]
    pub fn permutation(&self) -> &[u32] {
        &self.permutation
    }

    /// `even = c + tau(u)` and `odd = X^(-2^i) (c - tau(u))`, all in NTT form.
    ///
    /// # Panics
    /// Panics if a length is not the degree.
    pub fn split(&self, plan: &Plan, c: &[u64], u: &[u64], even: &mut [u64], odd: &mut [u64]) {
        self.split_by(self.kernels, plan, (c, u), even, odd);
    }

    fn split_by(
        &self,
        kernels: Kernels,
        plan: &Plan,
        (c, u): (&[u64], &[u64]),
        even: &mut [u64],
        odd: &mut [u64],
    ) {
        let n = self.permutation.len();
        assert_eq!(
            (c.len(), u.len(), even.len(), odd.len()),
            (n, n, n, n),
            "the degree"
        );
        let modulus = plan.modulus();
        for (to, &from) in odd.iter_mut().zip(&self.permutation) {
            *to = u[from as usize];
        }
        dispatch!(Kernels, kernels, self::split(modulus, c, even, odd));
        plan.multiply(odd, &self.monomial);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Modulus;
    use crate::sample::residue;

    /// `a(X^g)`, by the definition.
    fn image(modulus: Modulus, a: &[u64], g: usize) -> Vec<u64> {
        let n = a.len();
        let mut out = vec![0; n];
        for (j, &x) in a.iter().enumerate() {
            let to = j * g % (2 * n);
            out[to % n] = if to < n { x } else { modulus.sub(0, x) };
        }
        out
    }

    #[test]
    fn is_what_it_is_defined_as_at_every_level() {
        let modulus = Modulus::new(1_125_899_906_826_241).expect("a prime");
        let lengths = [16, 64, 2048];
        for n in lengths.into_iter().take(if cfg!(miri) { 2 } else { 3 }) {
            let plan = Plan::new(n, modulus).expect("1 mod 4096");
            for i in 0..n.ilog2() {
                let step = Step::new(&plan, i);
                let (mut c, mut u) = (vec![0; n], vec![0; n]);
                residue::fill_vartime(&[1; 32], i.into(), modulus, &mut c);
                residue::fill_vartime(&[2; 32], i.into(), modulus, &mut u);
                (c[0], u[1]) = (modulus.q() - 1, modulus.q() - 1);
                let image = image(modulus, &u, n / (1 << i) + 1);
                let sum: Vec<u64> = c
                    .iter()
                    .zip(&image)
                    .map(|(&x, &y)| modulus.add(x, y))
                    .collect();
                let mut shifted = vec![0; n];
                for j in 0..n {
                    let x = modulus.sub(c[j], image[j]);
                    let to = (j + 2 * n - (1 << i)) % (2 * n);
                    shifted[to % n] = if to < n { x } else { modulus.sub(0, x) };
                }
                plan.forward(&mut c);
                plan.forward(&mut u);
                for backend in Backend::available() {
                    let (mut even, mut odd) = (vec![1; n], vec![1; n]);
                    step.split_by(Kernels::of(backend), &plan, (&c, &u), &mut even, &mut odd);
                    plan.inverse(&mut even);
                    plan.inverse(&mut odd);
                    assert!(even == sum && odd == shifted, "{n} {i} {backend:?}");
                }
            }
        }
    }
}
