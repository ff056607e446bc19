//! Encrypts queries.

use rand_core::CryptoRng;
use sordino_lattice::aligned::Aligned;
use sordino_lattice::ring::{Poly, add_signed};
use sordino_lattice::rounding::{nearest, shift};
use sordino_lattice::sample::hedge::Hedge;
use sordino_lattice::sample::stream::Stream;
use sordino_lattice::sample::{cbd, ternary};
use zeroize::Zeroizing;

use super::Client;
use crate::Error;
use crate::column::params::Encoding;
use crate::column::query::{Query, SecretKey};
use crate::dot::N;
use crate::rounding::check_norms;

/// The numbers of the streams that one secret seed expands to.
const SECRET: u64 = 0;
const ERRORS: u64 = 1;

impl Client {
    /// Encrypts a real-valued query under a fresh secret.
    ///
    /// # Errors
    /// - [`Error::Encoding`] for a modular set
    /// - [`Error::Length`] if the query has another dimension
    /// - [`Error::NotFinite`] if a coordinate is infinite or NaN
    /// - [`Error::Norm`] if the query is longer than [`Params::norm_bound`](crate::column::Params::norm_bound)
    ///
    /// # Security
    /// The secret and the errors are fresh for this query. They are drawn from 32 bytes of `rng` hashed together with the
    /// query. Different queries share no secret even if `rng` repeats itself. A generator repeats itself in a machine
    /// restored from a snapshot, or after a `fork` (`rand`'s `ThreadRng` does not reseed itself then). The same query from
    /// the same state gives the same message, which shows only the repetition. Sampling and encryption run in constant time.
    pub fn encrypt<R: CryptoRng + ?Sized>(
        &self,
        rng: &mut R,
        query: &[f32],
    ) -> Result<(SecretKey, Query), Error> {
        let unit = self.unit()?;
        self.check_len(query.len())?;
        check_norms(query, self.shape.dim, self.params.norm_bound())?;
        let bytes = |x: &f32| u64::from(x.to_bits()).to_le_bytes();
        Ok(self.encrypt_message(rng, query, bytes, |x| nearest(f64::from(x) * unit)))
    }

    /// The integers that encode a real-valued query for encryption. Their inner product with codes is the score, scaled so
    /// that the score window is `q`.
    ///
    /// # Errors
    /// [`Error::Encoding`] for a modular set.
    ///
    /// # Security
    /// The integers are as secret as the query. They are computed without a branch on it.
    pub fn messages(&self, query: &[f32]) -> Result<Zeroizing<Vec<i64>>, Error> {
        let unit = self.unit()?;
        let messages = query.iter().map(|&x| nearest(f64::from(x) * unit));
        Ok(Zeroizing::new(messages.collect()))
    }

    /// The message that encodes a coordinate of 1.
    fn unit(&self) -> Result<f64, Error> {
        let Encoding::Real { scale, window } = self.params.encoding else {
            return Err(Error::Encoding { modular: true });
        };
        Ok(self.params.modulus() as f64 / (scale * window))
    }

    /// Encrypts a query of integers in `[-P/2, P/2)` under a fresh secret.
    ///
    /// # Errors
    /// [`Error::Encoding`] for a real-valued set. [`Error::Length`] if the query has another dimension. [`Error::Range`] if
    /// a coordinate is outside of the range.
    ///
    /// # Security
    /// The same as for [`encrypt`](Self::encrypt).
    #[expect(clippy::cast_possible_truncation, reason = "at most q / 2")]
    pub fn encrypt_modular<R: CryptoRng + ?Sized>(
        &self,
        rng: &mut R,
        query: &[i32],
    ) -> Result<(SecretKey, Query), Error> {
        let Encoding::Modular { log_p } = self.params.encoding else {
            return Err(Error::Encoding { modular: false });
        };
        self.check_len(query.len())?;
        self.params.check_modular(query, self.shape.dim)?;
        let q = i128::from(self.params.modulus());
        let half = 1 << (log_p - 1);
        let bytes = |x: &i32| i64::from(*x).to_le_bytes();
        // q is odd, so only -P/2 is a tie.
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

    /// Encrypts `coordinates`, each scaled by `message`. The seed of the secret is a hash over their `bytes`.
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
            .field(&self.seed)
            .words(coordinates, bytes)
            .seeds::<1>();
        let mut coefficients = Aligned::new(N);
        ternary::fill(&mut Stream::new(&seed[0], SECRET), &mut coefficients);
        let s = Zeroizing::new(Poly::from_signed(&coefficients, plan).into_ntt(plan));
        let mut errors = Stream::new(&seed[0], ERRORS);
        let mut e = Zeroizing::new(Aligned::new(N));

        let mut query = Query::zero(self.params, shape, self.state.epoch());
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
                // Ties go to even, because ties upwards would add half a unit on average, which sums up under equal codes. q
                // - 1 is a multiple of 2^r. So rounding up gives at most q - 1.
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
}
