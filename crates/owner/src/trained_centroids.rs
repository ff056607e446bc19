//! Trained centroids in the form that clients will have, and the records near each.

use sordino_index::{Error, code};
use sordino_vault::mean::Mean;
use sordino_vectors::Vectors;

use crate::cluster::{self, Points};
use crate::lists::Lists;

/// Centroids of k-means.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TrainedCentroids {
    /// Their 8-bit codes, one centroid after the other.
    pub(crate) codes: Vec<u8>,
    /// The unit vectors that clients decode from these codes. Vectors are compared with these.
    pub(crate) centres: Vectors,
}

impl TrainedCentroids {
    /// Trains `count` centroids of these vectors, which are already in the form for comparison. `pulse` is
    /// called often.
    ///
    /// # Panics
    /// Panics if there are more centroids than vectors, or no centroids.
    pub(crate) fn new(
        vectors: &impl Points,
        count: usize,
        seed: [u8; 32],
        pulse: &mut dyn FnMut(),
    ) -> Result<Self, Error> {
        let trained = cluster::centroids(vectors, count, seed, pulse);
        let mut codes = Vec::with_capacity(trained.as_slice().len());
        trained.rows().for_each(|row| code::int8(row, &mut codes));
        Self::of_codes(vectors.dim(), codes)
    }

    /// The centroids of these codes, of `dim` coordinates each.
    pub(crate) fn of_codes(dim: usize, codes: Vec<u8>) -> Result<Self, Error> {
        let decoded = codes.chunks_exact(dim).flat_map(code::unit_from_int8);
        let centres = Vectors::new(dim, decoded.collect())?;
        Ok(Self { codes, centres })
    }
}

/// Centroids and the lists of all records, computed before the index is made.
#[derive(Debug)]
pub(crate) struct Assignment {
    /// The mean relative to which vectors were compared, or `None` if they were compared directly.
    pub(crate) mean: Option<Mean>,
    pub(crate) trained: TrainedCentroids,
    /// For each record, the list of its nearest centroids.
    pub(crate) lists: Lists,
}

impl Assignment {
    /// The same assignment for records in this order, which has the number of each record once.
    pub(crate) fn in_order(mut self, order: &[usize]) -> Self {
        let mut lists = Lists::with_capacity(self.lists.each(), order.len());
        order.iter().for_each(|&at| lists.push(self.lists.list(at)));
        self.lists = lists;
        self
    }
}
