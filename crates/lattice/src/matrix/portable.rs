//! The portable definition of every product.

#![expect(
    clippy::cast_sign_loss,
    reason = "two's complement is the representation mod 2^32"
)]

use super::layout::Encoding;
use super::panels::Strip;
use super::{PANEL, layout};

/// A byte of `D` as a word mod 2^32.
fn digit(byte: u8) -> u32 {
    i32::from(byte.cast_signed()) as u32
}

/// `out[i] += sum_j D[i][j] q[j]`, for the columns `j` of one strip.
pub(super) fn mul_vec(d: &[u8], q: &[u32], out: &mut [u32]) {
    for (row, out) in d.chunks_exact(q.len()).zip(out) {
        *out = row.iter().zip(q).fold(*out, |sum, (d, q)| {
            sum.wrapping_add(digit(*d).wrapping_mul(*q))
        });
    }
}

/// `out[i][c] += sum_j D[i][j] B[j][c]`, for the columns `j` of one strip.
pub(super) fn mul_panels(d: &[u8], b: Strip<'_>, out: &mut [u32]) {
    let rows = d.chunks_exact(b.width);
    for (row, out) in rows.zip(out.chunks_exact_mut(b.columns)) {
        for ((_, _, panel), out) in b.panels().zip(out.chunks_mut(PANEL)) {
            let mut sums = [0u32; PANEL];
            for (d, b) in row.iter().zip(panel.chunks_exact(PANEL)) {
                for (sum, b) in sums.iter_mut().zip(b) {
                    *sum = sum.wrapping_add(digit(*d).wrapping_mul(*b));
                }
            }
            for (out, sum) in out.iter_mut().zip(sums) {
                *out = out.wrapping_add(sum);
            }
        }
    }
}

/// `out[i][t] = sum_j W[i][j] S[t][j]`. Rows of `S` are `stride` long, and rows of `W` are in their
/// encoding.
pub(super) fn mul_small(w: &[u32], encoding: Encoding, s: &[i16], stride: usize, out: &mut [u32]) {
    if stride == 0 {
        return out.fill(0);
    }
    let k = s.len() / stride;
    let rows = w.chunks_exact(encoding.row_len(stride));
    for (w, out) in rows.zip(out.chunks_exact_mut(k)) {
        for (s, out) in s.chunks_exact(stride).zip(out) {
            *out = match encoding {
                Encoding::Whole => dot(w, s),
                Encoding::Rounded { shift } => {
                    let fours = layout::rounded_values(w).zip(s.chunks_exact(4));
                    let dots = fours.map(|(w, s)| dot(&w, s));
                    dots.fold(0, u32::wrapping_add) << shift
                }
            };
        }
    }
}

fn dot(w: &[u32], s: &[i16]) -> u32 {
    w.iter().zip(s).fold(0, |sum: u32, (w, s)| {
        sum.wrapping_add(w.wrapping_mul(i32::from(*s) as u32))
    })
}
