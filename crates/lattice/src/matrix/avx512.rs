//! AVX-512 VNNI. Products by `vpdpbusd` (unsigned byte plane times signed digit) and `vpdpwssd`
//! (16-bit limbs); neither saturates, so sums are exact mod 2^32.

#![expect(
    unsafe_code,
    reason = "vector loads, and kernels that need a processor level"
)]
#![expect(
    clippy::cast_sign_loss,
    reason = "two's complement is the representation mod 2^32"
)]

use std::arch::x86_64::*;

use sordino_cpu::Avx512Vnni;

use super::PANEL;
use super::words::Form;

/// Parts of `D` that [`mul_vec`] reads at the same time. Measured on Zen 4, one thread, 128 MiB in
/// memory that reads at 27 to 30 GiB/s: 8 streams of 16-bit limbs 22 GiB/s (12 the same), 4 streams of
/// byte planes (`vpdpbusd`) 17, 6 of them 18.6; segments of 4096 columns, which keep `q` in the L1
/// cache but break the streams, 13. In cache all of them are within a tenth.
const STREAMS: usize = 8;
/// Bytes ahead of itself that a stream fetches. On Zen 5, where memory reads at 33 to 38 GB/s, that is 30
/// instead of 28 GB/s, and 26 instead of 21 while the other core uses memory as well; 256 bytes and
/// 2 KiB are between. (On Zen 4 2 KiB took away a third.)
const AHEAD: usize = 512;
/// Rows of `D` in one register block of [`mul_panels`]: 6 rows x 4 planes leave 8 registers.
const BLOCK: usize = 6;
/// Columns of `D` per cache block of [`mul_panels`]: a panel's block takes 128 KiB of the L2 cache.
const DEPTH: usize = 2048;
/// Rows of `D` per cache block of [`mul_panels`]: 384 KiB at full depth, beside the panel's.
const HEIGHT: usize = 192;

pub(super) fn mul_vec(_: Avx512Vnni, d: &[u8], q: &[u32], out: &mut [u32]) {
    // SAFETY: the token proves the processor's level.
    unsafe { mul_vec_vnni(d, q, out) }
}

pub(super) fn mul_panels(_: Avx512Vnni, d: &[u8], b: &[u32], columns: usize, out: &mut [u32]) {
    // SAFETY: the token proves the processor's level.
    unsafe { mul_panels_vnni(d, b, columns, out) }
}

pub(super) fn mul_small(
    _: Avx512Vnni,
    w: &[u32],
    form: Form,
    s: &[i16],
    stride: usize,
    out: &mut [u32],
) {
    // SAFETY: the token proves the processor's level.
    unsafe {
        match form {
            Form::Whole => mul_small_vnni::<false>(w, s, stride, out),
            Form::Rounded { shift } => {
                mul_small_vnni::<true>(w, s, stride, out);
                out.iter_mut().for_each(|word| *word <<= shift);
            }
        }
    }
}

/// 64 bytes of a slice, from byte `at` on.
///
/// Arrays of these are filled by loops: a closure under `std::array::from_fn` is a call for every
/// load in a build without link-time optimisation, for the library's function between has no
/// vector level to inline it at.
#[inline]
#[target_feature(enable = "avx512f")]
fn load<T>(slice: &[T], at: usize) -> __m512i {
    debug_assert!(at + 64 <= size_of_val(slice));
    // SAFETY: every caller keeps `at + 64` within the slice: rows are padded to 64 entries.
    unsafe { _mm512_loadu_si512(slice.as_ptr().cast::<u8>().add(at).cast()) }
}

/// As [`load`], 32 bytes.
#[inline]
#[target_feature(enable = "avx512f")]
fn load_half<T>(slice: &[T], at: usize) -> __m256i {
    debug_assert!(at + 32 <= size_of_val(slice));
    // SAFETY: as above.
    unsafe { _mm256_loadu_si256(slice.as_ptr().cast::<u8>().add(at).cast()) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn sum_planes(acc: [__m512i; 4]) -> __m512i {
    let low = _mm512_add_epi32(acc[0], _mm512_slli_epi32::<8>(acc[1]));
    let high = _mm512_add_epi32(acc[2], _mm512_slli_epi32::<8>(acc[3]));
    _mm512_add_epi32(low, _mm512_slli_epi32::<16>(high))
}

#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
fn mul_vec_vnni(d: &[u8], q: &[u32], out: &mut [u32]) {
    let stride = q.len();
    if stride == 0 {
        return out.fill(0);
    }
    // Each stream is an eighth of the matrix, read from end to end.
    let part = out.len() / STREAMS;
    for i in 0..part {
        let rows = std::array::from_fn(|r| row(d, stride, r * part + i));
        let sums = dot_rows::<STREAMS>(rows, q);
        for (r, sum) in sums.into_iter().enumerate() {
            out[r * part + i] = sum;
        }
    }
    for (i, out) in out.iter_mut().enumerate().skip(STREAMS * part) {
        [*out] = dot_rows::<1>([row(d, stride, i)], q);
    }
}

fn row(d: &[u8], stride: usize, i: usize) -> &[u8] {
    &d[i * stride..(i + 1) * stride]
}

/// `R` rows of `D` against the two limb planes of `q`.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
fn dot_rows<const R: usize>(rows: [&[u8]; R], q: &[u32]) -> [u32; R] {
    let stride = q.len();
    let mut acc = [[_mm512_setzero_si512(); 2]; R];
    for line in (0..stride).step_by(64) {
        for row in rows {
            _mm_prefetch::<_MM_HINT_T0>(row.as_ptr().wrapping_add(line + AHEAD).cast());
        }
        for j in [line, line + 32] {
            let low = load(q, 2 * j);
            let high = load(q, 2 * stride + 2 * j);
            for (acc, row) in acc.iter_mut().zip(rows) {
                let digits = _mm512_cvtepi8_epi16(load_half(row, j));
                acc[0] = _mm512_dpwssd_epi32(acc[0], digits, low);
                acc[1] = _mm512_dpwssd_epi32(acc[1], digits, high);
            }
        }
    }
    // A loop, and no closure: see `load`.
    let mut sums = [0; R];
    for (out, acc) in sums.iter_mut().zip(acc) {
        let sum = _mm512_add_epi32(acc[0], _mm512_slli_epi32::<16>(acc[1]));
        *out = _mm512_reduce_add_epi32(sum) as u32;
    }
    sums
}

#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
fn mul_panels_vnni(d: &[u8], b: &[u32], columns: usize, out: &mut [u32]) {
    let stride = b.len() / columns.next_multiple_of(PANEL);
    let rows = out.len() / columns;
    for depth in (0..stride).step_by(DEPTH) {
        let end = stride.min(depth + DEPTH);
        for top in (0..rows).step_by(HEIGHT) {
            let bottom = rows.min(top + HEIGHT);
            for (p, panel) in b.chunks_exact(stride * PANEL).enumerate() {
                let panel = &panel[depth * PANEL..end * PANEL];
                let first = p * PANEL;
                let width = PANEL.min(columns - first);
                let mut i = top;
                while i + BLOCK <= bottom {
                    let d = &d[i * stride + depth..(i + BLOCK - 1) * stride + end];
                    let out = &mut out[i * columns + first..];
                    panel_rows::<BLOCK>(d, stride, panel, width, columns, out);
                    i += BLOCK;
                }
                while i < bottom {
                    let d = &d[i * stride + depth..i * stride + end];
                    let out = &mut out[i * columns + first..];
                    panel_rows::<1>(d, stride, panel, width, columns, out);
                    i += 1;
                }
            }
        }
    }
}

/// `R` rows of `D`, `stride` bytes apart, against one panel: `width` sums are added to each row of
/// `out`, `columns` words apart.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
fn panel_rows<const R: usize>(
    d: &[u8],
    stride: usize,
    panel: &[u32],
    width: usize,
    columns: usize,
    out: &mut [u32],
) {
    let depth = panel.len() / PANEL;
    assert!(d.len() >= (R - 1) * stride + depth);
    let mut acc = [[_mm512_setzero_si512(); 4]; R];
    for j in (0..depth).step_by(4) {
        let mut planes = [_mm512_setzero_si512(); 4];
        for (k, plane) in planes.iter_mut().enumerate() {
            *plane = load(panel, (j + k) * PANEL * 4);
        }
        for (r, acc) in acc.iter_mut().enumerate() {
            // SAFETY: `j + 4 <= depth`, as depth is a multiple of 64; the assertion above.
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
pub(super) fn add_planes(sums: &[u32], out: &mut [u32]) {
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

/// `ROUNDED` or whole words; sums of rounded ones are not shifted yet.
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
fn mul_small_vnni<const ROUNDED: bool>(w: &[u32], s: &[i16], stride: usize, out: &mut [u32]) {
    if stride == 0 {
        return out.fill(0);
    }
    let k = s.len() / stride;
    let row_len = row_len::<ROUNDED>(stride);
    let mut groups = w.chunks_exact(3 * row_len);
    let mut outs = out.chunks_exact_mut(3 * k);
    for (w, out) in groups.by_ref().zip(outs.by_ref()) {
        small_rows::<3, ROUNDED>(w, s, stride, out);
    }
    let rest = groups.remainder().chunks_exact(row_len);
    for (w, out) in rest.zip(outs.into_remainder().chunks_exact_mut(k)) {
        small_rows::<1, ROUNDED>(w, s, stride, out);
    }
}

const fn row_len<const ROUNDED: bool>(stride: usize) -> usize {
    if ROUNDED {
        Form::Rounded { shift: 8 }.row_len(stride)
    } else {
        Form::Whole.row_len(stride)
    }
}

/// `R` rows of `W` against all of `S`, four secrets at a time: the rows stay in the L1 cache.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
fn small_rows<const R: usize, const ROUNDED: bool>(
    w: &[u32],
    s: &[i16],
    stride: usize,
    out: &mut [u32],
) {
    let k = s.len() / stride;
    for (t, s) in s.chunks(4 * stride).enumerate() {
        let out = &mut out[4 * t..];
        match s.len() / stride {
            4 => small_tile::<R, 4, ROUNDED>(w, s, stride, k, out),
            3 => small_tile::<R, 3, ROUNDED>(w, s, stride, k, out),
            2 => small_tile::<R, 2, ROUNDED>(w, s, stride, k, out),
            _ => small_tile::<R, 1, ROUNDED>(w, s, stride, k, out),
        }
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
fn small_tile<const R: usize, const C: usize, const ROUNDED: bool>(
    w: &[u32],
    s: &[i16],
    stride: usize,
    k: usize,
    out: &mut [u32],
) {
    let mut low = [[_mm512_setzero_si512(); C]; R];
    let mut high = [[_mm512_setzero_si512(); C]; R];
    // A row of W is 2 stride bytes of low limbs, then as many of high ones, or half as many of bytes;
    // a row of S is 2 stride bytes.
    for at in (0..2 * stride).step_by(64) {
        let mut secrets = [_mm512_setzero_si512(); C];
        for (c, secret) in secrets.iter_mut().enumerate() {
            *secret = load(s, c * 2 * stride + at);
        }
        for r in 0..R {
            let row = r * 4 * row_len::<ROUNDED>(stride);
            let w_low = load(w, row + at);
            let w_high = if ROUNDED {
                _mm512_cvtepi8_epi16(load_half(w, row + 2 * stride + at / 2))
            } else {
                load(w, row + 2 * stride + at)
            };
            for c in 0..C {
                low[r][c] = _mm512_dpwssd_epi32(low[r][c], w_low, secrets[c]);
                high[r][c] = _mm512_dpwssd_epi32(high[r][c], w_high, secrets[c]);
            }
        }
    }
    for r in 0..R {
        for c in 0..C {
            let sum = _mm512_add_epi32(low[r][c], _mm512_slli_epi32::<16>(high[r][c]));
            out[r * k + c] = _mm512_reduce_add_epi32(sum) as u32;
        }
    }
}
