//! The noise that encryption adds to the scores of routed mode, drawn for a measurement.
//!
//! It depends only on the query and the place. So a build is a function of its inputs, and two cuts of one index are
//! compared under the same noise.

use sordino_index::manifest::Grid;

use crate::random::mixed;

/// The noise of the products of one query's codes.
pub(super) struct Noise {
    seed: u64,
    /// Steps for each unit of a drawn sum, in units of 2^-24.
    unit: i64,
}

impl Noise {
    /// The noise of a query in an index with this cut, for vectors of `width` coordinates.
    #[expect(clippy::cast_possible_truncation, reason = "a small number")]
    pub(super) fn new(query: &[f32], grid: &Grid, width: usize) -> Self {
        let words = query.iter().map(|x| u64::from(x.to_bits()));
        // The standard deviation of a sum of four numbers below 2^16 that are equally likely.
        let drawn = 65_536.0 / 3f64.sqrt();
        Self {
            seed: words.fold(0, |seed, word| mixed(seed ^ word)),
            unit: (grid.noise(width) / drawn * 24f64.exp2()).round() as i64,
        }
    }

    /// The noise at a place of a cluster, in steps of `P`. It is close to normal up to three standard deviations and
    /// never above 3.5, which is enough for a mean recall.
    #[expect(clippy::cast_possible_truncation, reason = "some hundred steps")]
    pub(super) fn at(&self, cluster: usize, place: usize) -> i32 {
        let drawn = mixed(self.seed ^ ((cluster as u64) << 32) ^ place as u64);
        let parts = [0, 16, 32, 48].map(|shift| i64::from((drawn >> shift) as u16));
        let sum = parts.iter().sum::<i64>() - 2 * 0xffff;
        // The computation uses integers, since it is repeated for every product, and rounding would take as long as a
        // product.
        ((sum * self.unit + (1 << 23)) >> 24) as i32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sordino_index::manifest::SecretPacking;

    #[test]
    fn it_is_that_of_the_scheme_and_the_same_again() {
        for (clusters, packing, steps) in [
            (8, SecretPacking::T128, 44.3),
            (16, SecretPacking::T128, 62.4),
            (64, SecretPacking::T16, 124.5),
        ] {
            let grid = Grid {
                groups: 4,
                clusters,
                slots: 512,
                packing,
            };
            let (a, b) = (
                Noise::new(&[0.5, 0.25], &grid, 128),
                Noise::new(&[0.25, 0.5], &grid, 128),
            );
            let places = |noise: &Noise| -> Vec<f64> {
                let at = (0..200).flat_map(|cluster| (0..500).map(move |place| (cluster, place)));
                at.map(|(cluster, place)| f64::from(noise.at(cluster, place)))
                    .collect()
            };
            let (one, other) = (places(&a), places(&b));
            assert_eq!(one, places(&a));
            let mean = |of: &dyn Fn(usize) -> f64| (0..one.len()).map(of).sum::<f64>() / 1e5;
            let deviation = mean(&|at| one[at].powi(2)).sqrt();
            assert!((deviation / steps - 1.0).abs() < 0.02, "{deviation}");
            assert!(mean(&|at| one[at]).abs() < 0.02 * steps);
            // The product with another query's noise, and with the noise of near places, is 0 on average.
            let both = mean(&|at| one[at] * other[at]);
            let beside = mean(&|at| one[at] * one[(at + 1) % one.len()]);
            let above = mean(&|at| one[at] * one[(at + 500) % one.len()]);
            for product in [both, beside, above] {
                assert!((product / deviation.powi(2)).abs() < 0.02, "{product}");
            }
            let beyond = one.iter().filter(|x| x.abs() > 2.0 * deviation).count();
            assert!((3_500..5_500).contains(&beyond), "{beyond}");
        }
    }
}
