//! The portable draw, compiled for wider vectors.

#![expect(unsafe_code, reason = "calls of functions that need a processor level")]

use super::{BLOCK, Uniform, portable};

pub(super) fn magnitudes_avx512(
    _: sordino_cpu::Avx512,
    table: &[(u64, u64)],
    uniform: &Uniform,
    counts: &mut [i16; BLOCK],
) {
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    fn inner(table: &[(u64, u64)], uniform: &Uniform, counts: &mut [i16; BLOCK]) {
        portable::magnitudes(table, uniform, counts);
    }
    // SAFETY: the token proves the processor's level.
    unsafe { inner(table, uniform, counts) }
}

pub(super) fn magnitudes_avx2(
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
