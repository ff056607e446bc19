//! AVX-512: 32 samples at a time. A key of 16 bits compares a sample with all entries but one. The remaining entry is
//! then compared in full.
//!
//! The key of `u` is its length in bits, followed by the nine bits below its first. It never decreases with `u`, and no
//! two entries share a key, since neighbours are further apart than one part in 512. So entries with a larger key are
//! above `u`, and entries with a smaller one are not. At most one entry has the key of `u`. Entries and their keys are
//! looked up by permutes of registers, which take the same time for every index.

#![expect(
    unsafe_code,
    reason = "vector loads, and a function that needs a processor level"
)]

use std::arch::x86_64::*;

use sordino_cpu::Avx512;

use super::Block;

/// The number of samples of one step: 16-bit lanes of a register.
const STEP: usize = 32;
/// The number of entries that one permute looks up: 16-bit lanes of two registers.
const ROWS: usize = 64;
/// The first search distinguishes runs of up to this many entries: 512 entries in total.
const MAX_RUN: usize = 8;
/// The number of digits of 16 bits in an entry.
const DIGITS: usize = 8;

/// One number for each of 64 runs of entries.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Row([u16; ROWS]);

/// Position `p` of every run: the keys of the entries there, and their digits, the least significant first.
#[derive(Clone, Copy)]
struct Place {
    keys: Row,
    digits: [Row; DIGITS],
}

/// A table of entries in 64 runs of equal length.
#[derive(Clone)]
pub(super) struct Runs {
    places: Vec<Place>,
}

/// The key of a number: its length in bits in the upper part, the nine bits below its first bit in the lower.
fn key(u: u128) -> u16 {
    let length = u128::BITS - u.leading_zeros();
    let Some(below) = length.checked_sub(1) else {
        return 0;
    };
    let mantissa = u << u.leading_zeros() << 1 >> (u128::BITS - 9);
    // The values are below 128 and below 512.
    u16::try_from(below << 9).unwrap_or(0) | u16::try_from(mantissa).unwrap_or(0)
}

impl Runs {
    /// The runs of a table, or `None` if it is too long or two keys are equal.
    pub(super) fn new(table: &[Block]) -> Option<Self> {
        let blocks = table
            .iter()
            .flat_map(|block| block.high.iter().zip(&block.low));
        let entries: Vec<_> = blocks
            .map(|(high, low)| u128::from(*high) << 64 | u128::from(*low))
            .take_while(|entry| *entry != 0)
            .collect();
        let distinct = entries.windows(2).all(|two| key(two[0]) > key(two[1]));
        // There is one more position than there are entries. So the last run ends with a 0, and no `u` is below 0.
        let run = (entries.len() + 1).div_ceil(ROWS);
        if run > MAX_RUN || !distinct {
            return None;
        }
        let empty = Place {
            keys: Row([0; ROWS]),
            digits: [Row([0; ROWS]); DIGITS],
        };
        let mut places = vec![empty; run];
        for (k, entry) in entries.into_iter().enumerate() {
            // The position of an entry in the table is public.
            let (r, p) = (k / run, k % run);
            places[p].keys.0[r] = key(entry);
            for (d, digits) in places[p].digits.iter_mut().enumerate() {
                let bytes = entry.to_le_bytes();
                digits.0[r] = u16::from_le_bytes([bytes[2 * d], bytes[2 * d + 1]]);
            }
        }
        Some(Self { places })
    }

    /// Like [`super::portable::magnitudes`]. `words` has 16 bytes for every sample of whole steps.
    pub(super) fn magnitudes(&self, _: Avx512, words: &[u8], out: &mut [i16]) {
        for (words, out) in words.chunks_exact(16 * STEP).zip(out.chunks_mut(STEP)) {
            // SAFETY: the token proves the processor's level.
            let samples = unsafe { magnitudes(&self.places, words) };
            out.copy_from_slice(&samples[..out.len()]);
        }
    }
}

/// Like [`super::portable::negate`], 32 samples at a time.
pub(super) fn negate(_: Avx512, signs: &[u8], out: &mut [i16]) {
    #[target_feature(enable = "avx512f,avx512bw")]
    fn negate_step(signs: u32, out: &mut [i16; STEP]) {
        // SAFETY: `out` has the 64 bytes that are loaded and stored.
        unsafe {
            let old = _mm512_loadu_si512(out.as_ptr().cast());
            let new = _mm512_mask_sub_epi16(old, signs, _mm512_setzero_si512(), old);
            _mm512_storeu_si512(out.as_mut_ptr().cast(), new);
        }
    }
    let (signs, rest_signs) = signs.as_chunks::<{ STEP / 8 }>();
    let (steps, rest) = out.as_chunks_mut::<STEP>();
    let whole = steps.len();
    for (signs, out) in signs.iter().zip(steps) {
        // SAFETY: the token proves the processor's level.
        unsafe { negate_step(u32::from_le_bytes(*signs), out) }
    }
    let signs = signs[whole..].as_flattened();
    super::portable::negate(if signs.is_empty() { rest_signs } else { signs }, rest);
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load<T>(values: &[T], at: usize) -> __m512i {
    assert!(size_of_val(values) >= at + 64);
    // SAFETY: the assertion above.
    unsafe { _mm512_loadu_si512(values.as_ptr().cast::<u8>().add(at).cast()) }
}

/// The numbers of the runs `index`, lane by lane.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn look_up(row: &Row, index: __m512i) -> __m512i {
    _mm512_permutex2var_epi16(load(&row.0, 0), index, load(&row.0, 64))
}

/// The [`key`]s of eight numbers, in the low halves of the lanes. The key of 0 is negative.
#[inline]
#[target_feature(enable = "avx512f,avx512cd")]
fn keys(high: __m512i, low: __m512i) -> __m512i {
    let zero = _mm512_testn_epi64_mask(high, high);
    let top = _mm512_mask_mov_epi64(high, zero, low);
    let next = _mm512_maskz_mov_epi64(!zero, low);
    let zeros = _mm512_lzcnt_epi64(top);
    // The ten bits from the first one on. Shifts by 64 give 0.
    let left = _mm512_sub_epi64(_mm512_set1_epi64(64), zeros);
    let window = _mm512_or_si512(_mm512_sllv_epi64(top, zeros), _mm512_srlv_epi64(next, left));
    let first = _mm512_srli_epi64::<54>(window);
    // ((length - 1) << 9) + first - 512.
    let base = _mm512_mask_blend_epi64(
        zero,
        _mm512_set1_epi64((127 << 9) - 512),
        _mm512_set1_epi64((63 << 9) - 512),
    );
    _mm512_add_epi64(_mm512_sub_epi64(base, _mm512_slli_epi64::<9>(zeros)), first)
}

/// The low 16 bits of 32 lanes of 64 bits, with 0 for negative lanes. Within each 128 bits, two lanes of every register
/// follow each other.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn pack(lanes: [__m512i; 4]) -> __m512i {
    let cast = _mm512_castsi512_ps;
    let first = _mm512_shuffle_ps::<0b10_00_10_00>(cast(lanes[0]), cast(lanes[1]));
    let second = _mm512_shuffle_ps::<0b10_00_10_00>(cast(lanes[2]), cast(lanes[3]));
    _mm512_packus_epi32(_mm512_castps_si512(first), _mm512_castps_si512(second))
}

/// The inverse of [`pack`], for lanes of four digits.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn unpack(digits: &[__m512i]) -> [__m512i; 4] {
    let low = _mm512_unpacklo_epi16(digits[0], digits[1]);
    let high = _mm512_unpacklo_epi16(digits[2], digits[3]);
    let low_2 = _mm512_unpackhi_epi16(digits[0], digits[1]);
    let high_2 = _mm512_unpackhi_epi16(digits[2], digits[3]);
    [
        _mm512_unpacklo_epi32(low, high),
        _mm512_unpackhi_epi32(low, high),
        _mm512_unpacklo_epi32(low_2, high_2),
        _mm512_unpackhi_epi32(low_2, high_2),
    ]
}

#[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl")]
fn magnitudes(places: &[Place], words: &[u8]) -> [i16; STEP] {
    let one = _mm512_set1_epi16(1);
    let mut high = [_mm512_setzero_si512(); 4];
    let mut low = [_mm512_setzero_si512(); 4];
    let mut key = [_mm512_setzero_si512(); 4];
    for g in 0..4 {
        let (first, second) = (load(words, 128 * g), load(words, 128 * g + 64));
        high[g] = _mm512_unpacklo_epi64(first, second);
        low[g] = _mm512_unpackhi_epi64(first, second);
        key[g] = keys(high[g], low[g]);
    }
    let key = pack(key);
    // The run: bisection counts the runs whose last entry has a larger key.
    let [inner @ .., last] = places else {
        unreachable!("a table has entries");
    };
    let mut run = _mm512_setzero_si512();
    for half in [32, 16, 8, 4, 2, 1] {
        let probe = look_up(
            &last.keys,
            _mm512_add_epi16(run, _mm512_set1_epi16(half - 1)),
        );
        let below = _mm512_cmplt_epu16_mask(key, probe);
        run = _mm512_mask_add_epi16(run, below, run, _mm512_set1_epi16(half));
    }
    // The position is the first one in the run whose key is not larger than the key of `u`. The search also copies the
    // digits of the entry there.
    let mut digits = [_mm512_setzero_si512(); DIGITS];
    for (digit, row) in digits.iter_mut().zip(&places[0].digits) {
        *digit = look_up(row, run);
    }
    let length = i16::try_from(places.len()).unwrap_or(0);
    let mut count = _mm512_mullo_epi16(run, _mm512_set1_epi16(length));
    for (place, next) in inner.iter().zip(&places[1..]) {
        let below = _mm512_cmplt_epu16_mask(key, look_up(&place.keys, run));
        count = _mm512_mask_add_epi16(count, below, count, one);
        for (digit, row) in digits.iter_mut().zip(&next.digits) {
            *digit = _mm512_mask_mov_epi16(*digit, below, look_up(row, run));
        }
    }
    // The full comparison with that entry decides.
    let (entry_low, entry_high) = (unpack(&digits[..4]), unpack(&digits[4..]));
    let mut below = [_mm512_setzero_si512(); 4];
    for g in 0..4 {
        let tied = _mm512_cmpeq_epu64_mask(high[g], entry_high[g]);
        let mask = _mm512_cmplt_epu64_mask(high[g], entry_high[g])
            | _mm512_mask_cmplt_epu64_mask(tied, low[g], entry_low[g]);
        below[g] = _mm512_maskz_set1_epi64(mask, 1);
    }
    count = _mm512_add_epi16(count, pack(below));
    // Lane 8 a + b holds sample 4 b + a.
    let mut order = [0u16; STEP];
    for (i, lane) in (0..).zip(&mut order) {
        *lane = 8 * (i & 3) + (i >> 2);
    }
    let count = _mm512_permutexvar_epi16(load(&order, 0), count);
    let mut out = [0; STEP];
    // SAFETY: `out` has the 64 bytes that are stored.
    unsafe { _mm512_storeu_si512(out.as_mut_ptr().cast(), count) }
    out
}
