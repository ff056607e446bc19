//! The client's side: encryption of queries, decryption of scores.

use rand_core::CryptoRng;
use sordino_lattice::aligned::Aligned;
use sordino_lattice::ntt::Plan;
use sordino_lattice::ring::{Coefficient, Ntt, Poly, add_signed};
use sordino_lattice::rounding::{nearest, shift};
use sordino_lattice::sample::hedge::Hedge;
use sordino_lattice::sample::stream::Stream;
use sordino_lattice::sample::{cbd, residue, ternary};
use zeroize::Zeroizing;

use super::hint::{Hint, HintDelta};
use super::params::{Form, Params, Shape};
use super::query::{Query, SecretKey};
use super::reply::Reply;
use super::stamp::{Stamp, check_epoch};
use crate::dot::{self, N};
use crate::rounding::check_norms;
use crate::{Error, Seed, wire};

/// Numbers of the streams that one secret seed expands to.
const SECRET: u64 = 0;
const ERRORS: u64 = 1;

/// A client of one epoch of a database: the public polynomials and the hint, both in NTT form.
pub struct Client {
    params: Params,
    shape: Shape,
    /// The state of the database that the hint is about.
    stamp: Stamp,
    /// `a_l`, one after the other.
    a: Aligned<u64>,
    /// `H_j`, one after the other, mod the 50-bit prime whatever `q`: the product with a secret is an
    /// integer below `2^(h - 1) N`, so it is exact there.
    hint: Vec<Poly<Ntt>>,
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client")
            .field("params", &self.params)
            .field("shape", &self.shape)
            .finish_non_exhaustive()
    }
}

impl Client {
    /// A client of the database of `count` vectors in `dim` dimensions, encoded for `seed`.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if the hint is for another parameter set, dimension or count,
    /// [`Error::Epoch`] if for another seed.
    pub fn new(
        params: &Params,
        seed: impl Into<Seed>,
        dim: usize,
        count: usize,
        hint: &Hint,
    ) -> Result<Self, Error> {
        wire::check_same("counts", hint.shape().count, count)?;
        let mut client = Self::empty(params, seed, dim)?;
        client.add(hint)?;
        client.stamp = hint.stamp();
        Ok(client)
    }

    /// A client of a database without vectors: [`extend`](Self::extend) adds them.
    ///
    /// # Errors
    /// [`Error::Dimension`].
    pub fn empty(params: &Params, seed: impl Into<Seed>, dim: usize) -> Result<Self, Error> {
        let Seed(seed) = seed.into();
        let shape = params.shape(dim, 0)?;
        let mut a = Aligned::new(shape.polys * N);
        for (l, poly) in a.chunks_exact_mut(N).enumerate() {
            residue::fill_vartime(&seed, l as u64, params.plan().modulus(), poly);
        }
        Ok(Self {
            params: *params,
            shape,
            stamp: Stamp::new(&seed, 0),
            a,
            hint: Vec::new(),
        })
    }

    /// The parameter set.
    #[must_use]
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// The dimension `d`.
    #[must_use]
    pub fn dim(&self) -> usize {
        self.shape.dim
    }

    /// The number of vectors `K`.
    #[must_use]
    pub fn len(&self) -> usize {
        self.shape.count
    }

    /// The revision of the database that the client can read replies of.
    #[must_use]
    pub fn revision(&self) -> u64 {
        self.stamp.revision()
    }

    /// Whether there are no vectors.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.shape.count == 0
    }

    /// Follows one change of the database. Deltas are applied in the order in which the database gave
    /// them out.
    ///
    /// # Errors
    /// As [`Hint::apply`].
    pub fn apply(&mut self, delta: &HintDelta) -> Result<(), Error> {
        delta.check(&self.params, self.shape, self.stamp)?;
        let block = lift(self.params, delta.body());
        match self.hint.get_mut(delta.block()) {
            Some(old) => *old = block,
            None => self.hint.push(block),
        }
        self.shape = delta.shape_after(self.shape);
        self.stamp = delta.stamp();
        Ok(())
    }

    /// Follows the appending of a segment: `hint` is that of its vectors alone, and they begin a new
    /// block.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if the hint is for another parameter set or dimension, [`Error::Epoch`] if for
    /// another seed, [`Error::Revision`] if its vectors were changed, [`Error::Count`].
    pub fn extend(&mut self, hint: &Hint) -> Result<(), Error> {
        if hint.revision() != 0 {
            return Err(Error::Revision {
                found: hint.revision(),
                expected: 0,
            });
        }
        self.add(hint)
    }

    fn add(&mut self, hint: &Hint) -> Result<(), Error> {
        hint.params().check_same(&self.params)?;
        wire::check_same("dimensions", hint.shape().dim, self.shape.dim)?;
        check_epoch(hint.stamp().epoch(), self.stamp.epoch())?;
        let count = self.shape.blocks * self.shape.per + hint.shape().count;
        self.shape = self.params.shape(self.shape.dim, count)?;
        let params = self.params;
        self.hint
            .extend(hint.blocks().map(|block| lift(params, block)));
        Ok(())
    }

    /// Forgets all vectors from number `count` on.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if there are fewer.
    pub fn truncate(&mut self, count: usize) -> Result<(), Error> {
        if count > self.shape.count {
            return Err(Error::Mismatch {
                what: "counts",
                found: self.shape.count,
                expected: count,
            });
        }
        self.shape = self.params.shape(self.shape.dim, count)?;
        self.hint.truncate(self.shape.blocks);
        Ok(())
    }

    /// Encrypts a real-valued query under a fresh secret.
    ///
    /// # Errors
    /// [`Error::Form`] for a modular set, [`Error::Length`] if the query has another dimension,
    /// [`Error::NotFinite`], [`Error::Norm`] if it is longer than [`Params::norm_bound`].
    ///
    /// # Security
    /// The secret and the errors are fresh for this query. They are drawn from 32 bytes of `rng` hashed together
    /// with the query, so that different queries share no secret even if `rng` repeats itself, as generators do in
    /// a machine restored from a snapshot or after a `fork` (`rand`'s `ThreadRng` is not reseeded by one). The same
    /// query from the same state is the same message, and shows only that. Sampling and encryption run in constant
    /// time.
    pub fn encrypt<R: CryptoRng + ?Sized>(
        &self,
        rng: &mut R,
        query: &[f32],
    ) -> Result<(SecretKey, Query), Error> {
        let Form::Real { scale, window } = self.params.form else {
            return Err(Error::Form { modular: true });
        };
        self.check_len(query.len())?;
        check_norms(query, self.shape.dim, self.params.norm_bound())?;
        let scale = self.params.modulus() as f64 / (scale * window);
        let bytes = |x: &f32| u64::from(x.to_bits()).to_le_bytes();
        Ok(self.encrypt_message(rng, query, bytes, |x| nearest(f64::from(x) * scale)))
    }

    /// Encrypts a query of integers in `[-P/2, P/2)` under a fresh secret.
    ///
    /// # Errors
    /// [`Error::Form`] for a real-valued set, [`Error::Length`] if the query has another dimension,
    /// [`Error::Range`].
    ///
    /// # Security
    /// As [`encrypt`](Self::encrypt).
    #[expect(clippy::cast_possible_truncation, reason = "at most q / 2")]
    pub fn encrypt_modular<R: CryptoRng + ?Sized>(
        &self,
        rng: &mut R,
        query: &[i32],
    ) -> Result<(SecretKey, Query), Error> {
        let Form::Modular { log_p } = self.params.form else {
            return Err(Error::Form { modular: false });
        };
        self.check_len(query.len())?;
        self.params.check_modular(query, self.shape.dim)?;
        let q = i128::from(self.params.modulus());
        let half = 1 << (log_p - 1);
        let bytes = |x: &i32| i64::from(*x).to_le_bytes();
        // q is odd, so that only -P/2 is a tie.
        let message = |x| ((i128::from(x) * q + half) >> log_p) as i64;
        Ok(self.encrypt_message(rng, query, bytes, message))
    }

    fn check_len(&self, found: usize) -> Result<(), Error> {
        if found == self.shape.dim {
            return Ok(());
        }
        Err(Error::Length {
            found,
            expected: self.shape.dim,
        })
    }

    /// Encrypts the message of `coordinates`, each scaled by `message`, and hashed as its `bytes` into the seed of
    /// the secret.
    fn encrypt_message<R: CryptoRng + ?Sized, T: Copy>(
        &self,
        rng: &mut R,
        coordinates: &[T],
        bytes: impl Fn(&T) -> [u8; 8],
        message: impl Fn(T) -> i64,
    ) -> (SecretKey, Query) {
        let (plan, shape, dropped) = (self.params.plan(), self.shape, self.params.dropped);
        let modulus = plan.modulus();
        let seed = Hedge::new(rng, "sordino-ckks column query")
            .field(&[self.params.id()])
            .field(&self.stamp.epoch().to_le_bytes())
            .words(coordinates, bytes)
            .seeds::<1>();
        let mut coefficients = Aligned::new(N);
        ternary::fill(&mut Stream::new(&seed[0], SECRET), &mut coefficients);
        let s = Zeroizing::new(Poly::from_signed(&coefficients, plan).into_ntt(plan));
        let mut errors = Stream::new(&seed[0], ERRORS);
        let mut e = Zeroizing::new(Aligned::new(N));

        let mut query = Query::zero(self.params, shape, self.stamp.epoch());
        let mut b = Zeroizing::new(Aligned::new(N));
        for (l, a) in self.a.chunks_exact(N).enumerate() {
            plan.inverse_product(a, &s, &mut b, 0);
            let coordinates = coordinates[l * shape.t..].iter().take(shape.t);
            for (residue, x) in b.iter_mut().zip(coordinates) {
                *residue = modulus.add(*residue, modulus.from_signed(message(*x)));
            }
            cbd::fill(&mut errors, &mut e);
            add_signed(modulus, &mut b, &e);
            for residue in b.iter_mut() {
                // Ties to even: half a unit too much on average would add up under equal codes. q - 1 is a
                // multiple of 2^r, so rounding up ends at q - 1 at most.
                *residue = shift(*residue, dropped);
            }
            query.set(l, &b);
        }
        let secret = SecretKey {
            params: self.params,
            coefficients,
        };
        (secret, query)
    }

    /// Decrypts the scores of a real-valued query, and ends its secret.
    ///
    /// # Errors
    /// [`Error::Form`] for a modular set, [`Error::Mismatch`] if the secret or the reply belongs to
    /// another parameter set or the reply to another shape of database, [`Error::Epoch`] or
    /// [`Error::Revision`] if to another state of it.
    ///
    /// # Security
    /// Runs in constant time. The scores carry an error that depends on the secret: they must stay with
    /// the client.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "scores are single precision"
    )]
    pub fn decrypt(&self, secret: SecretKey, reply: &Reply) -> Result<Vec<f32>, Error> {
        let Form::Real { window, .. } = self.params.form else {
            return Err(Error::Form { modular: true });
        };
        let bits = self.params.hint_bits().max(self.params.answer_bits);
        let scale = window / 2f64.powi(bits.cast_signed());
        self.decrypt_steps(secret, reply, bits, |step| (step as f64 * scale) as f32)
    }

    /// Decrypts the scores mod `P` of a query of integers, in `[-P/2, P/2)`, and ends its secret.
    ///
    /// # Errors
    /// As [`decrypt`](Self::decrypt), [`Error::Form`] for a real-valued set.
    ///
    /// # Security
    /// As [`decrypt`](Self::decrypt), except that the scores of an exact set do not carry an error.
    pub fn decrypt_modular(&self, secret: SecretKey, reply: &Reply) -> Result<Vec<i64>, Error> {
        let Form::Modular { log_p } = self.params.form else {
            return Err(Error::Form { modular: false });
        };
        let params = &self.params;
        let bits = params.hint_bits().max(params.answer_bits).max(log_p);
        let half = (1 << (bits - log_p)) >> 1;
        self.decrypt_steps(secret, reply, bits, |step| {
            centre((step + half) >> (bits - log_p), log_p)
        })
    }

    /// The decrypted scores mod `2^bits`, centred, each through `convert`.
    fn decrypt_steps<T>(
        &self,
        secret: SecretKey,
        reply: &Reply,
        bits: u32,
        convert: impl Fn(i64) -> T,
    ) -> Result<Vec<T>, Error> {
        let (params, shape) = (&self.params, self.shape);
        secret.params.check_same(params)?;
        reply.check(params, shape, self.stamp)?;
        let plan = hint_plan();
        let s = Poly::from_signed(&secret.coefficients, plan).into_ntt(plan);
        let s = Zeroizing::new(s);
        let mut product = Zeroizing::new(Aligned::new(N));
        let mut answers = vec![0; shape.per];
        let mut scores = Vec::with_capacity(shape.count);
        for ((j, answer), hint) in reply.blocks().enumerate().zip(&self.hint) {
            plan.inverse_product(hint, &s, &mut product, shape.t.ilog2());
            let answers = &mut answers[..shape.in_block(j)];
            params.answer_width().read(answer, answers);
            scores.extend(answers.iter().zip(product.iter()).map(|(&answer, &mask)| {
                let answer = answer.cast_signed() << (bits - params.answer_bits);
                let mask = plan.modulus().centred(mask) << (bits - params.hint_bits());
                convert(centre(answer - mask, bits))
            }));
        }
        Ok(scores)
    }
}

/// The ring in which hints and secrets are multiplied.
fn hint_plan() -> &'static Plan {
    dot::plan()
}

/// A block of a hint, centred, in NTT form.
fn lift(params: Params, block: &[u8]) -> Poly<Ntt> {
    let mut poly = Poly::<Coefficient>::zero(N);
    params.hint_width.read(block, &mut poly);
    for (i, residue) in poly.iter_mut().enumerate() {
        let width = params.hint_width.of(i);
        let centred = centre(residue.cast_signed(), width) << (params.hint_bits() - width);
        *residue = hint_plan().modulus().from_signed(centred);
    }
    poly.into_ntt(hint_plan())
}

/// The representative of `x` mod `2^bits` in `[-2^(bits-1), 2^(bits-1))`.
#[inline]
const fn centre(x: i64, bits: u32) -> i64 {
    let unused = u64::BITS - bits;
    (x << unused) >> unused
}
