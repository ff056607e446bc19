//! The client: it encrypts messages.

use rand_core::CryptoRng;
use sordino_lattice::aligned::Aligned;
use sordino_lattice::ring::Poly;
use sordino_lattice::sample::gaussian::Sampler;
use sordino_lattice::sample::hedge::Hedge;
use sordino_lattice::sample::stream::Stream;
use sordino_lattice::sample::ternary;
use zeroize::Zeroizing;

use crate::params::{N, Params, RANK, plan, to_message, to_word};
use crate::public;
use crate::query::{Query, Secret};
use crate::{Error, Seed, Shape};

/// The numbers of the streams that one secret seed expands to.
const SECRET: u64 = 0;
const ERRORS: u64 = 1;

/// A client of a table, with its public polynomials. They take 24 bytes for every 2 columns of a row.
pub struct Client {
    params: Params,
    shape: Shape,
    seed: Seed,
    /// `a_i0, a_i1, a_i2` for every polynomial of a query.
    a: Aligned<u64>,
    sampler: Sampler,
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
    /// A client of the table of `shape` under `seed`.
    ///
    /// # Panics
    /// Panics if the set has no table of this shape.
    #[must_use]
    pub fn new(params: &Params, shape: Shape, seed: &Seed) -> Self {
        assert!(params.has(shape), "a shape of the set");
        Self {
            params: *params,
            shape,
            seed: *seed,
            a: public::rows(seed, 0, shape.groups() * shape.polys()),
            sampler: Sampler::new(params.sigma(), 1),
        }
    }

    /// The shape of the table.
    #[must_use]
    pub const fn shape(&self) -> Shape {
        self.shape
    }

    /// Encrypts `message`, `m` integers for each group, under a fresh secret.
    ///
    /// # Errors
    /// [`Error::Length`] if the message's length is not [`Shape::words`].
    ///
    /// # Security
    /// Runs in constant time, so an attacker cannot see which numbers are 0. Secret and errors are fresh: they are
    /// drawn from 32 bytes of `rng` hashed together with the message. If `rng` repeats itself, different messages
    /// still share no secret. The same message then gives the same query, which shows only the repetition.
    pub fn query<R: CryptoRng + ?Sized>(
        &self,
        rng: &mut R,
        message: &[i16],
    ) -> Result<(Secret, Query), Error> {
        if message.len() != self.shape.words() {
            return Err(Error::Length {
                what: "message",
                found: message.len(),
                expected: self.shape.words(),
            });
        }
        let seed = Hedge::new(rng, "sordino-lwe query")
            .field(&[self.params.id()])
            .field(&self.seed.0)
            .words(message, |x| i64::from(*x).to_le_bytes())
            .seeds::<1>();
        let mut entries = Aligned::new(RANK * N);
        ternary::fill(&mut Stream::new(&seed[0], SECRET), &mut entries);
        let s: Vec<_> = entries
            .chunks_exact(N)
            .map(|s| Zeroizing::new(Poly::from_signed(s, plan()).into_ntt(plan())))
            .collect();

        let mut errors = Stream::new(&seed[0], ERRORS);
        let mut e = Zeroizing::new([0i16; N]);
        let mut sum = Zeroizing::new(Aligned::<u64>::new(N));
        let mut product = Zeroizing::new(Aligned::<u64>::new(N));
        let mut words = Vec::with_capacity(message.len());
        let mut a = self.a.chunks_exact(RANK * N);
        let (modulus, log_p) = (plan().modulus(), self.params.log_p());
        for message in message.chunks_exact(self.shape.columns()) {
            for (message, a) in message.chunks(N).zip(a.by_ref()) {
                sum.fill(0);
                for (a, s) in a.chunks_exact(N).zip(&s) {
                    product.copy_from_slice(a);
                    plan().multiply(&mut product, s);
                    for (sum, x) in sum.iter_mut().zip(product.iter()) {
                        *sum = modulus.add(*sum, *x);
                    }
                }
                plan().inverse(&mut sum);
                self.sampler.fill(&mut errors, e.as_mut());
                // The message is added before rounding, so that each word is a function of an LWE sample, for any
                // message. A sum of two words would not be one, since 2^32 does not divide q.
                words.extend(message.iter().zip(sum.iter()).zip(e.iter()).map(
                    |((&u, &product), &e)| {
                        let added = modulus.from_signed(to_message(u, log_p) + i64::from(e));
                        to_word(modulus.add(product, added))
                    },
                ));
            }
        }
        let secret = Secret::new(self.params, entries);
        let epoch = public::epoch(&self.seed);
        Ok((secret, Query::new(self.params, self.shape, epoch, words)))
    }
}
