//! Both engines together on clustered vectors. Scores equal plain arithmetic up to the derived noise.

#![expect(
    clippy::cast_possible_truncation,
    reason = "random words and coordinates are cut to entries"
)]

use chacha20::ChaCha12Rng;
use rand_core::{Rng, SeedableRng};
use sordino_ckks::column;
use sordino_lwe::{Client, Params, Query, Seed, Shape, Table};

const SEED: Seed = Seed([3; 32]);
/// The number of dimensions, of clusters in a group, of groups, and of vectors in a cluster.
const DIM: usize = 64;
const CLUSTERS: usize = 32;
const GROUPS: usize = 3;
const ROWS: usize = 40;
/// The norm of codes, with which scores stay within half of `P`.
const NORM: f64 = 320.0;

/// A random number with mean 0 and variance of about 1.
fn normal(rng: &mut ChaCha12Rng) -> f64 {
    let sum: u64 = (0..12).map(|_| u64::from(rng.next_u32())).sum();
    sum as f64 / 2f64.powi(32) - 6.0
}

fn unit(vector: &mut [f64]) {
    let norm = vector.iter().map(|x| x * x).sum::<f64>().sqrt();
    vector.iter_mut().for_each(|x| *x /= norm);
}

fn codes(vector: &[f64]) -> Vec<i16> {
    vector.iter().map(|x| (x * NORM).round() as i16).collect()
}

fn dot<T: Copy + Into<i64>>(a: &[T], b: &[i16]) -> i64 {
    let products = a.iter().zip(b).map(|(&a, &b)| a.into() * i64::from(b));
    products.sum()
}

/// The vectors of every cluster of every group, which are near the cluster's centre. Also returns
/// the centres.
fn clustered(rng: &mut ChaCha12Rng) -> (Vec<Vec<f64>>, Vec<Vec<i16>>) {
    let (mut centres, mut vectors) = (Vec::new(), Vec::new());
    for _ in 0..GROUPS * CLUSTERS {
        let mut centre: Vec<f64> = (0..DIM).map(|_| normal(rng)).collect();
        unit(&mut centre);
        for _ in 0..ROWS {
            let mut vector: Vec<f64> = centre.iter().map(|x| x + 0.08 * normal(rng)).collect();
            unit(&mut vector);
            vectors.push(codes(&vector));
        }
        centres.push(centre);
    }
    (centres, vectors)
}

/// The ten rows with the largest scores.
fn top(scores: &[i64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by_key(|&i| (-scores[i], i));
    order.truncate(10);
    order
}

#[test]
fn scores_of_hidden_clusters_are_those_of_plain_arithmetic() {
    let mut rng = ChaCha12Rng::from_seed([1; 32]);
    let (centres, vectors) = clustered(&mut rng);
    let (params, outer) = (Params::module_1536(), column::Params::modular_26_t64());
    let shape = Shape::new(GROUPS, ROWS, CLUSTERS * DIM).unwrap();

    // An entry is the sum of a code and a pad, mod P.
    let pads: Vec<Vec<i32>> = vectors
        .iter()
        .map(|_| (0..DIM).map(|_| rng.next_u32().cast_signed()).collect())
        .collect();
    let mut table = Table::zeroed(&params, shape, &SEED);
    for row in 0..shape.answers() {
        let (g, i) = (row / ROWS, row % ROWS);
        let entries = (0..CLUSTERS).flat_map(|c| {
            let at = (g * CLUSTERS + c) * ROWS + i;
            let pairs = vectors[at].iter().zip(&pads[at]);
            pairs.map(|(code, pad)| pad.wrapping_add((*code).into()))
        });
        table.set(row, &entries.collect::<Vec<_>>()).unwrap();
    }
    let hint = table.hint(0..shape.answers());
    let (hint, download) =
        column::Database::encode_modular(&outer, SEED, &hint, params.n()).unwrap();
    let client = Client::new(&params, shape, &SEED);
    let reader = column::Client::new(&outer, SEED, params.n(), shape.answers(), &download).unwrap();

    let outer_error = outer.statistical_error(params.n()) / 256.0;
    let expected = params.statistical_noise(shape.columns()).hypot(outer_error);
    let (mut errors, mut found, mut wanted) = (Vec::new(), 0, 0);
    for _ in 0..6 {
        // The query is near one vector of the set, so its result depends on that vector's cluster.
        let near = (rng.next_u32() as usize) % vectors.len();
        let mut query: Vec<f64> = vectors[near]
            .iter()
            .map(|&x| f64::from(x) / NORM + 0.08 * normal(&mut rng))
            .collect();
        unit(&mut query);
        let chosen: Vec<usize> = (0..GROUPS)
            .map(|g| {
                let score = |c: &usize| -> f64 {
                    let centre = &centres[g * CLUSTERS + c];
                    centre.iter().zip(&query).map(|(x, y)| x * y).sum()
                };
                (0..CLUSTERS)
                    .max_by(|a, b| score(a).total_cmp(&score(b)))
                    .unwrap()
            })
            .collect();
        let query = codes(&query);
        let mut message = vec![0; shape.words()];
        for (g, c) in chosen.iter().enumerate() {
            message[(g * CLUSTERS + c) * DIM..][..DIM].copy_from_slice(&query);
        }

        let (secret, b) = client.query(&mut rng, &message).unwrap();
        let (outer_secret, enc_s) = reader
            .encrypt_modular(&mut rng, &secret.into_negated())
            .unwrap();
        // The server's part.
        let b = Query::from_bytes(&b.to_bytes()).unwrap();
        let y = table.answer(&b).unwrap();
        let reply = hint.score_onto(&[enc_s], &[&y]).unwrap().remove(0);
        // The client's part.
        let padded = reader.decrypt_modular(outer_secret, &reply).unwrap();
        let (mut scores, mut exact) = (Vec::new(), Vec::new());
        for (row, padded) in padded.iter().enumerate() {
            let at = (row / ROWS * CLUSTERS + chosen[row / ROWS]) * ROWS + row % ROWS;
            let score = padded - (dot(&pads[at], &query) << 8);
            let score = (score << 38) >> 38;
            scores.push(score);
            exact.push(dot(&vectors[at], &query));
            errors.push(score as f64 / 256.0 - exact[row] as f64);
        }
        let (best, true_best) = (top(&scores), top(&exact));
        found += best.iter().filter(|row| true_best.contains(row)).count();
        wanted += true_best.len();
    }
    let rms = (errors.iter().map(|e| e * e).sum::<f64>() / errors.len() as f64).sqrt();
    let mean = errors.iter().sum::<f64>() / errors.len() as f64;
    let worst = errors.iter().fold(0f64, |worst, e| worst.max(e.abs()));
    println!(
        "noise {rms:.3} steps, derived {expected:.3}; mean {mean:.3}, worst {worst:.1}; {found} of {wanted}"
    );
    assert!((0.85..1.15).contains(&(rms / expected)), "{rms} {expected}");
    assert!(worst < 7.0 * expected, "{worst}");
    assert!(mean.abs() < 0.25 * expected, "{mean}");
    // Rows whose scores are equal up to the noise can change places around the tenth place.
    assert!(found + 2 >= wanted, "{found} of {wanted}");
}
