//! Elements of `Z_q[X]/(X^n + 1)`: coefficients and values are two types.

use std::marker::PhantomData;

use zeroize::Zeroize;

use crate::aligned::Aligned;
use crate::ntt::Plan;

/// Marks a polynomial that is held as its coefficients, in natural order.
#[derive(Clone, Copy, Debug)]
pub struct Coefficient;

/// Marks a polynomial that is held as its values, in the order of [`crate::ntt`].
#[derive(Clone, Copy, Debug)]
pub struct Ntt;

/// A polynomial of `n` residues in `[0, q)`, in the form `F`. It derefs to the residues.
///
/// `Debug` prints the length alone, since a polynomial may be a secret; [`Zeroize`] erases it.
pub struct Poly<F> {
    residues: Aligned<u64>,
    form: PhantomData<F>,
}

impl<F> Poly<F> {
    /// The zero polynomial of `n` residues.
    #[must_use]
    pub fn zero(n: usize) -> Self {
        Self {
            residues: Aligned::new(n),
            form: PhantomData,
        }
    }
}

impl Poly<Coefficient> {
    /// The polynomial of small signed coefficients, in constant time.
    #[must_use]
    pub fn from_signed(coefficients: &[i8], plan: &Plan) -> Self {
        let mut poly = Self::zero(coefficients.len());
        for (residue, &coefficient) in poly.iter_mut().zip(coefficients) {
            *residue = plan.modulus().from_signed(i64::from(coefficient));
        }
        poly
    }

    /// The same polynomial as values.
    ///
    /// # Panics
    /// If the lengths of the polynomial and of the plan differ.
    #[must_use]
    pub fn into_ntt(mut self, plan: &Plan) -> Poly<Ntt> {
        plan.forward(&mut self.residues);
        Poly {
            residues: self.residues,
            form: PhantomData,
        }
    }
}

impl Poly<Ntt> {
    /// The same polynomial as coefficients.
    ///
    /// # Panics
    /// If the lengths of the polynomial and of the plan differ.
    #[must_use]
    pub fn into_coefficients(mut self, plan: &Plan) -> Poly<Coefficient> {
        plan.inverse(&mut self.residues);
        Poly {
            residues: self.residues,
            form: PhantomData,
        }
    }

    /// `self * other`, in constant time.
    ///
    /// # Panics
    /// If a length differs from the plan's.
    pub fn multiply(&mut self, other: &Self, plan: &Plan) {
        plan.multiply(&mut self.residues, &other.residues);
    }
}

impl<F> Clone for Poly<F> {
    fn clone(&self) -> Self {
        Self {
            residues: self.residues.clone(),
            form: PhantomData,
        }
    }
}

impl<F> std::ops::Deref for Poly<F> {
    type Target = [u64];
    fn deref(&self) -> &[u64] {
        &self.residues
    }
}

impl<F> std::ops::DerefMut for Poly<F> {
    fn deref_mut(&mut self) -> &mut [u64] {
        &mut self.residues
    }
}

impl<F> std::fmt::Debug for Poly<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Poly")
            .field("n", &self.residues.len())
            .finish_non_exhaustive()
    }
}

impl<F> Zeroize for Poly<F> {
    fn zeroize(&mut self) {
        self.residues.zeroize();
    }
}
