//! Balanced spherical k-means: computes centroids, then buckets of one size without empty places.
//!
//! Plain k-means is skewed: at 1,024 clusters of real data the largest holds 4 to 14 times the mean. But all privately
//! fetched buckets must be as large as the largest. So a bucket takes at most `slots` vectors, and further vectors go
//! to the next nearest centroid. The remaining places are filled with second copies of vectors that lie near a
//! boundary.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::ops::Range;

use chacha20::ChaCha20Rng;
use ndarray::{Array2, ArrayView2};
use rand_core::SeedableRng;
use rayon::prelude::*;
use sordino_vectors::rotation::below;
use sordino_vectors::u32_of;
use sordino_vectors::{Vectors, normalise};

use crate::lists::Lists;

/// The number of assign-and-average rounds. After the eighth round, recall at a fixed number of probes rises by less
/// than a percent (measured on image descriptors).
const ITERATIONS: usize = 10;

/// The number of training vectors for each cluster. More vectors change the centroids by less than a different seed
/// does.
pub(crate) const SAMPLE: usize = 64;

/// The number of nearest centroids that are kept for each vector. If the bucket of the first is full, the vector goes
/// to the bucket of a later one.
pub(crate) const NEAREST: usize = 24;

/// Vectors that are compared with centroids. A large index computes them when they are needed, and does not hold all of
/// them.
pub(crate) trait Points: Sync {
    /// The number of vectors.
    fn len(&self) -> usize;

    /// The number of coordinates of each vector.
    fn dim(&self) -> usize;

    /// Some of the vectors, one after the other.
    fn some(&self, rows: Range<usize>) -> Cow<'_, [f32]>;
}

impl Points for Vectors {
    fn len(&self) -> usize {
        Vectors::len(self)
    }

    fn dim(&self) -> usize {
        Vectors::dim(self)
    }

    fn some(&self, rows: Range<usize>) -> Cow<'_, [f32]> {
        let dim = Vectors::dim(self);
        self.as_slice()[rows.start * dim..rows.end * dim].into()
    }
}

/// The number of vectors that are scored at the same time, so that the block of scores stays in the second-level cache.
const ROWS: usize = 128;

/// The number of blocks between two calls of a pulse. They take about a quarter of a second for 4096 centroids of 768
/// coordinates on two cores. This hides the wait of threads at the end.
const BLOCKS: usize = 32;

/// `clusters` unit centroids of unit vectors, by spherical k-means from a random start. `pulse` is called often. A
/// panic in it stops the work.
///
/// # Panics
/// Panics if `clusters` is 0 or exceeds the number of vectors.
#[must_use]
pub(crate) fn centroids(
    data: &impl Points,
    clusters: usize,
    seed: [u8; 32],
    pulse: &mut dyn FnMut(),
) -> Vectors {
    assert!(
        (1..=data.len()).contains(&clusters),
        "1 to {} clusters",
        data.len()
    );
    let mut rng = ChaCha20Rng::from_seed(seed);
    let sample = sample(&mut rng, data, data.len().min(clusters * SAMPLE));
    let dim = data.dim();

    // The sample is in random order, so its first vectors are a random start.
    let mut centroids = sample.as_slice()[..clusters * dim].to_vec();
    for _ in 0..ITERATIONS {
        let start = Vectors::new(dim, centroids).expect("centroids are finite");
        let nearest = nearest(&sample, &start, 1, pulse);
        let mut members = vec![Vec::new(); clusters];
        for (row, near) in nearest.iter().enumerate() {
            members[near[0].0 as usize].push(u32_of(row));
        }
        centroids = start.as_slice().to_vec();
        let empty = centroids.chunks_exact_mut(dim).zip(&members);
        let empty: Vec<_> = empty.filter(|(_, members)| members.is_empty()).collect();
        if !empty.is_empty() {
            for ((centroid, _), row) in empty.into_iter().zip(worst(&sample, &nearest)) {
                centroid.copy_from_slice(row);
            }
        }
        centroids
            .par_chunks_exact_mut(dim)
            .zip(&members)
            .for_each(|(centroid, members)| {
                let mut mean = vec![0.0f32; dim];
                for &row in members {
                    mean.iter_mut()
                        .zip(sample.row(row as usize))
                        .for_each(|(m, x)| *m += x);
                }
                // If the members cancel out, the centroid stays where it was.
                if !members.is_empty() && normalise(&mut mean) {
                    centroid.copy_from_slice(&mean);
                }
            });
    }
    Vectors::new(dim, centroids).expect("centroids are finite")
}

/// Vectors that differ from each other, at which empty clusters restart. The vectors that fit their own cluster worst
/// come first. If there are fewer such vectors than empty clusters, the remaining clusters stay unchanged.
fn worst<'a>(sample: &'a Vectors, nearest: &Lists) -> impl Iterator<Item = &'a [f32]> {
    let mut worst: Vec<(f32, &[f32])> = (nearest.iter())
        .zip(sample.rows())
        .map(|(near, row)| (near[0].1, row))
        .collect();
    // Equal vectors fit equally well, so they end up next to each other.
    worst.sort_by(|a, b| a.partial_cmp(b).unwrap_or(Ordering::Equal));
    worst.dedup_by(|a, b| a.1 == b.1);
    worst.into_iter().map(|(_, row)| row)
}

/// The lists from which rows are assigned to buckets. A row's list does not depend on other rows. `pulse` is called
/// often.
#[must_use]
pub(crate) fn lists(data: &impl Points, centroids: &Vectors, pulse: &mut dyn FnMut()) -> Lists {
    nearest(data, centroids, NEAREST, pulse)
}

/// For each centroid the rows of its bucket, at most `slots` of them. Every row is in one bucket. Second copies follow
/// until all places are taken, or no row has a near centroid with a free place. `nearest` are the rows' lists. Their
/// memory is reused.
///
/// # Panics
/// Panics if the buckets are too small for all rows: `slots * centroids < rows`.
#[must_use]
pub(crate) fn buckets(
    data: &impl Points,
    centroids: &Vectors,
    nearest: Lists,
    slots: usize,
) -> Vec<Vec<u32>> {
    assert!(
        centroids.len() * slots >= data.len(),
        "{} rows do not fit",
        data.len()
    );
    let mut buckets = vec![Vec::with_capacity(slots); centroids.len()];
    let home = place_all(data, centroids, &nearest, slots, &mut buckets);
    fill(centroids, nearest, &home, slots, &mut buckets);
    buckets
}

/// Places every row once. Rows that would lose most without their nearest centroid come first.
fn place_all(
    data: &impl Points,
    centroids: &Vectors,
    nearest: &Lists,
    slots: usize,
    buckets: &mut [Vec<u32>],
) -> Vec<(u32, f32)> {
    let regret = |row: usize| match nearest.list(row) {
        [(_, first), (_, second), ..] => first - second,
        _ => 0.0,
    };
    let mut order: Vec<usize> = (0..data.len()).collect();
    order.sort_by(|&a, &b| regret(b).total_cmp(&regret(a)));

    let mut home = vec![(0, 0.0); data.len()];
    for row in order {
        let has_room = |near: &&(u32, f32)| buckets[near.0 as usize].len() < slots;
        let mut list = nearest.list(row).iter();
        let place = list.find(has_room).copied().unwrap_or_else(|| {
            // All near buckets are full, so the row goes to the nearest one that is not full.
            let vector = data.some(row..row + 1);
            let open = (0..centroids.len()).filter(|&c| buckets[c].len() < slots);
            let scored = open.map(|c| {
                let score = sordino_vectors::dot(centroids.row(c), &vector);
                (u32_of(c), score)
            });
            scored
                .max_by(|a, b| a.1.total_cmp(&b.1))
                .expect("all rows fit")
        });
        buckets[place.0 as usize].push(u32_of(row));
        home[row] = place;
    }
    home
}

/// Fills the remaining places with second copies. Rows nearest to a boundary come first.
///
/// The place of a copy follows SOAR (Sun et al., 2023). A centroid is a better second choice if its residual r' is
/// small and does not point along the first residual r. Then it finds a query that the first misses. The cost is |r'|^2
/// + (r' . r)^2 / |r|^2.
fn fill(
    centroids: &Vectors,
    mut nearest: Lists,
    home: &[(u32, f32)],
    slots: usize,
    buckets: &mut [Vec<u32>],
) {
    // Each list becomes the row's other centroids with their costs, the cheapest first. The row's own centroid has no cost
    // and comes last.
    let each = nearest.each();
    let lists = nearest.entries_mut().par_chunks_exact_mut(each);
    let boundaries = lists.zip(home).map(|(list, &(first, s))| {
        // Vectors and centroids have length 1, so inner products give the residuals.
        let r2 = (2.0 - 2.0 * s).max(1e-6);
        for (other, score) in list.iter_mut() {
            let (own, s2) = (centroids.row(first as usize), *score);
            let between = sordino_vectors::dot(own, centroids.row(*other as usize));
            let along = 1.0 - s - s2 + between;
            *score = match *other == first {
                true => f32::INFINITY,
                false => 2.0 - 2.0 * s2 + along * along / r2,
            };
        }
        list.sort_by(|a, b| a.1.total_cmp(&b.1));
        list[0].1 - r2
    });
    let boundaries: Vec<f32> = boundaries.collect();
    // For each row its first alternative that may have a free place. A place that was taken is never free again.
    let mut rows: Vec<(u32, u32)> = (0..u32_of(boundaries.len())).map(|row| (row, 0)).collect();
    rows.sort_by(|a, b| boundaries[a.0 as usize].total_cmp(&boundaries[b.0 as usize]));

    let mut placed = true;
    while placed {
        placed = false;
        for (row, next) in &mut rows {
            let (first, list) = (home[*row as usize].0, nearest.list(*row as usize));
            let free = |&(c, _): &(u32, f32)| c != first && buckets[c as usize].len() < slots;
            let rest = &list[*next as usize..];
            let Some(at) = rest.iter().position(free) else {
                *next = u32_of(each);
                continue;
            };
            buckets[rest[at].0 as usize].push(*row);
            *next += u32_of(at + 1);
            placed = true;
        }
    }
}

/// For each row its `count` nearest centroids, or all if there are fewer. `pulse` is called often.
#[must_use]
pub(crate) fn nearest(
    data: &impl Points,
    centroids: &Vectors,
    count: usize,
    pulse: &mut dyn FnMut(),
) -> Lists {
    let transposed = centroids.view(0..centroids.len()).reversed_axes();
    let starts: Vec<usize> = (0..data.len()).step_by(ROWS).collect();
    let count = count.min(centroids.len());
    let mut nearest = Vec::with_capacity(data.len() * count);
    for starts in starts.chunks(BLOCKS) {
        let blocks = starts.into_par_iter().flat_map_iter(|&start| {
            let end = data.len().min(start + ROWS);
            let block = data.some(start..end);
            let block = ArrayView2::from_shape((end - start, data.dim()), &block);
            let scores: Array2<f32> = block.expect("whole vectors").dot(&transposed);
            // Vectors of one coordinate give a column-major matrix.
            let scores = scores.as_standard_layout();
            let rows = scores
                .outer_iter()
                .flat_map(|row| best(row.as_slice().expect("contiguous"), count));
            rows.collect::<Vec<_>>()
        });
        nearest.par_extend(blocks);
        pulse();
    }
    Lists::new(count, nearest)
}

/// The `count` largest scores with their positions, best first.
fn best(scores: &[f32], count: usize) -> Vec<(u32, f32)> {
    let mut kept: Vec<(u32, f32)> = Vec::with_capacity(count + 1);
    let mut bar = f32::NEG_INFINITY;
    for (place, &score) in scores.iter().enumerate() {
        if score > bar {
            let at = kept.partition_point(|kept| kept.1 >= score);
            kept.insert(at, (u32_of(place), score));
            kept.truncate(count);
            if kept.len() == count {
                bar = kept[count - 1].1;
            }
        }
    }
    kept
}

/// `count` rows in random order. No row is chosen twice.
fn sample(rng: &mut ChaCha20Rng, data: &impl Points, count: usize) -> Vectors {
    let mut rows: Vec<usize> = (0..data.len()).collect();
    for place in 0..count {
        let from = place + below(rng, data.len() - place);
        rows.swap(place, from);
    }
    let mut sampled = Vec::with_capacity(count * data.dim());
    for &row in &rows[..count] {
        sampled.extend_from_slice(&data.some(row..row + 1));
    }
    Vectors::new(data.dim(), sampled).expect("rows of a matrix")
}

#[cfg(test)]
mod tests {
    use super::*;
    use sordino_vectors::dot;
    use sordino_vectors::synthetic;

    fn data() -> Vectors {
        synthetic::clustered(3000, 1, 32, 5).0
    }

    #[test]
    fn every_row_is_placed_and_every_place_is_taken() {
        let data = data();
        for (clusters, slots) in [(60, 100), (100, 31), (1, 3000), (3000, 1), (1500, 4)] {
            let centroids = centroids(&data, clusters, [1; 32], &mut || ());
            let lists = lists(&data, &centroids, &mut || ());
            let buckets = buckets(&data, &centroids, lists, slots);
            let mut copies = vec![0; data.len()];
            for bucket in &buckets {
                assert!(bucket.len() <= slots);
                let mut rows = bucket.clone();
                rows.sort_unstable();
                rows.dedup();
                assert_eq!(rows.len(), bucket.len(), "a row twice in one bucket");
                rows.iter().for_each(|&row| copies[row as usize] += 1);
            }
            assert!(copies.iter().all(|&copies| copies >= 1));
            // With one cluster there is no second choice. Otherwise nearly all places are used.
            if clusters > 1 {
                let taken: usize = copies.iter().sum();
                assert!(
                    taken * 100 >= clusters * slots * 99,
                    "{taken} of {}",
                    clusters * slots
                );
            }
        }
    }

    #[test]
    fn first_homes_are_nearest_where_there_is_room() {
        let data = data();
        let centroids = centroids(&data, 40, [1; 32], &mut || ());
        let lists = lists(&data, &centroids, &mut || ());
        let buckets = buckets(&data, &centroids, lists, 3000);
        let near = nearest(&data, &centroids, 1, &mut || ());
        for (row, near) in near.iter().enumerate() {
            assert!(buckets[near[0].0 as usize].contains(&u32_of(row)));
        }
    }

    /// The lists must agree to the bit, so that a task with some of the rows finds what a task with all of them finds.
    #[test]
    fn a_row_has_the_same_list_among_any_others() {
        for dim in [1, 3, 32, 300] {
            let data = synthetic::clustered(700, 1, dim, 5).0;
            let centroids = centroids(&data, 30, [3; 32], &mut || ());
            let all = lists(&data, &centroids, &mut || ());
            assert!(all.iter().all(|list| list.len() == NEAREST));
            for (first, end) in [(0, 1), (0, 127), (5, 700), (129, 400), (699, 700)] {
                // The rows come in reverse order, as they may after they were sorted by their ids.
                let rows = (first..end).rev().flat_map(|row| data.row(row)).copied();
                let some = Vectors::new(dim, rows.collect()).unwrap();
                let found = lists(&some, &centroids, &mut || ());
                let expected = (first..end).rev().map(|row| all.list(row));
                let same = found.iter().eq(expected);
                assert!(same, "{first}..{end} of {dim} coordinates");
            }
        }
    }

    #[test]
    fn clustering_tightens_and_repeats() {
        let data = data();
        let trained = centroids(&data, 50, [9; 32], &mut || ());
        assert_eq!(trained, centroids(&data, 50, [9; 32], &mut || ()));
        let fit = |centroids: &Vectors| -> f32 {
            nearest(&data, centroids, 1, &mut || ())
                .iter()
                .map(|near| near[0].1)
                .sum::<f32>()
                / 3000.0
        };
        let start = Vectors::new(32, data.as_slice()[..50 * 32].to_vec()).unwrap();
        assert!(fit(&trained) > fit(&start) + 0.02);
        trained
            .rows()
            .for_each(|c| assert!((dot(c, c) - 1.0).abs() < 1e-5));
    }

    /// If empty clusters restarted at copies of the same vector, other vectors would have no cluster.
    #[test]
    fn every_vector_that_has_many_copies_has_a_cluster() {
        for (distinct, copies, clusters) in [(25, 100, 50), (60, 48, 96), (20, 200, 20)] {
            let points = synthetic::uniform(distinct, 32, 6);
            let rows = (0..copies).flat_map(|_| points.as_slice()).copied();
            let data = Vectors::new(32, rows.collect()).unwrap();
            let centroids = centroids(&data, clusters, [4; 32], &mut || ());
            let near = nearest(&points, &centroids, 1, &mut || ());
            let worst = near.iter().map(|near| near[0].1).fold(1.0, f32::min);
            assert!(worst > 0.999, "{distinct} x {copies}: {worst}");
        }
    }

    #[test]
    fn nearest_is_a_sorted_prefix_of_all_scores() {
        let data = data();
        let centroids = centroids(&data, 30, [2; 32], &mut || ());
        for (row, near) in nearest(&data, &centroids, 7, &mut || ())
            .iter()
            .enumerate()
            .step_by(97)
        {
            let mut all: Vec<f32> = centroids.rows().map(|c| dot(c, data.row(row))).collect();
            all.sort_by(|a, b| b.total_cmp(a));
            for ((_, score), expected) in near.iter().zip(all) {
                assert!((score - expected).abs() < 1e-5);
            }
        }
    }
}
