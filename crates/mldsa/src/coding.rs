//! Converts bytes to coefficients and back: z, t1, the hint, w1, and the sampling of A.

#[cfg(target_arch = "x86_64")]
pub(crate) mod avx2;
#[cfg(target_arch = "x86_64")]
pub(crate) mod avx512;
#[cfg(target_arch = "aarch64")]
pub(crate) mod neon;
pub(crate) mod portable;

use crate::params::Set;

/// One polynomial of the hint h, a bit per coefficient: bit `i % 16` of word `i / 16`.
pub(crate) type HintBits = [u16; 16];

/// FIPS 204, Algorithm 21: `HintBitUnpack`, of the last `omega + k` bytes of a signature.
///
/// Returns false for an invalid encoding: positions do not rise strictly inside a polynomial, counts fall or exceed
/// omega, or bytes after the last position are not zero. `hint` then has no meaning.
pub(crate) fn hint_bit_unpack(set: &Set, bytes: &[u8], hint: &mut [HintBits; 8]) -> bool {
    let (positions, counts) = bytes.split_at(set.omega);
    *hint = [[0; 16]; 8];
    let mut index = 0;
    for (bits, &count) in hint.iter_mut().zip(counts) {
        let end = usize::from(count);
        if end < index || end > set.omega {
            return false;
        }
        let of_row = &positions[index..end];
        if !of_row.is_sorted_by(|a, b| a < b) {
            return false;
        }
        for &position in of_row {
            bits[usize::from(position >> 4)] |= 1 << (position & 15);
        }
        index = end;
    }
    positions[index..].iter().all(|&byte| byte == 0)
}

#[cfg(test)]
mod tests;
