//! Vectors whose rounding errors add up. The bound for all vectors holds for them. The statistical bound does
//! not hold for them.

#![expect(
    clippy::cast_possible_truncation,
    reason = "vectors are single precision"
)]

use chacha20::ChaCha12Rng;
use rand_core::SeedableRng;
use sordino_ckks::precision::{Statistics, WorstError, statistical_bound};
use sordino_ckks::{column, dot};

const SEED: [u8; 32] = [7; 32];

/// Coordinates that all have the same value, for the largest norm.
fn constant(dim: usize, norm: f64) -> Vec<f32> {
    vec![(norm * 0.999_999 / (dim as f64).sqrt()) as f32; dim]
}

/// Equal coordinates just below the middle between two steps of a grid of `scale`, where rounding errs most.
fn between_steps(dim: usize, norm: f64, scale: f64) -> Vec<f32> {
    let steps = (norm * scale / (dim as f64).sqrt() - 1.0).floor();
    vec![((steps + 0.499) / scale) as f32; dim]
}

fn first(dim: usize) -> Vec<f32> {
    let mut vector = vec![0.0; dim];
    vector[0] = 1.0;
    vector
}

fn exact(x: &[f32], y: &[f32]) -> f64 {
    let products = x.iter().zip(y);
    products.map(|(&x, &y)| f64::from(x) * f64::from(y)).sum()
}

/// Checks that the errors of scores are within the bound for all vectors. Returns true if they exceed the
/// statistical bound.
fn holds(pairs: Vec<(f64, f64)>, worst: WorstError, statistical: f64, what: &str) -> bool {
    let found = Statistics::of(pairs);
    let bound = worst.bound(found.count, -40.0);
    println!("{what}: worst {:.2e} of {bound:.2e}", found.worst);
    assert!(found.worst <= bound, "{what}: {:e} {bound:e}", found.worst);
    found.worst > statistical_bound(statistical, found.count, -40.0)
}

#[test]
fn column_packing_keeps_its_bound_for_all_vectors() {
    let mut rng = ChaCha12Rng::from_seed([1; 32]);
    let mut left = 0;
    for params in [
        column::Params::real_t4(),
        column::Params::real_t8(),
        column::Params::real_t16(),
        column::Params::real_t64(),
    ] {
        for dim in [2, 128, 496, 600, 2021] {
            let norm = params.norm_bound();
            let kinds = [
                constant(dim, norm),
                between_steps(dim, norm, 8000.0),
                first(dim),
            ];
            let count = params.block_vectors() / 4;
            for vector in &kinds {
                let vectors = vector.repeat(count);
                let (database, hint) =
                    column::Database::encode(&params, SEED, &vectors, dim).unwrap();
                let client = column::Client::new(&params, SEED, dim, count, &hint).unwrap();
                for query in &kinds {
                    let (secret, sent) = client.encrypt(&mut rng, query).unwrap();
                    let reply = database.score(&sent).unwrap();
                    let scores = client.decrypt(secret, &reply).unwrap();
                    let expected = exact(query, vector);
                    let pairs = scores.iter().map(|&score| (f64::from(score), expected));
                    let (worst, statistical) =
                        (params.worst_error(dim), params.statistical_error(dim));
                    let what = format!("{} {dim}", params.name());
                    left += u32::from(holds(pairs.collect(), worst, statistical, &what));
                }
            }
        }
    }
    assert!(left > 0, "the statistical bound would do");
    // The README states these two bounds.
    let stated = column::Params::real_t4().worst_error(128).bound(1, -40.0);
    assert!((stated / 1.1e-3 - 1.0).abs() < 0.05, "{stated:e}");
    let stated = dot::Params::rlwe_2048_50().worst_error(128).bound(1, -40.0);
    assert!((stated / 1.1e-5 - 1.0).abs() < 0.05, "{stated:e}");
}

#[test]
fn row_packing_keeps_its_bound_for_all_vectors() {
    let mut rng = ChaCha12Rng::from_seed([2; 32]);
    let mut left = 0;
    for params in [
        dot::Params::rlwe_2048_50(),
        dot::Params::rlwe_2048_50_fine(),
    ] {
        for dim in [2, 50, 496, 2021, 5000] {
            let (norm, scale) = (params.norm_bound(), f64::from(1 << 21));
            let kinds = [
                constant(dim, norm),
                between_steps(dim, norm, scale),
                first(dim),
            ];
            let count = (4096 / dim).max(2);
            for vector in &kinds {
                let vectors = vector.repeat(count);
                let plaintexts = dot::Plaintexts::encode(&params, &vectors, dim).unwrap();
                for query in &kinds {
                    let (secret, sent) = dot::encrypt(&mut rng, &params, query).unwrap();
                    let reply = plaintexts.score(&sent).unwrap();
                    let scores = secret.decrypt(count, &reply).unwrap();
                    let expected = exact(query, vector);
                    let pairs = scores.iter().map(|&score| (f64::from(score), expected));
                    let (worst, statistical) =
                        (params.worst_error(dim), params.statistical_error(dim));
                    let what = format!("{} {dim}", params.name());
                    left += u32::from(holds(pairs.collect(), worst, statistical, &what));
                }
            }
        }
    }
    assert!(left > 0, "the statistical bound would do");
}

#[test]
fn modular_scores_keep_their_bound_for_all_codes() {
    let mut rng = ChaCha12Rng::from_seed([3; 32]);
    for (params, log_p, dim) in [
        (column::Params::modular_26_t4(), 26, 128),
        (column::Params::modular_26_t16(), 26, 384),
        (column::Params::modular_26_t32(), 26, 1536),
        (column::Params::modular_26_t64(), 26, 1536),
        (column::Params::modular_26_t128(), 26, 1536),
        (column::Params::modular_18_exact(), 18, 128),
    ] {
        let (count, half) = (100, 1i32 << (log_p - 1));
        for code in [-half, half - 1] {
            let codes = vec![code; dim * count];
            let (database, hint) =
                column::Database::encode_modular(&params, SEED, &codes, dim).unwrap();
            let client = column::Client::new(&params, SEED, dim, count, &hint).unwrap();
            for x in [-half, 1, half - 1] {
                let (secret, sent) = client.encrypt_modular(&mut rng, &vec![x; dim]).unwrap();
                let reply = database.score(&sent).unwrap();
                let scores = client.decrypt_modular(secret, &reply).unwrap();
                let exact = i64::from(x) * i64::from(code) * dim as i64;
                let pairs = scores.iter().map(|score| {
                    let unused = 64 - log_p;
                    (((score - exact) << unused >> unused) as f64, 0.0)
                });
                let mut worst = params.worst_error(dim);
                // The score is an integer.
                worst.rounding += 0.5;
                holds(
                    pairs.collect(),
                    worst,
                    params.statistical_error(dim),
                    params.name(),
                );
            }
        }
    }
}

/// With equal codes, the errors of all uploaded coefficients add up in each score. Their average is zero and
/// their size is as predicted. Rounding ties upwards would shift the first score by -4.8 standard deviations
/// on average at `d` = 4096, and triple the root of the mean square.
#[test]
fn errors_of_uploads_are_zero_on_average_under_equal_codes() {
    let mut rng = ChaCha12Rng::from_seed([4; 32]);
    for (params, dim, runs) in [
        (column::Params::real_t4(), 128, 100),
        (column::Params::real_t4(), 4096, 24),
        (column::Params::real_t8(), 4096, 24),
    ] {
        let count = params.block_vectors();
        let x = (1.0 / (dim as f64).sqrt()) as f32;
        let vectors = vec![x; dim * count];
        let (database, hint) = column::Database::encode(&params, SEED, &vectors, dim).unwrap();
        let client = column::Client::new(&params, SEED, dim, count, &hint).unwrap();
        // Uses the stored value, because the vectors' own rounding is not counted.
        let code = (f64::from(x) * 8000.0).round_ties_even() / 8000.0;
        let (mut ends, mut squares) = ([0.0; 2], 0.0);
        for _ in 0..runs {
            let (secret, query) = client.encrypt(&mut rng, &first(dim)).unwrap();
            let scores = client.decrypt(secret, &database.score(&query).unwrap());
            let scores = scores.unwrap();
            let error = |i: usize| f64::from(scores[i]) - code;
            ends[0] += error(0);
            ends[1] += error(count - 1);
            squares += (0..count).map(|i| error(i).powi(2)).sum::<f64>();
        }
        let runs = f64::from(runs);
        let predicted = params.statistical_error(dim);
        let ratio = (squares / (runs * count as f64)).sqrt() / predicted;
        let means = ends.map(|sum| sum / runs / predicted);
        println!("{} {dim}: {ratio:.2}, means {means:.2?}", params.name());
        // The errors in one reply share most of their noise.
        assert!(ratio < 1.25, "{} {dim}: {ratio}", params.name());
        for mean in means {
            assert!(
                mean.abs() < 4.0 / runs.sqrt(),
                "{} {dim}: {mean}",
                params.name()
            );
        }
    }
}
