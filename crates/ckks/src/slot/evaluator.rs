//! Arithmetic on ciphertexts.

use std::collections::BTreeMap;

use sordino_lattice::aligned::Aligned;

use super::ciphertext::{Ciphertext, Plaintext};
use super::keys::{Digit, GaloisKey, add};
use super::params::Params;
use crate::Error;

/// Adds, multiplies and rescales ciphertexts, and rotates them with the given keys.
#[derive(Debug)]
pub struct Evaluator {
    params: Params,
    keys: BTreeMap<usize, GaloisKey>,
}

impl Evaluator {
    /// An evaluator with these rotation keys.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if a key belongs to another parameter set.
    pub fn new(params: &Params, keys: Vec<GaloisKey>) -> Result<Self, Error> {
        for key in &keys {
            key.params.check_same(params)?;
        }
        Ok(Self {
            params: params.clone(),
            keys: keys.into_iter().map(|key| (key.rotation, key)).collect(),
        })
    }

    /// `x + y`, slot by slot.
    ///
    /// # Errors
    /// - [`Error::Mismatch`] if the parameter sets differ
    /// - [`Error::Level`] if the levels differ
    /// - [`Error::Scale`] if the scales differ
    pub fn add(&self, x: &Ciphertext, y: &Ciphertext) -> Result<Ciphertext, Error> {
        let mut sum = x.clone();
        self.add_assign(&mut sum, y)?;
        Ok(sum)
    }

    fn add_assign(&self, x: &mut Ciphertext, y: &Ciphertext) -> Result<(), Error> {
        x.check(&self.params, y.level)?;
        y.params.check_same(&self.params)?;
        if ((x.scale - y.scale) / x.scale).abs() > 1e-9 {
            return Err(Error::Scale);
        }
        let n = self.params.degree();
        x.seed = None;
        for (x, y) in [(&mut x.c0, &y.c0), (&mut x.c1, &y.c1)] {
            for (j, (x, y)) in x.chunks_exact_mut(n).zip(y.chunks_exact(n)).enumerate() {
                add(&self.params, j, x, y);
            }
        }
        Ok(())
    }

    /// `x m`, slot by slot. The scale of the result is the product of both scales.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if the parameter sets differ; [`Error::Level`] if the levels differ.
    pub fn mul_plain(&self, x: &Ciphertext, m: &Plaintext) -> Result<Ciphertext, Error> {
        x.check(&self.params, m.level)?;
        m.params.check_same(&self.params)?;
        let n = self.params.degree();
        let mut product = x.clone();
        product.scale *= m.scale;
        product.seed = None;
        for c in [&mut product.c0, &mut product.c1] {
            let limbs = c.chunks_exact_mut(n).zip(m.limbs.chunks_exact(n));
            for ((c, m), plan) in limbs.zip(self.params.plans(x.level)) {
                plan.multiply(c, m);
            }
        }
        Ok(product)
    }

    /// Divides the plaintext and its scale by the last prime, and drops that prime.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if the parameter sets differ; [`Error::Level`] at level 0.
    pub fn rescale(&self, x: &Ciphertext) -> Result<Ciphertext, Error> {
        x.params.check_same(&self.params)?;
        let level = x
            .level
            .checked_sub(1)
            .ok_or(Error::Level { found: 0, most: 0 })?;
        let last = self.params.plan(x.level);
        let divide = |c: &[u64]| self.divide(c, level, last, |j| self.params.per_step(x.level, j));
        Ok(Ciphertext {
            params: self.params.clone(),
            level,
            scale: x.scale / last.modulus().q() as f64,
            c0: divide(&x.c0),
            c1: divide(&x.c1),
            seed: None,
        })
    }

    /// Rotates the slots left by `rotation` places.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if the parameter sets differ; [`Error::MissingKey`] if there is no key for this rotation.
    pub fn rotate(&self, x: &Ciphertext, rotation: usize) -> Result<Ciphertext, Error> {
        x.params.check_same(&self.params)?;
        let rotation = rotation % self.params.slots();
        if rotation == 0 {
            return Ok(x.clone());
        }
        let key = self
            .keys
            .get(&rotation)
            .ok_or(Error::MissingKey { rotation })?;
        let n = self.params.degree();
        let permute = |c: &[u64]| {
            let mut permuted = Aligned::new(c.len());
            for (to, from) in permuted.chunks_exact_mut(n).zip(c.chunks_exact(n)) {
                for (to, &i) in to.iter_mut().zip(&key.permutation) {
                    *to = from[i as usize];
                }
            }
            permuted
        };
        let mut c0 = permute(&x.c0);
        let (switched0, c1) = self.switch_key(&permute(&x.c1), x.level, key);
        for (j, (c0, switched0)) in c0
            .chunks_exact_mut(n)
            .zip(switched0.chunks_exact(n))
            .enumerate()
        {
            add(&self.params, j, c0, switched0);
        }
        Ok(Ciphertext {
            params: self.params.clone(),
            level: x.level,
            scale: x.scale,
            c0,
            c1,
            seed: None,
        })
    }

    /// The sums of `width` consecutive slots from each slot on, by rotations by `1, 2, 4, ...`. `width` is a power of
    /// two.
    ///
    /// # Errors
    /// - [`Error::Mismatch`] if the parameter sets differ
    /// - [`Error::MissingKey`] if there is no key for a rotation
    /// - [`Error::Length`] if `width` is not a power of two up to the number of slots
    pub fn inner_sum(&self, x: &Ciphertext, width: usize) -> Result<Ciphertext, Error> {
        if !width.is_power_of_two() || width > self.params.slots() {
            return Err(Error::Length {
                found: width,
                expected: self.params.slots(),
            });
        }
        let mut sum = x.clone();
        let mut by = 1;
        while by < width {
            let rotated = self.rotate(&sum, by)?;
            self.add_assign(&mut sum, &rotated)?;
            by *= 2;
        }
        Ok(sum)
    }

    /// The terms that `c`, to be multiplied with the rotated secret, adds to the two parts of a ciphertext. Each digit
    /// is lifted to all primes and to `P` and multiplied with the key. The sum is then divided by `P`.
    fn switch_key(&self, c: &[u64], level: usize, key: &GaloisKey) -> (Aligned<u64>, Aligned<u64>) {
        let n = self.params.degree();
        let special = self.params.all_plans().len() - 1;
        let primes = || (0..=level).chain([special]).enumerate();
        let mut sums = (Aligned::new((level + 2) * n), Aligned::new((level + 2) * n));
        let mut digit = Aligned::new(n);
        let mut lifted = Aligned::new(n);
        let mut term = Aligned::new(n);
        for (i, Digit { b, a, .. }) in key.digits.iter().enumerate().take(level + 1) {
            let values = &c[i * n..][..n];
            digit.copy_from_slice(values);
            self.params.plan(i).inverse(&mut digit);
            for (at, j) in primes() {
                let plan = self.params.plan(j);
                if i == j {
                    lifted.copy_from_slice(values);
                } else {
                    lift(&self.params, (i, &digit), (j, &mut lifted));
                    plan.forward(&mut lifted);
                }
                for (sum, key) in [(&mut sums.0, b), (&mut sums.1, a)] {
                    term.copy_from_slice(&lifted);
                    plan.multiply(&mut term, &key[j * n..][..n]);
                    add(&self.params, j, &mut sum[at * n..][..n], &term);
                }
            }
        }
        let last = self.params.plan(special);
        let divide = |sum: &[u64]| self.divide(sum, level, last, |j| self.params.per_special(j));
        (divide(&sums.0), divide(&sums.1))
    }

    /// Divides by the prime of the last limb, and rounds: `(c_j - lift(c_last)) / q_last` modulo each other prime.
    fn divide<'a>(
        &self,
        c: &[u64],
        level: usize,
        last: &sordino_lattice::ntt::Plan,
        inverse: impl Fn(usize) -> &'a [u64],
    ) -> Aligned<u64> {
        let n = self.params.degree();
        let (kept, dropped) = c.split_at((level + 1) * n);
        let mut rest = Aligned::from(dropped);
        last.inverse(&mut rest);
        let mut quotient = Aligned::from(kept);
        let mut lifted = Aligned::new(n);
        for (j, quotient) in quotient.chunks_exact_mut(n).enumerate() {
            let plan = self.params.plan(j);
            let modulus = plan.modulus();
            for (lifted, &x) in lifted.iter_mut().zip(rest.iter()) {
                *lifted = modulus.reduce_signed(last.modulus().centred(x));
            }
            plan.forward(&mut lifted);
            for (quotient, &lifted) in quotient.iter_mut().zip(lifted.iter()) {
                *quotient = modulus.sub(*quotient, lifted);
            }
            plan.multiply(quotient, inverse(j));
        }
        quotient
    }
}

/// Converts centred residues modulo prime `i` to residues modulo prime `j`.
fn lift(params: &Params, (i, from): (usize, &[u64]), (j, to): (usize, &mut [u64])) {
    let (source, target) = (params.plan(i).modulus(), params.plan(j).modulus());
    for (to, &x) in to.iter_mut().zip(from) {
        *to = target.reduce_signed(source.centred(x));
    }
}
