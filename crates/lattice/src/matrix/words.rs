//! Words that meet small secrets.

use std::ops::Range;

use zeroize::Zeroize;

#[cfg(target_arch = "aarch64")]
use super::neon;
use super::{Backend, Small, layout, portable, stride};
#[cfg(target_arch = "x86_64")]
use super::{avx2, avx512};

/// `W`: `l x n` words mod 2^32, laid out for products with small secrets.
#[derive(Debug)]
pub struct Words {
    backend: Backend,
    rows: usize,
    columns: usize,
    words: layout::Aligned,
}

impl Words {
    /// Lays out the matrix whose row `i` is what `row(i, out)` writes to `out`, a slice of zeros.
    #[must_use]
    pub fn from_rows(
        backend: Backend,
        rows: usize,
        columns: usize,
        mut row: impl FnMut(usize, &mut [u32]),
    ) -> Self {
        let stride = stride(columns);
        let mut words = layout::Aligned::zeroed(rows * stride);
        let mut one = vec![0; columns];
        for (i, out) in words.chunks_exact_mut(stride.max(1)).enumerate() {
            one.fill(0);
            row(i, &mut one);
            match backend {
                #[cfg(target_arch = "x86_64")]
                Backend::Avx512(_) | Backend::Avx2(_) => layout::limbs(&one, out),
                _ => out[..columns].copy_from_slice(&one),
            }
        }
        Self {
            backend,
            rows,
            columns,
            words,
        }
    }

    /// `l`, the number of rows.
    #[must_use]
    pub const fn rows(&self) -> usize {
        self.rows
    }

    /// Changes row `i` by `change`.
    ///
    /// # Panics
    /// If there is no row `i`.
    pub fn update_row(&mut self, i: usize, change: impl FnOnce(&mut [u32])) {
        let stride = stride(self.columns);
        let laid_out = &mut self.words[i * stride..(i + 1) * stride];
        let mut row = vec![0; self.columns];
        match self.backend {
            #[cfg(target_arch = "x86_64")]
            Backend::Avx512(_) | Backend::Avx2(_) => {
                layout::from_limbs(laid_out, &mut row);
                change(&mut row);
                layout::limbs(&row, laid_out);
            }
            _ => {
                change(&mut laid_out[..self.columns]);
            }
        }
        row.zeroize();
    }

    /// Appends rows, up to `rows` of them: row `i` is what `row(i, out)` writes.
    pub fn extend(&mut self, rows: usize, mut row: impl FnMut(usize, &mut [u32])) {
        if rows <= self.rows {
            return;
        }
        let stride = stride(self.columns);
        let mut words = layout::Aligned::zeroed(rows * stride);
        words[..self.words.len()].copy_from_slice(&self.words);
        let old = std::mem::replace(&mut self.rows, rows);
        self.words = words;
        for i in old..rows {
            self.update_row(i, |out| row(i, out));
        }
    }

    /// `out = W[rows] S^T mod 2^32`, row after row, `k` words each: one pass over those rows.
    ///
    /// # Panics
    /// If `rows` reaches past the last row, the rows of `S` do not have `n` entries, or `out` is
    /// not `rows.len() * k` long.
    ///
    /// # Security
    /// `S` is secret: neither branches nor addresses depend on it.
    pub fn mul(&self, rows: Range<usize>, s: &Small, out: &mut [u32]) {
        assert_eq!(s.columns, self.columns, "columns of W and of S");
        assert_eq!(out.len(), rows.len() * s.rows, "shape of the product");
        let stride = stride(self.columns);
        let words = &self.words[rows.start * stride..rows.end * stride];
        if out.is_empty() {
            return;
        }
        match self.backend {
            Backend::Portable => portable::mul_small(words, &s.entries, stride, out),
            #[cfg(target_arch = "x86_64")]
            Backend::Avx2(token) => avx2::mul_small(token, words, &s.entries, stride, out),
            #[cfg(target_arch = "x86_64")]
            Backend::Avx512(token) => avx512::mul_small(token, words, &s.entries, stride, out),
            #[cfg(target_arch = "aarch64")]
            Backend::Neon(token) => neon::mul_small(token, words, &s.entries, stride, out),
        }
    }
}
