//! Small secrets.

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
    /// If there is no row `i`.
    pub fn row_mut(&mut self, i: usize) -> &mut [i16] {
        let start = i * stride(self.columns);
        &mut self.entries[start..start + self.columns]
    }

    /// Row `i`.
    ///
    /// # Panics
    /// If there is no row `i`.
    #[must_use]
    pub fn row(&self, i: usize) -> &[i16] {
        let start = i * stride(self.columns);
        &self.entries[start..start + self.columns]
    }

    /// All rows, to be filled.
    pub fn rows_mut(&mut self) -> impl Iterator<Item = &mut [i16]> {
        let rows = self.entries.chunks_exact_mut(stride(self.columns).max(1));
        rows.map(|row| &mut row[..self.columns])
    }

    /// Row `i` as a matrix of its own.
    ///
    /// # Panics
    /// If there is no row `i`.
    #[must_use]
    pub fn single(&self, i: usize) -> Self {
        let mut single = Self::zeroed(1, self.columns);
        single.row_mut(0).copy_from_slice(self.row(i));
        single
    }

    /// These rows in one matrix.
    ///
    /// # Panics
    /// If any of the matrices has other than one row of `columns` entries.
    #[must_use]
    pub fn together(columns: usize, singles: &[&Self]) -> Self {
        let mut all = Self::zeroed(singles.len(), columns);
        for (t, single) in singles.iter().enumerate() {
            assert_eq!(single.rows, 1, "matrices of one row");
            all.row_mut(t).copy_from_slice(single.row(0));
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
