//! The portable definition: 128-bit sums, reduced once.

use sordino_lattice::Modulus;

use super::{SLACK, TILE};

pub(super) fn mac<const B: usize>(
    modulus: Modulus,
    block: &[u8],
    x: &[u64],
    step: usize,
    out: &mut [u64; TILE],
) {
    let mut sums = [0u128; TILE];
    let rows = block[..block.len() - SLACK].chunks_exact(TILE * B);
    for (values, x) in rows.zip(x.as_chunks::<TILE>().0.iter().step_by(step)) {
        let values = values.as_chunks::<B>().0;
        for ((sum, value), &x) in sums.iter_mut().zip(values).zip(x) {
            *sum += u128::from(load(value)) * u128::from(x);
        }
    }
    for (out, sum) in out.iter_mut().zip(sums) {
        *out = modulus.reduce_wide(sum);
    }
}

/// Reads a stored value of `B` bytes.
#[inline]
fn load<const B: usize>(bytes: &[u8; B]) -> u64 {
    let mut word = [0; 8];
    word[..B].copy_from_slice(bytes);
    u64::from_le_bytes(word)
}
