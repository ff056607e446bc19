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

use crate::Error;

mod failure;
mod length;
mod scheme;
mod set;

pub use scheme::Scheme;
pub(crate) use set::ERROR_BITS;
pub use set::{Security, Set};

/// `log2 q`.
pub(crate) const LOG_Q: u32 = 32;
/// `log2 Delta`.
pub(crate) const LOG_DELTA: u32 = 24;
/// `kappa`: bytes that a word mod `q` is expanded to by DoublePIR.
pub(crate) const KAPPA: usize = 4;
/// Bits of a word of an answer: the server drops the other 20.
pub const ANSWER_BITS: u32 = 12;
/// The bound that every record meets: it is wrong with probability at most `2^-40`.
pub const LOG2_FAILURE: f64 = -40.0;
/// The least number of bits that hints are rounded to.
const MIN_HINT_BITS: u32 = 20;
/// The least number of bits that queries are rounded to. With 24 scans by byte planes have one less.
const MIN_QUERY_BITS: u32 = 24;
/// Records, rows and columns are below `2^32`, digits below `2^46`.
const MAX_DIGITS: u128 = 1 << 46;

/// A database's layout and the set that serves it.
///
/// Record `i` lies in column `i / per_column`, in rows `(i % per_column) * record_len` and on: one
/// query fetches one column, and with it every record of that column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    scheme: Scheme,
    set: Set,
    records: usize,
    record_len: usize,
    per_column: usize,
    hint_bits: u32,
    query_bits: u32,
}

impl Params {
    /// A nearly square matrix for `records` records of `record_len` bytes, at 128 bits: queries and
    /// answers have about the square root of the database's size.
    ///
    /// # Errors
    /// [`Error::Empty`], or [`Error::TooLarge`] if no set keeps the failure bound.
    ///
    /// ```
    /// use sordino_pir::Params;
    /// let params = Params::for_database(1 << 20, 16)?;
    /// assert_eq!((params.rows(), params.columns()), (4096, 4096));
    /// assert!(params.log2_failure() <= -40.0);
    /// # Ok::<(), sordino_pir::Error>(())
    /// ```
    pub fn for_database(records: usize, record_len: usize) -> Result<Self, Error> {
        let side = (records as f64 / record_len.max(1) as f64).sqrt().round();
        // Not negative and at most 2^32: the square root of a usize.
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "see above"
        )]
        let per_column = (side as usize).clamp(1, records.max(1));
        Self::with_layout(records, record_len, per_column, Security::default())
    }

    /// DoublePIR's layout for `records` records of `record_len` bytes, at 128 bits: as many columns as
    /// slots if a set with uniform secrets serves them (up to 518 to 593 of each), since the hint has
    /// `n^2` words for each byte; otherwise at least `16 n` columns where there are as many records,
    /// since the second level's work is `4 n / m` of the first one's.
    ///
    /// # Errors
    /// As [`Self::for_database`].
    pub fn for_double(records: usize, record_len: usize) -> Result<Self, Error> {
        // What makes a square too large need not make the wide layout so.
        let square = Self::for_double_with(records, record_len, records.isqrt().max(1));
        if let Ok(square) = square
            && square.set.has_uniform_secrets()
        {
            return Ok(square);
        }
        let columns = (2 * records.isqrt()).max(16 * 1024);
        Self::for_double_with(records, record_len, records.div_ceil(columns).max(1))
    }

    /// As [`Self::for_double`], with `per_column` records to a column.
    ///
    /// # Errors
    /// As [`Self::for_database`].
    pub fn for_double_with(
        records: usize,
        record_len: usize,
        per_column: usize,
    ) -> Result<Self, Error> {
        let security = Security::default();
        Self::choose(Scheme::Double, records, record_len, per_column, security)
    }

    /// One record to a column, at 128 bits: `record_len` rows, `columns` columns.
    ///
    /// # Errors
    /// As [`Self::for_database`].
    pub fn for_columns(columns: usize, record_len: usize) -> Result<Self, Error> {
        Self::with_layout(columns, record_len, 1, Security::default())
    }

    /// `per_column` records to a column.
    ///
    /// # Errors
    /// As [`Self::for_database`].
    pub fn with_layout(
        records: usize,
        record_len: usize,
        per_column: usize,
        security: Security,
    ) -> Result<Self, Error> {
        Self::choose(Scheme::Simple, records, record_len, per_column, security)
    }

    fn choose(
        scheme: Scheme,
        records: usize,
        record_len: usize,
        per_column: usize,
        security: Security,
    ) -> Result<Self, Error> {
        Set::ALL
            .into_iter()
            .filter(|set| set.serves(security))
            .find_map(|set| Self::under(scheme, set, records, record_len, per_column).transpose())
            .unwrap_or_else(|| {
                let (rows, columns) = (
                    per_column.saturating_mul(record_len),
                    records.div_ceil(per_column.max(1)),
                );
                Err(Error::TooLarge { rows, columns })
            })
    }

    /// The same layout at another level of security.
    ///
    /// # Errors
    /// As [`Self::for_database`].
    pub fn at(&self, security: Security) -> Result<Self, Error> {
        let (records, record_len) = (self.records, self.record_len);
        Self::choose(self.scheme, records, record_len, self.per_column, security)
    }

    /// The same layout with the set that serves `records` records, for a database that will grow towards
    /// as many: appended records must not outgrow the set, nor need hints of more bits.
    ///
    /// # Errors
    /// As [`Self::for_database`].
    ///
    /// ```
    /// use sordino_pir::{Params, Set};
    /// let params = Params::for_columns(500, 32)?;
    /// assert_eq!(params.set(), Set::N384U);
    /// assert_eq!(params.with_room(20_000, Default::default())?.set(), Set::N1024S32);
    /// # Ok::<(), sordino_pir::Error>(())
    /// ```
    pub fn with_room(&self, records: usize, security: Security) -> Result<Self, Error> {
        let (scheme, record_len, per_column) = (self.scheme, self.record_len, self.per_column);
        let most = records.max(self.records);
        let room = Self::choose(scheme, most, record_len, per_column, security)?;
        let now = Self::under(scheme, room.set, self.records, record_len, per_column)?;
        now.ok_or(Error::TooLarge {
            rows: room.rows(),
            columns: room.columns(),
        })
    }

    /// The same layout and set with more records.
    ///
    /// # Errors
    /// [`Error::TooLarge`] if the set, with hints of as many bits as now, cannot keep the failure
    /// bound.
    pub(crate) fn grown(&self, records: usize) -> Result<Self, Error> {
        let (record_len, per_column) = (self.record_len, self.per_column);
        Self::under(self.scheme, self.set, records, record_len, per_column)?
            .filter(|params| params.hint_bits == self.hint_bits)
            .ok_or(Error::TooLarge {
                rows: self.rows(),
                columns: records.div_ceil(per_column),
            })
    }

    /// The layout under one set, or nothing if that set cannot keep the failure bound.
    pub(crate) fn under(
        scheme: Scheme,
        set: Set,
        records: usize,
        record_len: usize,
        per_column: usize,
    ) -> Result<Option<Self>, Error> {
        if records == 0 || record_len == 0 || per_column == 0 {
            return Err(Error::Empty {
                records,
                record_len,
            });
        }
        let columns = records.div_ceil(per_column);
        let fits = u32::try_from(records).is_ok()
            && per_column <= records
            && (per_column as u128 * record_len as u128) < 1 << 32
            && (per_column as u128 * record_len as u128) * (columns as u128) < MAX_DIGITS
            && set.hides(scheme, columns, per_column);
        if !fits {
            return Ok(None);
        }
        let whole = Self {
            scheme,
            set,
            records,
            record_len,
            per_column,
            hint_bits: LOG_Q,
            query_bits: LOG_Q,
        };
        let keeps = |params: &Self| params.log2_failure() <= LOG2_FAILURE;
        // A hint is the largest message: queries are rounded as far as that costs it nothing.
        let least = if set.has_uniform_secrets() {
            LOG_Q
        } else {
            MIN_HINT_BITS
        };
        let hint_bits = least..=LOG_Q;
        let rounded = hint_bits.map(|hint_bits| Self { hint_bits, ..whole });
        let Some(rounded) = rounded.into_iter().find(keeps) else {
            return Ok(None);
        };
        let query_bits = MIN_QUERY_BITS..=LOG_Q;
        let rounded = query_bits.map(|query_bits| Self {
            query_bits,
            ..rounded
        });
        Ok(rounded.into_iter().find(keeps))
    }

    /// The scheme that the layout is for.
    #[must_use]
    pub const fn scheme(&self) -> Scheme {
        self.scheme
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

    /// Bytes of a record.
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

    /// Bits that a word of the hint is rounded to: the fewest, from 20 up, that keep the failure
    /// bound.
    #[must_use]
    pub const fn hint_bits(&self) -> u32 {
        self.hint_bits
    }

    /// Bits that a word of a query is rounded to: the fewest, from 24 up, that keep the failure bound with
    /// a hint of [`Self::hint_bits`].
    #[must_use]
    pub const fn query_bits(&self) -> u32 {
        self.query_bits
    }

    /// Column and slot of record `index`, without a division of the secret index.
    pub(crate) fn locate(&self, index: usize) -> (usize, usize) {
        // With c = ceil(2^64 / per_column), (index * c) >> 64 is the quotient for all operands
        // below 2^32: the excess of c, below 1, adds less than 2^-32 to the quotient.
        let reciprocal = (u128::from(u64::MAX) / self.per_column as u128) + 1;
        #[expect(clippy::cast_possible_truncation, reason = "a quotient of a usize")]
        let column = ((index as u128 * reciprocal) >> 64) as usize;
        (column, index - column * self.per_column)
    }
}
