//! The server: one scan of the database, then two small products over the result.

use sordino_lattice::matrix::scan::{self, for_row_chunks};
use sordino_lattice::matrix::{Backend, LANES, Panels, Vector};

use super::{Answer, Database, Hint, Params, Query};
use crate::database::{CENTRE, Matrix};
use crate::lwe::{self, Domain, round, round_answer};
use crate::params::KAPPA;
use crate::wire::{self, check_params, check_version};
use crate::{Error, Seed};

/// A database, the digits of its first-level hint, and `A2`. Nothing in it is secret.
pub struct Server {
    pub(super) params: Params,
    pub(super) version: u64,
    backend: Backend,
    pub(super) seed: Seed,
    pub(super) database: Database,
    /// Row `(e n + c) kappa + k`, column `i`: byte `k` of word `c` of `H1`'s row for byte `e` of the
    /// records in slot `i`.
    pub(super) g: Matrix,
    a2: Panels,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        wire::describe(f, "Server", &self.params, self.version)
    }
}

impl Server {
    /// Computes both hints of `database` under the `A1` and `A2` of `seed`. The server keeps the
    /// first hint.
    ///
    /// # Errors
    /// [`Error::ParamsMismatch`] if the database was laid out for other parameters.
    pub fn setup(database: Database, params: &Params, seed: &Seed) -> Result<(Self, Hint), Error> {
        Self::setup_on(Backend::detect_with_tiles(), database, params, seed)
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
        check_params(database.params(), params)?;
        let g = first_hint(backend, &database, seed)?;
        let rows = lwe::rows_of_a(seed, Domain::Second);
        let server = Self {
            params: *params,
            version: 0,
            backend,
            seed: *seed,
            database,
            g,
            a2: Panels::from_rows(backend, params.per_column(), params.n(), rows),
        };
        let hint = server.hint();
        Ok((server, hint))
    }

    /// `H2 = G A2`, rounded, for the present version. New clients need it after updates.
    #[must_use]
    pub fn hint(&self) -> Hint {
        let (n, width) = (self.params.n(), self.params.hint_bits());
        let mut words = vec![0; self.params.hint_words()];
        for_row_chunks(self.g.digits(), n, &mut words, |digits, out| {
            digits.mul_panels(&self.a2, out);
            for word in out {
                *word = round(*word, width);
            }
        });
        Hint {
            params: self.params,
            version: self.version,
            words,
        }
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

    /// Answers one query: one pass over the database and one over the digits of its hint.
    ///
    /// # Errors
    /// [`Error::ParamsMismatch`] or [`Error::VersionMismatch`] if the query belongs to another
    /// database or version.
    pub fn answer(&self, query: &Query) -> Result<Answer, Error> {
        self.check(query)?;
        let q1 = Vector::new(self.backend, query.first());
        let mut a1 = vec![0; self.params.rows()];
        let digits = self.database.digits()?;
        for_row_chunks(digits, 1, &mut a1, |digits, out| digits.mul_vec(&q1, out));
        self.second_level(&a1, query)
    }

    /// Answers queries of several clients in one pass over the database.
    ///
    /// # Errors
    /// The errors of [`Self::answer`], for the first query that is refused. No query is answered
    /// then.
    pub fn answer_batch(&self, queries: &[Query]) -> Result<Vec<Answer>, Error> {
        queries.iter().try_for_each(|query| self.check(query))?;
        let columns: Vec<_> = queries.iter().map(|query| query.first()).collect();
        let a1 = scan::product(self.backend, self.database.digits()?, &columns);
        let a1 = scan::columns(&a1, queries.len());
        let answers = a1.iter().zip(queries);
        answers
            .map(|(a1, query)| self.second_level(a1, query))
            .collect()
    }

    fn check(&self, query: &Query) -> Result<(), Error> {
        check_params(&query.params, &self.params)?;
        check_version(query.version, self.version)
    }

    /// Computes `h`, `a2` and `b2` from the first level's answer `a1`.
    fn second_level(&self, a1: &[u32], query: &Query) -> Result<Answer, Error> {
        let (n, d, l) = (
            self.params.n(),
            self.params.record_len(),
            self.params.per_column(),
        );
        // T: row e kappa + k, column i, is byte k of the word for byte e of the records in slot i.
        let mut t = Matrix::zeroed(d * KAPPA, l);
        for row in 0..d * KAPPA {
            let (e, k) = (row / KAPPA, row % KAPPA);
            for first in (0..l).step_by(LANES) {
                let words = a1[first * d + e..].iter().step_by(d);
                for (digit, word) in t.line_mut(row, first).iter_mut().zip(words) {
                    *digit = word.to_le_bytes()[k] ^ CENTRE;
                }
            }
        }
        let q2 = Vector::new(self.backend, query.second());
        let mut h = vec![0; d * KAPPA * n];
        t.digits().mul_panels(&self.a2, &mut h);
        let mut words = vec![0; d * KAPPA * (n + 1)];
        let (a2, b2) = words.split_at_mut(d * KAPPA * n);
        for_row_chunks(self.g.digits(), 1, a2, |digits, out| {
            digits.mul_vec(&q2, out);
        });
        t.digits().mul_vec(&q2, b2);
        let width = self.params.hint_bits();
        Ok(Answer {
            params: self.params,
            version: self.version,
            words: words.into_iter().map(round_answer).collect(),
            h: h.into_iter().map(|word| round(word, width)).collect(),
        })
    }
}

/// `G`: the digits of `H1 = D A1`, transposed.
fn first_hint(backend: Backend, database: &Database, seed: &Seed) -> Result<Matrix, Error> {
    let params = database.params();
    let (n, d, l) = (params.n(), params.record_len(), params.per_column());
    let rows = lwe::rows_of_a(seed, Domain::First);
    let a1 = Panels::from_rows(backend, params.columns(), n, rows);
    let mut g = Matrix::zeroed(d * KAPPA * n, l);
    // Handles 64 slots at a time, which fill a cache line of every row of G.
    let mut h1 = vec![0; LANES * d * n];
    for first in (0..l).step_by(LANES) {
        let slots = LANES.min(l - first);
        let h1 = &mut h1[..slots * d * n];
        let digits = database.digits()?.slice(first * d..(first + slots) * d);
        for_row_chunks(digits, n, h1, |digits, out| digits.mul_panels(&a1, out));
        for row in 0..d * KAPPA * n {
            let (e, c, k) = (row / (KAPPA * n), row / KAPPA % n, row % KAPPA);
            let words = h1[e * n + c..].iter().step_by(d * n);
            for (digit, word) in g.line_mut(row, first).iter_mut().zip(words) {
                *digit = word.to_le_bytes()[k] ^ CENTRE;
            }
        }
    }
    Ok(g)
}
