//! Layouts: what the numbers of records, of their bytes and of records asked for at once decide.

pub(crate) mod failure;

use sordino_lattice::switch::Switch;

use super::ring::{DROPPED, LOG_Q, N, modulus};
use crate::Error;
use crate::wire::HEADER_LEN;

/// The most records of one request.
pub(crate) const MAX_BATCH: usize = 64;

/// Bytes that a query has before its ciphertexts: the name of its keys and a seed.
pub(crate) const QUERY_HEAD: usize = 64;

/// Records of a database, and bytes of one, at most.
const MOST_RECORDS: usize = 1 << 24;
const MOST_BYTES: usize = 1 << 24;

/// Selectors of a request at most: each is a key switch, so that as many take seconds.
const MOST_SELECTORS: usize = 1 << 18;

/// Bytes of the units of a request at most.
const MOST_ANSWERED: usize = 1 << 27;

/// The failure bound, as a logarithm.
const BOUND: f64 = -40.0;

/// A named set of ring parameters: degree, modulus, secret, error, and the gadgets of the keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Set {
    /// `N = 2048`, `q` of 50 bits, ternary secrets: 137.1 bits (core-SVP 108.8).
    N2048Q50,
}

impl Set {
    /// Bits of security: under MATZOV, and core-SVP.
    #[must_use]
    pub const fn bits(self) -> (f64, f64) {
        match self {
            Self::N2048Q50 => (137.06, 108.76),
        }
    }

    pub(crate) const fn code(self) -> u8 {
        match self {
            Self::N2048Q50 => 1,
        }
    }

    pub(crate) fn from_code(code: u8) -> Option<Self> {
        [Self::N2048Q50].into_iter().find(|set| set.code() == code)
    }
}

/// The layout of a database and of the requests for it: a function of three public numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    set: Set,
    records: usize,
    record_len: usize,
    batch: usize,
    /// `p`.
    pub(crate) log_p: u32,
    /// `d`.
    pub(crate) depth: u32,
    /// `k0` and `k1`.
    pub(crate) answer_bits: [u32; 2],
}

impl Params {
    /// The layout of `records` records of `record_len` bytes for requests of `batch` of them, 1 to 64: of those
    /// that keep the failure bound, the one with the fewest bytes of query and answer.
    ///
    /// # Errors
    /// [`Error::Empty`]; [`Error::Batch`]; [`Error::TooLarge`] if no layout keeps the failure bound.
    ///
    /// ```
    /// use sordino_pir::hintless::Params;
    /// let params = Params::new(400, 32_768, 1)?;
    /// assert!(params.query_len() < 10_000 && params.answer_len() < 130_000);
    /// assert!(params.log2_failure() <= -40.0);
    /// # Ok::<(), sordino_pir::Error>(())
    /// ```
    pub fn new(records: usize, record_len: usize, batch: usize) -> Result<Self, Error> {
        let empty = Error::Empty {
            records,
            record_len,
        };
        if records == 0 || record_len == 0 {
            return Err(empty);
        }
        if !(1..=MAX_BATCH).contains(&batch) {
            return Err(Error::Batch {
                found: batch,
                most: MAX_BATCH,
            });
        }
        let candidate = |log_p, depth, answer_bits| Self {
            set: Set::N2048Q50,
            records,
            record_len,
            batch,
            log_p,
            depth,
            answer_bits,
        };
        let too_large = Error::TooLarge {
            rows: record_len,
            columns: records,
        };
        // So that no size below overflows 32 bits.
        if records > MOST_RECORDS || record_len > MOST_BYTES {
            return Err(too_large);
        }
        [9, 8, 7]
            .into_iter()
            .filter(|log_p| {
                let layout = candidate(*log_p, 0, [0; 2]);
                let answered = layout.slots() * layout.unit_polys() * layout.poly_bytes();
                layout.selectors() <= MOST_SELECTORS && answered <= MOST_ANSWERED
            })
            .flat_map(|log_p| {
                let deepest = candidate(log_p, 0, [0; 2]).deepest();
                (deepest.saturating_sub(2)..=deepest).map(move |depth| (log_p, depth))
            })
            .filter_map(|(log_p, depth)| {
                // Fewer bits of the half that meets no secret cost less.
                let bits = (7..=11).flat_map(|above| [5, 6].map(|gap| log_p + above - gap));
                let bits = bits.zip((7..=11).flat_map(|above| [log_p + above; 2]));
                let layouts = bits.map(|(k0, k1)| candidate(log_p, depth, [k0, k1]));
                layouts
                    .filter(|params| params.log2_failure() <= BOUND)
                    .min_by_key(Self::request_len)
            })
            .min_by_key(Self::request_len)
            .ok_or(too_large)
    }

    /// The set.
    #[must_use]
    pub const fn set(&self) -> Set {
        self.set
    }

    /// Records of the database.
    #[must_use]
    pub const fn records(&self) -> usize {
        self.records
    }

    /// Bytes of a record.
    #[must_use]
    pub const fn record_len(&self) -> usize {
        self.record_len
    }

    /// `k`: records of a request.
    #[must_use]
    pub const fn batch(&self) -> usize {
        self.batch
    }

    /// Bytes of a query's message.
    #[must_use]
    pub fn query_len(&self) -> usize {
        HEADER_LEN + QUERY_HEAD + self.ciphertexts() * self.ciphertext_len()
    }

    /// Bytes of an answer's message.
    #[must_use]
    pub fn answer_len(&self) -> usize {
        HEADER_LEN + self.slots() * self.unit_polys() * self.reply_len()
    }

    fn request_len(&self) -> usize {
        self.query_len() + self.answer_len()
    }

    /// Bytes of the database in the server's memory, which it reads for a query: 7 to 9 times those of the records,
    /// and more where they leave room in their polynomials.
    #[must_use]
    pub fn server_bytes(&self) -> usize {
        let polys = (self.units() + 1).saturating_mul(self.unit_polys());
        polys.saturating_mul(N * size_of::<u64>())
    }

    /// Bytes of a polynomial's plaintext.
    pub(crate) const fn poly_bytes(&self) -> usize {
        N / 8 * self.log_p as usize
    }

    /// `T`.
    pub(crate) const fn unit_polys(&self) -> usize {
        self.record_len.div_ceil(self.poly_bytes())
    }

    /// Records of a unit.
    pub(crate) const fn per_unit(&self) -> usize {
        let fit = self.poly_bytes() / self.record_len;
        if fit > 0 { fit } else { 1 }
    }

    /// `U`.
    pub(crate) const fn units(&self) -> usize {
        self.records.div_ceil(self.per_unit())
    }

    /// Slots of a group.
    pub(crate) const fn group(&self) -> usize {
        (11 * self.batch).div_ceil(24)
    }

    /// `B`.
    #[must_use]
    pub const fn slots(&self) -> usize {
        if self.batch == 1 { 1 } else { 3 * self.group() }
    }

    /// `C`.
    pub(crate) const fn columns(&self) -> usize {
        if self.batch == 1 {
            self.units()
        } else {
            self.units().div_ceil(self.group())
        }
    }

    /// `S`.
    pub(crate) const fn selectors(&self) -> usize {
        self.slots() * self.columns()
    }

    /// The depth at which one ciphertext holds all selectors, or the largest.
    fn deepest(&self) -> u32 {
        let selectors = self.selectors().min(N);
        selectors.next_power_of_two().ilog2()
    }

    /// Ciphertexts of a query.
    pub(crate) const fn ciphertexts(&self) -> usize {
        self.selectors().div_ceil(1 << self.depth)
    }

    /// Bits of an uploaded coefficient.
    pub(crate) const fn query_bits(&self) -> u32 {
        LOG_Q - DROPPED
    }

    /// Bytes of an uploaded polynomial.
    pub(crate) const fn ciphertext_len(&self) -> usize {
        N / 8 * self.query_bits() as usize
    }

    /// Bytes of a ciphertext of an answer.
    pub(crate) const fn reply_len(&self) -> usize {
        N / 8 * (self.answer_bits[0] + self.answer_bits[1]) as usize
    }

    /// The switches to `k0` and `k1` bits.
    pub(crate) fn switches(&self) -> [Switch; 2] {
        self.answer_bits.map(|bits| Switch::new(modulus(), bits))
    }

    /// `Delta`, the scale of a selector.
    pub(crate) fn scale(&self) -> u64 {
        (modulus().q() + (1 << (self.log_p - 1))) >> self.log_p
    }

    /// A selector as a client encrypts it: the scale over `2^d`, since expansion multiplies by `2^d`.
    pub(crate) fn unexpanded(&self) -> u64 {
        let q = modulus();
        q.mul(self.scale(), q.inverse_vartime(1 << self.depth))
    }

    /// The header's fields: records, bytes, batch.
    pub(crate) const fn fields(&self) -> [u64; 3] {
        [
            self.records as u64,
            self.record_len as u64,
            self.batch as u64,
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layouts_keep_the_bound_and_hold_their_records() {
        for records in [1, 2, 7, 400, 1000, 3000] {
            for record_len in [1, 1000, 1792, 1793, 13_000, 32_768] {
                for batch in [1, 2, 10, 24, 64] {
                    let Ok(params) = Params::new(records, record_len, batch) else {
                        continue;
                    };
                    assert!(params.log2_failure() <= BOUND);
                    let unit = params.poly_bytes() * params.unit_polys();
                    assert!(params.per_unit() * record_len <= unit, "{params:?}");
                    assert!(params.units() * params.per_unit() >= records);
                    assert!(params.columns() * params.group() >= params.units() || batch == 1);
                    assert!(params.ciphertexts() << params.depth >= params.selectors());
                }
            }
        }
    }

    #[test]
    fn layouts_and_bounds_are_those_derived_from_the_definition() {
        let table = include_str!("../../tests/hintless_failure.csv");
        let mut rows = 0;
        for row in table.lines().skip(1) {
            let fields: Vec<&str> = row.split(',').collect();
            let number = |i: usize| fields[i].parse::<usize>().unwrap();
            let params = Params::new(number(0), number(1), number(2)).unwrap();
            let [k0, k1] = params.answer_bits;
            let found = [params.log_p, params.depth, k0, k1].map(|bits| bits as usize);
            assert_eq!(found, [3, 4, 5, 6].map(number), "{row}");
            assert_eq!(
                [params.query_len(), params.answer_len()],
                [7, 8].map(number)
            );
            let expected: f64 = fields[9].parse().unwrap();
            assert!((params.log2_failure() - expected).abs() < 1e-3, "{row}");
            rows += 1;
        }
        assert!(rows > 10);
    }

    #[test]
    fn what_is_nothing_or_too_much_is_refused() {
        assert!(matches!(Params::new(0, 1, 1), Err(Error::Empty { .. })));
        assert!(matches!(Params::new(1, 0, 1), Err(Error::Empty { .. })));
        for batch in [0, 65] {
            let found = Params::new(1, 1, batch);
            assert!(matches!(found, Err(Error::Batch { most: 64, .. })));
        }
        let large = [
            (usize::MAX, 1, 1),
            (1, usize::MAX, 1),
            (1 << 24, 32_768, 1),
            (1 << 18, 2000, 64),
            (2, 1 << 24, 64),
        ];
        for (records, len, batch) in large {
            let found = Params::new(records, len, batch);
            assert!(
                matches!(found, Err(Error::TooLarge { .. })),
                "{records} of {len}"
            );
        }
    }
}
