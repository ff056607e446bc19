//! Words that are multiplied with small secrets.

use std::ops::Range;

use zeroize::Zeroize;

use super::kernels::Kernels;
use super::layout::Encoding;
#[cfg(target_arch = "aarch64")]
use super::neon;
use super::{Backend, LANES, Small, layout, portable, stride};
#[cfg(target_arch = "x86_64")]
use super::{avx2, avx512};

/// `W`: `l x n` words mod 2^32, laid out for products with small secrets.
#[derive(Debug)]
pub struct Words {
    kernels: Kernels,
    encoding: Encoding,
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
        row: impl FnMut(usize, &mut [u32]),
    ) -> Self {
        Self::laid_out(Kernels::of(backend), Encoding::Whole, rows, columns, row)
    }

    /// Like [`Self::from_rows`], with every word a multiple of `2^(32 - bits)`. Up to 24 bits it
    /// takes three bytes a word instead of four, until a row is changed.
    ///
    /// # Panics
    /// Panics if `bits` is not in `1..=32`.
    #[must_use]
    pub fn from_rounded_rows(
        backend: Backend,
        bits: u32,
        rows: usize,
        columns: usize,
        row: impl FnMut(usize, &mut [u32]),
    ) -> Self {
        assert!((1..=32).contains(&bits), "words of {bits} bits");
        let encoding = match bits {
            1..=24 => Encoding::Rounded { shift: 32 - bits },
            _ => Encoding::Whole,
        };
        Self::laid_out(Kernels::of(backend), encoding, rows, columns, row)
    }

    fn laid_out(
        kernels: Kernels,
        encoding: Encoding,
        rows: usize,
        columns: usize,
        mut row: impl FnMut(usize, &mut [u32]),
    ) -> Self {
        let row_len = encoding.row_len(stride(columns));
        let mut words = Self {
            kernels,
            encoding,
            rows,
            columns,
            words: layout::Aligned::zeroed(rows * row_len),
        };
        let mut one = vec![0; columns];
        for i in 0..rows {
            one.fill(0);
            row(i, &mut one);
            words.put(i, &one);
        }
        words
    }

    /// The position at which row `i` is laid out.
    fn place(&self, i: usize) -> Range<usize> {
        let row_len = self.encoding.row_len(stride(self.columns));
        i * row_len..(i + 1) * row_len
    }

    /// Writes `row` as row `i`.
    fn put(&mut self, i: usize, row: &[u32]) {
        let place = self.place(i);
        let out = &mut self.words[place];
        match (self.encoding, self.kernels) {
            (Encoding::Rounded { shift }, _) => layout::rounded(row, shift, out),
            #[cfg(target_arch = "x86_64")]
            (Encoding::Whole, Kernels::Amx(_) | Kernels::Avx512(_) | Kernels::Avx2(_)) => {
                layout::limbs(row, out);
            }
            _ => out[..row.len()].copy_from_slice(row),
        }
    }

    /// Reads row `i` into `row`.
    fn get(&self, i: usize, row: &mut [u32]) {
        let words = &self.words[self.place(i)];
        match (self.encoding, self.kernels) {
            (Encoding::Rounded { shift }, _) => layout::from_rounded(words, shift, row),
            #[cfg(target_arch = "x86_64")]
            (Encoding::Whole, Kernels::Amx(_) | Kernels::Avx512(_) | Kernels::Avx2(_)) => {
                layout::from_limbs(words, row);
            }
            _ => row.copy_from_slice(&words[..row.len()]),
        }
    }

    /// `l`, the number of rows.
    #[must_use]
    pub const fn rows(&self) -> usize {
        self.rows
    }

    /// Changes row `i` by `change`. All rows are whole words from then on, because a changed word
    /// need not be rounded.
    ///
    /// # Panics
    /// Panics if there is no row `i`.
    pub fn update_row(&mut self, i: usize, change: impl FnOnce(&mut [u32])) {
        self.make_whole(self.rows);
        let mut row = vec![0; self.columns];
        self.get(i, &mut row);
        change(&mut row);
        self.put(i, &row);
        row.zeroize();
    }

    /// Appends rows until there are `rows`. `row(i, out)` writes row `i`.
    pub fn extend(&mut self, rows: usize, mut row: impl FnMut(usize, &mut [u32])) {
        if rows <= self.rows {
            return;
        }
        let old = self.rows;
        self.make_whole(rows);
        for i in old..rows {
            self.update_row(i, |out| row(i, out));
        }
    }

    /// Lays out the rows as whole words, with zeros behind them up to `rows`.
    fn make_whole(&mut self, rows: usize) {
        if (self.encoding, self.rows) == (Encoding::Whole, rows) {
            return;
        }
        let old = self.rows;
        *self = Self::laid_out(
            self.kernels,
            Encoding::Whole,
            rows,
            self.columns,
            |i, out| {
                if i < old {
                    self.get(i, out);
                }
            },
        );
    }

    /// Computes `out = W[rows] S^T mod 2^32`, row after row, `k` words each, in one pass over those
    /// rows.
    ///
    /// # Panics
    /// Panics if `rows` reaches past the last row, the rows of `S` do not have `n` entries, or `out`
    /// is not `rows.len() * k` long.
    ///
    /// # Security
    /// `S` is secret: neither branches nor addresses depend on it.
    pub fn mul(&self, rows: Range<usize>, s: &Small, out: &mut [u32]) {
        assert_eq!(s.columns, self.columns, "columns of W and of S");
        assert_eq!(out.len(), rows.len() * s.rows, "shape of the product");
        let stride = stride(self.columns);
        let words = &self.words[self.place(rows.start).start..self.place(rows.end).start];
        if out.is_empty() {
            return;
        }
        let s = &*s.entries;
        // Kernels read whole vectors of a row without a check for its end.
        assert!(stride.is_multiple_of(LANES), "rows of {stride} entries");
        match self.kernels {
            Kernels::Portable => portable::mul_small(words, self.encoding, s, stride, out),
            #[cfg(target_arch = "x86_64")]
            Kernels::Avx2(token) => avx2::mul_small(token, words, self.encoding, s, stride, out),
            #[cfg(target_arch = "x86_64")]
            Kernels::Avx512(token) => {
                avx512::mul_small(token, words, self.encoding, s, stride, out);
            }
            #[cfg(target_arch = "x86_64")]
            Kernels::Amx(token) => {
                avx512::mul_small(token.vnni(), words, self.encoding, s, stride, out);
            }
            #[cfg(target_arch = "aarch64")]
            Kernels::Neon(token) => neon::mul_small(token, words, self.encoding, s, stride, out),
        }
    }
}
