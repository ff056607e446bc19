//! The client: it sends two masked unit vectors and receives one record of few bytes.

use rand_core::CryptoRng;
use sordino_lattice::matrix::{Backend, Words, scan};
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use super::{Answer, Hint, Params, Query};
use crate::lwe::{self, Domain, add_unit, decode, decode_answer};
use crate::params::{KAPPA, LOG_Q};
use crate::secret::{self, Asked, Draw, Secrets};
use crate::simple::Record;
use crate::wire::{self, check_params, check_version};
use crate::{Error, Seed};

/// Decrypts the answer to one query. It holds `s1` and `s2`, and also `H2 s2` if the query was prepared.
///
/// Recovery consumes the secret, because a second query under the same secrets would show the difference of both
/// queries. The secret does not hold the index, which recovery does not need. Zeroised on drop.
#[derive(Zeroize, ZeroizeOnDrop)]
pub struct Secret {
    s1: Secrets,
    s2: Secrets,
    product: Option<Vec<u32>>,
    version: u64,
}

/// A query that was made before its index is known, and `H2 s2`. [`Client::query_prepared`] consumes it, and finishes
/// it by a few thousand additions. Zeroised on drop.
#[derive(Zeroize, ZeroizeOnDrop)]
pub struct Prepared {
    first: Vec<u32>,
    second: Vec<u32>,
    secret: Secret,
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Secret")
            .field("version", &self.version)
            .finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Prepared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Prepared")
            .field("version", &self.secret.version)
            .finish_non_exhaustive()
    }
}

/// `A1`, `A2` and `H2`, laid out for products with secrets: `n (4 m + 4 l + 3 d kappa n)` bytes. The 3 becomes 4 under
/// uniform secrets, and after an update, which makes `H2` more precise than its rounding.
pub struct Client {
    pub(super) params: Params,
    pub(super) version: u64,
    pub(super) seed: Seed,
    backend: Backend,
    draw: Draw,
    pub(super) a1: Words,
    a2: Words,
    pub(super) h2: Words,
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        wire::describe(f, "Client", &self.params, self.version)
    }
}

impl Client {
    /// A client of the database that `hint` belongs to.
    ///
    /// # Errors
    /// [`Error::ParamsMismatch`] if the hint is for other parameters.
    pub fn new(params: &Params, seed: &Seed, hint: &Hint) -> Result<Self, Error> {
        Self::new_on(Backend::detect_with_tiles(), params, seed, hint)
    }

    /// [`Self::new`] on a backend of the caller's choice.
    ///
    /// # Errors
    /// The errors of [`Self::new`].
    pub fn new_on(
        backend: Backend,
        params: &Params,
        seed: &Seed,
        hint: &Hint,
    ) -> Result<Self, Error> {
        check_params(&hint.params, params)?;
        let n = params.n();
        let expand =
            |domain, rows| Words::from_rows(backend, rows, n, lwe::rows_of_a(seed, domain));
        Ok(Self {
            params: *params,
            version: hint.version,
            seed: *seed,
            backend,
            draw: Draw::of(params.set()),
            a1: expand(Domain::First, params.columns()),
            a2: expand(Domain::Second, params.per_column()),
            h2: rounded(backend, params.hint_bits(), &hint.words, params),
        })
    }

    /// The layout.
    #[must_use]
    pub const fn params(&self) -> &Params {
        &self.params
    }

    /// A query for record `index`.
    ///
    /// # Errors
    /// [`Error::IndexOutOfRange`] if there is no record of this number.
    ///
    /// # Security
    /// Secrets and errors are fresh for every query. They are drawn from 32 bytes of `rng` hashed together with the
    /// query. Two queries for different records share no secret even if `rng` repeats itself. A generator repeats
    /// itself in a machine restored from a snapshot or after a `fork` (`rand`'s `ThreadRng` does not reseed itself
    /// then). The same query from the same state gives the same message, which shows only the repetition.
    ///
    /// Time and memory accesses do not depend on `index`, except that an index out of range is refused.
    pub fn query<R: CryptoRng + ?Sized>(
        &self,
        rng: &mut R,
        index: usize,
    ) -> Result<(Secret, Query), Error> {
        self.check(index)?;
        let masked = self.mask(rng, Asked::Records(&[index])).pop();
        masked
            .ok_or(Error::Count {
                found: 0,
                expected: 1,
            })
            .map(|prepared| self.seal(prepared, index))
    }

    /// Makes `count` queries without their indices, in one pass over `A1`, `A2` and `H2`.
    ///
    /// # Security
    /// The records are not known yet, so the secrets depend on `rng` alone. If `rng` repeats itself, the secrets
    /// repeat, unlike with [`Self::query`]. Two queries made from one secret show the server the difference of their
    /// messages. Use the system's generator, and do not keep prepared queries across a snapshot of the machine or a
    /// `fork`.
    pub fn prepare<R: CryptoRng + ?Sized>(&self, rng: &mut R, count: usize) -> Vec<Prepared> {
        let mut prepared = self.mask(rng, Asked::Later(count));
        let s2: Vec<_> = prepared.iter().map(|one| &one.secret.s2).collect();
        let s2 = Secrets::together(&s2);
        let products = Zeroizing::new(s2.product(&self.h2));
        for (one, product) in prepared.iter_mut().zip(scan::columns(&products, count)) {
            one.secret.product = Some(product);
        }
        prepared
    }

    /// A prepared query for record `index`.
    ///
    /// # Errors
    /// [`Error::IndexOutOfRange`] if there is no record of this number. [`Error::VersionMismatch`] if the query was
    /// prepared for another version. [`Error::Length`] if it was prepared for a database of another size. Each of these
    /// errors consumes the prepared query.
    ///
    /// # Security
    /// The same as for [`Self::query`].
    pub fn query_prepared(
        &self,
        prepared: Prepared,
        index: usize,
    ) -> Result<(Secret, Query), Error> {
        self.check(index)?;
        check_version(prepared.secret.version, self.version)?;
        let (found, expected) = (
            prepared.first.len() + prepared.second.len(),
            self.params.query_words(),
        );
        if found != expected {
            return Err(Error::Length { found, expected });
        }
        Ok(self.seal(prepared, index))
    }

    #[inline(never)] // The constant-time test allows one comparison, and finds it by this function's name.
    fn check(&self, index: usize) -> Result<(), Error> {
        let records = self.params.records();
        if index < records {
            return Ok(());
        }
        Err(Error::IndexOutOfRange { records })
    }

    /// `A1 s1 + e1` and `A2 s2 + e2` for every query.
    fn mask<R: CryptoRng + ?Sized>(&self, rng: &mut R, asked: Asked<'_>) -> Vec<Prepared> {
        let n = self.params.n();
        let about = (&self.params, &self.seed, self.version);
        let seeds = secret::seeds(rng, Domain::First, about, asked);
        let (s1, first) = secret::masks(&seeds, &self.draw, n, &self.a1);
        let seeds = secret::seeds(rng, Domain::Second, about, asked);
        let (s2, second) = secret::masks(&seeds, &self.draw, n, &self.a2);
        let masks = first.into_iter().zip(second).enumerate();
        let prepared = masks.map(|(t, (first, second))| Prepared {
            first,
            second,
            secret: Secret {
                s1: s1.single(t),
                s2: s2.single(t),
                product: None,
                version: self.version,
            },
        });
        prepared.collect()
    }

    /// Adds `Delta u_j` and `Delta u_i` for the column and slot of record `index`.
    fn seal(&self, mut prepared: Prepared, index: usize) -> (Secret, Query) {
        let (column, slot) = self.params.locate(index);
        add_unit(&mut prepared.first, column);
        add_unit(&mut prepared.second, slot);
        lwe::round_query(&mut prepared.first, self.params.query_bits());
        lwe::round_query(&mut prepared.second, self.params.query_bits());
        let mut words = std::mem::take(&mut prepared.first);
        words.extend_from_slice(&prepared.second);
        let query = Query {
            params: self.params,
            version: self.version,
            words,
        };
        let secret = Secret {
            s1: std::mem::replace(&mut prepared.secret.s1, Secrets::none()),
            s2: std::mem::replace(&mut prepared.secret.s2, Secrets::none()),
            product: prepared.secret.product.take(),
            version: self.version,
        };
        (secret, query)
    }

    /// The record that the query of `secret` asked for.
    ///
    /// # Errors
    /// [`Error::ParamsMismatch`] or [`Error::VersionMismatch`] if the answer belongs to another database or version. A
    /// wrong answer of the right shape gives a wrong record without an error.
    pub fn recover(&self, secret: Secret, answer: &Answer) -> Result<Record, Error> {
        check_params(&answer.params, &self.params)?;
        check_version(secret.version, self.version)?;
        check_version(answer.version, self.version)?;
        let (n, d) = (self.params.n(), self.params.record_len());
        let fresh;
        let product = match &secret.product {
            Some(product) => product,
            None => {
                fresh = Zeroizing::new(secret.s2.product(&self.h2));
                &*fresh
            }
        };
        let (a2, b2) = answer.words.split_at(d * KAPPA * n);
        let h1 = Zeroizing::new(assemble(a2, product));
        // These rows are read only once, and whole words are faster to lay out than packed ones.
        let h = rounded(self.backend, LOG_Q, &answer.h, &self.params);
        let a1 = Zeroizing::new(assemble(b2, &Zeroizing::new(secret.s2.product(&h))));
        let h1 = Words::from_rows(self.backend, d, n, |e, out| {
            out.copy_from_slice(&h1[e * n..(e + 1) * n]);
        });
        let products = Zeroizing::new(secret.s1.product(&h1));
        let words = a1.iter().zip(products.iter());
        Ok(words
            .map(|(word, product)| decode(*word, *product))
            .collect())
    }
}

/// Lays out rows of `n` words, rounded like a hint's rows, as words of `bits` bits for products with secrets.
fn rounded(backend: Backend, bits: u32, words: &[u32], params: &Params) -> Words {
    let (n, shift) = (params.n(), LOG_Q - params.hint_bits());
    Words::from_rounded_rows(backend, bits, words.len() / n, n, |i, row| {
        for (word, rounded) in row.iter_mut().zip(&words[i * n..]) {
            *word = rounded << shift;
        }
    })
}

/// Puts each word together from its `kappa` digits, after subtracting their products.
fn assemble(digits: &[u16], products: &[u32]) -> Vec<u32> {
    let (digits, _) = digits.as_chunks::<KAPPA>();
    let (products, _) = products.as_chunks::<KAPPA>();
    let words = digits.iter().zip(products);
    words
        .map(|(digits, products)| {
            u32::from_le_bytes(std::array::from_fn(|k| {
                decode_answer(digits[k], products[k])
            }))
        })
        .collect()
}
