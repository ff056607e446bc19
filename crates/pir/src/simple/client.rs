//! The client: it makes queries that hide their index. `recover` reads the answers.

mod recover;

use rand_core::CryptoRng;
use sordino_lattice::matrix::{Backend, Words, scan};
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use super::{Hint, Params, Query};
use crate::lwe::{self, Domain, add_unit};
use crate::params::LOG_Q;
use crate::secret::{self, Asked, Draw, Secrets};
use crate::wire::{self, check_params, check_version};
use crate::{Error, Seed};

/// A record of the database, `record_len` bytes.
pub type Record = Vec<u8>;

/// Decrypts the answer to one query. It holds `s` or `H s`, and the number of the record that the query asked for.
///
/// Recovery consumes the secret, because a second query under the same `s` would show the difference of both queries.
/// Zeroised on drop.
#[derive(Zeroize, ZeroizeOnDrop)]
pub struct Secret {
    key: Key,
    index: usize,
    version: u64,
}

#[derive(Zeroize, ZeroizeOnDrop)]
pub(super) enum Key {
    /// `s`, one secret.
    Raw(Secrets),
    /// `H s`, `l` words.
    Product(Vec<u32>),
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Secret")
            .field("version", &self.version)
            .finish_non_exhaustive()
    }
}

/// A query made before its index is known: `A s + e` and `H s`, `4 (m + l)` bytes.
///
/// It contains all of the client's arithmetic except one addition and one subtraction per word.
/// [`Client::query_prepared`] consumes it. Zeroised on drop.
#[derive(Zeroize, ZeroizeOnDrop)]
pub struct Prepared {
    mask: Vec<u32>,
    product: Vec<u32>,
    version: u64,
}

impl std::fmt::Debug for Prepared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Prepared")
            .field("version", &self.version)
            .finish_non_exhaustive()
    }
}

/// `A` and `H`, laid out for products with secrets: `n (4 m + 3 l)` bytes. The size is `4 n (m + l)` under uniform
/// secrets, and after an update, which makes `H` more precise than its rounding.
pub struct Client {
    pub(super) params: Params,
    pub(super) version: u64,
    pub(super) seed: Seed,
    draw: Draw,
    pub(super) a: Words,
    pub(super) h: Words,
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
        let shift = LOG_Q - params.hint_bits();
        Ok(Self {
            params: *params,
            version: hint.version,
            seed: *seed,
            draw: Draw::of(params.set()),
            a: Words::from_rows(
                backend,
                params.columns(),
                n,
                lwe::rows_of_a(seed, Domain::Simple),
            ),
            h: Words::from_rounded_rows(backend, params.hint_bits(), params.rows(), n, |i, row| {
                for (word, rounded) in row.iter_mut().zip(&hint.words[i * n..]) {
                    *word = rounded << shift;
                }
            }),
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
    /// Secret and error are fresh for every query. They are drawn from 32 bytes of `rng` hashed together with the
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
        let (s, mut masks) = self.masks(rng, Asked::Records(&[index]));
        let mask = masks.pop().unwrap_or_default();
        Ok(self.seal(mask, Key::Raw(s), index))
    }

    /// Makes queries for several records in one pass over `A`.
    ///
    /// # Errors
    /// The errors of [`Self::query`].
    ///
    /// # Security
    /// The same as for [`Self::query`]. The server sees the number of queries.
    pub fn query_batch<R: CryptoRng + ?Sized>(
        &self,
        rng: &mut R,
        indices: &[usize],
    ) -> Result<(Vec<Secret>, Vec<Query>), Error> {
        indices.iter().try_for_each(|index| self.check(*index))?;
        let (s, masks) = self.masks(rng, Asked::Records(indices));
        let pairs = masks.into_iter().zip(indices).enumerate();
        Ok(pairs
            .map(|(t, (mask, index))| {
                let key = Key::Raw(s.single(t));
                self.seal(mask, key, *index)
            })
            .unzip())
    }

    /// Makes `count` queries without their indices, in one pass over `A` and one over `H`.
    ///
    /// # Security
    /// The records are not known yet, so the secrets depend on `rng` alone. If `rng` repeats itself, the secrets
    /// repeat, unlike with [`Self::query`]. Two queries made from one secret show the server the difference of their
    /// messages. Use the system's generator, and do not keep prepared queries across a snapshot of the machine or a
    /// `fork`.
    pub fn prepare<R: CryptoRng + ?Sized>(&self, rng: &mut R, count: usize) -> Vec<Prepared> {
        let (s, masks) = self.masks(rng, Asked::Later(count));
        let products = Zeroizing::new(s.product(&self.h));
        let products = scan::columns(&products, count);
        let prepared = masks
            .into_iter()
            .zip(products)
            .map(|(mask, product)| Prepared {
                mask,
                product,
                version: self.version,
            });
        prepared.collect()
    }

    /// A prepared query for record `index`.
    ///
    /// # Errors
    /// [`Error::IndexOutOfRange`] if there is no record of this number. [`Error::VersionMismatch`] if the query was
    /// prepared for another version. Both errors consume the prepared query.
    ///
    /// # Security
    /// The same as for [`Self::query`].
    pub fn query_prepared(
        &self,
        mut prepared: Prepared,
        index: usize,
    ) -> Result<(Secret, Query), Error> {
        self.check(index)?;
        check_version(prepared.version, self.version)?;
        let mask = std::mem::take(&mut prepared.mask);
        let key = Key::Product(std::mem::take(&mut prepared.product));
        if mask.len() != self.params.columns() {
            return Err(Error::Length {
                found: mask.len(),
                expected: self.params.columns(),
            });
        }
        Ok(self.seal(mask, key, index))
    }

    #[inline(never)] // The test of constant time knows the one allowed comparison by this name.
    fn check(&self, index: usize) -> Result<(), Error> {
        let records = self.params.records();
        if index < records {
            return Ok(());
        }
        Err(Error::IndexOutOfRange { records })
    }

    fn masks<R: CryptoRng + ?Sized>(
        &self,
        rng: &mut R,
        asked: Asked<'_>,
    ) -> (Secrets, Vec<Vec<u32>>) {
        let about = (&self.params, &self.seed, self.version);
        let seeds = secret::seeds(rng, Domain::Simple, about, asked);
        secret::masks(&seeds, &self.draw, self.params.n(), &self.a)
    }

    /// `A s + e + Delta u_j`, rounded, for the column `j` that holds record `index`.
    fn seal(&self, mut mask: Vec<u32>, key: Key, index: usize) -> (Secret, Query) {
        add_unit(&mut mask, self.params.locate(index).0);
        lwe::round_query(&mut mask, self.params.query_bits());
        let secret = Secret {
            key,
            index,
            version: self.version,
        };
        let query = Query {
            params: self.params,
            version: self.version,
            words: mask,
        };
        (secret, query)
    }
}

impl Secret {
    #[cfg(test)]
    pub(super) fn key(&self) -> &Key {
        &self.key
    }

    fn raw(&self) -> Option<&Secrets> {
        match &self.key {
            Key::Raw(s) => Some(s),
            Key::Product(_) => None,
        }
    }
}
