//! The noise of answers agrees with its derivation, also at the largest size and with the worst entries.

#![expect(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    reason = "a test fails by panicking; random words are cut to entries"
)]

use chacha20::ChaCha12Rng;
use rand_core::{Rng, SeedableRng};
use sordino_lwe::{Client, Params, Secret, Seed, Shape, Table};

const SEED: Seed = Seed([5; 32]);
/// Half of `P`.
const HALF: i32 = 1 << 17;

/// The errors `y - H s` minus the exact score of all rows, in steps, centred.
fn errors(
    table: &Table,
    rows: &[Vec<i32>],
    message: &[i16],
    secret: Secret,
    y: &[u32],
) -> Vec<f64> {
    let s = secret.into_negated();
    let hint = table.hint(0..rows.len());
    let n = table.params().n();
    let per = table.shape().rows();
    rows.iter()
        .zip(hint.chunks_exact(n).zip(y))
        .enumerate()
        .map(|(i, (row, (hint, y)))| {
            let message = &message[i / per * row.len()..][..row.len()];
            let exact: i64 = row
                .iter()
                .zip(message)
                .map(|(&x, &u)| i64::from(x) * i64::from(u))
                .sum();
            let product: i64 = hint
                .iter()
                .zip(s.iter())
                .map(|(&h, &s)| i64::from(h * s))
                .sum();
            let found = (u64::from(*y) << 32).wrapping_add((product << 38).cast_unsigned());
            let error = found.wrapping_sub((exact << 46).cast_unsigned());
            error.cast_signed() as f64 / 2f64.powi(46)
        })
        .collect()
}

fn rms(errors: &[f64]) -> f64 {
    (errors.iter().map(|e| e * e).sum::<f64>() / errors.len() as f64).sqrt()
}

/// The errors of several queries' answers, with entries from `entry`.
fn measured(
    shape: Shape,
    queries: u8,
    mut entry: impl FnMut(&mut ChaCha12Rng, usize) -> i32,
) -> Vec<f64> {
    let mut rng = ChaCha12Rng::from_seed([7; 32]);
    let params = Params::module_1536();
    let mut table = Table::zeroed(&params, shape, &SEED);
    let rows: Vec<Vec<i32>> = (0..shape.answers())
        .map(|_| (0..shape.columns()).map(|j| entry(&mut rng, j)).collect())
        .collect();
    for (i, row) in rows.iter().enumerate() {
        table.set(i, row).unwrap();
    }
    let client = Client::new(&params, shape, &SEED);
    let mut all = Vec::new();
    for _ in 0..queries {
        let mut message = vec![0; shape.words()];
        for (j, u) in message.iter_mut().enumerate() {
            if j % shape.columns() / 100 == 3 {
                *u = rng.next_u32() as i16;
            }
        }
        let (secret, query) = client.query(&mut rng, &message).unwrap();
        let y = table.answer(&query).unwrap();
        assert_eq!(table.answer_batch(&[query.clone(), query]).unwrap()[1], y);
        all.extend(errors(&table, &rows, &message, secret, &y));
    }
    all
}

#[test]
fn noise_of_uniform_entries_is_as_derived() {
    let params = Params::module_1536();
    for (columns, rows, queries) in [(Params::MAX_COLUMNS, 60, 4), (2048, 150, 4), (700, 300, 2)] {
        let shape = Shape::new(2, rows, columns).unwrap();
        let errors = measured(shape, queries, |rng, _| rng.next_u32().cast_signed() >> 14);
        let (found, derived) = (rms(&errors), params.statistical_noise(columns));
        println!("{columns} columns: {found:.3} steps, derived {derived:.3}");
        assert!(
            (0.85..1.15).contains(&(found / derived)),
            "{columns}: {found} {derived}"
        );
        assert!(errors.iter().all(|e| e.abs() < 6.0 * derived));
        let mean = errors.iter().sum::<f64>() / errors.len() as f64;
        assert!(
            mean.abs() < 5.0 * derived / (errors.len() as f64).sqrt(),
            "{mean}"
        );
    }
}

#[test]
fn noise_of_the_worst_entries_is_as_derived_and_has_no_mean() {
    let params = Params::module_1536();
    let columns = Params::MAX_COLUMNS;
    // Rows with one entry value add up the errors of all words, so a mean error of a hundredth of a unit would
    // become 655 steps. Each query then gives one error. So there are many queries, with one row for each
    // pattern.
    let patterns: [fn(usize) -> i32; 2] =
        [|_| -HALF, |j| if j % 2 == 0 { -HALF } else { HALF - 1 }];
    for pattern in patterns {
        let shape = Shape::new(4, 1, columns).unwrap();
        let errors = measured(shape, 24, |_, j| pattern(j));
        let (found, derived) = (rms(&errors), params.worst_noise(columns));
        println!("worst: {found:.3} steps, derived {derived:.3}");
        assert!((0.7..1.3).contains(&(found / derived)), "{found} {derived}");
        let worst = errors.iter().fold(0f64, |worst, e| worst.max(e.abs()));
        assert!(worst < 6.0 * derived + params.worst_offset(100), "{worst}");
        let mean = errors.iter().sum::<f64>() / errors.len() as f64;
        assert!(
            mean.abs() < 5.0 * derived / (errors.len() as f64).sqrt(),
            "{mean}"
        );
    }
}

#[test]
fn noise_equals_the_script() {
    // scripts/lwe_failure.py prints these values.
    let params = Params::module_1536();
    for (columns, uniform, worst) in GOLDEN {
        let found = (
            params.statistical_noise(columns),
            params.worst_noise(columns),
        );
        assert!((found.0 / uniform - 1.0).abs() < 1e-3, "{found:?}");
        assert!((found.1 / worst - 1.0).abs() < 1e-3, "{found:?}");
    }
}

/// Each row has a number of columns, then two numbers in steps: the standard deviation for uniform entries and the
/// subgaussian parameter for the worst entries.
const GOLDEN: [(usize, f64, f64); 4] = [
    (1024, 43.6552, 75.6131),
    (2048, 61.7378, 106.9330),
    (4096, 87.3104, 151.2261),
    (8192, 123.4756, 213.8660),
];
