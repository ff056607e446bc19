//! AVX2: the portable loop, compiled for four lanes.
#![expect(unsafe_code, reason = "entry into target features")]

use sordino_cpu::Avx2;

use crate::Modulus;

pub(super) fn add_signed(_: Avx2, modulus: Modulus, residues: &mut [u64], small: &[i8]) {
    #[target_feature(enable = "avx2")]
    fn added(modulus: Modulus, residues: &mut [u64], small: &[i8]) {
        super::add_signed_portable(modulus, residues, small);
    }
    // SAFETY: the token proves the target features.
    unsafe { added(modulus, residues, small) }
}
