//! NEON: the portable loop, compiled for two lanes.
#![expect(unsafe_code, reason = "entry into target features")]

use sordino_cpu::Neon;

use super::{Gadget, portable};
use crate::Modulus;

pub(super) fn digit(
    _: Neon,
    gadget: Gadget,
    modulus: Modulus,
    i: u32,
    residues: &[u64],
    out: &mut [u64],
) {
    #[target_feature(enable = "neon")]
    fn digits(gadget: Gadget, modulus: Modulus, i: u32, residues: &[u64], out: &mut [u64]) {
        portable::digit(gadget, modulus, i, residues, out);
    }
    // SAFETY: the token proves the target features.
    unsafe { digits(gadget, modulus, i, residues, out) }
}
