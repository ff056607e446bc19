//! Tests that compare the noise of answers with the terms of the failure bound.

use chacha20::ChaCha20Rng;
use rand_core::SeedableRng;

use super::client::Key;
use super::{Client, Server};
use crate::lwe::decode;
use crate::params::{LOG_DELTA, LOG_Q};
use crate::{Database, Params, Seed};

/// The noise measured over some queries to the worst database, and the noise expected.
struct Noise {
    mean: f64,
    rms: f64,
    predicted_mean: f64,
    predicted_rms: f64,
}

impl Noise {
    fn of(columns: usize, queries: usize) -> Self {
        let params = Params::for_columns(columns, 1).expect("served");
        // Records of the byte 0 have digits of -128.
        let records = vec![[0]; columns];
        let database = Database::from_records(&params, &records).expect("as declared");
        let (server, hint) = Server::setup(database, &params, &Seed([3; 32])).expect("matching");
        let client = Client::new(&params, &Seed([3; 32]), &hint).expect("matching");
        let mut rng = ChaCha20Rng::from_seed([4; 32]);
        let indices = vec![columns / 2; queries];
        let (secrets, sent) = client.query_batch(&mut rng, &indices).expect("in range");
        let noise = secrets.iter().zip(&sent).map(|(secret, query)| {
            let Key::Raw(s) = secret.key() else {
                unreachable!("not prepared");
            };
            let raw = server.answer_raw(query).expect("matching");
            let (word, product) = (raw.words[0], s.product(&client.h)[0]);
            assert_eq!(decode(word, product), 0);
            // The digit of the record is -128.
            let noise = word.wrapping_sub(product).wrapping_add(128 << LOG_DELTA);
            f64::from(noise.cast_signed())
        });
        let (sum, squares) = noise.fold((0.0, 0.0), |(sum, squares), noise| {
            (sum + noise, squares + noise * noise)
        });
        let set = params.set();
        // The mean of uniform errors is -1/2; that of rounding errors is 0.
        let error_mean = if set.has_uniform_secrets() { -0.5 } else { 0.0 };
        let predicted_mean = -128.0 * error_mean * columns as f64;
        let rounding = |bits: u32| f64::from(2 * (LOG_Q - bits)).exp2() / 12.0;
        let word = set.sigma().powi(2) + rounding(params.query_bits());
        let hint = params.n() as f64 * set.sigma().powi(2) * rounding(params.hint_bits());
        let variance = 128f64.powi(2) * columns as f64 * word + hint;
        Self {
            mean: sum / queries as f64,
            rms: (squares / queries as f64).sqrt(),
            predicted_mean,
            predicted_rms: (variance + predicted_mean.powi(2)).sqrt(),
        }
    }
}

#[test]
fn noise_is_that_of_errors_and_roundings() {
    // Cases in which most of the noise comes from uniform errors, from rounding the query, or from neither. A rounding
    // error that is half a unit on average moves the mean by 0.04 of the root mean square at 500 columns. At 3,000
    // columns it is a third, and at 100,000 eight times as much.
    let cases = [
        (100, 600),
        (500, 600),
        (1000, 600),
        (3000, 600),
        (20_000, 60),
        (100_000, 30),
    ];
    for (columns, queries) in cases {
        let noise = Noise::of(columns, queries);
        // Allows four standard deviations of a mean, and of a mean square.
        let root = (queries as f64).sqrt();
        let off = (noise.mean - noise.predicted_mean) / noise.predicted_rms;
        let ratio = noise.rms / noise.predicted_rms;
        println!("{columns} columns: mean off by {off:.3}, root of the mean square {ratio:.3}");
        assert!(off.abs() < 4.0 / root, "{columns}: {off}");
        assert!(
            (ratio - 1.0).abs() < 4.0 / (2f64.sqrt() * root),
            "{columns}: {ratio}"
        );
    }
}
