//! AVX-512: the portable loop, compiled for eight lanes.
#![expect(unsafe_code, reason = "entry into target features")]

use sordino_cpu::Avx512;

use crate::Modulus;

pub(super) fn add_signed(_: Avx512, modulus: Modulus, residues: &mut [u64], small: &[i8]) {
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    fn added(modulus: Modulus, residues: &mut [u64], small: &[i8]) {
        super::add_signed_portable(modulus, residues, small);
    }
    // SAFETY: the token proves the target features.
    unsafe { added(modulus, residues, small) }
}
