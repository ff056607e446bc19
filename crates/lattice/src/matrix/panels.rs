//! The right operand of a scan for many queries.

use super::kernels::Kernels;
use super::{Backend, PANEL, layout, stride};

/// `B`: `m x k` words mod 2^32, laid out in panels of 16 columns for
/// [`Digits::mul_panels`](super::Digits::mul_panels).
#[derive(Debug)]
pub struct Panels {
    pub(super) kernels: Kernels,
    pub(super) rows: usize,
    pub(super) columns: usize,
    rounded: bool,
    pub(super) words: layout::Aligned,
}

impl Panels {
    /// Lays out the matrix whose row `j` is what `row(j, out)` writes to `out`.
    ///
    /// `row` is called for every row once, in order, with a slice of `columns` zeros. It is not called if there are
    /// no columns.
    #[must_use]
    pub fn from_rows(
        backend: Backend,
        rows: usize,
        columns: usize,
        mut row: impl FnMut(usize, &mut [u32]),
    ) -> Self {
        let kernels = Kernels::of(backend);
        let stride = stride(rows);
        let width = columns.next_multiple_of(PANEL);
        let mut words = layout::Aligned::zeroed(stride * width);
        let mut four = vec![0; 4 * width];
        let mut all = 0;
        for first in (0..rows).step_by(4) {
            four.fill(0);
            // Without columns there is nothing to write, and `row` is not called.
            for (j, row_out) in (first..rows).zip(four.chunks_exact_mut(width.max(1))) {
                row(j, &mut row_out[..columns]);
            }
            all = four.iter().fold(all, |all, word| all | word);
            for (p, panel) in words.chunks_exact_mut(stride * PANEL).enumerate() {
                let out = &mut panel[first * PANEL..(first + 4) * PANEL];
                match kernels {
                    #[cfg(target_arch = "x86_64")]
                    Kernels::Avx512(_) | Kernels::Amx(_) => {
                        layout::panel_planes(&four, width, p * PANEL, out);
                    }
                    _ => layout::panel_rows(&four, width, p * PANEL, out),
                }
            }
        }
        Self {
            kernels,
            rows,
            columns,
            rounded: all & 0xff == 0,
            words,
        }
    }

    /// Rows `left..left + width`, `width` a multiple of 64.
    pub(super) fn strip(&self, left: usize, width: usize) -> Strip<'_> {
        Strip {
            words: &self.words,
            stride: stride(self.rows),
            left,
            width,
            columns: self.columns,
            rounded: self.rounded,
        }
    }

    /// Lays out the matrix with these columns.
    ///
    /// # Panics
    /// Panics if the columns differ in length.
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

/// Some rows of `B`: those that are multiplied with one strip of `D`.
#[derive(Clone, Copy)]
pub(super) struct Strip<'a> {
    words: &'a [u32],
    stride: usize,
    left: usize,
    /// The number of these rows.
    pub(super) width: usize,
    /// `k`, the columns of `B`.
    pub(super) columns: usize,
    /// True if all words are multiples of 256, so that kernels can skip their low bytes.
    #[cfg_attr(
        not(target_arch = "x86_64"),
        expect(dead_code, reason = "other kernels have no plane to leave out")
    )]
    pub(super) rounded: bool,
}

impl<'a> Strip<'a> {
    /// For each panel, the number of its first column, its number of columns, and its rows of 16 words each.
    pub(super) fn panels(self) -> impl Iterator<Item = (usize, usize, &'a [u32])> {
        let rows = self.left * PANEL..(self.left + self.width) * PANEL;
        let panels = self.words.chunks_exact(self.stride * PANEL).enumerate();
        panels.map(move |(p, panel)| {
            let first = p * PANEL;
            (first, PANEL.min(self.columns - first), &panel[rows.clone()])
        })
    }
}
