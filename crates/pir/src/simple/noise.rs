//! The noise of answers, against what the failure bound is made of.

use chacha20::ChaCha20Rng;
use rand_core::SeedableRng;

use super::client::Key;
use super::{Client, Server};
use crate::lwe::decode;
use crate::params::{LOG_DELTA, LOG_Q};
use crate::{Database, Params, Seed};

/// The root of the mean square of the noise over `queries` queries to the worst database, and what it
/// should be.
fn measured_and_predicted(columns: usize, queries: usize) -> (f64, f64) {
    let params = Params::for_columns(columns, 2).expect("served");
    // Bytes 0 are digits of -128.
    let records = vec![[0, 0]; columns];
    let database = Database::from_records(&params, &records).expect("as declared");
    let (server, hint) = Server::setup(database, &params, &Seed([3; 32])).expect("matching");
    let client = Client::new(&params, &Seed([3; 32]), &hint).expect("matching");
    let mut rng = ChaCha20Rng::from_seed([4; 32]);
    let indices = vec![columns / 2; queries];
    let (secrets, sent) = client.query_batch(&mut rng, &indices).expect("in range");
    let mut squares = 0.0;
    for (secret, query) in secrets.iter().zip(&sent) {
        let Key::Raw(s) = secret.key() else {
            unreachable!("not prepared");
        };
        let pads = s.product(&client.h);
        let raw = server.answer_raw(query).expect("matching");
        for (word, pad) in raw.words.iter().zip(&pads) {
            assert_eq!(decode(*word, *pad), 0);
            // The digit of the record is -128.
            let noise = word.wrapping_sub(*pad).wrapping_add(128 << LOG_DELTA);
            squares += f64::from(noise.cast_signed()).powi(2);
        }
    }
    let measured = (squares / (2 * queries) as f64).sqrt();
    let sigma = params.set().sigma();
    let rounding = |bits: u32| f64::from(2 * (LOG_Q - bits)).exp2() / 12.0;
    let of_query =
        128f64.powi(2) * columns as f64 * (sigma.powi(2) + rounding(params.query_bits()));
    let of_hint = params.n() as f64 * sigma.powi(2) * rounding(params.hint_bits());
    (measured, (of_query + of_hint).sqrt())
}

#[test]
fn noise_is_that_of_errors_and_roundings() {
    // Uniform errors are most of the noise, or rounding the query, or neither.
    for columns in [100, 500, 1000, 3000] {
        // The two rows of a query have most of their noise in common: 600 samples, 2.9 % to one
        // standard deviation.
        let (measured, predicted) = measured_and_predicted(columns, 600);
        let ratio = measured / predicted;
        assert!((0.9..1.1).contains(&ratio), "{columns}: {ratio}");
    }
}
