//! Dense random projections: independent Gaussian coefficients.

use crate::Seed;
use crate::kernels::Kernels;
use crate::transform::{BLOCK, project};

/// A `dim x outputs` matrix, in blocks of 64 outputs; outputs beyond the last are zero.
#[derive(Clone, Debug)]
pub(crate) struct Dense {
    dim: usize,
    /// `blocks x dim` rows.
    weights: Vec<[f32; BLOCK]>,
}

impl Dense {
    pub(crate) fn new(seed: Seed, dim: usize, outputs: usize) -> Self {
        let mut weights = vec![[0.0; BLOCK]; dim * outputs.div_ceil(BLOCK)];
        let mut draws = seed.stream(2);
        for output in 0..outputs {
            let rows = &mut weights[output / BLOCK * dim..][..dim];
            for row in rows {
                row[output % BLOCK] = draws.gaussian();
            }
        }
        Self { dim, weights }
    }

    /// All projections of `x`, followed by zeros up to the end of the last block.
    pub(crate) fn apply(&self, kernels: Kernels, x: &[f32], values: &mut Vec<f32>) {
        values.clear();
        for weights in self.weights.chunks_exact(self.dim) {
            let mut sums = [0.0; BLOCK];
            project(kernels, x, weights, &mut sums);
            values.extend_from_slice(&sums);
        }
    }
}
