//! AVX-512: the portable loop, compiled for eight lanes.
#![expect(unsafe_code, reason = "entry into target features")]

use sordino_cpu::Avx512;

use super::{Gadget, portable};
use crate::Modulus;

pub(super) fn digit(
    _: Avx512,
    gadget: Gadget,
    modulus: Modulus,
    i: u32,
    residues: &[u64],
    out: &mut [u64],
) {
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    fn digits(gadget: Gadget, modulus: Modulus, i: u32, residues: &[u64], out: &mut [u64]) {
        portable::digit(gadget, modulus, i, residues, out);
    }
    // SAFETY: the token proves the target features.
    unsafe { digits(gadget, modulus, i, residues, out) }
}
