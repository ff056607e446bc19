//! The portable draw, compiled for 256-bit vectors.

#![expect(
    unsafe_code,
    reason = "a call of a function that needs a processor level"
)]

use super::{BLOCK, Uniform, portable};

pub(super) fn magnitudes(
    _: sordino_cpu::Avx2,
    table: &[(u64, u64)],
    uniform: &Uniform,
    counts: &mut [i16; BLOCK],
) {
    #[target_feature(enable = "avx2")]
    fn inner(table: &[(u64, u64)], uniform: &Uniform, counts: &mut [i16; BLOCK]) {
        portable::magnitudes(table, uniform, counts);
    }
    // SAFETY: the token proves the processor's level.
    unsafe { inner(table, uniform, counts) }
}
