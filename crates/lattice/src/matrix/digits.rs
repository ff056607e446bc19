//! The left operand of a scan.

use std::ops::Range;

#[cfg(target_arch = "aarch64")]
use super::neon;
use super::{Backend, Panels, Vector, portable, stride};
#[cfg(target_arch = "x86_64")]
use super::{amx, avx2, avx512};

/// A view of `D`: `rows x columns` centred digits, row after row, each row [`stride`] bytes long.
///
/// A byte is the two's complement of a digit in `[-128, 128)`. What the padding holds is of no
/// consequence: it only ever meets zeros.
#[derive(Clone, Copy, Debug)]
pub struct Digits<'a> {
    bytes: &'a [u8],
    rows: usize,
    columns: usize,
    /// Bytes of the matrix that this is a slice of: what says whether it may lie in a cache.
    whole: usize,
}

impl<'a> Digits<'a> {
    /// A view of `rows x columns` digits in `bytes`.
    ///
    /// # Panics
    /// If `bytes` is not `rows * stride(columns)` long.
    #[must_use]
    pub fn new(bytes: &'a [u8], rows: usize, columns: usize) -> Self {
        assert_eq!(bytes.len(), rows * stride(columns), "digits and shape");
        Self {
            bytes,
            rows,
            columns,
            whole: bytes.len(),
        }
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

    /// Row `i`, without its padding.
    ///
    /// # Panics
    /// If there is no row `i`.
    #[must_use]
    pub fn row(&self, i: usize) -> &'a [u8] {
        let start = i * stride(self.columns);
        &self.bytes[start..start + self.columns]
    }

    /// Some of the rows, so that threads can share a product.
    ///
    /// # Panics
    /// If `rows` reaches past the last row.
    #[must_use]
    pub fn slice(&self, rows: Range<usize>) -> Self {
        let stride = stride(self.columns);
        Self {
            bytes: &self.bytes[rows.start * stride..rows.end * stride],
            rows: rows.len(),
            columns: self.columns,
            whole: self.whole,
        }
    }

    /// `out = D q mod 2^32`: one pass over `D`.
    ///
    /// # Panics
    /// If `q` does not have `m` entries or `out` does not have `l`.
    pub fn mul_vec(&self, q: &Vector, out: &mut [u32]) {
        assert_eq!(q.len, self.columns, "columns of D and entries of q");
        assert_eq!(out.len(), self.rows, "rows of D and entries of the product");
        match q.backend {
            Backend::Portable => portable::mul_vec(self.bytes, &q.words, out),
            #[cfg(target_arch = "x86_64")]
            Backend::Avx2(token) => avx2::mul_vec(token, self.bytes, &q.words, out),
            #[cfg(target_arch = "x86_64")]
            Backend::Avx512(token) => avx512::mul_vec(token, self.bytes, &q.words, out),
            #[cfg(target_arch = "x86_64")]
            Backend::Amx(token) => amx::mul_vec(token, self.bytes, &q.words, self.whole, out),
            #[cfg(target_arch = "aarch64")]
            Backend::Neon(token) => neon::mul_vec(token, self.bytes, &q.words, out),
        }
    }

    /// `out = D B mod 2^32`, row after row: one pass over `D` for all columns of `B`.
    ///
    /// # Panics
    /// If `B` does not have `m` rows or `out` is not `l * k` long.
    pub fn mul_panels(&self, b: &Panels, out: &mut [u32]) {
        assert_eq!(b.rows, self.columns, "columns of D and rows of B");
        assert_eq!(out.len(), self.rows * b.columns, "shape of the product");
        out.fill(0);
        if out.is_empty() {
            return;
        }
        match b.backend {
            Backend::Portable => portable::mul_panels(self.bytes, &b.words, b.columns, out),
            #[cfg(target_arch = "x86_64")]
            Backend::Avx2(token) => avx2::mul_panels(token, self.bytes, &b.words, b.columns, out),
            #[cfg(target_arch = "x86_64")]
            Backend::Avx512(token) => {
                avx512::mul_panels(token, self.bytes, &b.words, b.columns, out);
            }
            #[cfg(target_arch = "x86_64")]
            Backend::Amx(token) => amx::mul_panels(token, self.bytes, &b.words, b.columns, out),
            #[cfg(target_arch = "aarch64")]
            Backend::Neon(token) => neon::mul_panels(token, self.bytes, &b.words, b.columns, out),
        }
    }
}
