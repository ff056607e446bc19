//! Parameters: named sets, and the layout of a database under one of them.
//!
//! | symbol | meaning | here |
//! |---|---|---|
//! | `n` | dimension of the LWE secret | [`Set::n`] |
//! | `q` | ciphertext modulus | `2^32` |
//! | `p` | plaintext modulus: one byte, centred | `256` |
//! | `Delta` | `q / p` | `2^24` |
//! | `sigma` | standard deviation of secret and error | [`Set::sigma`] |
//! | `l`, `m` | rows and columns of the database matrix `D` | [`Params::rows`], [`Params::columns`] |
//! | `A` | `m x n` uniform words, from a seed | row `j` belongs to column `j` of `D` |
//! | `H` | the hint, `D A`, `l x n` | rounded to [`Params::hint_bits`] bits |

use rand_core::CryptoRng;
use sordino_lattice::{noise, sample::gaussian::Sampler};

use crate::Error;
use crate::bits::packed_len;
use crate::wire::HEADER_LEN;

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
/// Records, rows and columns are below `2^32`, digits below `2^46`.
const MAX_DIGITS: u128 = 1 << 46;

/// The 32 bytes that `A` is expanded from. Public.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seed(pub [u8; 32]);

impl Seed {
    /// A random seed.
    pub fn random<R: CryptoRng + ?Sized>(rng: &mut R) -> Self {
        let mut seed = [0; 32];
        rng.fill_bytes(&mut seed);
        Self(seed)
    }
}

/// What a set must be worth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Security {
    /// At least 128 bits: the minimum over usvp, bdd, dual and dual-hybrid attacks by the lattice
    /// estimator (commit 27a581b) under the MATZOV cost model.
    #[default]
    Classical128,
    /// At least 128 bits when only the `2^(0.292 beta)` of sieving in one block is counted.
    CoreSvp128,
    /// The published SimplePIR set, which is worth **121.5 bits** by the same estimate: for
    /// comparisons like for like, and for nothing else.
    Published121,
}

/// A named set of LWE parameters over `q = 2^32`, secret and error from the same Gaussian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Set {
    /// `n = 1024, sigma = 32`: 144.0 bits (core-SVP 118.8).
    N1024S32,
    /// `n = 1024, sigma = 16`: 133.6 bits (core-SVP 107.8).
    N1024S16,
    /// `n = 1280, sigma = 16`: 169.4 bits (core-SVP 145.4).
    N1280S16,
    /// `n = 1024, sigma = 6.4`, as published: **121.5 bits** (core-SVP 95.2).
    Published121,
}

impl Set {
    /// Every set, in the order in which they are tried.
    pub const ALL: [Self; 4] = [
        Self::N1024S32,
        Self::N1024S16,
        Self::N1280S16,
        Self::Published121,
    ];

    /// `n`, the dimension of the secret.
    #[must_use]
    pub const fn n(self) -> usize {
        match self {
            Self::N1024S32 | Self::N1024S16 | Self::Published121 => 1024,
            Self::N1280S16 => 1280,
        }
    }

    /// `sigma` as a fraction.
    const fn sigma_fraction(self) -> (u32, u32) {
        match self {
            Self::N1024S32 => (32, 1),
            Self::N1024S16 | Self::N1280S16 => (16, 1),
            Self::Published121 => (32, 5),
        }
    }

    /// `sigma`, the standard deviation of secret and error.
    #[must_use]
    pub fn sigma(self) -> f64 {
        let (numerator, denominator) = self.sigma_fraction();
        f64::from(numerator) / f64::from(denominator)
    }

    /// The sampler of secrets and errors.
    pub(crate) fn sampler(self) -> Sampler {
        let (numerator, denominator) = self.sigma_fraction();
        Sampler::new(numerator, denominator)
    }

    /// Bits of security: under MATZOV, and core-SVP.
    #[must_use]
    pub const fn bits(self) -> (f64, f64) {
        match self {
            Self::N1024S32 => (143.99, 118.84),
            Self::N1024S16 => (133.57, 107.75),
            Self::N1280S16 => (169.36, 145.42),
            Self::Published121 => (121.53, 95.19),
        }
    }

    /// The set with this number in messages.
    pub(crate) fn from_code(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|set| set.code() == code)
    }

    /// The set's number in messages.
    pub(crate) const fn code(self) -> u8 {
        match self {
            Self::N1024S32 => 1,
            Self::N1024S16 => 2,
            Self::N1280S16 => 3,
            Self::Published121 => 4,
        }
    }

    const fn serves(self, security: Security) -> bool {
        match security {
            Security::Classical128 => matches!(self, Self::N1024S32 | Self::N1024S16),
            Security::CoreSvp128 => matches!(self, Self::N1280S16),
            Security::Published121 => matches!(self, Self::Published121),
        }
    }
}

/// A scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// [`simple`](crate::simple): the hint grows with the rows of the matrix, the answer too.
    Simple,
    /// [`double`](crate::double): hint and answer depend on the record's length alone.
    Double,
}

impl Scheme {
    /// The scheme's number in messages.
    pub(crate) const fn code(self) -> u8 {
        match self {
            Self::Simple => 0,
            Self::Double => 1,
        }
    }
}

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

    /// DoublePIR's layout for `records` records of `record_len` bytes, at 128 bits: at least `16 n`
    /// columns where there are as many records, since the second level's work is `4 n / m` of the
    /// first one's.
    ///
    /// # Errors
    /// As [`Self::for_database`].
    pub fn for_double(records: usize, record_len: usize) -> Result<Self, Error> {
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
            && (per_column as u128 * record_len as u128) * (columns as u128) < MAX_DIGITS;
        if !fits {
            return Ok(None);
        }
        let with = |hint_bits| Self {
            scheme,
            set,
            records,
            record_len,
            per_column,
            hint_bits,
        };
        Ok((MIN_HINT_BITS..=LOG_Q)
            .map(with)
            .find(|params| params.log2_failure() <= LOG2_FAILURE))
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

    /// `log2` of the probability that a recovered record is wrong, for the worst database.
    ///
    /// A digit's noise is `D_i e`, plus what rounding the answer adds (at most `2^19`, taken off the
    /// radius), plus what rounding the hint adds: `r s` with `r` the rounding errors of a row. Given
    /// `A`, the first and the last are subgaussian with parameters `sigma ||D_i||` and
    /// `sigma ||r||`. `||D_i||` is bounded by the worst row; the errors in `r` are uniform, as `H`
    /// is for any row that is not zero, so `||r||^2` is at most 5/4 of its mean but for a
    /// probability below `2^-47` over the seed.
    ///
    /// DoublePIR's first level is not rounded; its second level must get every one of the
    /// `kappa (n + 1)` digits right that a byte of the record is made of.
    #[must_use]
    pub fn log2_failure(&self) -> f64 {
        let digit = match self.scheme {
            Scheme::Simple => self.log2_failure_rounded(self.columns()),
            Scheme::Double => {
                let digits = (KAPPA * (self.n() + 1)) as f64;
                let sigma = self.set.sigma();
                let first =
                    noise::log2_fail_entry(1 << LOG_Q, 256, sigma, self.columns() as u64, true);
                let second = self.log2_failure_rounded(self.per_column);
                noise::log2_either(first, noise::log2_union(second, digits))
            }
        };
        noise::log2_union(digit, self.record_len as f64)
    }

    /// The bound for one digit of a sum over `terms` columns, answers and hints rounded.
    fn log2_failure_rounded(&self, terms: usize) -> f64 {
        let sigma = self.set.sigma();
        let answer_error = f64::from(1u32 << (LOG_Q - ANSWER_BITS - 1));
        let radius = noise::radius(1 << LOG_Q, 256) - answer_error;
        let step = f64::from(LOG_Q - self.hint_bits).exp2();
        let hint = match LOG_Q - self.hint_bits {
            0 => 0.0,
            _ => 1.25 * self.n() as f64 * step * step / 12.0,
        };
        let database = terms as f64 * 128.0 * 128.0;
        noise::log2_tail(radius, sigma * sigma * (database + hint))
    }

    /// Words of a hint: `l n`, or `kappa n^2` for every byte of a record.
    pub(crate) const fn hint_words(&self) -> usize {
        match self.scheme {
            Scheme::Simple => self.rows() * self.n(),
            Scheme::Double => self.record_len * KAPPA * self.n() * self.n(),
        }
    }

    /// Words of a query: `m`, or `m + l / record_len`.
    pub(crate) const fn query_words(&self) -> usize {
        match self.scheme {
            Scheme::Simple => self.columns(),
            Scheme::Double => self.columns() + self.per_column,
        }
    }

    /// Words of an answer that are rounded like answers: `l`, or `kappa (n + 1)` for every byte of a
    /// record.
    pub(crate) const fn answer_words(&self) -> usize {
        match self.scheme {
            Scheme::Simple => self.rows(),
            Scheme::Double => self.record_len * KAPPA * (self.n() + 1),
        }
    }

    /// Words of an answer that are rounded like hints: none, or `kappa n` for every byte of a record.
    pub(crate) const fn answer_hint_words(&self) -> usize {
        match self.scheme {
            Scheme::Simple => 0,
            Scheme::Double => self.record_len * KAPPA * self.n(),
        }
    }

    /// Bytes of a hint on the wire.
    #[must_use]
    pub const fn hint_len(&self) -> usize {
        HEADER_LEN + packed_len(self.hint_words(), self.hint_bits)
    }

    /// Bytes of a query on the wire.
    #[must_use]
    pub const fn query_len(&self) -> usize {
        HEADER_LEN + 4 * self.query_words()
    }

    /// Bytes of an answer on the wire.
    #[must_use]
    pub const fn answer_len(&self) -> usize {
        HEADER_LEN
            + packed_len(self.answer_words(), ANSWER_BITS)
            + packed_len(self.answer_hint_words(), self.hint_bits)
    }

    /// Bytes of a [`RawAnswer`](crate::simple::RawAnswer) on the wire.
    #[must_use]
    pub const fn raw_answer_len(&self) -> usize {
        HEADER_LEN + 4 * self.rows()
    }

    /// Bytes of the database's records.
    #[must_use]
    pub const fn database_bytes(&self) -> usize {
        self.records * self.record_len
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
