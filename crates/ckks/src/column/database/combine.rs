//! Combinations of a database's vectors.

use sordino_lattice::aligned::Aligned;
use sordino_lattice::threads;
use zeroize::{Zeroize, Zeroizing};

use super::Database;
use crate::Error;
use crate::column::combination::Combination;
use crate::column::mac::take;
use crate::dot::N;
use crate::wire::check_same;

impl Database {
    /// The weighted sum of the functionals of all vectors, with weights mod `q`.
    ///
    /// # Errors
    /// [`Error::Whole`] for a set that rounds its answers. [`Error::Mismatch`] if the numbers of weights and vectors
    /// differ. [`Error::Coefficient`] if a weight is not below `q`.
    pub fn combination(&self, weights: &[u64]) -> Result<Combination, Error> {
        let (params, shape) = (&self.params, self.shape);
        let mut combination = Combination::empty(params, shape.dim)?;
        check_same("weights", weights.len(), shape.count)?;
        if let Some(index) = weights.iter().position(|&x| x >= params.modulus()) {
            return Err(Error::Coefficient { index });
        }
        let blocks = self.turned(weights);
        let (plan, len) = (params.plan(), params.coefficient_len());
        threads::for_each(
            combination.polys_mut(),
            || Aligned::new(N),
            |poly, l, sum| {
                for (j, weights) in blocks.iter().enumerate() {
                    let block = &self.blocks.bytes()[j * self.block_len()..][..self.block_len()];
                    take(len, block, l, shape.t, poly);
                    plan.multiply(poly, weights);
                    for (sum, product) in sum.iter_mut().zip(poly.iter()) {
                        *sum = plan.modulus().add(*sum, *product);
                    }
                }
                // Value i of the sum belongs to the root that is the inverse of value i's own, so the order is reversed.
                sum.reverse();
                plan.inverse(sum);
                poly.zeroize();
            },
        );
        Ok(combination)
    }

    /// The `C_j` of each block in NTT form, in reverse order. Value `i` is the one at `psi^(2 brv(i) + 1)`, whose inverse
    /// is `psi^(2 brv(N - 1 - i) + 1)`. So these values are multiplied by the values of `P_jl(1/X)` at the positions of
    /// the values of `P_jl`.
    fn turned(&self, weights: &[u64]) -> Vec<Zeroizing<Aligned<u64>>> {
        let (plan, shape) = (self.params.plan(), self.shape);
        let turned = |weights: &[u64]| {
            let mut poly = Zeroizing::new(Aligned::new(N));
            for (v, &weight) in weights.iter().enumerate() {
                poly[v * shape.t + shape.t - 1] = weight;
            }
            plan.forward(&mut poly);
            poly.reverse();
            poly
        };
        let blocks = weights.chunks(shape.per).collect();
        threads::map(blocks, || (), |(), _, weights| turned(weights))
    }
}
