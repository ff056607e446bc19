//! The server's table of bytes. It has one matrix, from which a query fetches several columns, or one matrix for each
//! group of queries.

mod hint;
#[cfg(test)]
mod tests;

use sordino_lattice::matrix::{Backend, Digits, LANES, scan, stride};
use sordino_lattice::store::Store;
use sordino_lattice::threads;

use crate::bytes::CENTRE;
use crate::public::epoch;
use crate::query::Query;
use crate::{Error, Params, Seed, Shape};

/// `D`: columns of bytes, as centred digits. A query asks for `G` of them. All its groups are multiplied with the same
/// `D`, each under its own public polynomials. If [each group has a matrix](Self::from_groups), group `g` is multiplied
/// with its own `D_g`.
///
/// A shard is a table of some rows of every column. It has fewer rows and otherwise the same shape, so it accepts the same
/// queries.
pub struct ByteTable {
    params: Params,
    shape: Shape,
    seed: Seed,
    backend: Backend,
    /// The number of matrices: one for all groups, or one for each group.
    matrices: usize,
    digits: Store,
}

impl std::fmt::Debug for ByteTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ByteTable")
            .field("params", &self.params)
            .field("shape", &self.shape)
            .finish_non_exhaustive()
    }
}

impl ByteTable {
    /// A table of the columns that the iterator yields, in order. Draw `seed` at random, and use it for this table only.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if the set is not [`Params::module_1536_bytes`]. [`Error::Shape`] for a shape that the set does
    /// not have. [`Error::Length`] if the number of columns, or of bytes in a column, is not the shape's.
    pub fn from_columns<I>(
        params: &Params,
        shape: Shape,
        seed: &Seed,
        columns: I,
    ) -> Result<Self, Error>
    where
        I: IntoIterator<Item: AsRef<[u8]>>,
    {
        Self::filled(params, shape, seed, (1, columns.into_iter()))
    }

    /// A table with a separate matrix for each group. `columns` yields the columns of the first group, then the columns of
    /// the next one.
    ///
    /// # Errors
    /// The errors of [`from_columns`](Self::from_columns).
    pub fn from_groups<I>(
        params: &Params,
        shape: Shape,
        seed: &Seed,
        columns: I,
    ) -> Result<Self, Error>
    where
        I: IntoIterator<Item: AsRef<[u8]>>,
    {
        Self::filled(params, shape, seed, (shape.groups(), columns.into_iter()))
    }

    fn filled(
        params: &Params,
        shape: Shape,
        seed: &Seed,
        (matrices, mut columns): (usize, impl Iterator<Item: AsRef<[u8]>>),
    ) -> Result<Self, Error> {
        params.check_same(&Params::module_1536_bytes())?;
        let (rows, m) = (shape.rows(), shape.columns());
        params.shape(shape.groups(), rows, m)?;
        let mut digits = Store::zeroed(matrices * rows * stride(m));
        for (at, matrix) in digits
            .bytes_mut()
            .chunks_exact_mut(rows * stride(m))
            .enumerate()
        {
            fill(matrix, (rows, m), &mut columns).map_err(|fault| match fault {
                Fault::Columns(found) => Error::Length {
                    what: "columns",
                    found: at * m + found,
                    expected: matrices * m,
                },
                Fault::Rows(found) => Error::Length {
                    what: "column",
                    found,
                    expected: rows,
                },
            })?;
        }
        if columns.next().is_some() {
            return Err(Error::Length {
                what: "columns",
                found: matrices * m + 1,
                expected: matrices * m,
            });
        }
        Ok(Self {
            params: *params,
            shape,
            seed: *seed,
            backend: Backend::detect_with_tiles(),
            matrices,
            digits,
        })
    }

    /// A table of columns that lie one after the other.
    ///
    /// # Errors
    /// The errors of [`from_columns`](Self::from_columns). [`Error::Length`] if `bytes` does not have the length of the
    /// shape.
    pub fn from_slice(
        params: &Params,
        shape: Shape,
        seed: &Seed,
        bytes: &[u8],
    ) -> Result<Self, Error> {
        let expected = shape.rows() * shape.columns();
        if bytes.len() != expected {
            return Err(Error::Length {
                what: "table of bytes",
                found: bytes.len(),
                expected,
            });
        }
        Self::from_columns(params, shape, seed, bytes.chunks_exact(shape.rows()))
    }

    /// The parameter set.
    #[must_use]
    pub const fn params(&self) -> &Params {
        &self.params
    }

    /// The shape: the number of columns that a query asks for, the bytes of a column, and the number of columns.
    #[must_use]
    pub const fn shape(&self) -> Shape {
        self.shape
    }

    /// The bytes that one scan reads: rows are rounded up to whole cache lines.
    #[must_use]
    pub const fn scanned_len(&self) -> usize {
        self.matrices * self.matrix_len()
    }

    const fn matrix_len(&self) -> usize {
        self.shape.rows() * stride(self.shape.columns())
    }

    /// The matrix for group `g`.
    fn digits(&self, g: usize) -> Digits<'_> {
        let first = match self.matrices {
            1 => 0,
            _ => g * self.matrix_len(),
        };
        let digits = &self.digits.bytes()[first..][..self.matrix_len()];
        Digits::new(digits, self.shape.rows(), self.shape.columns())
    }

    /// Checks that a query was made for this table.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if the query was made for another set or shape. [`Error::Epoch`] if it was made for another
    /// seed.
    pub fn check(&self, query: &Query) -> Result<(), Error> {
        query.check(&self.params, self.shape, epoch(&self.seed))
    }

    /// `y_g = D b_g mod 2^32`, or `D_g b_g`, for all groups `g`, one after the other: `G r` words.
    ///
    /// # Errors
    /// The errors of [`check`](Self::check).
    pub fn answer(&self, query: &Query) -> Result<Vec<u32>, Error> {
        let mut answers = self.answer_batch(std::slice::from_ref(query))?;
        Ok(answers.pop().unwrap_or_default())
    }

    /// Answers several queries in one pass over the digits.
    ///
    /// # Errors
    /// The errors of [`check`](Self::check), for the first query that is refused. No query is answered then.
    pub fn answer_batch(&self, queries: &[Query]) -> Result<Vec<Vec<u32>>, Error> {
        queries.iter().try_for_each(|query| self.check(query))?;
        let groups = self.shape.groups();
        if self.matrices == 1 {
            let words: Vec<_> = queries
                .iter()
                .flat_map(|query| (0..groups).map(move |g| query.group(g)))
                .collect();
            let product = scan::product(self.backend, self.digits(0), &words);
            let columns = scan::columns(&product, words.len());
            return Ok(columns.chunks_exact(groups).map(<[_]>::concat).collect());
        }
        let of_groups = threads::map(
            (0..groups).collect(),
            || (),
            |(), _, g| {
                let words: Vec<_> = queries.iter().map(|query| query.group(g)).collect();
                let product = scan::product(self.backend, self.digits(g), &words);
                scan::columns(&product, words.len())
            },
        );
        let of_query = |i: usize| of_groups.iter().flat_map(move |of| of[i].iter().copied());
        Ok((0..queries.len()).map(|i| of_query(i).collect()).collect())
    }
}

/// The reason why columns do not form a matrix.
enum Fault {
    /// The iterator yielded only this number of columns.
    Columns(usize),
    /// A column has this number of bytes.
    Rows(usize),
}

/// Fills a matrix of `rows` rows and `m` columns with the digits of the next columns.
fn fill(
    matrix: &mut [u8],
    (rows, m): (usize, usize),
    columns: &mut impl Iterator<Item: AsRef<[u8]>>,
) -> Result<(), Fault> {
    // The bytes of a column lie a whole row apart in the table. So this code collects 64 columns at a time and then
    // transposes them line by line. Each column begins an odd number of cache lines after the one before. With a power
    // of two, all columns would fall into a few sets of the cache.
    let apart = rows.next_multiple_of(LANES) | LANES;
    let mut block = vec![0; LANES * apart];
    for first in (0..m).step_by(LANES) {
        let places = block.chunks_exact_mut(apart);
        for (column, place) in (first..m).zip(places) {
            let next = columns.next().ok_or(Fault::Columns(column))?;
            let next = next.as_ref();
            if next.len() != rows {
                return Err(Fault::Rows(next.len()));
            }
            place[..rows].copy_from_slice(next);
        }
        for row in 0..rows {
            let at = Digits::place(rows, m, row, first);
            for (c, digit) in matrix[at..at + LANES].iter_mut().enumerate() {
                *digit = block[c * apart + row] ^ CENTRE;
            }
        }
    }
    Ok(())
}
