//! AVX-512 VNNI: `vpdpwssd` adds 32 products of 16-bit integers to 16 sums, without saturation.
#![expect(unsafe_code, reason = "vector loads, entry into target features")]

use std::arch::x86_64::*;

use sordino_cpu::Avx512Vnni;

use super::{CENTRE, CHUNK, LANES, LINE, Words};
use crate::packed::BLOCK;

pub(super) fn products(_: Avx512Vnni, words: &Words, rows: &[u8], out: &mut [u32]) {
    assert_eq!(rows.len() * words.queries, out.len() * words.stride);
    // SAFETY: the token proves the target features; there are whole rows, and an output for each row and query.
    unsafe {
        match words.queries {
            1 => all::<1, 4>(words, rows, out),
            2 => all::<2, 4>(words, rows, out),
            3 => all::<3, 2>(words, rows, out),
            _ => all::<4, 2>(words, rows, out),
        }
    }
}

/// Reads the rows in `R` parts, one row of each at a time. `R` is the largest number whose sums fit the registers: two
/// for each row and query. Each part is read from end to end, so the processor's prefetcher follows `R` streams. Zen 4
/// reads rows of 2,048 columns from memory at 21.9 GB/s. It was 13.0 GB/s for `R` neighbouring rows at a time, with
/// prefetch instructions.
///
/// # Safety
/// `rows` must be whole rows, and `out` must have a word for each row and query.
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
unsafe fn all<const Q: usize, const R: usize>(words: &Words, rows: &[u8], out: &mut [u32]) {
    assert_eq!(words.queries, Q);
    let stride = words.stride;
    let part = rows.len() / stride / R;
    for i in 0..part {
        // SAFETY: part `r` has a row `i`, and there are `Q` queries.
        let sums = unsafe { some::<Q, R>(words, &rows[i * stride..], part * stride) };
        for (r, sums) in sums.iter().enumerate() {
            out[(r * part + i) * Q..][..Q].copy_from_slice(sums);
        }
    }
    let rest = R * part;
    let alone = rows[rest * stride..].chunks_exact(stride);
    for (row, out) in alone.zip(out[rest * Q..].chunks_exact_mut(Q)) {
        // SAFETY: the chunk has one row, and there are `Q` queries.
        let sums = unsafe { some::<Q, 1>(words, row, 0) };
        out.copy_from_slice(sums.as_flattened());
    }
}

/// The products of `R` rows, which begin `apart` bytes from each other.
///
/// # Safety
/// `rows` must have these rows, and there must be `Q` queries.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
unsafe fn some<const Q: usize, const R: usize>(
    words: &Words,
    rows: &[u8],
    apart: usize,
) -> [[u32; Q]; R] {
    let (three, sign) = (_mm512_set1_epi16(3), _mm512_set1_epi16(i16::MIN));
    let centred = _mm512_set1_epi8(-0x56);
    let mut low = [[_mm512_setzero_si512(); Q]; R];
    let mut high = [[_mm512_setzero_si512(); Q]; R];
    let (mut row, mut halves) = (rows.as_ptr(), words.halves.as_ptr());
    let mut left = words.chunks();
    while left > 0 {
        let mut upper = [_mm512_setzero_si512(); R];
        for (r, upper) in upper.iter_mut().enumerate() {
            let at = row.wrapping_add(r * apart);
            // SAFETY: row `r` has a line of 64 bytes here, with the upper bits of a block.
            let bits = unsafe { _mm512_loadu_si512(at.cast()) };
            *upper = _mm512_xor_si512(bits, centred);
        }
        row = row.wrapping_add(LINE);
        for _ in 0..left.min(BLOCK) {
            let mut x = [_mm512_setzero_si512(); R];
            let mut u = [_mm512_setzero_si512(); R];
            for r in 0..R {
                let at = row.wrapping_add(r * apart);
                if Q > 2 {
                    _mm_prefetch::<_MM_HINT_T0>(at.wrapping_add(words.stride).cast());
                }
                // SAFETY: row `r` has a line of 64 bytes here, with the entries of a chunk.
                let entries = unsafe { _mm512_loadu_si512(at.cast()) };
                x[r] = _mm512_xor_si512(entries, sign);
                u[r] = _mm512_and_si512(upper[r], three);
                upper[r] = _mm512_srli_epi16::<2>(upper[r]);
            }
            for k in 0..Q {
                // SAFETY: the words have a chunk for each line of a row, with both halves of `Q` queries.
                let (l, h) = unsafe {
                    let halves = halves.add(k * CHUNK);
                    (
                        _mm512_loadu_si512(halves.cast()),
                        _mm512_loadu_si512(halves.add(LANES).cast()),
                    )
                };
                for r in 0..R {
                    low[r][k] = _mm512_dpwssd_epi32(low[r][k], x[r], l);
                    high[r][k] = _mm512_dpwssd_epi32(high[r][k], x[r], h);
                    high[r][k] = _mm512_dpwssd_epi32(high[r][k], u[r], l);
                }
            }
            row = row.wrapping_add(LINE);
            halves = halves.wrapping_add(Q * CHUNK);
        }
        left = left.saturating_sub(BLOCK);
    }
    let mut sums = [[0; Q]; R];
    for r in 0..R {
        for k in 0..Q {
            let sum = _mm512_add_epi32(low[r][k], _mm512_slli_epi32::<16>(high[r][k]));
            let centre = words.sums[k].wrapping_mul(CENTRE);
            sums[r][k] = _mm512_reduce_add_epi32(sum)
                .cast_unsigned()
                .wrapping_add(centre);
        }
    }
    sums
}
