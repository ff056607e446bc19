//! The server: one pass over the database answers one query or many.

use sordino_lattice::matrix::scan::{self, for_row_chunks};
use sordino_lattice::matrix::{Backend, Panels, Vector};

use super::{Answer, Database, Hint, Params, Query, RawAnswer};
use crate::lwe::{self, Domain, round};
use crate::wire::{self, check_params, check_version};
use crate::{Error, Seed};

/// A database, and everything else that answering queries needs. Nothing in it is secret.
pub struct Server {
    pub(super) params: Params,
    pub(super) version: u64,
    backend: Backend,
    seed: Seed,
    pub(super) database: Database,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        wire::describe(f, "Server", &self.params, self.version)
    }
}

impl Server {
    /// Computes the hint of `database` under the `A` of `seed`.
    ///
    /// # Errors
    /// [`Error::ParamsMismatch`] if the database was laid out for other parameters.
    pub fn setup(database: Database, params: &Params, seed: &Seed) -> Result<(Self, Hint), Error> {
        Self::setup_on(Backend::detect_with_tiles(), database, params, seed)
    }

    /// A server for a database whose hint was computed earlier under the same seed.
    ///
    /// # Errors
    /// The errors of [`Self::setup`].
    pub fn new(database: Database, params: &Params, seed: &Seed) -> Result<Self, Error> {
        Self::new_on(Backend::detect_with_tiles(), database, params, seed)
    }

    fn new_on(
        backend: Backend,
        database: Database,
        params: &Params,
        seed: &Seed,
    ) -> Result<Self, Error> {
        check_params(database.params(), params)?;
        Ok(Self {
            params: *params,
            version: 0,
            backend,
            seed: *seed,
            database,
        })
    }

    /// [`Self::setup`] on a backend of the caller's choice.
    ///
    /// # Errors
    /// The errors of [`Self::setup`].
    pub fn setup_on(
        backend: Backend,
        database: Database,
        params: &Params,
        seed: &Seed,
    ) -> Result<(Self, Hint), Error> {
        let server = Self::new_on(backend, database, params, seed)?;
        let hint = server.hint()?;
        Ok((server, hint))
    }

    /// The layout.
    #[must_use]
    pub const fn params(&self) -> &Params {
        &self.params
    }

    /// The version of the database.
    #[must_use]
    pub const fn version(&self) -> u64 {
        self.version
    }

    /// `H = D A`, rounded, for the present version: what a new client needs after updates.
    ///
    /// # Errors
    /// [`Error::Length`] if the length of the mapped file has changed.
    pub fn hint(&self) -> Result<Hint, Error> {
        let (n, width) = (self.params.n(), self.params.hint_bits());
        let rows = lwe::rows_of_a(&self.seed, Domain::Simple);
        let a = Panels::from_rows(self.backend, self.params.columns(), n, rows);
        let mut words = vec![0; self.params.rows() * n];
        for_row_chunks(self.database.digits()?, n, &mut words, |digits, out| {
            digits.mul_panels(&a, out);
            for word in out {
                *word = round(*word, width);
            }
        });
        Ok(Hint {
            params: self.params,
            version: self.version,
            words,
        })
    }

    /// Answers one query: one pass over the database.
    ///
    /// # Errors
    /// [`Error::ParamsMismatch`] or [`Error::VersionMismatch`] if the query belongs to another
    /// database or version.
    pub fn answer(&self, query: &Query) -> Result<Answer, Error> {
        Ok(self.answer_raw(query)?.round())
    }

    /// [`Self::answer`] with all 32 bits of every word, which
    /// [`verified`](crate::verified) clients need.
    ///
    /// # Errors
    /// The errors of [`Self::answer`].
    pub fn answer_raw(&self, query: &Query) -> Result<RawAnswer, Error> {
        self.check(query)?;
        let b = Vector::new(self.backend, query.first());
        let mut words = vec![0; self.params.rows()];
        for_row_chunks(self.database.digits()?, 1, &mut words, |digits, out| {
            digits.mul_vec(&b, out);
        });
        Ok(self.raw(words))
    }

    /// Answers queries of several clients in one pass over the database.
    ///
    /// # Errors
    /// The errors of [`Self::answer`], for the first query that is refused. No query is answered
    /// then.
    pub fn answer_batch(&self, queries: &[Query]) -> Result<Vec<Answer>, Error> {
        queries.iter().try_for_each(|query| self.check(query))?;
        if let [query] = queries {
            return Ok(vec![self.answer(query)?]);
        }
        let columns: Vec<_> = queries.iter().map(|query| query.first()).collect();
        let words = scan::product(self.backend, self.database.digits()?, &columns);
        let answers = scan::columns(&words, queries.len()).into_iter();
        Ok(answers.map(|words| self.raw(words).round()).collect())
    }

    fn check(&self, query: &Query) -> Result<(), Error> {
        check_params(&query.params, &self.params)?;
        check_version(query.version, self.version)
    }

    const fn raw(&self, words: Vec<u32>) -> RawAnswer {
        RawAnswer {
            params: self.params,
            version: self.version,
            words,
        }
    }
}
