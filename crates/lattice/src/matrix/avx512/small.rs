//! Small secrets: `W S^T`.

#![expect(
    unsafe_code,
    reason = "vector loads, one instruction in assembly, and kernels that need a processor level"
)]

use std::arch::asm;
use std::arch::x86_64::*;

use sordino_cpu::Avx512Vnni;

use super::{add_lanes, load};
use crate::matrix::layout::{Encoding, row_len};

pub(in crate::matrix) fn mul_small(
    _: Avx512Vnni,
    w: &[u32],
    encoding: Encoding,
    s: &[i16],
    stride: usize,
    out: &mut [u32],
) {
    // SAFETY: the token proves the processor's level.
    unsafe {
        match encoding {
            Encoding::Whole => mul_small_vnni::<false>(w, s, stride, out),
            Encoding::Rounded { shift } => {
                mul_small_vnni::<true>(w, s, stride, out);
                out.iter_mut().for_each(|word| *word <<= shift);
            }
        }
    }
}

/// The 32 bytes from `at` on.
#[inline]
#[target_feature(enable = "avx512f")]
fn load_half<T>(slice: &[T], at: usize) -> __m256i {
    debug_assert!(at + 32 <= size_of_val(slice));
    // SAFETY: callers step through a row with a byte for each of its entries. Their number is a multiple of `LANES`, as
    // `Words::mul` asserts, so `at + 32` stays within the slice.
    unsafe { _mm256_loadu_si256(slice.as_ptr().cast::<u8>().add(at).cast()) }
}

/// Multiplies rows of rounded words (`ROUNDED`) or whole words. The sums of rounded words are not shifted yet.
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

/// Multiplies `R` rows of `W` with all of `S`, four secrets at a time, so the rows stay in the L1 cache. It prefetches
/// the next `R` rows after the first four secrets, when no load competes. This takes 1.5 instead of 2.0 ms for 16
/// secrets with 22 MB (Zen 5).
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
fn small_rows<const R: usize, const ROUNDED: bool>(
    w: &[u32],
    s: &[i16],
    stride: usize,
    out: &mut [u32],
) {
    let k = s.len() / stride;
    let lines = R * row_len::<ROUNDED>(stride) / 16;
    let tiles = k.div_ceil(4);
    for (t, s) in s.chunks(4 * stride).enumerate() {
        if t > 0 {
            for line in lines * (t - 1) / (tiles - 1)..lines * t / (tiles - 1) {
                // The address may be behind the last rows, but a prefetch reads nothing.
                let next = w.as_ptr().wrapping_add(16 * (lines + line));
                _mm_prefetch::<_MM_HINT_T1>(next.cast());
            }
        }
        let out = &mut out[4 * t..];
        match s.len() / stride {
            4 => small_tile::<R, 4, ROUNDED>(w, s, stride, k, out),
            3 => small_tile::<R, 3, ROUNDED>(w, s, stride, k, out),
            2 => small_tile::<R, 2, ROUNDED>(w, s, stride, k, out),
            _ => small_tile::<R, 1, ROUNDED>(w, s, stride, k, out),
        }
    }
}

/// `_mm512_dpwssd_epi32`, hidden from the compiler. The compiler would replace half of them by two instructions each,
/// to shorten chains of sums. Nothing waits for these chains here, and the replacement takes 8 % longer (Zen 5).
#[inline]
#[target_feature(enable = "avx512f,avx512vnni")]
fn dpwssd(mut sum: __m512i, a: __m512i, b: __m512i) -> __m512i {
    // SAFETY: registers in, registers out; the level is this function's.
    unsafe {
        asm!(
            "vpdpwssd {sum}, {a}, {b}",
            sum = inout(zmm_reg) sum,
            a = in(zmm_reg) a,
            b = in(zmm_reg) b,
            options(pure, nomem, nostack, preserves_flags)
        );
    }
    sum
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
    // A row of W is 2 stride bytes of low limbs, then 2 stride bytes of high limbs or stride of high bytes. A row of S
    // is 2 stride bytes.
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
                low[r][c] = dpwssd(low[r][c], w_low, secrets[c]);
                high[r][c] = dpwssd(high[r][c], w_high, secrets[c]);
            }
        }
    }
    for r in 0..R {
        let mut sums = [_mm512_setzero_si512(); C];
        for c in 0..C {
            sums[c] = _mm512_add_epi32(low[r][c], _mm512_slli_epi32::<16>(high[r][c]));
        }
        out[r * k..r * k + C].copy_from_slice(&add_lanes(sums));
    }
}
