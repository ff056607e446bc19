//! AVX-512: eight samples at a time. Every sample's block is looked up by a permute of registers,
//! which takes the same time for every index, entry by entry.

#![expect(
    unsafe_code,
    reason = "vector loads, and a function that needs a processor level"
)]

use std::arch::x86_64::*;

use sordino_cpu::Avx512;

use super::{BATCH, BLOCK, Block};

/// Blocks that two registers hold one entry of each of.
const BLOCKS: usize = 16;

/// Entry `p` of every block, high and low words: the table turned on its side.
#[derive(Clone, Copy, Debug)]
pub(super) struct Column {
    high: [u64; BLOCKS],
    low: [u64; BLOCKS],
}

/// The columns of a table, if it has few enough blocks.
pub(super) fn columns(table: &[Block]) -> Option<Box<[Column; BLOCK]>> {
    if table.len() > BLOCKS {
        return None;
    }
    let mut columns = Box::new(
        [Column {
            high: [0; BLOCKS],
            low: [0; BLOCKS],
        }; BLOCK],
    );
    for (b, block) in table.iter().enumerate() {
        for (p, column) in columns.iter_mut().enumerate() {
            column.high[b] = block.high[p];
            column.low[b] = block.low[p];
        }
    }
    Some(columns)
}

/// [`super::portable::draw`] for one batch: `blocks` is the length of the table.
pub(super) fn draw(
    _: Avx512,
    columns: &[Column; BLOCK],
    blocks: usize,
    words: &[u8],
    signs: &[u8],
    out: &mut [i16],
) {
    assert!(words.len() == BATCH * 16 && signs.len() == BATCH / 8 && out.len() <= BATCH);
    for ((words, signs), out) in words.chunks_exact(128).zip(signs).zip(out.chunks_mut(8)) {
        // SAFETY: the token proves the processor's level.
        let samples = unsafe { draw_eight(columns, blocks, words, *signs) };
        out.copy_from_slice(&samples[..out.len()]);
    }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load<T>(values: &[T]) -> __m512i {
    assert!(size_of_val(values) >= 64);
    // SAFETY: the assertion above.
    unsafe { _mm512_loadu_si512(values.as_ptr().cast()) }
}

/// The lanes in which `(high, low)` is below the other number.
#[inline]
#[target_feature(enable = "avx512f")]
fn below(high: __m512i, low: __m512i, than_high: __m512i, than_low: __m512i) -> __mmask8 {
    let tied = _mm512_cmpeq_epu64_mask(high, than_high);
    _mm512_cmplt_epu64_mask(high, than_high) | _mm512_mask_cmplt_epu64_mask(tied, low, than_low)
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn draw_eight(columns: &[Column; BLOCK], blocks: usize, words: &[u8], signs: u8) -> [i16; 8] {
    let (first, second) = (load(words), load(&words[64..]));
    let even = _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14);
    let one = _mm512_set1_epi64(1);
    let high = _mm512_permutex2var_epi64(first, even, second);
    let low = _mm512_permutex2var_epi64(first, _mm512_or_si512(even, one), second);
    let last = &columns[BLOCK - 1];
    let mut whole = _mm512_setzero_si512();
    for b in 0..blocks {
        let entry = [last.high[b], last.low[b]].map(|word| _mm512_set1_epi64(word.cast_signed()));
        whole = _mm512_mask_add_epi64(whole, below(high, low, entry[0], entry[1]), whole, one);
    }
    let mut count = _mm512_slli_epi64::<{ BLOCK.trailing_zeros() }>(whole);
    for column in columns {
        let entry = [&column.high, &column.low]
            .map(|words| _mm512_permutex2var_epi64(load(&words[..8]), whole, load(&words[8..])));
        count = _mm512_mask_add_epi64(count, below(high, low, entry[0], entry[1]), count, one);
    }
    let magnitudes = _mm512_cvtepi64_epi16(count);
    let samples = _mm_mask_sub_epi16(magnitudes, signs, _mm_setzero_si128(), magnitudes);
    let mut out = [0; 8];
    // SAFETY: `out` has the 16 bytes that are stored.
    unsafe { _mm_storeu_si128(out.as_mut_ptr().cast(), samples) }
    out
}
