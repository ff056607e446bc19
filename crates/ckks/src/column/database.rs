//! The server's side: the encoded database and its hint.

mod combine;
mod encode;
mod file;
mod score;
mod sum;
mod update;

pub(super) use score::{check_onto, fill};

use std::sync::Arc;

use sordino_lattice::aligned::Aligned;
use sordino_lattice::store::Store;
use sordino_lattice::threads;

use self::sum::{add_product, write_block};
use super::hint::Hint;
use super::mac::take;
use super::params::Params;
use super::shape::Shape;
use super::state::State;
use crate::Error;
use crate::dot::N;

/// A database encoded for scoring: `K d / N` polynomials in NTT form at 5 or 7 bytes a coefficient.
pub struct Database {
    params: Params,
    shape: Shape,
    seed: [u8; 32],
    /// The number of changes since the database was encoded.
    version: u64,
    /// The public polynomials `a_l` in NTT form, one after the other.
    a: Arc<Aligned<u64>>,
    /// Block after block in tiles (`mac`), followed by [`SLACK`] bytes. Blocks beyond `shape.blocks` are spare.
    blocks: Store,
}

impl std::fmt::Debug for Database {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Database")
            .field("params", &self.params)
            .field("shape", &self.shape)
            .finish_non_exhaustive()
    }
}

impl Database {
    /// The parameter set.
    #[must_use]
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// The seed of the public polynomials.
    #[must_use]
    pub fn seed(&self) -> &[u8; 32] {
        &self.seed
    }

    /// The number of changes since the database was encoded. Every delta is one change.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Continues the count of changes, for a database that was encoded again from the same vectors and seed. Clients
    /// of the earlier database then keep their hints.
    pub fn set_version(&mut self, version: u64) {
        self.version = version;
    }

    fn state(&self) -> State {
        State::new(&self.seed, self.version)
    }

    /// The dimension `d`.
    #[must_use]
    pub fn dim(&self) -> usize {
        self.shape.dim
    }

    /// The number of vectors `K`, deleted ones included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.shape.count
    }

    /// True if there are no vectors.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.shape.count == 0
    }

    /// The number of bytes that one pass reads.
    #[must_use]
    pub fn encoded_len(&self) -> usize {
        self.shape.blocks * self.block_len()
    }

    fn block_len(&self) -> usize {
        self.shape.polys * N * self.params.coefficient_len()
    }

    /// The hint that clients download, computed from the encoded vectors.
    #[must_use]
    pub fn hint(&self) -> Hint {
        let mut hint = Hint::zero(self.params, self.shape, self.state());
        threads::for_each(
            hint.blocks_mut(),
            || Aligned::new(2 * N),
            |room, j, block| self.hint_block(j, room, block),
        );
        hint
    }

    /// `sum_l P_jl a_l` with all its coefficients. `room` is working memory for two polynomials.
    fn hint_block(&self, j: usize, room: &mut [u64], hint: &mut [u8]) {
        self.sum_block((j, |_: &[u64]| None), room, hint);
    }

    /// The hint of values that were just read from bytes. Each value is checked before it is used, so one pass over
    /// the values does both.
    ///
    /// # Errors
    /// [`Error::Coefficient`] if a value is not below `q`.
    fn checked_hint(&self) -> Result<Hint, Error> {
        let mut hint = Hint::zero(self.params, self.shape, self.state());
        let q = self.params.modulus();
        let beyond = |poly: &[u64]| {
            // Finds the largest value in vector lanes, and looks for its position only if it is too large.
            let most = poly.iter().fold(0, |most, &x| u64::max(most, x));
            (most >= q)
                .then(|| poly.iter().position(|&x| x >= q))
                .flatten()
        };
        let found = threads::map(
            hint.blocks_mut(),
            || Aligned::new(2 * N),
            |room, j, block| {
                let at = self.sum_block((j, beyond), room, block)?;
                Some(j * self.shape.polys * N + at)
            },
        );
        match found.into_iter().flatten().next() {
            Some(index) => Err(Error::Coefficient { index }),
            None => Ok(hint),
        }
    }

    /// Computes the hint of block `j`. If `beyond` finds an invalid value, the function returns the value's position
    /// in the block instead.
    fn sum_block(
        &self,
        (j, beyond): (usize, impl Fn(&[u64]) -> Option<usize>),
        room: &mut [u64],
        hint: &mut [u8],
    ) -> Option<usize> {
        let len = self.params.coefficient_len();
        let block = &self.blocks.bytes()[j * self.block_len()..][..self.block_len()];
        let (sum, poly) = room.split_at_mut(N);
        sum.fill(0);
        for (l, a) in self.a.chunks_exact(N).enumerate() {
            take(len, block, l, self.shape.t, poly);
            if let Some(at) = beyond(poly) {
                return Some(l * N + at);
            }
            add_product(&self.params, sum, poly, a);
        }
        write_block(&self.params, sum, hint);
        None
    }
}
