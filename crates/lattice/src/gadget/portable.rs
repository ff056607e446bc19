//! The portable definition: balanced digits of the centred residue.

use super::Gadget;
use crate::Modulus;

/// Digit `i` of each residue, as a residue.
#[inline(always)]
pub(super) fn digit(gadget: Gadget, modulus: Modulus, i: u32, residues: &[u64], out: &mut [u64]) {
    let Gadget {
        digits,
        log_z,
        dropped,
    } = gadget;
    let half = 1i64 << (log_z - 1);
    // After half a unit is added to each digit, a shift and a mask give every digit.
    let raised = (0..digits).fold(0, |sum, i| sum + (half << (log_z * i)));
    let nearest = (1i64 << dropped) >> 1;
    // The last digit takes the rest, which is at most z/2.
    let mask = if i + 1 == digits { -1 } else { 2 * half - 1 };
    for (out, &residue) in out.iter_mut().zip(residues) {
        let rounded = (modulus.centred(residue) + nearest) >> dropped;
        let digit = (((rounded + raised) >> (log_z * i)) & mask) - half;
        *out = modulus.from_signed(digit);
    }
}
