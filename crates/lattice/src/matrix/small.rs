//! Small secrets.

use zeroize::{Zeroize, ZeroizeOnDrop};

use super::stride;

/// `S`: `k x n` small secrets, 16 bits each. Zeroised on drop.
#[derive(Zeroize, ZeroizeOnDrop)]
pub struct Small {
    pub(super) rows: usize,
    pub(super) columns: usize,
    pub(super) entries: Vec<i16>,
}

impl Small {
    /// `rows x columns` zeros.
    #[must_use]
    pub fn zeroed(rows: usize, columns: usize) -> Self {
        Self {
            rows,
            columns,
            entries: vec![0; rows * stride(columns)],
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
