//! Small secrets.

use std::ops::Range;

use zeroize::{Zeroize, ZeroizeOnDrop};

use super::stride;
use crate::aligned::Aligned;

/// `S`: `k x n` small secrets, 16 bits each. Zeroised on drop.
#[derive(Zeroize, ZeroizeOnDrop)]
pub struct Small {
    pub(super) rows: usize,
    pub(super) columns: usize,
    pub(super) entries: Aligned<i16>,
}

impl Small {
    /// `rows x columns` zeros.
    #[must_use]
    pub fn zeroed(rows: usize, columns: usize) -> Self {
        Self {
            rows,
            columns,
            entries: Aligned::new(rows * stride(columns)),
        }
    }

    /// Row `i`.
    ///
    /// # Panics
    /// Panics if there is no row `i`.
    pub fn row_mut(&mut self, i: usize) -> &mut [i16] {
        let start = i * stride(self.columns);
        &mut self.entries[start..start + self.columns]
    }

    /// Row `i`.
    ///
    /// # Panics
    /// Panics if there is no row `i`.
    #[must_use]
    pub fn row(&self, i: usize) -> &[i16] {
        let start = i * stride(self.columns);
        &self.entries[start..start + self.columns]
    }

    /// All rows, for writing.
    pub fn rows_mut(&mut self) -> impl Iterator<Item = &mut [i16]> {
        let rows = self.entries.chunks_exact_mut(stride(self.columns).max(1));
        rows.map(|row| &mut row[..self.columns])
    }

    /// Copies some rows to a matrix of their own.
    ///
    /// # Panics
    /// Panics if `rows` ends beyond the last row.
    #[must_use]
    pub fn part(&self, rows: Range<usize>) -> Self {
        let mut part = Self::zeroed(rows.len(), self.columns);
        for (out, i) in part.rows_mut().zip(rows) {
            out.copy_from_slice(self.row(i));
        }
        part
    }

    /// Joins the rows of all of these matrices into one. Without rows, the result is an empty
    /// matrix.
    ///
    /// # Panics
    /// Panics if they differ in their number of columns.
    #[must_use]
    pub fn together(parts: &[&Self]) -> Self {
        let rows = parts.iter().map(|part| part.rows).sum();
        let mut all = Self::zeroed(rows, parts.first().map_or(0, |part| part.columns));
        let each = parts
            .iter()
            .flat_map(|part| (0..part.rows).map(|i| part.row(i)));
        for (out, row) in all.rows_mut().zip(each) {
            out.copy_from_slice(row);
        }
        all
    }

    /// `k`, the number of rows.
    #[must_use]
    pub const fn rows(&self) -> usize {
        self.rows
    }
}

impl std::fmt::Debug for Small {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Small({} x {}, secret)", self.rows, self.columns)
    }
}
