//! The database as a matrix of centred digits, ready to be scanned.

use sordino_lattice::matrix::{Digits, LANES, stride};
use sordino_lattice::store::{Changed, Store};

use crate::{Error, Params, Protocol};

mod file;

/// The difference between a byte of a record and its digit: the digit of byte `b` is `b - 128`, whose two's
/// complement is `b ^ 0x80`.
pub(crate) const CENTRE: u8 = 0x80;

/// `D`: the records as `l x m` digits, laid out for the scheme `P`.
pub struct Database<P> {
    params: Params<P>,
    matrix: Matrix,
}

impl<P: Protocol> std::fmt::Debug for Database<P> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Database")
            .field("params", &self.params)
            .field("mapped", &self.matrix.store.is_mapped())
            .finish_non_exhaustive()
    }
}

/// A matrix of digits, and the memory or the file that holds its bytes.
pub(crate) struct Matrix {
    rows: usize,
    columns: usize,
    store: Store,
}

impl Matrix {
    /// A matrix of digits 0.
    pub(crate) fn zeroed(rows: usize, columns: usize) -> Self {
        Self {
            rows,
            columns,
            store: Store::zeroed(rows * stride(columns)),
        }
    }

    /// The records as `columns` columns of `rows` bytes.
    ///
    /// # Errors
    /// [`Error::Length`] if a record does not have `rows` bytes. [`Error::RecordCount`] if there are not
    /// exactly `columns` records.
    pub(crate) fn of_records<'a>(
        rows: usize,
        columns: usize,
        records: impl IntoIterator<Item = &'a [u8]>,
    ) -> Result<Self, Error> {
        let mut matrix = Self::zeroed(rows, columns);
        let mut found = 0;
        for record in records {
            if record.len() != rows {
                return Err(Error::Length {
                    found: record.len(),
                    expected: rows,
                });
            }
            if found < columns {
                for (row, byte) in record.iter().enumerate() {
                    let at = Digits::place(rows, columns, row, found);
                    matrix.bytes_mut()[at] = byte ^ CENTRE;
                }
            }
            found += 1;
        }
        if found != columns {
            return Err(Error::RecordCount {
                found,
                expected: columns,
            });
        }
        Ok(matrix)
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        self.store.bytes()
    }

    /// The bytes of the matrix. A matrix that shares them gets a copy first.
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        self.store.bytes_mut()
    }

    /// A digit of the matrix.
    pub(crate) fn digit(&self, row: usize, column: usize) -> i8 {
        let at = Digits::place(self.rows, self.columns, row, column);
        self.bytes()[at].cast_signed()
    }

    /// Changes a digit to `digit`, and returns by how much it grows.
    pub(crate) fn replace(&mut self, row: usize, column: usize, digit: i8) -> i16 {
        let at = Digits::place(self.rows, self.columns, row, column);
        let old = std::mem::replace(&mut self.bytes_mut()[at], digit.cast_unsigned());
        i16::from(digit) - i16::from(old.cast_signed())
    }

    /// The same digits with more columns, of digits 0.
    pub(crate) fn widen(&mut self, columns: usize) {
        if stride(self.columns) != stride(columns) {
            let mut wider = Self::zeroed(self.rows, columns);
            let digits = self.digits();
            for row in 0..self.rows {
                for first in (0..self.columns).step_by(LANES) {
                    let line = digits.line(row, first);
                    wider.line_mut(row, first).copy_from_slice(line);
                }
            }
            self.store = wider.store;
        }
        let was = std::mem::replace(&mut self.columns, columns);
        // The bytes behind a row's last column may hold anything, so they are cleared.
        let last = was / LANES * LANES;
        if was > last {
            for row in 0..self.rows {
                self.line_mut(row, last)[was - last..].fill(0);
            }
        }
    }

    /// A view of the whole matrix.
    pub(crate) fn digits(&self) -> Digits<'_> {
        Digits::new(self.bytes(), self.rows, self.columns)
    }

    /// 64 digits of a row, from column `first` on, a multiple of 64.
    pub(crate) fn line_mut(&mut self, row: usize, first: usize) -> &mut [u8] {
        let at = Digits::place(self.rows, self.columns, row, first);
        &mut self.bytes_mut()[at..at + LANES]
    }
}

impl<P: Protocol> Database<P> {
    /// A database of the records that the iterator yields, in order. A record shorter than declared
    /// is followed by zeros.
    ///
    /// # Errors
    /// [`Error::RecordTooLong`] if a record is longer than declared. [`Error::RecordCount`] if the number
    /// of records differs from the declared number.
    pub fn from_records<I>(params: &Params<P>, records: I) -> Result<Self, Error>
    where
        I: IntoIterator<Item: AsRef<[u8]>>,
    {
        let (rows, columns) = (params.rows(), params.columns());
        let mut matrix = Matrix::zeroed(rows, columns);
        let mut records = records.into_iter();
        let mut taken = 0;
        // Handles 64 columns at a time: first column after column, then transposed row by row. The bytes of
        // a record are a whole row apart in the matrix.
        let mut block = vec![0; LANES * rows];
        for first in (0..columns).step_by(LANES) {
            block.fill(0);
            let places = block.chunks_exact_mut(params.record_len());
            let wanted = (params.records() - taken).min(LANES * params.per_column());
            for (place, record) in places.take(wanted).zip(records.by_ref()) {
                let record = record.as_ref();
                if record.len() > place.len() {
                    return Err(Error::RecordTooLong {
                        index: taken,
                        found: record.len(),
                        expected: place.len(),
                    });
                }
                place[..record.len()].copy_from_slice(record);
                taken += 1;
            }
            for row in 0..rows {
                for (c, digit) in matrix.line_mut(row, first).iter_mut().enumerate() {
                    *digit = block[c * rows + row] ^ CENTRE;
                }
            }
        }
        let found = taken + records.take(1).count();
        if found != params.records() {
            return Err(Error::RecordCount {
                found,
                expected: params.records(),
            });
        }
        Ok(Self {
            params: *params,
            matrix,
        })
    }

    /// A database of records that lie one after the other.
    ///
    /// # Errors
    /// [`Error::Length`] if `bytes` is not `records * record_len` long.
    pub fn from_slice(params: &Params<P>, bytes: &[u8]) -> Result<Self, Error> {
        if bytes.len() != params.database_bytes() {
            return Err(Error::Length {
                found: bytes.len(),
                expected: params.database_bytes(),
            });
        }
        Self::from_records(params, bytes.chunks_exact(params.record_len()))
    }

    /// The layout.
    #[must_use]
    pub const fn params(&self) -> &Params<P> {
        &self.params
    }

    /// The matrix, for one scan.
    ///
    /// # Errors
    /// [`Error::Length`] if the length of the mapped file has changed.
    pub(crate) fn digits(&self) -> Result<Digits<'_>, Error> {
        match self.matrix.store.changed()? {
            None => Ok(self.matrix.digits()),
            Some(Changed { found, expected }) => Err(Error::Length { found, expected }),
        }
    }

    /// Makes room for the records of `to`, a layout that only differs by having more of them.
    pub(crate) fn grow(&mut self, to: &Params<P>) {
        if to.columns() > self.params.columns() {
            self.matrix.widen(to.columns());
        }
        self.params = *to;
    }

    /// Changes record `index` to `record`, followed by zeros, and returns by how much its digits grow.
    pub(crate) fn write(&mut self, index: usize, record: &[u8]) -> Vec<i16> {
        let record_len = self.params.record_len();
        let (column, slot) = self.params.locate(index);
        let bytes = record.iter().chain(std::iter::repeat(&0));
        let delta = bytes.take(record_len).enumerate().map(|(e, byte)| {
            let digit = (byte ^ CENTRE).cast_signed();
            self.matrix.replace(slot * record_len + e, column, digit)
        });
        delta.collect()
    }
}
