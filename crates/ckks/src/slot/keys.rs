//! Secret keys, encryption, decryption, and rotation keys.

use rand_core::CryptoRng;
use sordino_lattice::aligned::Aligned;
use sordino_lattice::ntt::Plan;
use sordino_lattice::ring::add_signed;
use sordino_lattice::sample::hedge::Hedge;
use sordino_lattice::sample::stream::Stream;
use sordino_lattice::sample::{cbd, residue, ternary};
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use super::ciphertext::{Ciphertext, Plaintext};
use super::params::Params;
use crate::Error;

/// A ternary secret. Erased when dropped.
#[derive(Zeroize, ZeroizeOnDrop)]
pub struct SecretKey {
    #[zeroize(skip)]
    params: Params,
    /// `s` modulo each prime, `P` last, in NTT form.
    limbs: Aligned<u64>,
    /// A value that represents `s` in the derivation of samples' seeds.
    tag: [u8; 32],
}

impl std::fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SecretKey")
            .field("params", &self.params.name())
            .finish_non_exhaustive()
    }
}

/// The key that rotates slots left by a fixed number of places. It holds encryptions of `P s(X^g)`, `g = 5^k`, one
/// for each prime of `Q`.
#[derive(Clone)]
pub struct GaloisKey {
    pub(super) params: Params,
    pub(super) rotation: usize,
    /// The positions to which values move under `X -> X^g`.
    pub(super) permutation: Vec<u32>,
    pub(super) digits: Vec<Digit>,
}

impl std::fmt::Debug for GaloisKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GaloisKey")
            .field("params", &self.params)
            .field("rotation", &self.rotation)
            .finish_non_exhaustive()
    }
}

/// One digit of a key: a sample modulo each prime, `P` last.
#[derive(Clone)]
pub(super) struct Digit {
    pub(super) b: Aligned<u64>,
    pub(super) a: Aligned<u64>,
    /// The seed that `a` expands from.
    pub(super) seed: [u8; 32],
}

impl SecretKey {
    /// A fresh secret.
    #[must_use]
    pub fn generate<R: CryptoRng + ?Sized>(rng: &mut R, params: &Params) -> Self {
        let n = params.degree();
        let seeds = Hedge::new(rng, "sordino-ckks slot secret").seeds::<2>();
        let mut coefficients = Zeroizing::new(Aligned::new(n));
        ternary::fill(&mut Stream::new(&seeds[0], 0), &mut coefficients);
        let mut limbs = Aligned::new(params.all_plans().len() * n);
        for (limb, plan) in limbs.chunks_exact_mut(n).zip(params.all_plans()) {
            add_signed(plan.modulus(), limb, &coefficients);
            plan.forward(limb);
        }
        Self {
            params: params.clone(),
            limbs,
            tag: seeds[1],
        }
    }

    /// Encrypts a plaintext: `(m + e - a s, a)`.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if the plaintext belongs to another parameter set.
    ///
    /// # Security
    /// `a` and `e` are drawn from 32 bytes of `rng` hashed together with the plaintext and the secret. Different
    /// plaintexts, and different secrets, share neither even if `rng` repeats itself. A generator repeats itself in a
    /// machine restored from a snapshot or after a `fork`.
    pub fn encrypt<R: CryptoRng + ?Sized>(
        &self,
        rng: &mut R,
        plaintext: &Plaintext,
    ) -> Result<Ciphertext, Error> {
        plaintext.params.check_same(&self.params)?;
        let plans = self.params.plans(plaintext.level);
        let Digit {
            b: mut c0,
            a: c1,
            seed,
        } = self.sample(
            Hedge::new(rng, "sordino-ckks slot ciphertext")
                .field(&(plaintext.level as u64).to_le_bytes())
                .field(&plaintext.scale.to_le_bytes())
                // The first prime alone determines the coefficients, which are below a quarter of it.
                .words(&plaintext.limbs[..self.n()], |x| x.to_le_bytes()),
            plans,
        );
        for (j, (c0, m)) in self
            .limbs_of(&mut c0)
            .zip(plaintext.limbs.chunks_exact(self.n()))
            .enumerate()
        {
            add(&self.params, j, c0, m);
        }
        Ok(Ciphertext {
            params: self.params.clone(),
            level: plaintext.level,
            scale: plaintext.scale,
            c0,
            c1,
            seed: Some(seed),
        })
    }

    /// Decrypts to a plaintext of level 0. Its scaled values must stay below half of `q_0`.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if the ciphertext belongs to another parameter set.
    ///
    /// # Security
    /// The plaintext carries an error that depends on the secret, so it must stay with the key holder.
    pub fn decrypt(&self, ciphertext: &Ciphertext) -> Result<Plaintext, Error> {
        ciphertext.params.check_same(&self.params)?;
        let n = self.n();
        let mut limbs = Aligned::from(&ciphertext.c1[..n]);
        self.params.plan(0).multiply(&mut limbs, &self.limbs[..n]);
        add(&self.params, 0, &mut limbs, &ciphertext.c0[..n]);
        Ok(Plaintext {
            params: self.params.clone(),
            level: 0,
            scale: ciphertext.scale,
            limbs,
        })
    }

    /// The key that rotates slots left by `rotation` places.
    #[must_use]
    pub fn galois_key<R: CryptoRng + ?Sized>(&self, rng: &mut R, rotation: usize) -> GaloisKey {
        let (n, params) = (self.n(), &self.params);
        let rotation = rotation % params.slots();
        let permutation = permutation(params, rotation);
        let plans = params.all_plans();
        let special = params.plan(plans.len() - 1).modulus().q();
        let digits = (0..=params.max_level())
            .map(|i| {
                let hedge = Hedge::new(rng, "sordino-ckks slot rotation key")
                    .field(&(rotation as u64).to_le_bytes())
                    .field(&(i as u64).to_le_bytes());
                let mut digit = self.sample(hedge, plans);
                // P s(X^g) is added modulo q_i alone: it is 0 modulo the other primes.
                let modulus = params.plan(i).modulus();
                let factor = modulus.reduce(special);
                let s = &self.limbs[i * n..][..n];
                for (b, &from) in digit.b[i * n..][..n].iter_mut().zip(&permutation) {
                    *b = modulus.add(*b, modulus.mul(s[from as usize], factor));
                }
                digit
            })
            .collect();
        GaloisKey {
            params: params.clone(),
            rotation,
            permutation,
            digits,
        }
    }

    /// `(e - a s, a)` modulo the first primes. `hedge` hashes what is encrypted: under one secret, a repeated `a`
    /// would show the difference of two plaintexts, or of two rotations of the secret. It hashes the secret, too,
    /// because a repeated `a` under two secrets would show their difference.
    fn sample(&self, hedge: Hedge, plans: &[Plan]) -> Digit {
        let n = self.n();
        let primes: Vec<u8> = plans
            .iter()
            .flat_map(|plan| plan.modulus().q().to_le_bytes())
            .collect();
        let seeds = hedge.field(&primes).field(&self.tag).seeds::<2>();
        let (public, seed) = (seeds[0], &seeds[1]);
        let mut e = Zeroizing::new(Aligned::new(n));
        cbd::fill(&mut Stream::new(seed, 0), &mut e);
        let a = expand(plans, &public);
        let mut b = Aligned::new(plans.len() * n);
        let mut product = Zeroizing::new(Aligned::new(n));
        let limbs = a.chunks_exact(n).zip(b.chunks_exact_mut(n));
        for (j, (plan, (a, b))) in plans.iter().zip(limbs).enumerate() {
            add_signed(plan.modulus(), b, &e);
            plan.forward(b);
            product.copy_from_slice(a);
            plan.multiply(&mut product, &self.limbs[j * n..][..n]);
            for (b, &product) in b.iter_mut().zip(product.iter()) {
                *b = plan.modulus().sub(*b, product);
            }
        }
        Digit { b, a, seed: public }
    }

    fn n(&self) -> usize {
        self.params.degree()
    }

    fn limbs_of<'a>(&self, limbs: &'a mut [u64]) -> std::slice::ChunksExactMut<'a, u64> {
        limbs.chunks_exact_mut(self.n())
    }
}

impl GaloisKey {
    /// The number of places by which the key rotates.
    #[must_use]
    pub fn rotation(&self) -> usize {
        self.rotation
    }
}

/// The uniform polynomial of a seed, modulo each prime, as values.
pub(super) fn expand(plans: &[Plan], seed: &[u8; 32]) -> Aligned<u64> {
    let n = plans.first().map_or(0, Plan::len);
    let mut a = Aligned::new(plans.len() * n);
    for (j, (a, plan)) in a.chunks_exact_mut(n).zip(plans).enumerate() {
        residue::fill_vartime(seed, j as u64, plan.modulus(), a);
    }
    a
}

/// The positions to which values move under `X -> X^(5^rotation)`.
pub(super) fn permutation(params: &Params, rotation: usize) -> Vec<u32> {
    let g = (0..rotation).fold(1, |g, _| 5 * g % (2 * params.degree()));
    params.plan(0).permutation(g)
}

/// `x = x + y` modulo prime `j`.
pub(super) fn add(params: &Params, j: usize, x: &mut [u64], y: &[u64]) {
    let modulus = params.plan(j).modulus();
    for (x, &y) in x.iter_mut().zip(y) {
        *x = modulus.add(*x, y);
    }
}
