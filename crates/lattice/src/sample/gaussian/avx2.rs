//! The portable draw, compiled for 256-bit vectors.

#![expect(
    unsafe_code,
    reason = "a call of a function that needs a processor level"
)]

use sordino_cpu::Avx2;

use super::{Block, portable};

pub(super) fn draw(_: Avx2, table: &[Block], words: &[u8], signs: &[u8], out: &mut [i16]) {
    #[target_feature(enable = "avx2")]
    fn inner(table: &[Block], words: &[u8], signs: &[u8], out: &mut [i16]) {
        portable::draw(table, words, signs, out);
    }
    // SAFETY: the token proves the processor's level.
    unsafe { inner(table, words, signs, out) }
}
