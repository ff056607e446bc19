//! Structured random rotations: `H D3 H D2 H D1`, products of Hadamard matrices and random signs (Ailon and Chazelle
//! 2009). Three rounds are as in Andoni et al., "Practical and optimal LSH for angular distance", 2015. A rotation
//! takes `O(size log size)` instead of `size^2`.

use crate::Seed;
use crate::kernels::Kernels;
use crate::transform::{BLOCK, rotate};

/// The number of rounds of sign flips and a Hadamard matrix.
const ROUNDS: usize = 3;

/// Several independent rotations of one space.
///
/// A vector of `dim` coordinates is padded with zeros to `size`, a power of two, at least 64. For each of the `copies`,
/// the result is `size^(3/2)` times an orthogonal image of the vector. The factor does not matter to hashes that look
/// at directions only.
#[derive(Clone, Debug)]
pub(crate) struct Rotation {
    size: usize,
    /// `copies x ROUNDS x size` words, 0 or `1 << 31`.
    flips: Vec<u32>,
}

impl Rotation {
    pub(crate) fn size(dim: usize) -> usize {
        dim.next_power_of_two().max(BLOCK)
    }

    pub(crate) fn new(seed: Seed, dim: usize, copies: usize) -> Self {
        let size = Self::size(dim);
        let mut draws = seed.stream(1);
        let words = ROUNDS * size * copies / 64;
        let flips = (0..words)
            .map(|_| draws.bits())
            .flat_map(|word| (0..64).map(move |i| ((word >> i & 1) as u32) << 31))
            .collect();
        Self { size, flips }
    }

    /// All images of `x`, one after the other.
    pub(crate) fn apply(&self, kernels: Kernels, x: &[f32], values: &mut Vec<f32>) {
        values.clear();
        for flips in self.flips.chunks_exact(ROUNDS * self.size) {
            let start = values.len();
            values.extend_from_slice(x);
            values.resize(start + self.size, 0.0);
            rotate(kernels, &mut values[start..], flips);
        }
    }
}
