//! AVX-512 VPOPCNTDQ: the portable loop, compiled for eight lanes, whose bits one instruction
//! counts.
#![expect(unsafe_code, reason = "entry into target features")]

use sordino_cpu::Avx512Popcnt;

pub(super) fn count(_: Avx512Popcnt, chunk: &[u8], samples: &mut [i8]) {
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vpopcntdq")]
    fn counted(chunk: &[u8], samples: &mut [i8]) {
        super::count(chunk, samples);
    }
    // SAFETY: the token proves the target features.
    unsafe { counted(chunk, samples) }
}
