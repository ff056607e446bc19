//! Many queries: `D B`.

#![expect(
    unsafe_code,
    reason = "vector loads, and kernels that need a processor level"
)]

use std::arch::x86_64::*;

use sordino_cpu::Avx512Vnni;

use super::{load, sum_planes};
use crate::matrix::PANEL;
use crate::matrix::panels::Strip;

/// The rows of `D` per cache block of [`mul_panels`]: 384 KiB at a strip's full width, in addition to the 128 KiB of a
/// panel.
const HEIGHT: usize = 192;

pub(in crate::matrix) fn mul_panels(_: Avx512Vnni, d: &[u8], b: Strip<'_>, out: &mut [u32]) {
    // SAFETY: the token proves the processor's level.
    unsafe {
        if b.rounded {
            mul_panels_vnni::<8, 3>(d, b, out);
        } else {
            mul_panels_vnni::<6, 4>(d, b, out);
        }
    }
}

/// Multiplies in register blocks of `R` rows of `D` and `P` planes of `B`. Blocks of 8 rows by 3 planes or 6 by 4
/// leave 8 registers.
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
fn mul_panels_vnni<const R: usize, const P: usize>(d: &[u8], b: Strip<'_>, out: &mut [u32]) {
    let (stride, columns) = (b.width, b.columns);
    let rows = out.len() / columns;
    for top in (0..rows).step_by(HEIGHT) {
        let bottom = rows.min(top + HEIGHT);
        for (first, width, panel) in b.panels() {
            let mut i = top;
            while i + R <= bottom {
                let d = &d[i * stride..(i + R) * stride];
                panel_rows::<R, P>(d, panel, width, columns, &mut out[i * columns + first..]);
                i += R;
            }
            while i < bottom {
                let d = &d[i * stride..(i + 1) * stride];
                panel_rows::<1, P>(d, panel, width, columns, &mut out[i * columns + first..]);
                i += 1;
            }
        }
    }
}

/// Multiplies `R` rows of a strip with one panel. It adds `width` sums to each row of `out`; the rows are `columns`
/// words apart. It prefetches the next `R` rows, since the hardware prefetcher does not detect them. This takes 20
/// instead of 25 ms for 16 columns with 128 MiB (Zen 5).
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
fn panel_rows<const R: usize, const P: usize>(
    d: &[u8],
    panel: &[u32],
    width: usize,
    columns: usize,
    out: &mut [u32],
) {
    let stride = panel.len() / PANEL;
    assert!(d.len() >= R * stride);
    let mut acc = [[_mm512_setzero_si512(); P]; R];
    for j in (0..stride).step_by(4) {
        if j % 64 == 0 {
            for r in 0..R {
                let next = d.as_ptr().wrapping_add((R + r) * stride + j);
                _mm_prefetch::<_MM_HINT_T1>(next.cast());
            }
        }
        let mut planes = [_mm512_setzero_si512(); P];
        for (k, plane) in planes.iter_mut().enumerate() {
            *plane = load(panel, (j + 4 - P + k) * PANEL * 4);
        }
        for (r, acc) in acc.iter_mut().enumerate() {
            // SAFETY: `j + 4 <= stride`, a multiple of 64; the assertion above.
            let four = unsafe {
                d.as_ptr()
                    .add(r * stride + j)
                    .cast::<i32>()
                    .read_unaligned()
            };
            let digits = _mm512_set1_epi32(four);
            for (acc, plane) in acc.iter_mut().zip(planes) {
                *acc = _mm512_dpbusd_epi32(*acc, plane, digits);
            }
        }
    }
    for (r, acc) in acc.into_iter().enumerate() {
        add(sum_planes(acc), &mut out[r * columns..r * columns + width]);
    }
}

/// Adds the four planes of sums that are 256 words apart to at most 16 words.
#[inline]
#[target_feature(enable = "avx512f")]
pub(in crate::matrix) fn add_planes(sums: &[u32], out: &mut [u32]) {
    // The loads rely on this length.
    assert!(sums.len() >= 3 * 256 + PANEL, "four planes");
    let mut planes = [_mm512_setzero_si512(); 4];
    for (k, plane) in planes.iter_mut().enumerate() {
        *plane = load(sums, k * 1024);
    }
    add(sum_planes(planes), out);
}

/// Adds to at most 16 words.
#[inline]
#[target_feature(enable = "avx512f")]
fn add(sum: __m512i, out: &mut [u32]) {
    let mask = if out.len() >= PANEL {
        0xffff
    } else {
        (1 << out.len()) - 1
    };
    // SAFETY: the mask admits the words of `out` alone.
    unsafe {
        let old = _mm512_maskz_loadu_epi32(mask, out.as_ptr().cast());
        _mm512_mask_storeu_epi32(out.as_mut_ptr().cast(), mask, _mm512_add_epi32(old, sum));
    }
}
