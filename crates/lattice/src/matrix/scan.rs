//! Scans: one pass over `D` for any number of vectors of words, shared between threads.

use sordino_cpu::Level;

use super::{Backend, Digits, PANEL, Panels, Vector};
use crate::threads;

/// The number of products of digits and words below which a scan stays on its thread. Waking another thread takes about
/// 20 us (Zen 5, two virtual cores). A query took 96 instead of 55 us when two threads shared its scan of 316 KB and
/// the client's products with 2 MB.
const SHARED_DIGITS: usize = 1 << 23;
/// The smallest number of bytes of digits in a thread's chunk.
const CHUNK_BYTES: usize = 1 << 18;
/// The largest number of columns beyond full panels that are computed one by one. More columns are cheaper as a panel
/// of 16. On 13 to 20 MB, a panel takes as long as 12 single columns, and 8 columns take two thirds of that (Zen 5).
const MAX_ALONE: usize = 11;
/// Like `MAX_ALONE`, for processors whose tiles multiply panels. On 8 and on 154 MB (Sapphire Rapids) a panel takes as
/// long as two columns. Ten columns take three to four times as long as a panel.
const MAX_ALONE_BY_TILES: usize = 2;
/// Chunks are a multiple of this many rows, so that the row blocks of every kernel (4, 6, 8 or 16 rows) are full.
pub const CHUNK_ROWS: usize = 48;

/// Computes `out = product(D)`, `width` words a row, chunk by chunk on all threads.
///
/// # Panics
/// Panics if the length of `out` is not `width` words for every row.
pub fn for_row_chunks(
    digits: Digits<'_>,
    width: usize,
    out: &mut [u32],
    product: impl Fn(Digits<'_>, &mut [u32]) + Sync,
) {
    assert_eq!(out.len(), digits.rows() * width, "shape of the product");
    let row_work = (digits.columns() * width).max(1);
    let rows = CHUNK_BYTES
        .div_ceil(row_work)
        .max(digits.rows().div_ceil(8 * threads::count()))
        .next_multiple_of(CHUNK_ROWS);
    let small = digits.rows() * row_work < SHARED_DIGITS;
    if small || rows >= digits.rows() || threads::count() == 1 {
        return product(digits, out);
    }
    let chunks = out.chunks_mut(rows * width).collect();
    threads::for_each(
        chunks,
        || (),
        |(), chunk, out: &mut [u32]| {
            let first = chunk * rows;
            product(digits.slice(first..first + out.len() / width), out);
        },
    );
}

/// Computes `D B` for any number of columns of `B`, row after row, in one pass over `D`.
///
/// The panel kernel computes full panels of 16 columns. A few columns beyond them are cheaper one by one, over rows
/// that are still in the cache.
///
/// # Panics
/// Panics if the length of a column differs from a row of `D`.
#[must_use]
pub fn product(backend: Backend, digits: Digits<'_>, columns: &[&[u32]]) -> Vec<u32> {
    let k = columns.len();
    let most = match backend.level() {
        Level::Amx => MAX_ALONE_BY_TILES,
        _ => MAX_ALONE,
    };
    let alone = match k % PANEL {
        few if few <= most => few,
        _ => 0,
    };
    let (together, alone) = columns.split_at(k - alone);
    let panels = Panels::from_columns(backend, together);
    let alone: Vec<_> = alone.iter().map(|q| Vector::new(backend, q)).collect();
    let mut out = vec![0; digits.rows() * k];
    if k == 0 {
        return out;
    }
    for_row_chunks(digits, k, &mut out, |digits, out| {
        if alone.is_empty() {
            return digits.mul_panels(&panels, out);
        }
        let rows = CHUNK_BYTES
            .div_ceil(digits.columns())
            .next_multiple_of(CHUNK_ROWS);
        let mut product = vec![0; rows * together.len().max(1)];
        for first in (0..digits.rows()).step_by(rows) {
            let digits = digits.slice(first..digits.rows().min(first + rows));
            let out = &mut out[first * k..(first + digits.rows()) * k];
            if !together.is_empty() {
                let product = &mut product[..digits.rows() * together.len()];
                digits.mul_panels(&panels, product);
                let product = product.chunks_exact(together.len());
                for (out, product) in out.chunks_exact_mut(k).zip(product) {
                    out[..together.len()].copy_from_slice(product);
                }
            }
            for (t, q) in alone.iter().enumerate() {
                let product = &mut product[..digits.rows()];
                digits.mul_vec(q, product);
                let places = out[together.len() + t..].iter_mut().step_by(k);
                for (place, word) in places.zip(product) {
                    *place = *word;
                }
            }
        }
    });
    out
}

/// The rows that are separated together: every cache line of them serves all columns before the next rows.
const APART: usize = 64;

/// Separates a product, which is in row order, into its `k` columns.
#[must_use]
pub fn columns(product: &[u32], k: usize) -> Vec<Vec<u32>> {
    if k == 0 {
        return Vec::new();
    }
    let mut columns: Vec<_> = (0..k)
        .map(|_| Vec::with_capacity(product.len() / k))
        .collect();
    for rows in product.chunks(APART * k) {
        for (t, column) in columns.iter_mut().enumerate() {
            column.extend(rows[t..].iter().step_by(k));
        }
    }
    columns
}
