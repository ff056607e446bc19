//! The noise of bytes agrees with its derivation, in a query's answer and after column packing.

#![expect(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    reason = "a test fails by panicking; random words are cut to bytes"
)]

use chacha20::ChaCha12Rng;
use rand_core::{Rng, SeedableRng};
use sordino_ckks::column;
use sordino_lwe::{ByteTable, Client, Params, Seed, Shape, decode_bytes};

const SEED: Seed = Seed([6; 32]);

fn params() -> Params {
    Params::module_1536_bytes()
}

fn rms(errors: &[f64]) -> f64 {
    (errors.iter().map(|e| e * e).sum::<f64>() / errors.len() as f64).sqrt()
}

fn worst(errors: &[f64]) -> f64 {
    errors.iter().fold(0f64, |worst, e| worst.max(e.abs()))
}

/// The bytes of a table, column after column.
fn bytes(shape: Shape, mut byte: impl FnMut(usize) -> u8) -> Vec<u8> {
    (0..shape.rows() * shape.columns())
        .map(|at| byte(at / shape.rows()))
        .collect()
}

fn random(shape: Shape) -> Vec<u8> {
    let mut rng = ChaCha12Rng::from_seed([7; 32]);
    bytes(shape, |_| rng.next_u32() as u8)
}

/// Different wanted columns for each query.
fn wanted(shape: Shape, query: usize) -> Vec<usize> {
    (0..shape.groups())
        .map(|g| (g * 7919 + query * 1301 + 13) % shape.columns())
        .collect()
}

/// For each group, the digits of its wanted column.
fn digits(shape: Shape, bytes: &[u8], wanted: &[usize]) -> Vec<i64> {
    let columns = wanted
        .iter()
        .map(|c| &bytes[c * shape.rows()..][..shape.rows()]);
    columns
        .flatten()
        .map(|byte| i64::from(*byte) - 128)
        .collect()
}

/// The errors `y - H s - digit` of all words, in steps.
fn errors(shape: Shape, bytes: &[u8], queries: usize) -> Vec<f64> {
    let mut rng = ChaCha12Rng::from_seed([8; 32]);
    let table = ByteTable::from_slice(&params(), shape, &SEED, bytes).unwrap();
    let hint = table.hint(0..shape.groups(), 0..shape.rows());
    let client = Client::new(&params(), shape, &SEED);
    let mut all = Vec::new();
    for query in 0..queries {
        let wanted = wanted(shape, query);
        let (secret, b) = client
            .query(&mut rng, &client.select(&wanted).unwrap())
            .unwrap();
        let (y, s) = (table.answer(&b).unwrap(), secret.into_negated());
        let rows = hint.chunks_exact(params().n()).zip(y);
        for ((hint, y), digit) in rows.zip(digits(shape, bytes, &wanted)) {
            let product: i64 = hint
                .iter()
                .zip(s.iter())
                .map(|(&h, &s)| i64::from(h * s))
                .sum();
            let found = (u64::from(y) << 32).wrapping_add((product << 38).cast_unsigned());
            let error = found.wrapping_sub((digit << 56).cast_unsigned());
            all.push(error.cast_signed() as f64 / 2f64.powi(56));
        }
    }
    all
}

#[test]
fn noise_of_random_bytes_is_as_derived() {
    for (columns, rows) in [(Params::MAX_BYTE_COLUMNS, 24), (5000, 200)] {
        let shape = params().shape(3, rows, columns).unwrap();
        let errors = errors(shape, &random(shape), 2);
        let (found, derived) = (rms(&errors), params().statistical_noise(columns));
        println!(
            "{columns} columns: {found:.3e} steps, derived {derived:.3e}, worst {:.3e}",
            worst(&errors)
        );
        assert!(
            (0.8..1.2).contains(&(found / derived)),
            "{columns}: {found} {derived}"
        );
        assert!(worst(&errors) < 6.0 * derived);
    }
}

#[test]
fn noise_of_the_worst_bytes_is_as_derived_and_has_no_mean() {
    // A row of equal or alternating digits of the largest size adds up the errors of all words. Each group then gives
    // only one error, so the test asks for many groups.
    let columns = Params::MAX_BYTE_COLUMNS;
    let patterns: [fn(usize) -> u8; 2] = [|_| 0, |column| if column % 2 == 0 { 0 } else { 255 }];
    for pattern in patterns {
        let shape = params().shape(16, 1, columns).unwrap();
        let errors = errors(shape, &bytes(shape, pattern), 6);
        let (found, derived) = (rms(&errors), params().worst_noise(columns));
        println!(
            "worst: {found:.3e} steps, derived {derived:.3e}, worst {:.3e}",
            worst(&errors)
        );
        assert!((0.7..1.3).contains(&(found / derived)), "{found} {derived}");
        assert!(worst(&errors) < 6.0 * derived + params().worst_offset(1));
        let mean = errors.iter().sum::<f64>() / errors.len() as f64;
        assert!(
            mean.abs() < 5.0 * derived / (errors.len() as f64).sqrt(),
            "{mean}"
        );
    }
}

/// Decrypts columns through column packing, and checks their bytes. Returns the errors of the values,
/// in steps.
fn fetched(outer: column::Params, shape: Shape, bytes: &[u8]) -> Vec<f64> {
    let mut rng = ChaCha12Rng::from_seed([9; 32]);
    let table = ByteTable::from_slice(&params(), shape, &SEED, bytes).unwrap();
    let hint = table.hint(0..shape.groups(), 0..shape.rows());
    let n = params().n();
    let (hint, download) = column::Database::encode_modular(&outer, SEED, &hint, n).unwrap();
    let client = Client::new(&params(), shape, &SEED);
    let reader = column::Client::new(&outer, SEED, n, shape.answers(), &download).unwrap();
    let wanted = wanted(shape, 0);
    let (secret, b) = client
        .query(&mut rng, &client.select(&wanted).unwrap())
        .unwrap();
    let (outer_secret, enc_s) = reader
        .encrypt_modular(&mut rng, &secret.into_negated())
        .unwrap();
    let y = table.answer(&b).unwrap();
    let reply = hint.score_onto(&[enc_s], &[&y]).unwrap().remove(0);
    let values = reader.decrypt_modular(outer_secret, &reply).unwrap();
    let digits = digits(shape, bytes, &wanted);
    let exact: Vec<u8> = digits
        .iter()
        .map(|digit| (digit + 128).to_le_bytes()[0])
        .collect();
    assert_eq!(decode_bytes(&values), exact);
    let error = |(value, digit): (&i64, &i64)| {
        let error = (value - (digit << 18)) << 38 >> 38;
        error as f64 / 2f64.powi(18)
    };
    values.iter().zip(&digits).map(error).collect()
}

#[test]
fn noise_of_the_whole_is_as_derived() {
    for (outer, bits) in [
        (column::Params::modular_26_t32(), 652.0),
        (column::Params::modular_26_t64(), 1003.0),
        (column::Params::modular_26_t128(), 1362.0),
    ] {
        let (n, unit) = (params().n(), 2f64.powi(-18));
        for (shape, worst_case) in [
            (params().shape(10, 60, 3000).unwrap(), false),
            (params().shape(8, 40, 40_000).unwrap(), true),
        ] {
            let bytes = if worst_case {
                bytes(shape, |_| 0)
            } else {
                random(shape)
            };
            let errors = fetched(outer, shape, &bytes);
            let (words, outer_error) = (
                params().statistical_noise(shape.columns()),
                outer.statistical_error(n) * unit,
            );
            let (found, derived) = (rms(&errors), words.hypot(outer_error));
            println!(
                "{}: {found:.5} steps, derived {derived:.5}, worst {:.4}",
                outer.name(),
                worst(&errors)
            );
            assert!(
                found < 1.2 * derived && worst(&errors) < 6.0 * derived,
                "{found} {derived}"
            );
            // Equal rows share the error of their words and of the hint.
            assert!(worst_case || found > 0.8 * derived, "{found} {derived}");
        }
        let error = outer.worst_error(n);
        let largest = Params::MAX_BYTE_COLUMNS;
        let failure = params().log2_byte_failure(largest, error.rounding, error.noise);
        assert!(failure < 1.0 - bits, "{}: {failure}", outer.name());
    }
}

#[test]
fn bounds_equal_the_script() {
    // scripts/lwe_failure.py prints these values.
    let outers = [
        column::Params::modular_26_t32(),
        column::Params::modular_26_t64(),
        column::Params::modular_26_t128(),
    ];
    for (columns, random, worst, failures) in GOLDEN {
        let near = |found: f64, expected: f64, by: f64| {
            assert!(
                (found / expected - 1.0).abs() < by,
                "{columns}: {found} {expected}"
            );
        };
        near(params().statistical_noise(columns), random, 1e-3);
        near(params().worst_noise(columns), worst, 1e-3);
        for (outer, expected) in outers.iter().zip(failures) {
            let error = outer.worst_error(params().n());
            let found = params().log2_byte_failure(columns, error.rounding, error.noise);
            near(found, expected, 5e-3);
        }
    }
}

/// Each row has a number of columns, then two numbers in steps: the standard deviation for random bytes and the
/// subgaussian parameter for the worst bytes. Then follow the values of log2 of the bound on the failure of the worst
/// byte, for 32, 64 and 128 entries of a secret in a polynomial.
const GOLDEN: [(usize, f64, f64, [f64; 3]); 3] = [
    (8192, 1.22917e-04, 2.12895e-04, [-654.4, -1009.2, -1372.8]),
    (32768, 2.38136e-04, 4.12458e-04, [-654.0, -1008.5, -1371.4]),
    (131072, 4.72345e-04, 8.18114e-04, [-652.8, -1005.6, -1366.1]),
];
