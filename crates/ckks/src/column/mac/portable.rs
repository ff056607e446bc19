//! The definition: 128-bit sums, reduced once.

use sordino_lattice::Modulus;

use super::TILE;

pub(super) fn mac<const B: usize>(
    modulus: Modulus,
    block: &[u8],
    x: &[u64],
    polys: usize,
    out: &mut [u64],
) {
    let tiles = block.chunks_exact(polys * TILE * B);
    let tiles = tiles.zip(x.chunks_exact(polys * TILE));
    for ((block, x), out) in tiles.zip(out.as_chunks_mut::<TILE>().0) {
        let mut sums = [0u128; TILE];
        let polys = block.chunks_exact(TILE * B).zip(x.as_chunks::<TILE>().0);
        for (values, x) in polys {
            let values = values.as_chunks::<B>().0;
            for ((sum, value), &x) in sums.iter_mut().zip(values).zip(x) {
                *sum += u128::from(load(value)) * u128::from(x);
            }
        }
        for (out, sum) in out.iter_mut().zip(sums) {
            *out = modulus.reduce_wide(sum);
        }
    }
}

/// A stored value of `B` bytes.
#[inline]
fn load<const B: usize>(bytes: &[u8; B]) -> u64 {
    let mut word = [0; 8];
    word[..B].copy_from_slice(bytes);
    u64::from_le_bytes(word)
}
