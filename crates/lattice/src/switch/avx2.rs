//! AVX2: products of 26-bit halves, which four lanes multiply at once.
#![expect(unsafe_code, reason = "entry into target features")]

use sordino_cpu::Avx2;

use super::Switch;

/// The number of bits of the lower half of a factor.
const HALF: u32 = 26;
const LOW: u64 = (1 << HALF) - 1;

pub(super) fn apply(_: Avx2, switch: Switch, residues: &mut [u64]) {
    #[target_feature(enable = "avx2")]
    fn applied(switch: Switch, residues: &mut [u64]) {
        let (f0, f1) = (switch.factor & LOW, switch.factor >> HALF);
        for residue in residues {
            let (c0, c1) = (*residue & LOW, *residue >> HALF);
            // floor(c M / 2^52), exactly: the bits that are dropped first are below one unit of the
            // middle sum.
            let middle = c1 * f0 + c0 * f1 + ((c0 * f0) >> HALF);
            let scaled = c1 * f1 + (middle >> HALF);
            *residue = ((scaled + switch.half) >> switch.shift) & switch.mask;
        }
    }
    // SAFETY: the token proves the target features.
    unsafe { applied(switch, residues) }
}
