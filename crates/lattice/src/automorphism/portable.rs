//! The portable definition: a sum and a difference.

use crate::Modulus;

/// `even = c + odd`, `odd = c - odd`.
#[inline(always)]
pub(super) fn split(modulus: Modulus, c: &[u64], even: &mut [u64], odd: &mut [u64]) {
    for ((&c, even), odd) in c.iter().zip(even).zip(odd) {
        let image = *odd;
        *even = modulus.add(c, image);
        *odd = modulus.sub(c, image);
    }
}
