//! The public matrix `A`, from a seed.

use sordino_lattice::aligned::Aligned;
use sordino_lattice::sample::residue;

use crate::Seed;
use crate::params::{N, RANK, plan};

/// Expands `polys` rows of `A` from row `first` on: `a_i0, a_i1, a_i2` in NTT form, one after the other.
pub(crate) fn rows(seed: &Seed, first: usize, polys: usize) -> Aligned<u64> {
    let mut a = Aligned::new(polys * RANK * N);
    for (i, row) in a.chunks_exact_mut(RANK * N).enumerate() {
        residue::fill_vartime(&seed.0, (first + i) as u64, plan().modulus(), row);
    }
    a
}

/// The name of a seed in messages: its first bytes.
pub(crate) fn epoch(seed: &Seed) -> u64 {
    let [a, b, c, d, e, f, g, h, ..] = seed.0;
    u64::from_le_bytes([a, b, c, d, e, f, g, h])
}
