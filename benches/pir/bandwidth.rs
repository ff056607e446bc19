//! Measures the speed of reading memory, with which scans are compared.

#![expect(
    unsafe_code,
    reason = "vector loads, and a function that needs a processor level"
)]

/// The parts of the memory that are read in parallel, which suits the prefetchers best.
const STREAMS: usize = 4;

/// A function of all words, read with the widest loads of the processor.
pub(crate) fn read(words: &[u64]) -> u64 {
    #[cfg(target_arch = "x86_64")]
    if sordino_cpu::Avx512::detect().is_some() {
        // SAFETY: the token proves the processor's level.
        return unsafe { read_avx512(words) };
    }
    words.iter().fold(0, |all, word| all ^ word)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn read_avx512(words: &[u64]) -> u64 {
    use std::arch::x86_64::*;
    let stream = words.len() / STREAMS / 16 * 16;
    let mut sums = [[_mm512_setzero_si512(); 2]; STREAMS];
    for at in (0..stream).step_by(16) {
        for (s, sums) in sums.iter_mut().enumerate() {
            for (half, sum) in sums.iter_mut().enumerate() {
                // SAFETY: `at + 16 <= stream`, and `words` holds all of the streams.
                let line = unsafe {
                    _mm512_loadu_si512(words.as_ptr().add(s * stream + at + 8 * half).cast())
                };
                *sum = _mm512_xor_si512(*sum, line);
            }
        }
    }
    let rest = words[STREAMS * stream..]
        .iter()
        .fold(0, |all, word| all ^ word);
    sums.as_flattened().iter().fold(rest, |all, sum| {
        all ^ _mm512_reduce_add_epi64(*sum).cast_unsigned()
    })
}
