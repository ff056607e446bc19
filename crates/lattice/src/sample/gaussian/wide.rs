//! The portable draw, compiled for wider vectors.

#![expect(unsafe_code, reason = "calls of functions that need a processor level")]

use sordino_cpu::{Avx2, Avx512};

use super::{Block, portable};

pub(super) fn draw_avx512(_: Avx512, table: &[Block], words: &[u8], signs: &[u8], out: &mut [i16]) {
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    fn inner(table: &[Block], words: &[u8], signs: &[u8], out: &mut [i16]) {
        portable::draw(table, words, signs, out);
    }
    // SAFETY: the token proves the processor's level.
    unsafe { inner(table, words, signs, out) }
}

pub(super) fn draw_avx2(_: Avx2, table: &[Block], words: &[u8], signs: &[u8], out: &mut [i16]) {
    #[target_feature(enable = "avx2")]
    fn inner(table: &[Block], words: &[u8], signs: &[u8], out: &mut [i16]) {
        portable::draw(table, words, signs, out);
    }
    // SAFETY: the token proves the processor's level.
    unsafe { inner(table, words, signs, out) }
}
