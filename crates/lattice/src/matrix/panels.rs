//! The right operand of a scan for many queries.

use super::{Backend, PANEL, layout, stride};

/// `B`: `m x k` words mod 2^32, laid out in panels of 16 columns for
/// [`Digits::mul_panels`](super::Digits::mul_panels).
#[derive(Debug)]
pub struct Panels {
    pub(super) backend: Backend,
    pub(super) rows: usize,
    pub(super) columns: usize,
    pub(super) words: layout::Aligned,
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
                    Backend::Avx512(_) | Backend::Amx(_) => {
                        layout::panel_planes(&four, width, p * PANEL, out);
                    }
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
