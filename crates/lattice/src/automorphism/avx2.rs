//! AVX2: the portable loop, compiled for four lanes.
#![expect(unsafe_code, reason = "entry into target features")]

use sordino_cpu::Avx2;

use super::portable;
use crate::Modulus;

pub(super) fn split(_: Avx2, modulus: Modulus, c: &[u64], even: &mut [u64], odd: &mut [u64]) {
    #[target_feature(enable = "avx2")]
    fn splits(modulus: Modulus, c: &[u64], even: &mut [u64], odd: &mut [u64]) {
        portable::split(modulus, c, even, odd);
    }
    // SAFETY: the token proves the target features.
    unsafe { splits(modulus, c, even, odd) }
}
