//! AVX2. Products use balanced 16-bit limbs and `vpmaddwd`, and for panels whole words and `vpmulld`.

#![expect(
    unsafe_code,
    reason = "vector loads, and kernels that need a processor level"
)]
#![expect(
    clippy::cast_sign_loss,
    reason = "two's complement is the representation mod 2^32"
)]

use std::arch::x86_64::*;

use sordino_cpu::Avx2;

use super::PANEL;
use super::layout::{Encoding, row, row_len};
use super::panels::Strip;

/// The number of parts of a strip, for [`mul_vec`], or rows, for [`mul_panels`], that are read next to each other.
const STREAMS: usize = 4;

pub(super) fn mul_vec(_: Avx2, d: &[u8], q: &[u32], out: &mut [u32]) {
    // SAFETY: the token proves the processor's level.
    unsafe { mul_vec_avx2(d, q, out) }
}

pub(super) fn mul_panels(_: Avx2, d: &[u8], b: Strip<'_>, out: &mut [u32]) {
    // SAFETY: the token proves the processor's level.
    unsafe { mul_panels_avx2(d, b, out) }
}

pub(super) fn mul_small(
    _: Avx2,
    w: &[u32],
    encoding: Encoding,
    s: &[i16],
    stride: usize,
    out: &mut [u32],
) {
    // SAFETY: the token proves the processor's level.
    unsafe {
        match encoding {
            Encoding::Whole => mul_small_avx2::<false>(w, s, stride, out),
            Encoding::Rounded { shift } => {
                mul_small_avx2::<true>(w, s, stride, out);
                out.iter_mut().for_each(|word| *word <<= shift);
            }
        }
    }
}

/// 32 bytes of a slice, from byte `at` on.
#[inline]
#[target_feature(enable = "avx2")]
fn load<T>(slice: &[T], at: usize) -> __m256i {
    debug_assert!(at + 32 <= size_of_val(slice));
    // SAFETY: callers step through rows whose lengths are multiples of `LANES`, as `Digits::strips` and
    // `Words::mul` assert: `at + 32` stays within the slice.
    unsafe { _mm256_loadu_si256(slice.as_ptr().cast::<u8>().add(at).cast()) }
}

/// 16 digits, from byte `at` on, widened to 16 bits.
#[inline]
#[target_feature(enable = "avx2")]
fn load_digits<T>(d: &[T], at: usize) -> __m256i {
    debug_assert!(at + 16 <= size_of_val(d));
    // SAFETY: callers step through rows whose lengths are multiples of `LANES`, as `Digits::strips` and
    // `Words::mul` assert: `at + 16` stays within the slice.
    _mm256_cvtepi8_epi16(unsafe { _mm_loadu_si128(d.as_ptr().cast::<u8>().add(at).cast()) })
}

/// `low + 2^16 high`, summed over the lanes.
#[inline]
#[target_feature(enable = "avx2")]
fn sum_limbs(low: __m256i, high: __m256i) -> u32 {
    let sum = _mm256_add_epi32(low, _mm256_slli_epi32::<16>(high));
    let sum = _mm_add_epi32(
        _mm256_castsi256_si128(sum),
        _mm256_extracti128_si256::<1>(sum),
    );
    let sum = _mm_add_epi32(sum, _mm_shuffle_epi32::<0b01_00_11_10>(sum));
    let sum = _mm_add_epi32(sum, _mm_shuffle_epi32::<0b10_11_00_01>(sum));
    _mm_cvtsi128_si32(sum) as u32
}

#[target_feature(enable = "avx2")]
fn mul_vec_avx2(d: &[u8], q: &[u32], out: &mut [u32]) {
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

/// Multiplies `R` rows of a strip with the two limb planes of its `q`.
#[inline]
#[target_feature(enable = "avx2")]
fn dot_rows<const R: usize>(rows: [&[u8]; R], q: &[u32]) -> [u32; R] {
    let stride = q.len();
    let mut low = [_mm256_setzero_si256(); R];
    let mut high = [_mm256_setzero_si256(); R];
    for j in (0..stride).step_by(16) {
        let q_low = load(q, 2 * j);
        let q_high = load(q, 2 * stride + 2 * j);
        for (r, row) in rows.into_iter().enumerate() {
            let digits = load_digits(row, j);
            low[r] = _mm256_add_epi32(low[r], _mm256_madd_epi16(digits, q_low));
            high[r] = _mm256_add_epi32(high[r], _mm256_madd_epi16(digits, q_high));
        }
    }
    let mut sums = [0; R];
    for (sum, (low, high)) in sums.iter_mut().zip(low.into_iter().zip(high)) {
        *sum = sum_limbs(low, high);
    }
    sums
}

#[target_feature(enable = "avx2")]
fn mul_panels_avx2(d: &[u8], b: Strip<'_>, out: &mut [u32]) {
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
#[target_feature(enable = "avx2")]
fn panel_rows<const R: usize>(
    d: &[u8],
    panel: &[u32],
    width: usize,
    columns: usize,
    out: &mut [u32],
) {
    let stride = panel.len() / PANEL;
    let mut acc = [[_mm256_setzero_si256(); 2]; R];
    for (j, row) in panel.chunks_exact(PANEL).enumerate() {
        let b = [load(row, 0), load(row, 32)];
        for (r, acc) in acc.iter_mut().enumerate() {
            let digit = _mm256_set1_epi32(i32::from(d[r * stride + j].cast_signed()));
            for (acc, b) in acc.iter_mut().zip(b) {
                *acc = _mm256_add_epi32(*acc, _mm256_mullo_epi32(digit, b));
            }
        }
    }
    for (r, acc) in acc.into_iter().enumerate() {
        let mut sums = [0u32; PANEL];
        // SAFETY: `sums` has room for two vectors of eight words.
        unsafe {
            _mm256_storeu_si256(sums.as_mut_ptr().cast(), acc[0]);
            _mm256_storeu_si256(sums.as_mut_ptr().add(8).cast(), acc[1]);
        }
        let out = &mut out[r * columns..r * columns + width];
        for (out, sum) in out.iter_mut().zip(sums) {
            *out = out.wrapping_add(sum);
        }
    }
}

/// Multiplies rows of rounded words (`ROUNDED`) or whole words. The sums of rounded words are not
/// shifted yet.
#[target_feature(enable = "avx2")]
fn mul_small_avx2<const ROUNDED: bool>(w: &[u32], s: &[i16], stride: usize, out: &mut [u32]) {
    if stride == 0 {
        return out.fill(0);
    }
    let k = s.len() / stride;
    let row_len = row_len::<ROUNDED>(stride);
    for (w, out) in w.chunks(2 * row_len).zip(out.chunks_mut(2 * k)) {
        for (t, s) in s.chunks(2 * stride).enumerate() {
            let out = &mut out[2 * t..];
            match (w.len() / row_len, s.len() / stride) {
                (2, 2) => small_tile::<2, 2, ROUNDED>(w, s, stride, k, out),
                (2, _) => small_tile::<2, 1, ROUNDED>(w, s, stride, k, out),
                (_, 2) => small_tile::<1, 2, ROUNDED>(w, s, stride, k, out),
                _ => small_tile::<1, 1, ROUNDED>(w, s, stride, k, out),
            }
        }
    }
}

/// Multiplies `R` rows of `W` with `C` secrets.
#[inline]
#[target_feature(enable = "avx2")]
fn small_tile<const R: usize, const C: usize, const ROUNDED: bool>(
    w: &[u32],
    s: &[i16],
    stride: usize,
    k: usize,
    out: &mut [u32],
) {
    let mut low = [[_mm256_setzero_si256(); C]; R];
    let mut high = [[_mm256_setzero_si256(); C]; R];
    for at in (0..2 * stride).step_by(32) {
        let mut secrets = [_mm256_setzero_si256(); C];
        for (c, secret) in secrets.iter_mut().enumerate() {
            *secret = load(s, c * 2 * stride + at);
        }
        for r in 0..R {
            let row = r * 4 * row_len::<ROUNDED>(stride);
            let w_low = load(w, row + at);
            let w_high = if ROUNDED {
                load_digits(w, row + 2 * stride + at / 2)
            } else {
                load(w, row + 2 * stride + at)
            };
            for c in 0..C {
                low[r][c] = _mm256_add_epi32(low[r][c], _mm256_madd_epi16(w_low, secrets[c]));
                high[r][c] = _mm256_add_epi32(high[r][c], _mm256_madd_epi16(w_high, secrets[c]));
            }
        }
    }
    for r in 0..R {
        for c in 0..C {
            out[r * k + c] = sum_limbs(low[r][c], high[r][c]);
        }
    }
}
