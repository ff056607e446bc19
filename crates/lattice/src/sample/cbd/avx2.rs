//! AVX2: the portable loop, compiled for four lanes, whose bits are counted by table look-ups in
//! registers.
#![expect(unsafe_code, reason = "entry into target features")]

use sordino_cpu::Avx2;

pub(super) fn count(_: Avx2, chunk: &[u8], samples: &mut [i8]) {
    #[target_feature(enable = "avx2")]
    fn counted(chunk: &[u8], samples: &mut [i8]) {
        super::count(chunk, samples);
    }
    // SAFETY: the token proves the target features.
    unsafe { counted(chunk, samples) }
}
