//! AVX2: the portable loop, compiled for four lanes.
#![expect(unsafe_code, reason = "entry into target features")]

use sordino_cpu::Avx2;

use super::{Gadget, portable};
use crate::Modulus;

pub(super) fn digit(
    _: Avx2,
    gadget: Gadget,
    modulus: Modulus,
    i: u32,
    residues: &[u64],
    out: &mut [u64],
) {
    #[target_feature(enable = "avx2")]
    fn digits(gadget: Gadget, modulus: Modulus, i: u32, residues: &[u64], out: &mut [u64]) {
        portable::digit(gadget, modulus, i, residues, out);
    }
    // SAFETY: the token proves the target features.
    unsafe { digits(gadget, modulus, i, residues, out) }
}
