//! The left operand of a scan: a matrix of digits.

use std::ops::Range;

use super::kernels::Kernels;
#[cfg(target_arch = "aarch64")]
use super::neon;
use super::{LANES, Panels, STRIP, Vector, portable, stride};
#[cfg(target_arch = "x86_64")]
use super::{amx, avx2, avx512};

/// A view of `D`: `rows x columns` centred digits, in strips of [`STRIP`] columns, one strip after the other. Within a
/// strip, row follows row. The last strip has the rest of the [`stride`] columns.
///
/// A byte is the two's complement of a digit in `[-128, 128)`. The padding may hold anything, since kernels multiply it
/// only with zeros.
///
/// A strip is read from end to end against the same few words of `q`, which stay in the L1 cache. With whole rows of a
/// wide matrix, `q` would be read again for each row, at one byte for each byte of `D`. On Zen 5 a scan of 8192 x 16384
/// digits then takes 30 % longer.
#[derive(Clone, Copy)]
pub struct Digits<'a> {
    bytes: &'a [u8],
    /// The number of rows of the matrix that this is a view of, and the number of the first row in view.
    height: usize,
    first: usize,
    rows: usize,
    columns: usize,
}

impl std::fmt::Debug for Digits<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Digits({} x {})", self.rows, self.columns)
    }
}

impl<'a> Digits<'a> {
    /// A view of `rows x columns` digits in `bytes`.
    ///
    /// # Panics
    /// Panics if `bytes` is not `rows * stride(columns)` long.
    #[must_use]
    pub fn new(bytes: &'a [u8], rows: usize, columns: usize) -> Self {
        assert_eq!(bytes.len(), rows * stride(columns), "digits and shape");
        Self {
            bytes,
            height: rows,
            first: 0,
            rows,
            columns,
        }
    }

    /// The position of digit `(i, j)` of a matrix of `rows x columns` digits among its bytes.
    #[must_use]
    pub const fn place(rows: usize, columns: usize, i: usize, j: usize) -> usize {
        let left = j / STRIP * STRIP;
        left * rows + i * strip_width(columns, left) + (j - left)
    }

    /// The 64 digits of row `i` from column `first` on, which is a multiple of 64. If there are fewer columns, padding
    /// follows them.
    ///
    /// # Panics
    /// Panics if there is no row `i` or no column `first`.
    #[must_use]
    pub fn line(&self, i: usize, first: usize) -> &'a [u8; LANES] {
        assert!(i < self.rows && first < self.columns, "a place in view");
        let at = Self::place(self.height, self.columns, self.first + i, first);
        let line = self.bytes[at..].first_chunk();
        line.unwrap_or_else(|| unreachable!("rows are padded to whole lines"))
    }

    /// `l`, the number of rows.
    #[must_use]
    pub const fn rows(&self) -> usize {
        self.rows
    }

    /// `m`, the number of columns.
    #[must_use]
    pub const fn columns(&self) -> usize {
        self.columns
    }

    /// A view of some rows, so that threads can share a product.
    ///
    /// # Panics
    /// Panics if `rows` reaches past the last row.
    #[must_use]
    pub fn slice(&self, rows: Range<usize>) -> Self {
        assert!(rows.end <= self.rows, "rows of the view");
        Self {
            first: self.first + rows.start,
            rows: rows.len(),
            ..*self
        }
    }

    /// The first column of each strip, its width, and the rows in view.
    fn strips(&self) -> impl Iterator<Item = (usize, usize, &'a [u8])> {
        (0..self.columns).step_by(STRIP).map(|left| {
            let width = strip_width(self.columns, left);
            // Kernels read whole vectors of a row without a check for its end.
            assert!(width.is_multiple_of(LANES), "a strip of {width} columns");
            let start = left * self.height + self.first * width;
            (left, width, &self.bytes[start..start + self.rows * width])
        })
    }

    /// Computes `out = D q mod 2^32` in one pass over `D`.
    ///
    /// # Panics
    /// Panics if `q` does not have `m` entries or `out` does not have `l`.
    pub fn mul_vec(&self, q: &Vector, out: &mut [u32]) {
        assert_eq!(q.len, self.columns, "columns of D and entries of q");
        assert_eq!(out.len(), self.rows, "rows of D and entries of the product");
        out.fill(0);
        for (left, width, d) in self.strips() {
            let words = &q.words[left..left + width];
            match q.kernels {
                Kernels::Portable => portable::mul_vec(d, words, out),
                #[cfg(target_arch = "x86_64")]
                Kernels::Avx2(token) => avx2::mul_vec(token, d, words, out),
                #[cfg(target_arch = "x86_64")]
                Kernels::Avx512(token) => avx512::mul_vec(token, d, words, q.rounded, out),
                #[cfg(target_arch = "x86_64")]
                Kernels::Amx(token) if self.bytes.len() <= amx::CACHED => {
                    let tiles = &q.tiles[left..left + width];
                    amx::mul_vec(token, d, words, tiles, out);
                }
                #[cfg(target_arch = "x86_64")]
                Kernels::Amx(token) => avx512::mul_vec(token.vnni(), d, words, q.rounded, out),
                #[cfg(target_arch = "aarch64")]
                Kernels::Neon(token) => neon::mul_vec(token, d, words, out),
            }
        }
    }

    /// Computes `out = D B mod 2^32`, row after row, in one pass over `D` for all columns of `B`.
    ///
    /// # Panics
    /// Panics if `B` does not have `m` rows or `out` is not `l * k` long.
    pub fn mul_panels(&self, b: &Panels, out: &mut [u32]) {
        assert_eq!(b.rows, self.columns, "columns of D and rows of B");
        assert_eq!(out.len(), self.rows * b.columns, "shape of the product");
        out.fill(0);
        if out.is_empty() {
            return;
        }
        for (left, width, d) in self.strips() {
            let b_strip = b.strip(left, width);
            match b.kernels {
                Kernels::Portable => portable::mul_panels(d, b_strip, out),
                #[cfg(target_arch = "x86_64")]
                Kernels::Avx2(token) => avx2::mul_panels(token, d, b_strip, out),
                #[cfg(target_arch = "x86_64")]
                Kernels::Avx512(token) => avx512::mul_panels(token, d, b_strip, out),
                #[cfg(target_arch = "x86_64")]
                Kernels::Amx(token) => amx::mul_panels(token, d, b_strip, out),
                #[cfg(target_arch = "aarch64")]
                Kernels::Neon(token) => neon::mul_panels(token, d, b_strip, out),
            }
        }
    }
}

/// The width of the strip whose first column is `left`.
const fn strip_width(columns: usize, left: usize) -> usize {
    let rest = stride(columns) - left;
    if rest < STRIP { rest } else { STRIP }
}
