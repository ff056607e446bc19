//! AVX-512 IFMA.
#![expect(
    unsafe_code,
    reason = "vector loads and stores, entry into target features"
)]

use std::arch::x86_64::*;

use sordino_cpu::Avx512Ifma;

use super::Switch;

pub(super) fn apply(_: Avx512Ifma, switch: Switch, residues: &mut [u64]) {
    // SAFETY: the token proves the target features.
    unsafe { apply_vectors(switch, residues) }
}

#[target_feature(enable = "avx512f,avx512ifma")]
fn apply_vectors(switch: Switch, residues: &mut [u64]) {
    let splat = |x: u64| _mm512_set1_epi64(x.cast_signed());
    let (factor, half, mask) = (splat(switch.factor), splat(switch.half), splat(switch.mask));
    let shift = _mm_cvtsi32_si128(switch.shift.cast_signed());
    let (vectors, rest) = residues.as_chunks_mut::<8>();
    for vector in vectors {
        // SAFETY: `vector` has the eight words that are loaded.
        let c = unsafe { _mm512_loadu_si512(vector.as_ptr().cast()) };
        let scaled = _mm512_madd52hi_epu64(half, c, factor);
        let switched = _mm512_and_si512(_mm512_srl_epi64(scaled, shift), mask);
        // SAFETY: `vector` has the eight words that are stored.
        unsafe { _mm512_storeu_si512(vector.as_mut_ptr().cast(), switched) }
    }
    switch.apply_portable(rest);
}
