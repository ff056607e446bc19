//! The server: matrices of 18-bit entries, each row in two planes of 16-bit numbers, scanned by queries.

use std::ops::Range;

use sordino_lattice::store::Store;
use sordino_lattice::threads;

use crate::params::{Params, centred};
use crate::public::epoch;
use crate::query::Query;
use crate::scan::{MOST, Words};
use crate::shape::PLANES;
use crate::{Error, Seed, Shape};

/// Bytes that a thread takes at a time, and below which a scan stays on its thread.
const PART: usize = 1 << 20;

/// `D_1, ..., D_G` or some of them in a row, row after row, of each the low plane first; and the seed of the public
/// polynomials.
pub struct Table {
    pub(crate) params: Params,
    /// The groups that are here.
    pub(crate) shape: Shape,
    /// The groups that queries are for, and the first of them that is here.
    whole: Shape,
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
    /// A table of zeros under `seed`, which serves one table; draw it at random.
    #[must_use]
    pub fn zeroed(params: &Params, shape: Shape, seed: &Seed) -> Self {
        Self {
            params: *params,
            shape,
            whole: shape,
            first: 0,
            seed: *seed,
            entries: Store::zeroed(shape.scanned_len()),
        }
    }

    /// Some of the groups of a table of zeros of shape `whole`. Its rows and answers are those of these groups alone, and
    /// its queries are the whole table's.
    ///
    /// # Errors
    /// [`Error::Shape`] for no groups, or groups beyond the last.
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

    /// The shape of the groups that are here.
    #[must_use]
    pub const fn shape(&self) -> Shape {
        self.shape
    }

    /// Writes row `row % r` of group `row / r`, of integers mod `P`.
    ///
    /// # Errors
    /// [`Error::Shape`] for a row beyond the last, [`Error::Length`] for another number of entries than there are
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
        let planes = &mut self.entries.bytes_mut()[row * PLANES * stride..][..PLANES * stride];
        let (low, high) = planes.split_at_mut(stride);
        let places = low.as_chunks_mut().0.iter_mut();
        let places = places.zip(high.as_chunks_mut().0);
        for ((low, high), &entry) in places.zip(entries) {
            let [a, b, ..] = entry.to_le_bytes();
            let rest = centred(entry) - i32::from(i16::from_le_bytes([a, b]));
            let [_, _, c, d] = rest.to_le_bytes();
            (*low, *high) = ([a, b], [c, d]);
        }
        Ok(())
    }

    /// The entries of a row, with the zeros behind them.
    pub(crate) fn row(&self, row: usize) -> impl Iterator<Item = i32> {
        let stride = self.shape.stride();
        let planes = &self.entries.bytes()[row * PLANES * stride..][..PLANES * stride];
        let (low, high) = planes.split_at(stride);
        let numbers = |plane| {
            let numbers: &[[u8; 2]] = <[u8]>::as_chunks(plane).0;
            numbers.iter().copied().map(i16::from_le_bytes)
        };
        let pairs = numbers(low).zip(numbers(high));
        pairs.map(|(low, high)| i32::from(low) + (i32::from(high) << 16))
    }

    /// Refuses a query that was not made for this table: who answers several parties' queries in one scan asks before,
    /// so that one of them does not spoil it for the others.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if it was made for another shape, [`Error::Epoch`] if for another seed.
    pub fn check(&self, query: &Query) -> Result<(), Error> {
        query.check(self.whole, epoch(&self.seed))
    }

    /// `y_g = D_g b_g mod 2^32` for all groups `g` that are here, one after the other: `G r` words.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if the query was made for another shape, [`Error::Epoch`] if for another seed.
    pub fn answer(&self, query: &Query) -> Result<Vec<u32>, Error> {
        let mut answers = self.answer_batch(std::slice::from_ref(query))?;
        Ok(answers.pop().unwrap_or_default())
    }

    /// The answers to several queries: entries are read once for every four of them.
    ///
    /// # Errors
    /// Those of [`answer`](Self::answer).
    pub fn answer_batch(&self, queries: &[Query]) -> Result<Vec<Vec<u32>>, Error> {
        queries.iter().try_for_each(|query| self.check(query))?;
        let mut answers = Vec::with_capacity(queries.len());
        for queries in queries.chunks(MOST) {
            let products = self.products(queries);
            answers.extend((0..queries.len()).map(|k| {
                let rows = products.chunks_exact(PLANES * queries.len());
                let joined = |row: &[u32]| row[k].wrapping_add(row[queries.len() + k] << 16);
                rows.map(joined).collect()
            }));
        }
        Ok(answers)
    }

    /// The products of all planes with up to [`MOST`] queries, row after row.
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
        let planes = PLANES * shape.rows();
        let mut products = vec![0; shape.groups() * planes * count];
        let rows = (PART / shape.stride()).max(1).min(planes);
        let groups = self.entries.bytes().chunks_exact(planes * shape.stride());
        let outs = products.chunks_exact_mut(planes * count);
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
