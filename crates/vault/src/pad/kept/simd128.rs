//! 128-bit vectors of WebAssembly.
#![expect(unsafe_code, reason = "loads and stores")]

use std::arch::wasm32::{
    i8x16_bitmask, i8x16_shl, i8x16_shuffle, i16x8_extend_high_i8x16, i16x8_extend_low_i8x16,
    i32x4_add, i32x4_dot_i16x8, i32x4_extract_lane, i32x4_splat, v128, v128_load, v128_store,
};

use super::{BITS, Query, Row, Sums, high_sum};

/// The words that are split together: the bytes of a register.
const WORDS: usize = 16;

/// Computes the sums of the definition.
pub(super) fn sums(low: &[i16], middle: &[i8], high: &[u64], query: &Query) -> Sums {
    let (mut lows, mut middles) = ([i32x4_splat(0); 2], [i32x4_splat(0); 2]);
    let (low, _) = low.as_chunks::<16>();
    let (middle, _) = middle.as_chunks::<16>();
    let (codes, _) = query.codes.as_chunks::<16>();
    for ((low, middle), codes) in low.iter().zip(middle).zip(codes) {
        let (codes, _) = codes.as_chunks::<8>();
        let (low, _) = low.as_chunks::<8>();
        let codes = [load_words(&codes[0]), load_words(&codes[1])];
        let middle = load_bytes(middle);
        let middle = [
            i16x8_extend_low_i8x16(middle),
            i16x8_extend_high_i8x16(middle),
        ];
        for half in 0..2 {
            let product = i32x4_dot_i16x8(load_words(&low[half]), codes[half]);
            lows[half] = i32x4_add(lows[half], product);
            let product = i32x4_dot_i16x8(middle[half], codes[half]);
            middles[half] = i32x4_add(middles[half], product);
        }
    }
    Sums {
        low: total(i32x4_add(lows[0], lows[1])),
        middle: total(i32x4_add(middles[0], middles[1])),
        high: high_sum(high, query),
    }
}

/// Splits a row's words, as the definition does.
pub(super) fn split(words: &[u32], row: &mut Row<'_>) {
    let (groups, _) = words.as_chunks::<WORDS>();
    for (group, words) in groups.iter().enumerate() {
        let at = group * WORDS;
        let (quads, _) = words.as_chunks::<4>();
        let words = [0, 1, 2, 3].map(|quad| load_quad(&quads[quad]));
        let rest = words.map(|words| i32x4_add(words, i32x4_splat(0x8000)));
        let carried = rest.map(|rest| i32x4_add(rest, i32x4_splat(0x80_0000)));
        for half in 0..2 {
            let low = low_halves(words[2 * half], words[2 * half + 1]);
            store_words(&mut row.low[at + 8 * half..][..8], low);
        }
        store_bytes(&mut row.middle[at..][..16], bytes::<2>(rest));
        let high = bytes::<3>(carried);
        for (bits, shifted) in row
            .high
            .iter_mut()
            .zip([i8x16_shl(high, 7), i8x16_shl(high, 6)])
        {
            bits[at / BITS] |= u64::from(i8x16_bitmask(shifted)) << (at % BITS);
        }
    }
    let done = groups.len() * WORDS;
    row.split(done, &words[done..]);
}

/// The sum of four numbers.
fn total(sums: v128) -> u32 {
    let first = i32x4_extract_lane::<0>(sums).wrapping_add(i32x4_extract_lane::<1>(sums));
    let last = i32x4_extract_lane::<2>(sums).wrapping_add(i32x4_extract_lane::<3>(sums));
    first.wrapping_add(last).cast_unsigned()
}

/// The low 16 bits of eight words.
fn low_halves(a: v128, b: v128) -> v128 {
    i8x16_shuffle::<0, 1, 4, 5, 8, 9, 12, 13, 16, 17, 20, 21, 24, 25, 28, 29>(a, b)
}

/// Byte 2 or 3 of sixteen words.
fn bytes<const BYTE: usize>(words: [v128; 4]) -> v128 {
    let of_eight = |a, b| match BYTE {
        2 => i8x16_shuffle::<2, 6, 10, 14, 18, 22, 26, 30, 2, 6, 10, 14, 18, 22, 26, 30>(a, b),
        _ => i8x16_shuffle::<3, 7, 11, 15, 19, 23, 27, 31, 3, 7, 11, 15, 19, 23, 27, 31>(a, b),
    };
    let [first, last] = [of_eight(words[0], words[1]), of_eight(words[2], words[3])];
    i8x16_shuffle::<0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23>(first, last)
}

fn load_quad(words: &[u32; 4]) -> v128 {
    // SAFETY: `words` refers to the 16 bytes that are loaded.
    unsafe { v128_load(words.as_ptr().cast()) }
}

fn load_bytes(bytes: &[i8; 16]) -> v128 {
    // SAFETY: `bytes` refers to the 16 bytes that are loaded.
    unsafe { v128_load(bytes.as_ptr().cast()) }
}

fn load_words(words: &[i16; 8]) -> v128 {
    // SAFETY: `words` refers to the 16 bytes that are loaded.
    unsafe { v128_load(words.as_ptr().cast()) }
}

fn store_words(to: &mut [i16], words: v128) {
    assert_eq!(to.len(), 8);
    // SAFETY: `to` has the 16 bytes that are stored.
    unsafe { v128_store(to.as_mut_ptr().cast(), words) }
}

fn store_bytes(to: &mut [i8], bytes: v128) {
    assert_eq!(to.len(), 16);
    // SAFETY: `to` has the 16 bytes that are stored.
    unsafe { v128_store(to.as_mut_ptr().cast(), bytes) }
}
