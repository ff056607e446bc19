//! The portable draw, compiled for AVX2.

#![expect(unsafe_code, reason = "calls of functions that need a processor level")]

use sordino_cpu::Avx2;

use super::{Block, portable};

pub(super) fn magnitudes(_: Avx2, table: &[Block], words: &[u8], out: &mut [i16]) {
    #[target_feature(enable = "avx2")]
    fn inner(table: &[Block], words: &[u8], out: &mut [i16]) {
        portable::magnitudes(table, words, out);
    }
    // SAFETY: the token proves the processor's level.
    unsafe { inner(table, words, out) }
}
