//! AVX-512: the portable loop, compiled for eight lanes.
#![expect(unsafe_code, reason = "entry into target features")]

use sordino_cpu::Avx512;

use super::portable;
use crate::Modulus;

pub(super) fn split(_: Avx512, modulus: Modulus, c: &[u64], even: &mut [u64], odd: &mut [u64]) {
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    fn splits(modulus: Modulus, c: &[u64], even: &mut [u64], odd: &mut [u64]) {
        portable::split(modulus, c, even, odd);
    }
    // SAFETY: the token proves the target features.
    unsafe { splits(modulus, c, even, odd) }
}
