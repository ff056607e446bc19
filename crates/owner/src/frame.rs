//! The frame of an index, trained on some of its vectors: a robust centre, and bases if they help.

use chacha20::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};
use rayon::prelude::*;
use sordino_index::Error;
use sordino_vault::frame::{Frame, most_bases};
use sordino_vectors::metric::{Metric, length};
use sordino_vectors::rotation::below;
use sordino_vectors::{Vectors, to_f32};

use crate::room;

/// The largest number of vectors on which a frame is trained.
pub(crate) const SAMPLE: usize = 8192;

/// The smallest number of vectors from which a base is computed. A base of fewer vectors would nearly equal one of them, and
/// would stay after that vector is deleted. One in this number of vectors is also left out of training, and serves to measure
/// the gain from bases.
pub(crate) const EACH: usize = 8;

/// The largest number of bytes of all bases together. If there are many vectors, the bases may instead have one byte for each
/// [`ROWS_A_BYTE`] vectors.
const BYTES: usize = 8192;
const ROWS_A_BYTE: usize = 5;

/// The number of rounds of assigning vectors and computing medians.
const ROUNDS: usize = 8;

/// Bases are used if they make residuals shorter by this many powers of two on average. The threshold exists because each row
/// must be compared with all bases.
const GAIN: f64 = 0.35;

/// The bound on lifted vectors follows from the length that this percentage of the vectors does not exceed. The bound includes
/// all vectors if none is longer than [`FAR`] times this length.
const WITHIN: usize = 98;
const FAR: f64 = 4.0;

/// The largest gain of a single vector, in powers of two. A larger gain counts as this one, because a vector that lies on a
/// base by chance says little about the others.
const MOST: f64 = 4.0;

/// The smallest number of vectors of a centre, so that it reveals no single record. The frame may outlive records, and all
/// readers know it.
const CROWD: usize = 32;

/// Splits vectors into two parts. One in [`EACH`] vectors is for measuring a frame, and the others are for training it.
pub(crate) fn parted<T>(all: impl IntoIterator<Item = T>) -> (Vec<T>, Vec<T>) {
    let (mut teach, mut held) = (Vec::new(), Vec::new());
    for (at, one) in all.into_iter().enumerate() {
        match (at + 1).is_multiple_of(EACH) {
            true => held.push(one),
            false => teach.push(one),
        }
    }
    (teach, held)
}

/// The powers of two by which residuals of these lengths became shorter on average, or 0 for an empty list.
pub(crate) fn gain(lengths: impl IntoIterator<Item = (f64, f64)>) -> f64 {
    let (mut sum, mut count) = (0.0, 0usize);
    for (before, after) in lengths {
        if before != after {
            sum += (before / after).log2().clamp(-MOST, MOST);
        }
        count += 1;
    }
    sum / count.max(1) as f64
}

/// The frame of an index of `n` vectors, trained on this sample. `hidden` is true if some readers may not read all
/// records. The frame then has no bases.
///
/// # Errors
/// [`Error::Memory`] if training needs more memory than is available.
pub(crate) fn trained(
    metric: Metric,
    rotation: [u8; 32],
    sample: &Vectors,
    n: usize,
    seed: [u8; 32],
    hidden: bool,
) -> Result<Frame, Error> {
    let step = sample.len().div_ceil(SAMPLE);
    let rows: Vec<&[f32]> = sample.rows().step_by(step).collect();
    let (dim, width) = (sample.dim(), sample.dim() + metric.added() as usize);
    let origin = || vec![0.0; dim];
    room::check(rows.len() * width, 2 * size_of::<f32>())?;
    let centre = match rows.len() < CROWD {
        true => origin(),
        false => medians(&rows, metric),
    };
    let room = count(metric, n, width);
    let plain = |centre: Vec<f32>| {
        let bases = vec![0.0; width * room];
        Frame::new(metric, rotation, centre, bases)
    };
    let frame = plain(centre.clone());
    let around: Vec<Vec<f32>> = rows.par_iter().map(|row| frame.centred(row)).collect();
    let bound = bound(around.iter().map(|y| length(y)).collect());
    let (teach, held) = parted(around);
    let count = room.min(teach.len() / EACH);
    // A base reveals that records lie together, and some readers may not know of these records.
    if hidden || count < 2 {
        return Ok(frame.with_bound(bound));
    }
    let mut bases = bases(&teach, count, seed);
    bases.resize(width * room, 0.0);
    let better = Frame::new(metric, rotation, centre, bases);
    let lengths = held.par_iter().map(|y| {
        let near = better.residual(better.nearest_base(y), y);
        (length(y), length(&near))
    });
    let gain = gain(lengths.collect::<Vec<_>>());
    let frame = if gain > GAIN { better } else { frame };
    Ok(frame.with_bound(bound))
}

/// The number of bases that a frame of `n` vectors may have. The frame uses them only if they help. The number follows
/// from public sizes only. Callers that do not know `n` yet pass [`SAMPLE`].
fn count(metric: Metric, n: usize, width: usize) -> usize {
    let bytes = BYTES.max(n / ROWS_A_BYTE);
    (bytes / (size_of::<f32>() * width)).clamp(1, most_bases(metric))
}

/// The median of each coordinate. For the cosine, vectors are first scaled to length 1.
fn medians(rows: &[&[f32]], metric: Metric) -> Vec<f32> {
    let scale = |row: &&[f32]| match metric {
        Metric::Cosine => length(row),
        Metric::InnerProduct | Metric::Euclidean => 1.0,
    };
    let scales: Vec<f64> = rows.iter().map(scale).collect();
    let dim = rows.first().map_or(0, |row| row.len());
    let columns = (0..dim).into_par_iter().map(|column| {
        let values = rows.iter().zip(&scales);
        median(
            values
                .map(|(row, scale)| to_f32(f64::from(row[column]) / scale))
                .collect(),
        )
    });
    columns.collect()
}

/// The middle one of these numbers, or the larger of the two middle ones. The result is 0 for an empty list.
fn median(mut values: Vec<f32>) -> f32 {
    let middle = values.len() / 2;
    if values.is_empty() {
        return 0.0;
    }
    *values.select_nth_unstable_by(middle, f32::total_cmp).1
}

/// The same frame with a bound for vectors of these lengths.
pub(crate) fn rebound(frame: &Frame, lengths: Vec<f64>) -> Frame {
    frame.clone().with_bound(bound(lengths))
}

/// The bound on the length of lifted vectors, which leaves out vectors that are far longer than the rest.
fn bound(mut lengths: Vec<f64>) -> f64 {
    lengths.sort_unstable_by(f64::total_cmp);
    let most = lengths.last().copied().unwrap_or(1.0);
    let within = lengths[(lengths.len() - 1) * WITHIN / 100];
    match within {
        0.0 if most == 0.0 => 1.0,
        0.0 => most,
        within if most <= FAR * within => most,
        within => within * FAR / 2.0,
    }
}

/// Bases for these vectors, by rounds of medians from starting points that are far apart. If few vectors lie near a base, it is
/// replaced by the centre.
fn bases(around: &[Vec<f32>], count: usize, seed: [u8; 32]) -> Vec<f32> {
    let mut rng = ChaCha20Rng::from_seed(seed);
    let mut bases = start(around, count, &mut rng);
    for round in 1..=ROUNDS {
        let home = around.par_iter().map(|y| nearest(&bases, y).0);
        let home: Vec<usize> = home.collect();
        let mut members = vec![Vec::new(); bases.len()];
        for (y, home) in around.iter().zip(home) {
            members[home].push(&y[..]);
        }
        bases = bases
            .into_par_iter()
            .zip(members)
            .map(|(base, members)| {
                // A starting point is one of the vectors, and a median of few vectors nearly equals one of them.
                if round == ROUNDS && members.len() < EACH {
                    return vec![0.0; base.len()];
                }
                if members.is_empty() {
                    return base;
                }
                let column = |at: usize| median(members.iter().map(|y| y[at]).collect());
                (0..base.len()).map(column).collect()
            })
            .collect();
    }
    bases.concat()
}

/// Vectors that are far apart. Each is chosen with a probability that grows with its distance from the earlier ones.
fn start(around: &[Vec<f32>], count: usize, rng: &mut ChaCha20Rng) -> Vec<Vec<f32>> {
    let mut chosen = vec![around[below(rng, around.len())].clone()];
    let distance = |a: &[f32], b: &[f32]| squared(a, b).sqrt();
    let far = around.par_iter().map(|y| distance(y, &chosen[0]));
    let mut far: Vec<f64> = far.collect();
    while chosen.len() < count {
        // Distances are not squared: otherwise rows that are far from all others would take all bases.
        let mut left = far.iter().sum::<f64>() * (rng.next_u32() as f64 / 2f64.powi(32));
        let past = |far: &f64| {
            left -= far;
            left < 0.0
        };
        let at = far.iter().position(past).unwrap_or(0);
        let new = around[at].clone();
        far.par_iter_mut()
            .zip(around)
            .for_each(|(far, y)| *far = far.min(distance(y, &new)));
        chosen.push(new);
    }
    chosen
}

fn nearest(bases: &[Vec<f32>], y: &[f32]) -> (usize, f64) {
    let all = bases.iter().map(|base| squared(base, y)).enumerate();
    all.fold(
        (0, f64::INFINITY),
        |best, new| if new.1 < best.1 { new } else { best },
    )
}

fn squared(a: &[f32], b: &[f32]) -> f64 {
    let pairs = a.iter().zip(b).map(|(&a, &b)| f64::from(a) - f64::from(b));
    pairs.map(|x| x * x).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use sordino_vectors::synthetic;

    fn trained_on(vectors: &Vectors, hidden: bool) -> Frame {
        let n = vectors.len();
        trained(Metric::Euclidean, [1; 32], vectors, n, [2; 32], hidden).unwrap()
    }

    #[test]
    fn a_few_rows_far_away_do_not_move_the_centre_nor_the_bound() {
        let mut data = synthetic::uniform(1000, 16, 1).as_slice().to_vec();
        data.iter_mut().for_each(|x| *x += 100.0);
        data[..16 * 10].iter_mut().for_each(|x| *x *= 1e6);
        let frame = trained_on(&Vectors::new(16, data).unwrap(), false);
        let y = frame.centred(&[100.0; 16]);
        assert!(length(&y) < 1.0, "{}", length(&y));
        assert!(frame.longest() <= 4.0);
    }

    #[test]
    fn bases_are_used_where_vectors_lie_in_groups_and_their_bytes_do_not_tell() {
        let near = synthetic::uniform(2000, 8, 1).as_slice().to_vec();
        let mut apart = near.clone();
        for (at, row) in apart.chunks_exact_mut(8).enumerate() {
            row.iter_mut()
                .for_each(|x| *x += [0.0, 40.0, -70.0][at % 3]);
        }
        let [near, apart] = [near, apart].map(|data| Vectors::new(8, data).unwrap());
        let (plain, grouped) = (trained_on(&near, false), trained_on(&apart, false));
        assert_eq!(plain.to_bytes().len(), grouped.to_bytes().len());
        for row in apart.rows() {
            let y = grouped.centred(row);
            let residual = grouped.residual(grouped.nearest_base(&y), &y);
            assert!(length(&residual) < 2.5);
        }
        // If records may be hidden from some readers, there are no bases.
        let hidden = trained_on(&apart, true);
        assert_eq!(hidden.nearest_base(&hidden.centred(apart.row(1))), 0);
        let few = Vectors::new(8, apart.as_slice()[..8 * 31].to_vec()).unwrap();
        for hidden in [true, false] {
            let few = trained_on(&few, hidden);
            assert_eq!(few.restored(&vec![0.0; few.stored_dim()]), [0.0; 8]);
        }
    }

    /// Records may be deleted while the frame stays, so no base may equal a record.
    #[test]
    fn no_base_is_a_record() {
        for n in [1, 31, 40, 1000] {
            let mut data = synthetic::uniform(n, 8, 1).as_slice().to_vec();
            for (at, row) in data.chunks_exact_mut(8).enumerate() {
                let far = if at % 25 == 7 {
                    1000.0 + at as f32
                } else {
                    0.0
                };
                row.iter_mut()
                    .for_each(|x| *x += far + [0.0, 40.0, -70.0][at % 3]);
            }
            let all = Vectors::new(8, data).unwrap();
            let frame = trained_on(&all, false);
            let bases = (0..frame.bases()).map(|at| frame.base(u8::try_from(at).unwrap()));
            let bases: Vec<&[f32]> = bases.collect();
            assert!(n < 1000 || bases.iter().any(|base| base.iter().any(|&x| x != 0.0)));
            for row in all.rows() {
                let y = frame.centred(row);
                assert!(bases.iter().all(|base| length(&y) == 0.0 || y != *base));
                assert!(length(&y) > 0.0, "{n}");
            }
        }
    }

    #[test]
    fn vectors_on_a_base_say_little_of_what_it_is_worth() {
        assert_eq!(gain([]), 0.0);
        assert_eq!(gain([(0.0, 0.0), (3.0, 3.0)]), 0.0);
        assert_eq!(gain([(8.0, 4.0), (8.0, 0.0), (0.0, 1.0)]), 1.0 / 3.0);
    }

    #[test]
    fn the_bytes_of_a_frame_follow_from_the_vectors_that_are_announced() {
        let (some, more) = (
            synthetic::uniform(100, 8, 1),
            synthetic::uniform(5000, 8, 2),
        );
        let len = |vectors| {
            let frame = trained(Metric::Euclidean, [1; 32], vectors, SAMPLE, [2; 32], false);
            frame.unwrap().to_bytes().len()
        };
        assert_eq!(len(&some), len(&more));
    }
}
