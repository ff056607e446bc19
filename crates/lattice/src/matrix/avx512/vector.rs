//! One query: `D q`.

#![expect(unsafe_code, reason = "kernels that need a processor level")]

use std::arch::x86_64::*;

use sordino_cpu::Avx512Vnni;

use super::{add_lanes, load, sum_planes};
use crate::matrix::LANES;
use crate::matrix::layout::row;

/// The parts of a strip, next to each other in turn. One line of each part at a time needs the fewest loads of `q`, and
/// the prefetcher of the processor follows this number of streams. From 1 GiB, Zen 4 reads 24.9 GB/s, compared with
/// 15.1 GB/s in two parts with two lines of each. Zen 5 reads at 0.87 and 0.95 of the speed of reading alone. Prefetch
/// instructions made all forms slower.
const STREAMS: usize = 4;

/// `out += D q`. It skips the lowest plane if all words of `q` are `rounded`.
pub(in crate::matrix) fn mul_vec(
    _: Avx512Vnni,
    d: &[u8],
    q: &[u32],
    rounded: bool,
    out: &mut [u32],
) {
    // SAFETY: the token proves the processor's level.
    unsafe {
        if rounded {
            mul_vec_vnni::<3>(d, q, out);
        } else {
            mul_vec_vnni::<4>(d, q, out);
        }
    }
}

/// One row of each stream at a time.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
fn mul_vec_vnni<const P: usize>(d: &[u8], q: &[u32], out: &mut [u32]) {
    let stride = q.len();
    let part = out.len() / STREAMS;
    for i in 0..part {
        let mut rows = [d; STREAMS];
        for (r, place) in rows.iter_mut().enumerate() {
            *place = row(d, stride, r * part + i);
        }
        let sums = dot_rows::<STREAMS, P>(rows, q);
        for (r, sum) in sums.into_iter().enumerate() {
            let out = &mut out[r * part + i];
            *out = out.wrapping_add(sum);
        }
    }
    for (i, out) in out.iter_mut().enumerate().skip(STREAMS * part) {
        let [sum] = dot_rows::<1, P>([row(d, stride, i)], q);
        *out = out.wrapping_add(sum);
    }
}

/// Multiplies `R` rows of a strip with the `P` highest byte planes of its `q`.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
fn dot_rows<const R: usize, const P: usize>(rows: [&[u8]; R], q: &[u32]) -> [u32; R] {
    let mut acc = [[_mm512_setzero_si512(); P]; R];
    for j in (0..q.len()).step_by(LANES) {
        // All lines are loaded before the first product waits for one of them.
        let mut digits = [_mm512_setzero_si512(); R];
        for (line, row) in digits.iter_mut().zip(rows) {
            *line = load(row, j);
        }
        for k in 0..P {
            let plane = load(q, 4 * j + LANES * (4 - P + k));
            for (acc, digits) in acc.iter_mut().zip(digits) {
                acc[k] = _mm512_dpbusd_epi32(acc[k], plane, digits);
            }
        }
    }
    // Loops instead of closures: see `load`.
    let mut totals = [_mm512_setzero_si512(); R];
    for (total, acc) in totals.iter_mut().zip(acc) {
        *total = sum_planes(acc);
    }
    add_lanes(totals)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::{layout, portable};

    #[test]
    fn products_are_the_same_with_and_without_the_lowest_plane() {
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
                for rounded in [rounded, false] {
                    let mut out = start.clone();
                    mul_vec(token, &d, &planes, rounded, &mut out);
                    assert_eq!(out, wanted, "{rows} x {width}, rounded {rounded}");
                }
            }
        }
    }
}
