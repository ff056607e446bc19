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
    /// The functionals of all vectors, each times its weight mod `q`, summed up.
    ///
    /// # Errors
    /// [`Error::Whole`] for a set whose answers are rounded; [`Error::Mismatch`] if there is not a weight for each vector;
    /// [`Error::Coefficient`] if one is not below `q`.
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
                // Value i of what was summed up belongs to the root that is the inverse of value i's own.
                sum.reverse();
                plan.inverse(sum);
                poly.zeroize();
            },
        );
        Ok(combination)
    }

    /// The `C_j` of each block in NTT form, in reverse. Value `i` is the one at `psi^(2 brv(i) + 1)`, of which `psi^(2
    /// brv(N - 1 - i) + 1)` is the inverse. So these meet the values of `P_jl(1/X)` in the places where the values of
    /// `P_jl` lie.
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
