//! The server: matrices of 18-bit entries. Their rows are [packed](crate::packed), and each query scans them.

use std::ops::Range;

use sordino_lattice::store::Store;
use sordino_lattice::threads;

use crate::packed;
use crate::params::Params;
use crate::public::epoch;
use crate::query::Query;
use crate::scan::{MOST, Words};
use crate::{Error, Seed, Shape};

/// The number of bytes that a thread takes at a time. A smaller scan stays on the calling thread.
const PART: usize = 1 << 20;

/// `D_1, ..., D_G`, or some consecutive matrices of these, row after row, and the seed of the public polynomials.
pub struct Table {
    pub(crate) params: Params,
    /// The shape of the groups in this table.
    pub(crate) shape: Shape,
    /// The shape of the whole table. Queries are made for this shape.
    whole: Shape,
    /// The number in the whole table of this table's first group.
    pub(crate) first: usize,
    pub(crate) seed: Seed,
    entries: Store,
}

impl std::fmt::Debug for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Table")
            .field("params", &self.params)
            .field("shape", &self.shape)
            .finish_non_exhaustive()
    }
}

impl Table {
    /// A table of zeros. Draw `seed` at random, and use it for this table only.
    ///
    /// # Panics
    /// Panics if the set is for bytes, or has no table of this shape.
    #[must_use]
    pub fn zeroed(params: &Params, shape: Shape, seed: &Seed) -> Self {
        assert!(
            *params == Params::module_1536() && params.has(shape),
            "a set and a shape of 18-bit entries"
        );
        Self {
            params: *params,
            shape,
            whole: shape,
            first: 0,
            seed: *seed,
            entries: Store::zeroed(shape.scanned_len()),
        }
    }

    /// Some groups of a table of zeros whose shape is `whole`. It has the rows and answers of these groups alone, and
    /// accepts the queries of the whole table.
    ///
    /// # Errors
    /// [`Error::Shape`] if there are no groups, or groups beyond the last.
    pub fn part(
        params: &Params,
        whole: Shape,
        groups: Range<usize>,
        seed: &Seed,
    ) -> Result<Self, Error> {
        if groups.end > whole.groups() {
            return Err(Error::Shape {
                what: "groups",
                found: groups.end,
                most: whole.groups(),
            });
        }
        let shape = Shape::new(groups.len(), whole.rows(), whole.columns())?;
        Ok(Self {
            whole,
            first: groups.start,
            ..Self::zeroed(params, shape, seed)
        })
    }

    /// The parameter set.
    #[must_use]
    pub const fn params(&self) -> &Params {
        &self.params
    }

    /// The shape of the groups in this table.
    #[must_use]
    pub const fn shape(&self) -> Shape {
        self.shape
    }

    /// Writes row `row % r` of group `row / r`, of integers mod `P`.
    ///
    /// # Errors
    /// [`Error::Shape`] for a row beyond the last. [`Error::Length`] if the number of entries is not the number of
    /// columns.
    pub fn set(&mut self, row: usize, entries: &[i32]) -> Result<(), Error> {
        if row >= self.shape.answers() {
            return Err(Error::Shape {
                what: "rows",
                found: row.saturating_add(1),
                most: self.shape.answers(),
            });
        }
        if entries.len() != self.shape.columns() {
            return Err(Error::Length {
                what: "row",
                found: entries.len(),
                expected: self.shape.columns(),
            });
        }
        let stride = self.shape.stride();
        let row = &mut self.entries.bytes_mut()[row * stride..][..stride];
        packed::write(row, entries);
        Ok(())
    }

    /// The entries of a row, centred, followed by the zeros of the padding.
    pub(crate) fn row(&self, row: usize) -> impl Iterator<Item = i32> {
        let stride = self.shape.stride();
        packed::read(&self.entries.bytes()[row * stride..][..stride])
    }

    /// Checks that a query was made for this table. A server that answers several clients in one scan calls this
    /// first, so that one bad query does not spoil the scan for the others.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if the query was made for another set or shape. [`Error::Epoch`] if it was made for another
    /// seed.
    pub fn check(&self, query: &Query) -> Result<(), Error> {
        query.check(&self.params, self.whole, epoch(&self.seed))
    }

    /// `y_g = D_g b_g mod 2^32` for all groups `g` in this table, one after the other: `G r` words.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if the query was made for another set or shape. [`Error::Epoch`] if it was made for another
    /// seed.
    pub fn answer(&self, query: &Query) -> Result<Vec<u32>, Error> {
        let mut answers = self.answer_batch(std::slice::from_ref(query))?;
        Ok(answers.pop().unwrap_or_default())
    }

    /// Answers several queries. It reads the entries once for every four queries.
    ///
    /// # Errors
    /// The errors of [`answer`](Self::answer).
    pub fn answer_batch(&self, queries: &[Query]) -> Result<Vec<Vec<u32>>, Error> {
        queries.iter().try_for_each(|query| self.check(query))?;
        let mut answers = Vec::with_capacity(queries.len());
        for queries in queries.chunks(MOST) {
            let products = self.products(queries);
            answers.extend((0..queries.len()).map(|k| {
                let own = products.iter().skip(k).step_by(queries.len());
                own.copied().collect()
            }));
        }
        Ok(answers)
    }

    /// The products of all rows with up to [`MOST`] queries, row after row.
    fn products(&self, queries: &[Query]) -> Vec<u32> {
        let (shape, count) = (self.shape, queries.len());
        let words = threads::map(
            (0..shape.groups()).collect(),
            || (),
            |(), _, g| {
                let words = queries.iter();
                let words: Vec<_> = words.map(|query| query.group(self.first + g)).collect();
                Words::new(&words)
            },
        );
        let mut products = vec![0; shape.answers() * count];
        let rows = (PART / shape.stride()).max(1).min(shape.rows());
        let groups = self
            .entries
            .bytes()
            .chunks_exact(shape.rows() * shape.stride());
        let outs = products.chunks_exact_mut(shape.rows() * count);
        let parts = groups
            .zip(outs)
            .zip(&words)
            .flat_map(|((group, out), words)| {
                let parts = group.chunks(rows * shape.stride());
                let parts = parts.zip(out.chunks_mut(rows * count));
                parts.map(move |(rows, out)| (words, rows, out))
            });
        let mut parts: Vec<_> = parts.collect();
        if shape.scanned_len() <= PART {
            for (words, rows, out) in &mut parts {
                words.products(rows, out);
            }
        } else {
            threads::for_each(
                parts,
                || (),
                |(), _, (words, rows, out)| words.products(rows, out),
            );
        }
        products
    }
}
