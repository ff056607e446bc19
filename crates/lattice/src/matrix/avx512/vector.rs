//! One query: `D q`.

#![expect(unsafe_code, reason = "kernels that need a processor level")]

use std::arch::x86_64::*;

use sordino_cpu::Avx512Vnni;

use super::{add_lanes, load, sum_planes};
use crate::matrix::LANES;
use crate::matrix::layout::row;

/// The size in bytes of the largest matrix that a cache is assumed to hold from one scan to the next.
pub(in crate::matrix) const CACHED: usize = 24 << 20;

/// `out += D q`. It skips the lowest plane if all words of `q` are `rounded`.
///
/// It reads a strip in several parts next to each other, each from end to end. From a cache, four parts with one line
/// of each in turn need the fewest loads of `q`. Memory is fastest with two or three parts and two lines of each.
/// Then 1 GiB is read at 0.95 of the speed of reading alone with three planes. With four planes it is 0.92, since
/// these leave fewer loads in flight. In four parts the speed is 0.87 (Zen 5).
pub(in crate::matrix) fn mul_vec(
    _: Avx512Vnni,
    d: &[u8],
    q: &[u32],
    rounded: bool,
    cached: bool,
    out: &mut [u32],
) {
    // SAFETY: the token proves the processor's level.
    unsafe {
        match (cached, rounded) {
            (true, true) => mul_vec_vnni::<4, 1, 3>(d, q, out),
            (true, false) => mul_vec_vnni::<4, 1, 4>(d, q, out),
            (false, true) => mul_vec_vnni::<2, 2, 3>(d, q, out),
            (false, false) => mul_vec_vnni::<3, 2, 4>(d, q, out),
        }
    }
}

/// One row of each of `R` streams at a time, `LINES` cache lines of each in turn.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
fn mul_vec_vnni<const R: usize, const LINES: usize, const P: usize>(
    d: &[u8],
    q: &[u32],
    out: &mut [u32],
) {
    let stride = q.len();
    let part = out.len() / R;
    for i in 0..part {
        let mut rows = [d; R];
        for (r, place) in rows.iter_mut().enumerate() {
            *place = row(d, stride, r * part + i);
        }
        let sums = dot_rows::<R, LINES, P>(rows, q);
        for (r, sum) in sums.into_iter().enumerate() {
            let out = &mut out[r * part + i];
            *out = out.wrapping_add(sum);
        }
    }
    for (i, out) in out.iter_mut().enumerate().skip(R * part) {
        let [sum] = dot_rows::<1, 1, P>([row(d, stride, i)], q);
        *out = out.wrapping_add(sum);
    }
}

/// Multiplies `R` rows of a strip with the `P` highest byte planes of its `q`.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
fn dot_rows<const R: usize, const LINES: usize, const P: usize>(
    rows: [&[u8]; R],
    q: &[u32],
) -> [u32; R] {
    let mut acc = [[_mm512_setzero_si512(); P]; R];
    let whole = q.len() / (LANES * LINES) * LANES * LINES;
    for j in (0..whole).step_by(LANES * LINES) {
        dot_lines::<R, LINES, P>(&mut acc, rows, q, j);
    }
    for j in (whole..q.len()).step_by(LANES) {
        dot_lines::<R, 1, P>(&mut acc, rows, q, j);
    }
    // Loops instead of closures: see `load`.
    let mut totals = [_mm512_setzero_si512(); R];
    for (total, acc) in totals.iter_mut().zip(acc) {
        *total = sum_planes(acc);
    }
    add_lanes(totals)
}

/// `LINES` lines of each row, from column `j` on. All are loaded before the first product waits for one of them.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
fn dot_lines<const R: usize, const LINES: usize, const P: usize>(
    acc: &mut [[__m512i; P]; R],
    rows: [&[u8]; R],
    q: &[u32],
    j: usize,
) {
    let mut digits = [[_mm512_setzero_si512(); LINES]; R];
    for (digits, row) in digits.iter_mut().zip(rows) {
        for (u, line) in digits.iter_mut().enumerate() {
            *line = load(row, j + LANES * u);
        }
    }
    for u in 0..LINES {
        for k in 0..P {
            let plane = load(q, 4 * (j + LANES * u) + LANES * (4 - P + k));
            for (acc, digits) in acc.iter_mut().zip(digits) {
                acc[k] = _mm512_dpbusd_epi32(acc[k], plane, digits[u]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::{layout, portable};

    /// Matrices larger than tests have are read in another order, which this test forces.
    #[test]
    fn products_are_the_same_in_every_order_of_reading() {
        let Some(token) = Avx512Vnni::detect() else {
            return;
        };
        let mut state = 1u32;
        let mut next = || {
            state = state.wrapping_mul(0x9e37_79b1).wrapping_add(0x7f4a_7c15);
            state.rotate_left(13)
        };
        for (rows, width) in
            (0..=14).flat_map(|rows| (64..=448).step_by(64).map(move |w| (rows, w)))
        {
            let d: Vec<u8> = (0..rows * width).map(|_| next().to_le_bytes()[2]).collect();
            for lowest in [0, 0xff] {
                let rounded = lowest != 0;
                let q: Vec<u32> = (0..width).map(|_| next() & !lowest).collect();
                let start: Vec<u32> = (0..rows).map(|_| next()).collect();
                let mut wanted = start.clone();
                portable::mul_vec(&d, &q, &mut wanted);
                let mut planes = vec![0; width];
                layout::byte_planes(&q, &mut planes);
                for cached in [false, true] {
                    let mut out = start.clone();
                    mul_vec(token, &d, &planes, rounded, cached, &mut out);
                    assert_eq!(
                        out, wanted,
                        "{rows} x {width}, rounded {rounded}, cached {cached}"
                    );
                    let mut out = start.clone();
                    mul_vec(token, &d, &planes, false, cached, &mut out);
                    assert_eq!(out, wanted, "{rows} x {width}, all planes, cached {cached}");
                }
            }
        }
    }
}
