//! Matrix products mod 2^32 with one small operand: the whole server side and client side of LWE.
//!
//! | symbol | meaning | type and shape here |
//! |---|---|---|
//! | `D` | digits, centred: each in `[-128, 128)` | [`Digits`], `l x m`, one byte each |
//! | `q` | one vector of words | [`Vector`], `m` |
//! | `B` | many vectors of words, as columns | [`Panels`], `m x k` |
//! | `W` | words that meet small secrets | [`Words`], `l x n` |
//! | `S` | small secrets, as rows | [`Small`], `k x n`, 16 bits each |
//!
//! [`Digits::mul_vec`] is `D q`, [`Digits::mul_panels`] is `D B`, [`Words::mul`] is `W S^T`; all of
//! them are exact mod 2^32. The word operand is laid out once, for the backend that will read it:
//! in two balanced 16-bit limbs (`vpdpwssd` or `vpmaddwd`), in panels of byte planes
//! (`vpdpbusd`), or as it is for NEON and the portable definition. Every backend
//! returns the same words. None has a branch or an address that depends on a value in an operand.

use std::ops::Range;

use zeroize::{Zeroize, ZeroizeOnDrop};

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod layout;
#[cfg(target_arch = "aarch64")]
mod neon;
mod portable;

/// Rows of every operand are padded to a multiple of this many entries.
pub const LANES: usize = 64;
/// Columns of one panel of [`Panels`].
pub(crate) const PANEL: usize = 16;

/// The length of a row of `columns` entries with its padding.
#[must_use]
pub const fn stride(columns: usize) -> usize {
    columns.next_multiple_of(LANES)
}

/// A set of kernels. All of them compute the same words.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Backend {
    /// Plain Rust: the definition of every product.
    Portable,
    /// 256-bit vectors: 16-bit limbs and `vpmaddwd`.
    #[cfg(target_arch = "x86_64")]
    Avx2(sordino_cpu::Avx2),
    /// 512-bit vectors: `vpdpbusd` and `vpdpwssd`.
    #[cfg(target_arch = "x86_64")]
    Avx512(sordino_cpu::Avx512Vnni),
    /// 128-bit vectors: widening moves and `mla`.
    #[cfg(target_arch = "aarch64")]
    Neon(sordino_cpu::Neon),
}

impl Backend {
    /// Every backend that this processor has, the fastest last.
    #[must_use]
    pub fn available() -> Vec<Self> {
        let mut backends = vec![Self::Portable];
        #[cfg(target_arch = "x86_64")]
        {
            backends.extend(sordino_cpu::Avx2::detect().map(Self::Avx2));
            backends.extend(sordino_cpu::Avx512Vnni::detect().map(Self::Avx512));
        }
        #[cfg(target_arch = "aarch64")]
        backends.extend(sordino_cpu::Neon::detect().map(Self::Neon));
        backends
    }

    /// The fastest backend that this processor has.
    #[must_use]
    pub fn detect() -> Self {
        Self::available().pop().unwrap_or(Self::Portable)
    }

    /// The backend's name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Portable => "portable",
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(_) => "avx2",
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(_) => "avx512",
            #[cfg(target_arch = "aarch64")]
            Self::Neon(_) => "neon",
        }
    }
}

/// A view of `D`: `rows x columns` centred digits, row after row, each row [`stride`] bytes long.
///
/// A byte is the two's complement of a digit in `[-128, 128)`. What the padding holds is of no
/// consequence: it only ever meets zeros.
#[derive(Clone, Copy, Debug)]
pub struct Digits<'a> {
    bytes: &'a [u8],
    rows: usize,
    columns: usize,
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
            #[cfg(target_arch = "aarch64")]
            Backend::Neon(token) => neon::mul_panels(token, self.bytes, &b.words, b.columns, out),
        }
    }
}

/// `q`: one vector of words mod 2^32, laid out for [`Digits::mul_vec`].
#[derive(Debug)]
pub struct Vector {
    backend: Backend,
    len: usize,
    words: layout::Aligned,
}

impl Vector {
    /// Lays out `q` for the kernels of `backend`.
    #[must_use]
    pub fn new(backend: Backend, q: &[u32]) -> Self {
        let mut padded = layout::Aligned::zeroed(stride(q.len()));
        match backend {
            #[cfg(target_arch = "x86_64")]
            Backend::Avx512(_) | Backend::Avx2(_) => layout::limbs(q, &mut padded),
            _ => padded[..q.len()].copy_from_slice(q),
        }
        Self {
            backend,
            len: q.len(),
            words: padded,
        }
    }
}

/// `B`: `m x k` words mod 2^32, laid out in panels of 16 columns for [`Digits::mul_panels`].
#[derive(Debug)]
pub struct Panels {
    backend: Backend,
    rows: usize,
    columns: usize,
    words: layout::Aligned,
}

impl Panels {
    /// Lays out the matrix whose row `j` is what `row(j, out)` writes to `out`.
    ///
    /// Rows are asked for in order, each once, into a slice of `columns` zeros.
    #[must_use]
    pub fn from_rows(
        backend: Backend,
        rows: usize,
        columns: usize,
        mut row: impl FnMut(usize, &mut [u32]),
    ) -> Self {
        let stride = stride(rows);
        let width = columns.next_multiple_of(PANEL);
        let mut words = layout::Aligned::zeroed(stride * width);
        let mut four = vec![0; 4 * width];
        for first in (0..rows).step_by(4) {
            four.fill(0);
            for (j, row_out) in (first..rows).zip(four.chunks_exact_mut(width)) {
                row(j, &mut row_out[..columns]);
            }
            for (p, panel) in words.chunks_exact_mut(stride * PANEL).enumerate() {
                let out = &mut panel[first * PANEL..(first + 4) * PANEL];
                match backend {
                    #[cfg(target_arch = "x86_64")]
                    Backend::Avx512(_) => layout::panel_planes(&four, width, p * PANEL, out),
                    _ => layout::panel_rows(&four, width, p * PANEL, out),
                }
            }
        }
        Self {
            backend,
            rows,
            columns,
            words,
        }
    }

    /// Lays out the matrix with these columns.
    ///
    /// # Panics
    /// If the columns differ in length.
    #[must_use]
    pub fn from_columns(backend: Backend, columns: &[&[u32]]) -> Self {
        let rows = columns.first().map_or(0, |column| column.len());
        assert!(
            columns.iter().all(|column| column.len() == rows),
            "columns of one length"
        );
        Self::from_rows(backend, rows, columns.len(), |j, out| {
            for (word, column) in out.iter_mut().zip(columns) {
                *word = column[j];
            }
        })
    }
}

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

/// `S`: `k x n` small secrets, 16 bits each. Zeroised on drop.
#[derive(Zeroize, ZeroizeOnDrop)]
pub struct Small {
    rows: usize,
    columns: usize,
    entries: Vec<i16>,
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
