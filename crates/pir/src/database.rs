//! The database as a matrix of centred digits, ready to be scanned.

use memmap2::MmapMut;
use sordino_lattice::matrix::{Digits, LANES, stride};

use crate::{Error, Params};

/// Below this size a database lives on the heap; above it in pages of its own, huge ones where
/// the system has them.
const OWN_PAGES: usize = 1 << 20;

/// What a byte of a record and its digit differ by: the digit of byte `b` is `b - 128`, whose two's
/// complement is `b ^ 0x80`.
pub(crate) const CENTRE: u8 = 0x80;

/// `D`: the records as `l x m` digits, row after row.
#[derive(Debug)]
pub struct Database {
    params: Params,
    matrix: Matrix,
}

/// Any matrix of digits, with what holds its bytes.
#[derive(Debug)]
pub(crate) struct Matrix {
    rows: usize,
    columns: usize,
    store: Store,
}

impl Matrix {
    /// A matrix of digits 0.
    pub(crate) fn zeroed(rows: usize, columns: usize) -> Result<Self, Error> {
        let store = Store::zeroed(rows * stride(columns))?;
        Ok(Self {
            rows,
            columns,
            store,
        })
    }

    /// A view of all of it.
    pub(crate) fn digits(&self) -> Digits<'_> {
        let len = self.rows * stride(self.columns);
        Digits::new(self.store.bytes(len), self.rows, self.columns)
    }

    /// Its rows, [`stride`] bytes each.
    pub(crate) fn rows_mut(&mut self) -> std::slice::ChunksExactMut<'_, u8> {
        let stride = stride(self.columns);
        self.store
            .bytes_mut(self.rows * stride)
            .chunks_exact_mut(stride)
    }
}

#[derive(Debug)]
enum Store {
    Heap { bytes: Vec<u8>, start: usize },
    Pages(MmapMut),
}

impl Store {
    fn zeroed(len: usize) -> Result<Self, Error> {
        if len < OWN_PAGES {
            let bytes = vec![0; len + LANES];
            let start = bytes.as_ptr().align_offset(LANES);
            // Miri may refuse to say where a line starts; correctness does not need it.
            let start = if start > LANES { 0 } else { start };
            return Ok(Self::Heap { bytes, start });
        }
        let pages = MmapMut::map_anon(len)?;
        #[cfg(target_os = "linux")]
        // Advice only: a kernel without huge pages refuses, and nothing changes.
        let _ = pages.advise(memmap2::Advice::HugePage);
        Ok(Self::Pages(pages))
    }

    fn bytes(&self, len: usize) -> &[u8] {
        match self {
            Self::Heap { bytes, start } => &bytes[*start..start + len],
            Self::Pages(pages) => &pages[..len],
        }
    }

    fn bytes_mut(&mut self, len: usize) -> &mut [u8] {
        match self {
            Self::Heap { bytes, start } => &mut bytes[*start..*start + len],
            Self::Pages(pages) => &mut pages[..len],
        }
    }
}

impl Database {
    /// A database of the records that the iterator yields, in order. A record shorter than declared
    /// is followed by zeros.
    ///
    /// # Errors
    /// [`Error::RecordTooLong`], [`Error::RecordCount`], or [`Error::Io`] without memory.
    pub fn from_records<I>(params: &Params, records: I) -> Result<Self, Error>
    where
        I: IntoIterator<Item: AsRef<[u8]>>,
    {
        let (rows, columns) = (params.rows(), params.columns());
        let mut matrix = Matrix::zeroed(rows, columns)?;
        let mut records = records.into_iter();
        let mut taken = 0;
        // 64 columns at a time, column after column, then transposed line by line: a record's bytes
        // are a whole row apart in the matrix.
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
            for (row, line) in matrix.rows_mut().enumerate() {
                for (c, digit) in line[first..first + LANES].iter_mut().enumerate() {
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
    /// [`Error::Length`] if `bytes` is not `records * record_len` long, or [`Error::Io`].
    pub fn from_slice(params: &Params, bytes: &[u8]) -> Result<Self, Error> {
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
    pub const fn params(&self) -> &Params {
        &self.params
    }

    /// The matrix.
    pub(crate) fn digits(&self) -> Digits<'_> {
        self.matrix.digits()
    }
}
