//! Scores compared with plain arithmetic, measured errors compared with the formula, exactness,
//! batches.

use std::sync::Arc;

use chacha20::ChaCha12Rng;
use proptest::prelude::*;
use rand_core::SeedableRng;
use sordino_ckks::Error;
use sordino_ckks::column::{Database, Params, Query, Reply, Segments};

use super::parties::{
    SEED, client_of, dots, integer_query, residues, rms, score_modular, score_real, unit_vectors,
};

#[test]
fn real_errors_have_the_predicted_size() {
    let mut rng = ChaCha12Rng::from_seed([1; 32]);
    for (params, dims) in [
        (Params::real_t4(), [128, 100]),
        (Params::real_t8(), [128, 100]),
        (Params::real_t16(), [384, 100]),
        (Params::real_t32(), [384, 100]),
        (Params::real_t64(), [384, 100]),
    ] {
        for dim in dims {
            let base = unit_vectors(&mut rng, 2500, dim);
            let (database, hint) = Database::encode(&params, SEED, &base, dim).unwrap();
            let client = client_of(&database, &hint);
            let mut errors = Vec::new();
            for _ in 0..2 {
                let query = unit_vectors(&mut rng, 1, dim);
                let scores = score_real(&mut rng, &database, &client, &query);
                assert_eq!(scores.len(), 2500);
                errors.extend(
                    scores
                        .iter()
                        .zip(dots(&query, &base))
                        .map(|(&x, y)| f64::from(x) - y),
                );
            }
            let ratio = rms(&errors) / params.statistical_error(dim);
            assert!((0.95..1.05).contains(&ratio), "{}: {ratio}", params.name());
            assert!(params.statistical_error(dim) < 5e-5);
            let worst = errors.iter().fold(0f64, |worst, e| worst.max(e.abs()));
            assert!(worst < 5.5 * params.statistical_error(dim), "{worst:e}");
        }
    }
}

#[test]
fn modular_errors_have_the_predicted_size() {
    let mut rng = ChaCha12Rng::from_seed([2; 32]);
    for (params, dim) in [
        (Params::modular_26_t4(), 128),
        (Params::modular_26_t8(), 128),
        (Params::modular_26_t16(), 384),
        (Params::modular_26_t32(), 384),
        (Params::modular_26_t64(), 384),
    ] {
        let p = 2f64.powi(26);
        let base = residues(&mut rng, 2500 * dim, 26);
        let (database, hint) = Database::encode_modular(&params, SEED, &base, dim).unwrap();
        let client = client_of(&database, &hint);
        let mut errors = Vec::new();
        for _ in 0..2 {
            let query = integer_query(&mut rng, dim, 26);
            let scores = score_modular(&mut rng, &database, &client, &query);
            // Doubles hold these sums exactly: below 2^25 * 2^13 * 2^7.
            errors.extend(scores.iter().zip(dots(&query, &base)).map(|(&x, y)| {
                let error = x as f64 - y;
                error - (error / p).round() * p
            }));
        }
        let ratio = rms(&errors) / params.statistical_error(dim);
        assert!((0.95..1.05).contains(&ratio), "{}: {ratio}", params.name());
        // The error relative to the score of unit vectors, which is R / P.
        assert!(params.statistical_error(dim) * 2.05 / p < 7e-5);
    }
}

#[test]
fn the_exact_set_is_exact() {
    let mut rng = ChaCha12Rng::from_seed([3; 32]);
    let params = Params::modular_18_exact();
    for (dim, count) in [(128, 1000), (512, 300), (7, 300), (1, 1)] {
        let base = residues(&mut rng, count * dim, 18);
        let (database, hint) = Database::encode_modular(&params, SEED, &base, dim).unwrap();
        let client = client_of(&database, &hint);
        for query in [
            integer_query(&mut rng, dim, 18),
            residues(&mut rng, dim, 18),
        ] {
            let scores = score_modular(&mut rng, &database, &client, &query);
            for (row, &score) in base.chunks_exact(dim).zip(&scores) {
                let exact: i64 = row
                    .iter()
                    .zip(&query)
                    .map(|(&x, &y)| i64::from(x) * i64::from(y))
                    .sum();
                assert_eq!((exact - score) & ((1 << 18) - 1), 0);
                assert!((-(1 << 17)..1 << 17).contains(&score));
            }
        }
        // Half a unit is above 13.37 standard deviations, so the tail is below 2^-128.
        assert!(0.5 / params.statistical_error(dim) > 13.37, "{dim}");
    }
    assert_eq!(
        Database::encode_modular(&params, SEED, &[0; 513], 513).unwrap_err(),
        Error::Dimension {
            found: 513,
            most: 512
        }
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn scores_agree_with_plain_arithmetic(
        seed: [u8; 32],
        dim in prop_oneof![1..=16usize, 1..=400usize],
        count in prop_oneof![0..5usize, 500..530usize, 1..700usize],
        norm in 0.0..1.0f32,
        set in 0..5usize,
    ) {
        let mut rng = ChaCha12Rng::from_seed(seed);
        let params = [
            Params::real_t4(),
            Params::real_t8(),
            Params::real_t16(),
            Params::real_t32(),
            Params::real_t64(),
        ][set];
        let scaled = |rng: &mut _, count| -> Vec<f32> {
            unit_vectors(rng, count, dim).iter().map(|x| x * norm).collect()
        };
        let (base, query) = (scaled(&mut rng, count), scaled(&mut rng, 1));
        let (database, hint) = Database::encode(&params, SEED, &base, dim).unwrap();
        let client = client_of(&database, &hint);
        let scores = score_real(&mut rng, &database, &client, &query);
        prop_assert_eq!(scores.len(), count);
        for (&score, expected) in scores.iter().zip(dots(&query, &base)) {
            let error = f64::from(score) - expected;
            prop_assert!(error.abs() < 7.0 * params.statistical_error(dim), "{error:e}");
        }
    }
}

#[test]
fn a_batch_equals_single_queries() {
    let mut rng = ChaCha12Rng::from_seed([5; 32]);
    let (params, dim) = (Params::real_t8(), 24);
    let base = unit_vectors(&mut rng, 900, dim);
    let (database, hint) = Database::encode(&params, SEED, &base, dim).unwrap();
    let client = client_of(&database, &hint);
    for count in [0, 1, 2, 3, 4, 5] {
        let queries: Vec<Query> = (0..count)
            .map(|_| {
                let query = unit_vectors(&mut rng, 1, dim);
                client.encrypt(&mut rng, &query).unwrap().1
            })
            .collect();
        let single: Vec<Reply> = queries.iter().map(|q| database.score(q).unwrap()).collect();
        assert_eq!(database.score_batch(&queries).unwrap(), single);
    }
}

/// Adds a number to each score of a ternary query that has the dimension of an LWE secret. The sets with large `t`
/// exist for such queries.
#[test]
fn scores_of_ternary_queries_onto_numbers_have_the_predicted_error() {
    let mut rng = ChaCha12Rng::from_seed([9; 32]);
    for params in [Params::modular_26_t64(), Params::modular_26_t128()] {
        let (dim, count) = (1536, 40);
        let base = residues(&mut rng, count * dim, 26);
        let (database, hint) = Database::encode_modular(&params, SEED, &base, dim).unwrap();
        let client = client_of(&database, &hint);
        let mut segments = Segments::new(&params, SEED, dim).unwrap();
        let (segment, _) = segments.encode_modular(&base).unwrap();
        segments.push(Arc::new(segment)).unwrap();
        let query: Vec<i32> = residues(&mut rng, dim, 8)
            .iter()
            .map(|x| x % 3 % 2)
            .collect();
        let onto: Vec<Vec<u32>> = (0..12)
            .map(|_| {
                residues(&mut rng, count, 32)
                    .iter()
                    .map(|x| x.cast_unsigned())
                    .collect()
            })
            .collect();
        let (secrets, queries): (Vec<_>, Vec<_>) = onto
            .iter()
            .map(|_| client.encrypt_modular(&mut rng, &query).unwrap())
            .unzip();
        let numbers: Vec<&[u32]> = onto.iter().map(Vec::as_slice).collect();
        let replies = database.score_onto(&queries, &numbers).unwrap();
        assert_eq!(replies, segments.score_onto(&queries, &numbers).unwrap());
        assert_ne!(replies, database.score_batch(&queries).unwrap());
        let mut errors = Vec::new();
        for ((secret, reply), onto) in secrets.into_iter().zip(&replies).zip(&onto) {
            let scores = client.decrypt_modular(secret, reply).unwrap();
            for ((score, row), &onto) in scores.iter().zip(base.chunks_exact(dim)).zip(onto) {
                let dot: i64 = row
                    .iter()
                    .zip(&query)
                    .map(|(&x, &y)| i64::from(x * y))
                    .sum();
                // Counts in units of P / 2^32, so that the added number is an integer.
                let exact = (dot << 6) + i64::from(onto);
                let error = (score << 6) - exact;
                errors.push((error << 32 >> 32) as f64 / 64.0);
            }
        }
        let ratio = rms(&errors) / params.statistical_error(dim);
        assert!((0.88..1.12).contains(&ratio), "{}: {ratio}", params.name());
        let mean = errors.iter().sum::<f64>() / errors.len() as f64;
        // The standard error of the mean of 480 errors is a twentieth of their deviation.
        assert!(mean.abs() < 0.25 * params.statistical_error(dim), "{mean}");

        assert_eq!(
            database.score_onto(&queries, &numbers[1..]).unwrap_err(),
            Error::Mismatch {
                what: "lists of numbers",
                found: 11,
                expected: 12
            }
        );
        assert_eq!(
            database
                .score_onto(&queries[..1], &[&onto[0][1..]])
                .unwrap_err(),
            Error::Mismatch {
                what: "numbers",
                found: count - 1,
                expected: count
            }
        );
    }
}
