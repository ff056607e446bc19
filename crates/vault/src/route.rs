//! How a client of routed mode finds clusters, and the bases of their vectors.
//!
//! Real data lie on one side of the sphere. So vectors are clustered, and queries routed, by their differences to the mean. A
//! line leads from the mean in a cluster's direction. The cluster's base is the direction of the point on this line that is
//! nearest to its vectors.

use crate::mean::Mean;
use crate::select::mask;
use crate::vectors::{dot, normalise};
use sordino_index::code::unit_from_int8;
use sordino_index::manifest::Grid;
use sordino_index::{Error, TAG_LEN};
use zeroize::Zeroizing;

/// The size in bytes of the distance from the mean to a cluster's base.
const SHARE_LEN: usize = size_of::<f32>();

/// The mean and the direction of every cluster.
#[derive(Clone, Debug, PartialEq)]
pub struct Route {
    mean: Mean,
    /// Unit vectors, one after the other.
    directions: Vec<f32>,
    /// Unit vectors, one after the other.
    bases: Vec<f32>,
}

impl Route {
    /// The encoding of a route: the mean, then for each cluster its share and its direction's 8-bit codes.
    #[must_use]
    pub fn encode<'a>(mean: &Mean, clusters: impl Iterator<Item = (f32, &'a [u8])>) -> Vec<u8> {
        let mut bytes = mean.to_bytes();
        for (share, codes) in clusters {
            bytes.extend(share.to_le_bytes());
            bytes.extend_from_slice(codes);
        }
        bytes
    }

    /// Reads what [`encode`](Self::encode) wrote.
    ///
    /// # Errors
    /// [`Error::Malformed`] if the length does not fit the grid, or a number is not finite.
    pub fn from_bytes(grid: &Grid, width: usize, bytes: &[u8]) -> Result<Self, Error> {
        let malformed = |why: String| Error::Malformed {
            what: "centroids",
            why,
        };
        let expected = grid.route_len(width) - TAG_LEN;
        if bytes.len() != expected {
            let why = format!("{} bytes, expected {expected}", bytes.len());
            return Err(malformed(why));
        }
        let (mean, clusters) = bytes.split_at(width * size_of::<f32>());
        let not_finite = || malformed("a number that is not finite".to_owned());
        let mean = Mean::from_bytes(mean).ok_or_else(not_finite)?;
        let mut route = Self {
            mean,
            directions: Vec::with_capacity(grid.all_clusters() * width),
            bases: Vec::with_capacity(grid.all_clusters() * width),
        };
        for cluster in clusters.chunks_exact(SHARE_LEN + width) {
            let (share, codes) = cluster.split_at(SHARE_LEN);
            let share = share
                .iter()
                .rev()
                .fold(0, |word, &byte| word << 8 | u32::from(byte));
            let share = f32::from_bits(share);
            let direction = unit_from_int8(codes);
            let base = route.mean.as_slice().iter().zip(&direction);
            let mut base: Vec<f32> = base.map(|(mean, x)| mean + share * x).collect();
            if !base.iter().all(|x| x.is_finite()) {
                return Err(not_finite());
            }
            // A base that cannot be normalised has no direction. No part of a vector lies along it, so the whole vector
            // becomes the residual.
            if !normalise(&mut base) {
                base.fill(0.0);
            }
            route.directions.extend(direction);
            route.bases.extend(base);
        }
        Ok(route)
    }

    /// The mean.
    #[must_use]
    pub fn mean(&self) -> &Mean {
        &self.mean
    }

    /// For each group, the number within the group of its best cluster.
    ///
    /// # Security
    /// The function compares all clusters, and keeps the number of the best one by masks.
    #[must_use]
    pub fn nearest(&self, grid: &Grid, query: &[f32]) -> Vec<usize> {
        let centred = self.mean.centred(query);
        let scores: Vec<f32> = self
            .directions
            .chunks_exact(query.len())
            .map(|direction| dot(direction, &centred))
            .collect();
        let groups = scores.chunks_exact(grid.clusters as usize);
        let best = groups.map(|scores| {
            let (mut best, mut highest) = (0, f32::NEG_INFINITY.to_bits());
            for (at, score) in (0u32..).zip(scores) {
                let better = mask(*score > f32::from_bits(highest));
                best = (best & !better) | (at & better);
                highest = (highest & !better) | (score.to_bits() & better);
            }
            best as usize
        });
        best.collect()
    }

    /// A cluster's base, a unit vector.
    #[must_use]
    pub fn base(&self, cluster: usize) -> &[f32] {
        let width = self.mean.as_slice().len();
        &self.bases[cluster * width..][..width]
    }

    /// The base of cluster number `chosen` of this group.
    ///
    /// # Security
    /// Reads the bases of all clusters of the group.
    #[must_use]
    pub fn chosen_base(&self, grid: &Grid, group: usize, chosen: usize) -> Zeroizing<Vec<f32>> {
        let width = self.mean.as_slice().len();
        let clusters = grid.clusters as usize;
        let mut base = Zeroizing::new(vec![0.0f32; width]);
        let bases = self.bases[group * clusters * width..][..clusters * width].chunks_exact(width);
        for (at, other) in bases.enumerate() {
            let mask = mask(at == chosen);
            for (x, other) in base.iter_mut().zip(other) {
                *x = f32::from_bits(x.to_bits() | other.to_bits() & mask);
            }
        }
        base
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic;
    use sordino_index::code::int8;
    use sordino_index::manifest::SecretPacking;

    #[test]
    fn a_route_reads_back_and_finds_the_best_of_each_group() {
        let grid = Grid {
            groups: 3,
            clusters: 4,
            slots: 32,
            packing: SecretPacking::T64,
        };
        let (data, _) = synthetic::clustered(12, 1, 24, 5);
        let mean = Mean::of(data.dim(), data.rows());
        let centred = mean.centred_all(&data).unwrap();
        let mut codes = Vec::new();
        centred.rows().for_each(|row| int8(row, &mut codes));
        let clusters = codes.chunks_exact(24).map(|codes| (0.5, codes));
        let bytes = Route::encode(&mean, clusters);
        let route = Route::from_bytes(&grid, 24, &bytes).unwrap();
        for at in 0..12 {
            assert_eq!(route.nearest(&grid, data.row(at))[at / 4], at % 4);
            assert_eq!(*route.chosen_base(&grid, at / 4, at % 4), route.base(at));
            assert!((dot(route.base(at), route.base(at)) - 1.0).abs() < 1e-5);
            assert!(dot(route.base(at), data.row(at)) > 0.5);
        }
        assert!(Route::from_bytes(&grid, 24, &bytes[1..]).is_err());
        let mut bad = bytes;
        let at = 24 * 4;
        bad[at..at + 4].copy_from_slice(&f32::NAN.to_le_bytes());
        let error = Route::from_bytes(&grid, 24, &bad).unwrap_err().to_string();
        assert_eq!(error, "malformed centroids: a number that is not finite");
    }
}
