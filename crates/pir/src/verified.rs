//! Checks answers before they are decrypted.
//!
//! Suppose that a server changes one column, or one row of the hint, and watches whether the client complains. Then it
//! learns something about the index. Here the check comes before decryption and involves neither the index nor the LWE
//! secret. So a client may show the outcome to anyone.
//!
//! | symbol | meaning | shape |
//! |---|---|---|
//! | `C` | secret random bits | 128 `x l` |
//! | `Z` | `C D` | 128 `x m` |
//! | `u`, `v` | a query and the raw answer to it | `m`, `l` |
//!
//! An honest `v = D u` has `C v = Z u`. For any other `v` a random row of `C` satisfies its equation with probability
//! at most 1/2. To see this, fix all bits except the one that belongs to a wrong word of `v`: at most one of its two
//! values fits. So all 128 rows fit with probability at most `2^-128`, whatever the server knows except `C`. This
//! follows the idea of VeriSimplePIR (de Castro and Lee, USENIX Security 2024). In this crate, the checker is made by a
//! party that knows the database.
//!
//! # Limits
//! `C` must stay secret from the server. So the data owner makes a [`Checker`] and may give it to clients. The server
//! cannot make it. The hint must be authentic as well: it comes from the owner, or the client compares it with a digest
//! that the owner signed.

use rand_core::CryptoRng;
use sordino_lattice::matrix::{Backend, LANES, Panels, Vector, Words, stride};
use zeroize::Zeroize;

use crate::Error;
use crate::database::Matrix;
use crate::secret::Secrets;
use crate::simple::{Answer, Database, Params, Query, RawAnswer, Update};
use crate::wire::{check_params, check_version};

/// The number of rows of `C`: a wrong answer passes with probability at most `2^-128`.
pub const ROWS: usize = 128;

/// `C` and `Z` for one version of a database: `128 (l + 4 m)` bytes, secret from the server.
pub struct Checker {
    params: Params,
    version: u64,
    backend: Backend,
    c: Matrix,
    z: Words,
}

impl std::fmt::Debug for Checker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Checker")
            .field("params", &self.params)
            .field("version", &self.version)
            .finish_non_exhaustive()
    }
}

impl Drop for Checker {
    fn drop(&mut self) {
        self.c.bytes_mut().zeroize();
        for i in 0..ROWS {
            self.z.update_row(i, <[u32]>::zeroize);
        }
    }
}

impl Checker {
    /// A fresh `C` and its `Z`, for the database at version 0: `128 l m` byte products.
    ///
    /// # Errors
    /// [`Error::Length`] if the length of the mapped file has changed.
    pub fn new<R: CryptoRng + ?Sized>(rng: &mut R, database: &Database) -> Result<Self, Error> {
        let params = *database.params();
        let backend = Backend::detect_with_tiles();
        let (l, m) = (params.rows(), params.columns());
        let mut c = Matrix::zeroed(ROWS, l);
        rng.fill_bytes(c.bytes_mut());
        for bit in c.bytes_mut() {
            *bit &= 1;
        }
        // Z = C D: the columns of D as words, a few at a time.
        let digits = database.digits()?;
        let mut z = vec![0; ROWS * m];
        let mut out = vec![0; ROWS * LANES];
        for first in (0..m).step_by(LANES) {
            let width = LANES.min(m - first);
            let columns = Panels::from_rows(backend, l, width, |i, row| {
                for (word, digit) in row.iter_mut().zip(digits.line(i, first)) {
                    *word = i32::from(digit.cast_signed()).cast_unsigned();
                }
            });
            let out = &mut out[..ROWS * width];
            c.digits().mul_panels(&columns, out);
            for (z, out) in z.chunks_exact_mut(m).zip(out.chunks_exact(width)) {
                z[first..first + width].copy_from_slice(out);
            }
        }
        let words = Words::from_rows(backend, ROWS, m, |r, row| {
            row.copy_from_slice(&z[r * m..(r + 1) * m]);
        });
        z.zeroize();
        out.zeroize();
        Ok(Self {
            params,
            version: 0,
            backend,
            c,
            z: words,
        })
    }

    /// The rounded answer to `query`, if the server answered honestly.
    ///
    /// # Errors
    /// [`Error::Unverified`] if the server did not answer honestly. [`Error::ParamsMismatch`] or
    /// [`Error::VersionMismatch`] if the query or the answer is not for this database.
    ///
    /// # Security
    /// The comparison takes the same time for every answer of the right shape. Only an answer that passes is then rounded.
    pub fn check(&self, query: &Query, answer: &RawAnswer) -> Result<Answer, Error> {
        for (params, version) in [
            (&query.params, query.version),
            (&answer.params, answer.version),
        ] {
            check_params(params, &self.params)?;
            check_version(version, self.version)?;
        }
        let mut c_v = vec![0; ROWS];
        let v = Vector::new(self.backend, &answer.words);
        self.c.digits().mul_vec(&v, &mut c_v);
        let z_u = Secrets::from_words(query.first()).product(&self.z);
        let differences = c_v.iter().zip(z_u);
        let difference = differences.fold(0, |all, (c_v, z_u)| all | (c_v ^ z_u));
        if difference == 0 {
            return Ok(answer.round());
        }
        Err(Error::Unverified)
    }

    /// Moves to the next version of the database.
    ///
    /// # Errors
    /// [`Error::ParamsMismatch`] or [`Error::VersionMismatch`] if the update does not start from this checker's
    /// version. Nothing is changed then.
    ///
    /// # Security
    /// The update must be authentic, because it defines what the honest database is.
    pub fn apply(&mut self, update: &Update) -> Result<(), Error> {
        let (params, version) = update.base();
        check_params(params, &self.params)?;
        check_version(version, self.version)?;
        let (from, to) = (self.params.columns(), update.params().columns());
        if to > from {
            let mut wider = Words::from_rows(self.backend, ROWS, to, |_, _| ());
            for r in 0..ROWS {
                let mut old = vec![0; from];
                self.z.update_row(r, |row| old.copy_from_slice(row));
                wider.update_row(r, |row| row[..from].copy_from_slice(&old));
                old.zeroize();
            }
            for r in 0..ROWS {
                self.z.update_row(r, <[u32]>::zeroize);
            }
            self.z = wider;
        }
        for (index, delta) in update.deltas() {
            let (column, slot) = update.params().locate(index);
            let start = slot * delta.len();
            for r in 0..ROWS {
                let terms = delta.iter().enumerate();
                let sum = terms.fold(0, |sum, (i, delta)| {
                    sum + i32::from(self.c.digit(r, start + i)) * i32::from(*delta)
                });
                self.z.update_row(r, |row| {
                    row[column] = row[column].wrapping_add(sum.cast_unsigned());
                });
            }
        }
        self.params = *update.params();
        self.version += 1;
        Ok(())
    }

    /// The number of bytes that the checker keeps, without padding.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        ROWS * (stride(self.params.rows()) + 4 * stride(self.params.columns()))
    }
}
