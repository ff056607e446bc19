//! Parameters: named sets, and the layout of a database under one of them.
//!
//! | symbol | meaning | here |
//! |---|---|---|
//! | `n` | dimension of the LWE secret | [`Set::n`] |
//! | `q` | ciphertext modulus | `2^32` |
//! | `p` | plaintext modulus: one byte, centred | `256` |
//! | `Delta` | `q / p` | `2^24` |
//! | `sigma` | standard deviation of the error | [`Set::sigma`] |
//! | `l`, `m` | rows and columns of the database matrix `D` | [`Params::rows`], [`Params::columns`] |
//! | `A` | `m x n` uniform words, from a seed | row `j` belongs to column `j` of `D` |
//! | `H` | the hint, `D A`, `l x n` | rounded to [`Params::hint_bits`] bits |
//! | `b` | a query, `A s + e + Delta u_j`, `m` words | rounded to [`Params::query_bits`] bits |

use std::fmt;
use std::marker::PhantomData;

mod failure;
mod length;
mod scheme;
mod set;

pub(crate) use length::HEADER_LEN;
pub use scheme::{DoublePir, Protocol, Scheme, SimplePir};
pub(crate) use set::ERROR_BITS;
pub use set::{Security, Set};

/// `log2 q`.
pub(crate) const LOG_Q: u32 = 32;
/// `log2 Delta`.
pub(crate) const LOG_DELTA: u32 = 24;
/// `kappa`: bytes into which DoublePIR splits a word mod `q`.
pub(crate) const KAPPA: usize = 4;
/// The number of bits of a word of an answer. The server drops the other 20.
pub const ANSWER_BITS: u32 = 12;
/// `log2` of the bound for every record: it is wrong with probability at most `2^-40`.
pub const LOG2_FAILURE: f64 = -40.0;
/// The smallest number of bits that hints are rounded to.
const MIN_HINT_BITS: u32 = 20;
/// The smallest number of bits that queries are rounded to. With 24 bits, scans by byte planes need one plane fewer.
const MIN_QUERY_BITS: u32 = 24;
/// The bound on the number of digits. Records, rows and columns are below `2^32`, digits below `2^46`.
const MAX_DIGITS: u128 = 1 << 46;

/// A database's layout and the set that serves it, for the scheme `P`.
///
/// The type names the scheme, so that parameters for the other scheme do not compile:
///
/// ```compile_fail
/// use sordino_pir::{Database, Params, Seed, double};
/// let params = Params::for_database(50, 2)?;
/// let database = Database::from_slice(&params, &[0; 100])?;
/// double::Server::setup(database, &params, &Seed([1; 32]))?;
/// # Ok::<(), sordino_pir::Error>(())
/// ```
///
/// Record `i` lies in column `i / per_column`, from row `(i % per_column) * record_len` on. One query fetches one
/// column, and with it every record of that column.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Params<P> {
    set: Set,
    records: usize,
    record_len: usize,
    per_column: usize,
    hint_bits: u32,
    query_bits: u32,
    protocol: PhantomData<P>,
}

/// The numbers of some [`Params`], as errors hold them: one type for both schemes.
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct AnyParams {
    /// The scheme.
    pub scheme: Scheme,
    /// The named set.
    pub set: Set,
    /// The number of records in the database.
    pub records: usize,
    /// The size in bytes of a record.
    pub record_len: usize,
    /// The number of records that share a column.
    pub per_column: usize,
    /// The number of bits that a word of the hint is rounded to.
    pub hint_bits: u32,
    /// The number of bits that a word of a query is rounded to.
    pub query_bits: u32,
}

impl<P: Protocol> From<Params<P>> for AnyParams {
    fn from(params: Params<P>) -> Self {
        Self {
            scheme: P::SCHEME,
            set: params.set,
            records: params.records,
            record_len: params.record_len,
            per_column: params.per_column,
            hint_bits: params.hint_bits,
            query_bits: params.query_bits,
        }
    }
}

impl fmt::Debug for AnyParams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Params")
            .field("scheme", &self.scheme)
            .field("set", &self.set)
            .field("records", &self.records)
            .field("record_len", &self.record_len)
            .field("per_column", &self.per_column)
            .field("hint_bits", &self.hint_bits)
            .field("query_bits", &self.query_bits)
            .finish()
    }
}

impl<P: Protocol> fmt::Debug for Params<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        AnyParams::from(*self).fmt(f)
    }
}

impl<P: Protocol> Params<P> {
    /// The layout under one set, with words rounded as far as the failure bound allows. `None` if the set does not
    /// serve it, if the layout is empty, or if the failure bound rules it out.
    pub(crate) fn new(
        set: Set,
        records: usize,
        record_len: usize,
        per_column: usize,
    ) -> Option<Self> {
        if records == 0 || record_len == 0 || per_column == 0 {
            return None;
        }
        let columns = records.div_ceil(per_column);
        let fits = u32::try_from(records).is_ok()
            && per_column <= records
            && (per_column as u128 * record_len as u128) < 1 << 32
            && (per_column as u128 * record_len as u128) * (columns as u128) < MAX_DIGITS
            && set.hides(P::SCHEME, columns, per_column);
        if !fits {
            return None;
        }
        let whole = Self {
            set,
            records,
            record_len,
            per_column,
            hint_bits: LOG_Q,
            query_bits: LOG_Q,
            protocol: PhantomData,
        };
        let keeps = |params: &Self| params.log2_failure() <= LOG2_FAILURE;
        // The hint is the largest message, so it is made as short as possible first. Queries are then rounded as much
        // as the failure bound still permits.
        let least = if set.has_uniform_secrets() {
            LOG_Q
        } else {
            MIN_HINT_BITS
        };
        let hint_bits = least..=LOG_Q;
        let rounded = hint_bits.map(|hint_bits| Self { hint_bits, ..whole });
        let rounded = rounded.into_iter().find(keeps)?;
        let query_bits = MIN_QUERY_BITS..=LOG_Q;
        let rounded = query_bits.map(|query_bits| Self {
            query_bits,
            ..rounded
        });
        rounded.into_iter().find(keeps)
    }

    /// The named set.
    #[must_use]
    pub const fn set(&self) -> Set {
        self.set
    }

    /// `n`, the dimension of the secret.
    #[must_use]
    pub const fn n(&self) -> usize {
        self.set.n()
    }

    /// Records in the database.
    #[must_use]
    pub const fn records(&self) -> usize {
        self.records
    }

    /// The size in bytes of a record.
    #[must_use]
    pub const fn record_len(&self) -> usize {
        self.record_len
    }

    /// Records that share a column.
    #[must_use]
    pub const fn per_column(&self) -> usize {
        self.per_column
    }

    /// `l`, the rows of `D`: digits of an answer.
    #[must_use]
    pub const fn rows(&self) -> usize {
        self.per_column * self.record_len
    }

    /// `m`, the columns of `D`: words of a query.
    #[must_use]
    pub const fn columns(&self) -> usize {
        self.records.div_ceil(self.per_column)
    }

    /// The number of bits that a word of the hint is rounded to: the fewest, from 20 up, that keep the failure
    /// bound.
    #[must_use]
    pub const fn hint_bits(&self) -> u32 {
        self.hint_bits
    }

    /// The number of bits that a word of a query is rounded to: the fewest, from 24 up, that keep the failure bound with
    /// a hint of [`Self::hint_bits`].
    #[must_use]
    pub const fn query_bits(&self) -> u32 {
        self.query_bits
    }

    /// Column and slot of record `index`, without a division of the secret index.
    pub(crate) fn locate(&self, index: usize) -> (usize, usize) {
        // With c = ceil(2^64 / per_column), (index * c) >> 64 is the quotient for all operands below 2^32. The excess
        // of c, below 1, adds less than 2^-32 to the quotient.
        let reciprocal = (u128::from(u64::MAX) / self.per_column as u128) + 1;
        #[expect(clippy::cast_possible_truncation, reason = "a quotient of a usize")]
        let column = ((index as u128 * reciprocal) >> 64) as usize;
        (column, index - column * self.per_column)
    }
}
