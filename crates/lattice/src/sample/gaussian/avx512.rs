//! A draw in two steps: which of 24 segments of the table, then where in the segment.
//!
//! All segments' entries at one offset fill three registers, so each lane takes the entry of its
//! own segment by a permutation within registers: no address depends on a sample. A draw costs
//! 24 + L comparisons instead of 24 L, for a table of 24 L entries.

#![expect(
    unsafe_code,
    reason = "vector loads and stores, and a kernel that needs a processor level"
)]
#![expect(
    clippy::cast_possible_wrap,
    reason = "table entries and magnitudes as lanes"
)]

use std::arch::x86_64::*;

use sordino_cpu::Avx512;

use zeroize::Zeroize;

/// Samples of one pass.
const LANES: usize = 8;

/// Segments of the table: what three registers of eight lanes hold.
const SEGMENTS: usize = 24;

/// The table, cut into segments of one length and padded with zeros, which no value is below.
#[derive(Clone, Debug)]
pub(super) struct Segments {
    /// `rows[j][s]` is entry `j` of segment `s`: high words, then low words.
    rows: Vec<[[u64; SEGMENTS]; 2]>,
}

impl Segments {
    /// The segments of a table of high and low words.
    pub(super) fn new(table: &[(u64, u64)]) -> Self {
        let len = table.len().div_ceil(SEGMENTS).max(1);
        let mut rows = vec![[[0; SEGMENTS]; 2]; len];
        for (s, segment) in table.chunks(len).enumerate() {
            for (row, (high, low)) in rows.iter_mut().zip(segment) {
                (row[0][s], row[1][s]) = (*high, *low);
            }
        }
        Self { rows }
    }
}

/// Samples from 16 bytes of `words` and one bit of `signs` each, eight at a time.
pub(super) fn draw(_: Avx512, segments: &Segments, words: &[u8], signs: &[u8], out: &mut [i16]) {
    let mut magnitudes = [0i16; LANES];
    for ((out, words), signs) in out
        .chunks_mut(LANES)
        .zip(words.chunks(16 * LANES))
        .zip(signs)
    {
        let mut uniform = [[0u64; LANES]; 2];
        for (i, u) in words.as_chunks::<16>().0.iter().enumerate() {
            let (halves, _) = u.as_chunks();
            uniform[0][i] = u64::from_le_bytes(halves[0]);
            uniform[1][i] = u64::from_le_bytes(halves[1]);
        }
        // SAFETY: the token proves the processor's level.
        unsafe { magnitudes_avx512(segments, &uniform, &mut magnitudes) };
        uniform.zeroize();
        for (i, (out, magnitude)) in out.iter_mut().zip(magnitudes).enumerate() {
            let sign = -i16::from(signs >> i & 1);
            *out = (magnitude ^ sign).wrapping_sub(sign);
        }
    }
    magnitudes.zeroize();
}

/// `#{k : u < T[k]}` for eight values of `u`, high and low words apart.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn magnitudes_avx512(
    segments: &Segments,
    uniform: &[[u64; LANES]; 2],
    magnitudes: &mut [i16; LANES],
) {
    let [first, others @ ..] = segments.rows.as_slice() else {
        return magnitudes.fill(0);
    };
    let one = _mm512_set1_epi64(1);
    let len = _mm512_set1_epi64(segments.rows.len() as i64);
    let (high, low) = (load(&uniform[0], 0), load(&uniform[1], 0));

    // Entries fall, so the last segment whose first entry is above u is where u lies.
    let mut above = _mm512_setzero_si512();
    for (first_high, first_low) in first[0].iter().zip(&first[1]) {
        let entry = [
            _mm512_set1_epi64(*first_high as i64),
            _mm512_set1_epi64(*first_low as i64),
        ];
        above = _mm512_mask_add_epi64(above, below(high, low, entry), above, one);
    }
    // u at or above the first entry of all: in segment 0, where nothing more counts.
    let segment = _mm512_sub_epi64(_mm512_max_epu64(above, one), one);
    let mut count = _mm512_mul_epu32(segment, len);
    count = _mm512_add_epi64(count, _mm512_min_epu64(above, one));
    for row in others {
        let entry = [pick(&row[0], segment), pick(&row[1], segment)];
        count = _mm512_mask_add_epi64(count, below(high, low, entry), count, one);
    }
    // SAFETY: eight words.
    unsafe { _mm_storeu_si128(magnitudes.as_mut_ptr().cast(), _mm512_cvtepi64_epi16(count)) };
}

/// The lanes in which the 128-bit `u` is below the entry.
#[inline]
#[target_feature(enable = "avx512f")]
fn below(high: __m512i, low: __m512i, entry: [__m512i; 2]) -> __mmask8 {
    let tied = _mm512_cmpeq_epu64_mask(high, entry[0]);
    _mm512_cmplt_epu64_mask(high, entry[0]) | _mm512_mask_cmplt_epu64_mask(tied, low, entry[1])
}

/// Lane by lane the word of a row at `segment`, below 24.
#[inline]
#[target_feature(enable = "avx512f")]
fn pick(row: &[u64; SEGMENTS], segment: __m512i) -> __m512i {
    // The permutation reads four bits of an index; bit 4 tells the third register.
    let low = _mm512_permutex2var_epi64(load(row, 0), segment, load(row, 8));
    let third = _mm512_test_epi64_mask(segment, _mm512_set1_epi64(16));
    _mm512_mask_permutexvar_epi64(low, third, segment, load(row, 16))
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load(words: &[u64], at: usize) -> __m512i {
    let eight = &words[at..at + 8];
    // SAFETY: eight words.
    unsafe { _mm512_loadu_si512(eight.as_ptr().cast()) }
}
