//! Layouts. The number of records, their length and the number of records in a request decide each of them.

mod choice;
pub(crate) mod failure;

use sordino_lattice::switch::Switch;

use super::deal::{Deal, MOST_BATCH};
use super::ring::{DROPPED, LOG_Q, N, OF_C0, OF_C1, modulus};
use crate::wire::HEADER_LEN;
use crate::{Error, Seed};

/// The size in bytes of a query before its ciphertexts: the name of its keys and a seed.
pub(crate) const QUERY_HEAD: usize = 64;

/// The largest number of records of a database, and the largest number of bytes of a record.
const MOST_RECORDS: usize = 1 << 24;
const MOST_BYTES: usize = 1 << 24;

/// A named set of ring parameters: degree, modulus, secret, error, and the gadgets of the keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Set {
    /// `N = 2048`, `q` of 50 bits, ternary secrets: 137.1 bits (core-SVP 108.8).
    N2048Q50,
}

impl Set {
    /// Bits of security: under the MATZOV cost model, and under core-SVP.
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

/// The layout of a database and of the requests for it. Three public numbers determine it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    set: Set,
    records: usize,
    record_len: usize,
    batch: usize,
    /// The number of groups of slots.
    pub(crate) groups: usize,
    /// The number of slots of a group.
    pub(crate) group: usize,
    /// `p`, in bits.
    pub(crate) log_p: u32,
    /// The number of bits of a row's number.
    pub(crate) fold: u32,
    /// `d`, for selectors and for encrypted bits.
    pub(crate) depth: u32,
    pub(crate) fold_depth: u32,
    /// `k0` and `k1`.
    pub(crate) answer_bits: [u32; 2],
}

impl Params {
    /// The layout of `records` records of `record_len` bytes for requests of `batch` records, 1 to 64. It costs the
    /// fewest bytes of query and answer among the layouts that keep the failure bound. The server's work counts as
    /// bytes, too.
    ///
    /// # Errors
    /// - [`Error::Empty`] if there are no records or they have no bytes
    /// - [`Error::Batch`] if `batch` is not from 1 to 64
    /// - [`Error::TooLarge`] if no layout keeps the failure bound
    ///
    /// ```
    /// use sordino_pir::hintless::Params;
    /// let params = Params::new(400, 32_768, 1)?;
    /// assert!(params.query_len() < 20_000 && params.answer_len() < 130_000);
    /// assert!(params.log2_failure() <= -40.0);
    /// # Ok::<(), sordino_pir::Error>(())
    /// ```
    pub fn new(records: usize, record_len: usize, batch: usize) -> Result<Self, Error> {
        if records == 0 || record_len == 0 {
            return Err(Error::Empty {
                records,
                record_len,
            });
        }
        if !(1..=MOST_BATCH).contains(&batch) {
            return Err(Error::Batch {
                found: batch,
                most: MOST_BATCH,
            });
        }
        let too_large = Error::TooLarge {
            rows: record_len,
            columns: records,
        };
        // Limits that keep every size below within 32 bits.
        if records > MOST_RECORDS || record_len > MOST_BYTES {
            return Err(too_large);
        }
        Self::choose(records, record_len, batch).ok_or(too_large)
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

    /// The size in bytes of a record.
    #[must_use]
    pub const fn record_len(&self) -> usize {
        self.record_len
    }

    /// `k`: records of a request.
    #[must_use]
    pub const fn batch(&self) -> usize {
        self.batch
    }

    /// The size in bytes of a query's message.
    #[must_use]
    pub fn query_len(&self) -> usize {
        HEADER_LEN + QUERY_HEAD + self.ciphertexts() * self.ciphertext_len()
    }

    /// The size in bytes of an answer's message.
    #[must_use]
    pub fn answer_len(&self) -> usize {
        HEADER_LEN + self.slots() * self.unit_polys() * self.reply_len()
    }

    /// Bytes of memory that the database takes in the server. The server reads all of them for a query. They are 7 to 9
    /// times the bytes of the records, and more where records leave parts of their polynomials empty.
    #[must_use]
    pub fn server_bytes(&self) -> usize {
        let polys = (self.units() + 1).saturating_mul(self.unit_polys());
        polys.saturating_mul(N * size_of::<u64>())
    }

    /// The bytes of memory that the server needs for an answer in addition to the database, and keeps for the next one.
    /// They hold the selectors, the encrypted bits, and the sums of all rows. Each thread takes `F` more ciphertexts
    /// while it folds.
    #[must_use]
    pub fn room_bytes(&self) -> usize {
        let bits = self.slots() * self.fold as usize;
        let of_bits = bits.saturating_mul(OF_C0.digits() + 2 * OF_C1.digits());
        let sums = (self.slots() * self.unit_polys()).saturating_mul(self.rows());
        let ciphertexts = self.selectors().saturating_add(of_bits);
        let ciphertexts = ciphertexts.saturating_add(sums);
        ciphertexts.saturating_mul(2 * N * size_of::<u64>())
    }

    /// The size in bytes of plaintext in a polynomial.
    pub(crate) const fn poly_bytes(&self) -> usize {
        N / 8 * self.log_p as usize
    }

    /// `T`, the polynomials of a unit.
    pub(crate) const fn unit_polys(&self) -> usize {
        self.record_len.div_ceil(self.poly_bytes())
    }

    /// Records of a unit.
    pub(crate) const fn per_unit(&self) -> usize {
        let fit = self.poly_bytes() / self.record_len;
        if fit > 0 { fit } else { 1 }
    }

    /// `U`, the number of units.
    pub(crate) const fn units(&self) -> usize {
        self.records.div_ceil(self.per_unit())
    }

    /// `B`, the slots of all groups.
    #[must_use]
    pub const fn slots(&self) -> usize {
        self.groups * self.group
    }

    /// The deal of units into slots, for a database of this seed.
    pub(crate) fn deal(&self, seed: &Seed) -> Deal {
        Deal::new(self.groups, self.group, self.columns(), seed)
    }

    /// Units of a slot.
    pub(crate) const fn places(&self) -> usize {
        self.units().div_ceil(self.group)
    }

    /// `C`, the columns of a slot.
    pub(crate) const fn columns(&self) -> usize {
        self.places().div_ceil(1 << self.fold)
    }

    /// `F`, the rows of a slot.
    pub(crate) const fn rows(&self) -> usize {
        self.places().div_ceil(self.columns())
    }

    /// `S`, the selectors of a request.
    pub(crate) const fn selectors(&self) -> usize {
        self.slots() * self.columns()
    }

    /// Encryptions of all slots' bits, one for each factor.
    pub(crate) const fn bits(&self) -> usize {
        self.slots() * self.fold as usize * OF_C1.digits()
    }

    /// Ciphertexts of a query that hold selectors. Those that hold bits follow them.
    pub(crate) const fn of_selectors(&self) -> usize {
        self.selectors().div_ceil(1 << self.depth)
    }

    /// Ciphertexts of a query.
    pub(crate) const fn ciphertexts(&self) -> usize {
        self.of_selectors() + self.bits().div_ceil(1 << self.fold_depth)
    }

    /// Bits of an uploaded coefficient.
    pub(crate) const fn query_bits(&self) -> u32 {
        LOG_Q - DROPPED
    }

    /// The size in bytes of an uploaded polynomial.
    pub(crate) const fn ciphertext_len(&self) -> usize {
        N / 8 * self.query_bits() as usize
    }

    /// The size in bytes of a ciphertext of an answer.
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

    /// The fields of the header: number of records, bytes of a record, records of a request.
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
        for records in [1, 2, 7, 400, 3000, 100_000] {
            for record_len in [1, 1000, 1792, 1793, 13_000, 32_768] {
                for batch in [1, 2, 10, 24, 64] {
                    let Ok(params) = Params::new(records, record_len, batch) else {
                        continue;
                    };
                    assert!(params.log2_failure() <= choice::BOUND);
                    let unit = params.poly_bytes() * params.unit_polys();
                    assert!(params.per_unit() * record_len <= unit, "{params:?}");
                    assert!(params.units() * params.per_unit() >= records);
                    assert!(params.places() * params.group >= params.units());
                    assert!(params.columns() * params.rows() >= params.places());
                    assert!(params.columns() * (params.rows() - 1) < params.places());
                    assert!(params.rows() <= 1 << params.fold);
                    assert!(params.of_selectors() << params.depth >= params.selectors());
                    let of_bits = params.ciphertexts() - params.of_selectors();
                    assert!(of_bits << params.fold_depth >= params.bits());
                }
            }
        }
    }

    #[test]
    fn groups_are_as_large_as_was_derived() {
        let table = include_str!("../../tests/hintless_groups.csv");
        let mut rows = 0;
        for row in table.lines().skip(1) {
            let fields: Vec<&str> = row.split(',').collect();
            let number = |i: usize| fields[i].parse::<usize>().unwrap();
            let group = Deal::group(number(1), number(0)).unwrap();
            assert_eq!(group, number(2), "{row}");
            assert!(fields[3].parse::<f64>().unwrap() <= choice::BOUND, "{row}");
            rows += 1;
        }
        assert_eq!(rows, 59 + 59 + 58 + 57);
    }

    #[test]
    fn layouts_and_bounds_are_those_derived_from_the_definition() {
        let table = include_str!("../../tests/hintless_failure.csv");
        let mut rows = 0;
        for row in table.lines().skip(1) {
            let fields: Vec<&str> = row.split(',').collect();
            let number = |i: usize| fields[i].parse::<usize>().unwrap();
            let params = Params::new(number(0), number(1), number(2)).unwrap();
            assert_eq!([params.groups, params.group], [3, 4].map(number), "{row}");
            let [k0, k1] = params.answer_bits;
            let depths = [params.depth, params.fold_depth];
            let found = [params.log_p, params.fold, depths[0], depths[1], k0, k1];
            let found = found.map(|bits| bits as usize);
            assert_eq!(found, [5, 6, 7, 8, 9, 10].map(number), "{row}");
            let lengths = [params.query_len(), params.answer_len()];
            assert_eq!(lengths, [11, 12].map(number), "{row}");
            let expected: f64 = fields[13].parse().unwrap();
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
            (1 << 24, 2000, 64),
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
