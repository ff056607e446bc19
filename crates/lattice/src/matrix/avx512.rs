//! AVX-512 VNNI. Products by `vpdpbusd` (unsigned byte plane times signed digit) and, with secrets,
//! `vpdpwssd` (16-bit limbs); neither saturates, so sums are exact mod 2^32.

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

use super::digits::row;
use super::panels::Strip;
use super::words::Form;
use super::{LANES, PANEL};

/// Bytes of a matrix that a cache is taken to hold from one scan to the next.
pub(super) const CACHED: usize = 24 << 20;
/// Rows of `D` per cache block of [`mul_panels`]: 384 KiB at a strip's full width, beside the 128 KiB of
/// a panel.
const HEIGHT: usize = 192;

/// Without the lowest plane if all words of `q` are `rounded`.
///
/// A strip is read in parts, each from end to end, side by side. From a cache, four parts
/// and a line of each in turn load `q` the fewest times; memory gives most to two parts and two
/// lines of each: 1 GiB is read at 0.97 of what reading alone reaches, with four parts at 0.87 (Zen 5).
pub(super) fn mul_vec(
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

pub(super) fn mul_panels(_: Avx512Vnni, d: &[u8], b: Strip<'_>, out: &mut [u32]) {
    // SAFETY: the token proves the processor's level.
    unsafe {
        if b.rounded {
            mul_panels_vnni::<8, 3>(d, b, out);
        } else {
            mul_panels_vnni::<6, 4>(d, b, out);
        }
    }
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

/// What the sums of the `P` highest planes are worth together.
#[inline]
#[target_feature(enable = "avx512f")]
fn sum_planes<const P: usize>(acc: [__m512i; P]) -> __m512i {
    let mut sum = _mm512_setzero_si512();
    for acc in acc.into_iter().rev() {
        sum = _mm512_add_epi32(_mm512_slli_epi32::<8>(sum), acc);
    }
    for _ in P..4 {
        sum = _mm512_slli_epi32::<8>(sum);
    }
    sum
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

/// `R` rows of a strip against the `P` highest byte planes of its `q`.
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
    // Loops, and no closures: see `load`.
    let mut totals = [_mm512_setzero_si512(); R];
    for (total, acc) in totals.iter_mut().zip(acc) {
        *total = sum_planes(acc);
    }
    add_lanes(totals)
}

/// `LINES` lines of each row, from column `j` on.
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

/// The sum of the lanes of each of at most four vectors, by one tree for all of them.
#[inline]
#[target_feature(enable = "avx512f")]
fn add_lanes<const R: usize>(sums: [__m512i; R]) -> [u32; R] {
    let mut four = [_mm512_setzero_si512(); 4];
    four[..R].copy_from_slice(&sums);
    let [a, b, c, d] = four;
    let ab = _mm512_add_epi32(_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b));
    let cd = _mm512_add_epi32(_mm512_unpacklo_epi32(c, d), _mm512_unpackhi_epi32(c, d));
    let all = _mm512_add_epi32(_mm512_unpacklo_epi64(ab, cd), _mm512_unpackhi_epi64(ab, cd));
    let half = _mm256_add_epi32(
        _mm512_castsi512_si256(all),
        _mm512_extracti64x4_epi64::<1>(all),
    );
    let sums = _mm_add_epi32(
        _mm256_castsi256_si128(half),
        _mm256_extracti128_si256::<1>(half),
    );
    let mut lanes = [0; 4];
    // SAFETY: four words are 16 bytes.
    unsafe { _mm_storeu_si128(lanes.as_mut_ptr().cast(), sums) };
    let mut out = [0; R];
    out.copy_from_slice(&lanes[..R]);
    out
}

/// `R` rows of `D` and `P` planes of `B` in one register block: 8 of 3 or 6 of 4 leave 8 registers.
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

/// `R` rows of a strip against one panel: `width` sums are added to each row of `out`, `columns` words
/// apart. The next `R` rows are fetched meanwhile, for the processor does not see that they follow: 16
/// columns with 128 MiB take 20 instead of 25 ms (Zen 5).
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

#[cfg(test)]
mod tests {
    use super::super::{layout, portable};
    use super::*;

    /// Larger matrices than tests have are read in another order: it is forced here.
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
