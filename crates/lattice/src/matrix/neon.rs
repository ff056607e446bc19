//! NEON. Digits are widened to words, and `mla` multiplies them with words.

#![expect(
    unsafe_code,
    reason = "vector loads, and kernels that need a processor level"
)]

use std::arch::aarch64::*;

use sordino_cpu::Neon;

use super::PANEL;
use super::layout::{Encoding, row};
use super::panels::Strip;

/// The number of parts of a strip or rows of `W` that are read next to each other.
const STREAMS: usize = 4;

pub(super) fn mul_vec(_: Neon, d: &[u8], q: &[u32], out: &mut [u32]) {
    // SAFETY: the token proves the processor's level.
    unsafe { mul_vec_neon(d, q, out) }
}

pub(super) fn mul_panels(_: Neon, d: &[u8], b: Strip<'_>, out: &mut [u32]) {
    // SAFETY: the token proves the processor's level.
    unsafe { mul_panels_neon(d, b, out) }
}

pub(super) fn mul_small(
    _: Neon,
    w: &[u32],
    encoding: Encoding,
    s: &[i16],
    stride: usize,
    out: &mut [u32],
) {
    // SAFETY: the token proves the processor's level.
    unsafe {
        match encoding {
            Encoding::Whole => mul_small_neon(w, s, stride, out),
            Encoding::Rounded { shift } => {
                mul_small_rounded_neon(w, s, stride, out);
                out.iter_mut().for_each(|word| *word <<= shift);
            }
        }
    }
}

/// Four words, from word `at` on.
#[inline]
#[target_feature(enable = "neon")]
fn load(words: &[u32], at: usize) -> uint32x4_t {
    debug_assert!(at + 4 <= words.len());
    // SAFETY: callers step through rows whose lengths are multiples of `LANES`, as `Digits::strips` and
    // `Words::mul` assert: `at + 4` stays within the slice.
    unsafe { vld1q_u32(words.as_ptr().add(at)) }
}

/// Sixteen digits, from byte `at` on, widened to words mod 2^32.
#[inline]
#[target_feature(enable = "neon")]
fn load_digits(d: &[u8], at: usize) -> [uint32x4_t; 4] {
    debug_assert!(at + 16 <= d.len());
    // SAFETY: callers step through rows whose lengths are multiples of `LANES`, as `Digits::strips` and
    // `Words::mul` assert: `at + 16` stays within the slice.
    let bytes = vreinterpretq_s8_u8(unsafe { vld1q_u8(d.as_ptr().add(at)) });
    let low = vmovl_s8(vget_low_s8(bytes));
    let high = vmovl_s8(vget_high_s8(bytes));
    [
        vreinterpretq_u32_s32(vmovl_s16(vget_low_s16(low))),
        vreinterpretq_u32_s32(vmovl_s16(vget_high_s16(low))),
        vreinterpretq_u32_s32(vmovl_s16(vget_low_s16(high))),
        vreinterpretq_u32_s32(vmovl_s16(vget_high_s16(high))),
    ]
}

#[target_feature(enable = "neon")]
fn mul_vec_neon(d: &[u8], q: &[u32], out: &mut [u32]) {
    let part = out.len() / STREAMS;
    for i in 0..part {
        let mut rows = [d; STREAMS];
        for (r, place) in rows.iter_mut().enumerate() {
            *place = row(d, q.len(), r * part + i);
        }
        let sums = dot_rows::<STREAMS>(rows, q);
        for (r, sum) in sums.into_iter().enumerate() {
            let out = &mut out[r * part + i];
            *out = out.wrapping_add(sum);
        }
    }
    for (i, out) in out.iter_mut().enumerate().skip(STREAMS * part) {
        let [sum] = dot_rows::<1>([row(d, q.len(), i)], q);
        *out = out.wrapping_add(sum);
    }
}

/// Multiplies `R` rows of a strip with its `q`.
#[inline]
#[target_feature(enable = "neon")]
fn dot_rows<const R: usize>(rows: [&[u8]; R], q: &[u32]) -> [u32; R] {
    let mut acc = [[vdupq_n_u32(0); 2]; R];
    for j in (0..q.len()).step_by(16) {
        let words: [uint32x4_t; 4] = std::array::from_fn(|k| load(q, j + 4 * k));
        for (acc, row) in acc.iter_mut().zip(rows) {
            let digits = load_digits(row, j);
            for k in 0..4 {
                acc[k % 2] = vmlaq_u32(acc[k % 2], digits[k], words[k]);
            }
        }
    }
    acc.map(|acc| vaddvq_u32(vaddq_u32(acc[0], acc[1])))
}

#[target_feature(enable = "neon")]
fn mul_panels_neon(d: &[u8], b: Strip<'_>, out: &mut [u32]) {
    let (stride, columns) = (b.width, b.columns);
    for (d, out) in d
        .chunks(STREAMS * stride)
        .zip(out.chunks_mut(STREAMS * columns))
    {
        for (first, width, panel) in b.panels() {
            if d.len() == STREAMS * stride {
                panel_rows::<STREAMS>(d, panel, width, columns, &mut out[first..]);
            } else {
                for (d, out) in d.chunks_exact(stride).zip(out.chunks_exact_mut(columns)) {
                    panel_rows::<1>(d, panel, width, columns, &mut out[first..]);
                }
            }
        }
    }
}

/// Multiplies `R` rows of `D` with one panel. It adds `width` sums to each row of `out`; the rows are
/// `columns` words apart.
#[inline]
#[target_feature(enable = "neon")]
fn panel_rows<const R: usize>(
    d: &[u8],
    panel: &[u32],
    width: usize,
    columns: usize,
    out: &mut [u32],
) {
    let stride = panel.len() / PANEL;
    let mut acc = [[vdupq_n_u32(0); 4]; R];
    for (j, row) in panel.chunks_exact(PANEL).enumerate() {
        let b: [uint32x4_t; 4] = std::array::from_fn(|k| load(row, 4 * k));
        for (r, acc) in acc.iter_mut().enumerate() {
            let digit = vdupq_n_s32(i32::from(d[r * stride + j].cast_signed()));
            let digit = vreinterpretq_u32_s32(digit);
            for (acc, b) in acc.iter_mut().zip(b) {
                *acc = vmlaq_u32(*acc, digit, b);
            }
        }
    }
    for (r, acc) in acc.into_iter().enumerate() {
        let mut sums = [0u32; PANEL];
        for (sums, acc) in sums.chunks_exact_mut(4).zip(acc) {
            // SAFETY: the chunk has room for four words.
            unsafe { vst1q_u32(sums.as_mut_ptr(), acc) }
        }
        let out = &mut out[r * columns..r * columns + width];
        for (out, sum) in out.iter_mut().zip(sums) {
            *out = out.wrapping_add(sum);
        }
    }
}

#[target_feature(enable = "neon")]
fn mul_small_neon(w: &[u32], s: &[i16], stride: usize, out: &mut [u32]) {
    if stride == 0 {
        return out.fill(0);
    }
    let k = s.len() / stride;
    for (w, out) in w.chunks(STREAMS * stride).zip(out.chunks_mut(STREAMS * k)) {
        for (t, s) in s.chunks_exact(stride).enumerate() {
            if w.len() == STREAMS * stride {
                small_rows::<STREAMS>(w, s, k, &mut out[t..]);
            } else {
                for (w, out) in w.chunks_exact(stride).zip(out.chunks_exact_mut(k)) {
                    small_rows::<1>(w, s, k, &mut out[t..]);
                }
            }
        }
    }
}

/// Multiplies `R` rows of `W` with one secret. The sums go to words of `out` that are `k` apart.
#[inline]
#[target_feature(enable = "neon")]
fn small_rows<const R: usize>(w: &[u32], s: &[i16], k: usize, out: &mut [u32]) {
    let stride = s.len();
    let mut acc = [[vdupq_n_u32(0); 2]; R];
    for (j, eight) in s.chunks_exact(8).enumerate() {
        // SAFETY: the chunk holds eight entries.
        let secrets = unsafe { vld1q_s16(eight.as_ptr()) };
        let low = vreinterpretq_u32_s32(vmovl_s16(vget_low_s16(secrets)));
        let high = vreinterpretq_u32_s32(vmovl_s16(vget_high_s16(secrets)));
        for (r, acc) in acc.iter_mut().enumerate() {
            let at = r * stride + 8 * j;
            acc[0] = vmlaq_u32(acc[0], load(w, at), low);
            acc[1] = vmlaq_u32(acc[1], load(w, at + 4), high);
        }
    }
    for (r, acc) in acc.into_iter().enumerate() {
        out[r * k] = vaddvq_u32(vaddq_u32(acc[0], acc[1]));
    }
}

/// Like [`mul_small_neon`], for rounded words. The sums are not shifted yet.
#[target_feature(enable = "neon")]
fn mul_small_rounded_neon(w: &[u32], s: &[i16], stride: usize, out: &mut [u32]) {
    if stride == 0 {
        return out.fill(0);
    }
    let k = s.len() / stride;
    let row_len = stride / 4 * 3;
    for (w, out) in w.chunks(STREAMS * row_len).zip(out.chunks_mut(STREAMS * k)) {
        for (t, s) in s.chunks_exact(stride).enumerate() {
            if w.len() == STREAMS * row_len {
                rounded_rows::<STREAMS>(w, s, k, &mut out[t..]);
            } else {
                for (w, out) in w.chunks_exact(row_len).zip(out.chunks_exact_mut(k)) {
                    rounded_rows::<1>(w, s, k, &mut out[t..]);
                }
            }
        }
    }
}

/// Multiplies `R` rows of rounded words with one secret. The sums go to words of `out` that are `k`
/// apart.
#[inline]
#[target_feature(enable = "neon")]
fn rounded_rows<const R: usize>(w: &[u32], s: &[i16], k: usize, out: &mut [u32]) {
    let stride = s.len();
    let row_len = stride / 4 * 3;
    let mut low = [vdupq_n_s32(0); R];
    let mut high = [vdupq_n_s32(0); R];
    for (j, eight) in s.chunks_exact(8).enumerate() {
        // SAFETY: the chunk holds eight entries.
        let secrets = unsafe { vld1q_s16(eight.as_ptr()) };
        for r in 0..R {
            let row = &w[r * row_len..(r + 1) * row_len];
            let limbs = vreinterpretq_s16_u32(load(row, 4 * j));
            let bytes = &row[stride / 2 + 2 * j..];
            debug_assert!(bytes.len() >= 2);
            // SAFETY: the bytes of eight entries are two words, at `stride / 2 + 2 j` of the row.
            let bytes = vmovl_s8(unsafe { vld1_s8(bytes.as_ptr().cast()) });
            low[r] = vmlal_s16(low[r], vget_low_s16(limbs), vget_low_s16(secrets));
            low[r] = vmlal_s16(low[r], vget_high_s16(limbs), vget_high_s16(secrets));
            high[r] = vmlal_s16(high[r], vget_low_s16(bytes), vget_low_s16(secrets));
            high[r] = vmlal_s16(high[r], vget_high_s16(bytes), vget_high_s16(secrets));
        }
    }
    for (r, (low, high)) in low.into_iter().zip(high).enumerate() {
        let sum = vaddq_s32(low, vshlq_n_s32::<16>(high));
        out[r * k] = vaddvq_u32(vreinterpretq_u32_s32(sum));
    }
}
