//! DoublePIR recovers records at its real noise, with the set's errors on both levels.

use rand_core::Rng;
use sordino_lattice::matrix::Backend;
use sordino_pir::double::{Answer, Client, Database, Hint, Params, Query, Server};
use sordino_pir::{Error, Scheme, Security, Seed, Set, simple};

use crate::rng;

fn deploy(params: &Params, seed: u8, backend: Backend) -> (Vec<u8>, Server, Hint, Client) {
    let mut bytes = vec![0; params.database_bytes()];
    rng(seed).fill_bytes(&mut bytes);
    let database = Database::from_slice(params, &bytes).unwrap();
    let seed = Seed([seed; 32]);
    let (server, hint) = Server::setup_on(backend, database, params, &seed).unwrap();
    let client = Client::new_on(backend, params, &seed, &hint).unwrap();
    (bytes, server, hint, client)
}

#[test]
fn every_index_is_recovered_on_every_backend() {
    // Few columns and several slots, which exercise both levels at little cost.
    let layout =
        |records, record_len, slots| Params::for_double_with(records, record_len, slots).unwrap();
    let gaussian = |params: Params| params.with_room(100_000, Security::default()).unwrap();
    for (seed, params) in (1..).zip([
        layout(40, 3, 7),
        layout(150, 1, 130),
        layout(1000, 2, 31),
        gaussian(layout(40, 3, 7)),
        gaussian(layout(150, 1, 130)),
    ]) {
        assert_eq!(params.set().has_uniform_secrets(), seed < 4);
        let record_len = params.record_len();
        for backend in Backend::available_with_tiles() {
            let (bytes, server, _, client) = deploy(&params, seed, backend);
            let mut rng = rng(9);
            for (index, record) in bytes.chunks_exact(record_len).enumerate() {
                let (secret, query) = client.query(&mut rng, index).unwrap();
                let answer = server.answer(&query).unwrap();
                assert_eq!(client.recover(secret, &answer).unwrap(), record, "{index}");
            }
        }
    }
}

#[test]
fn a_hundred_thousand_records_prepared_batched_and_over_the_wire() {
    // A square database, and one with 16,384 columns.
    let params = Params::for_double(100_000, 2).unwrap();
    assert_eq!((params.set(), params.per_column()), (Set::N256U, 316));
    prepared_batched_and_over_the_wire(&params);
    let params = Params::for_double_with(100_000, 2, 7).unwrap();
    assert_eq!(params.set(), Set::N1024S32);
    prepared_batched_and_over_the_wire(&params);
}

fn prepared_batched_and_over_the_wire(params: &Params) {
    assert!(params.log2_failure() <= -40.0);
    let (bytes, server, hint, client) = deploy(params, 3, Backend::detect_with_tiles());
    let wire = hint.to_bytes();
    assert_eq!(wire.len(), params.hint_len());
    assert_eq!(Hint::from_bytes(params, &wire).unwrap(), hint);
    let mut rng = rng(4);
    let indices = [0, 99_999, 50_000, 7, 16_384, 33_333];
    let (secrets, queries): (Vec<_>, Vec<_>) = client
        .prepare(&mut rng, indices.len())
        .into_iter()
        .zip(indices)
        .map(|(prepared, index)| client.query_prepared(prepared, index).unwrap())
        .unzip();
    let queries: Vec<_> = queries
        .iter()
        .map(|query| {
            let wire = query.to_bytes();
            assert_eq!(wire.len(), params.query_len());
            Query::from_bytes(params, &wire).unwrap()
        })
        .collect();
    let answers = server.answer_batch(&queries).unwrap();
    assert_eq!(answers[1], server.answer(&queries[1]).unwrap());
    for ((secret, answer), index) in secrets.into_iter().zip(answers).zip(indices) {
        let wire = answer.to_bytes();
        assert_eq!(wire.len(), params.answer_len());
        let answer = Answer::from_bytes(params, &wire).unwrap();
        let record = client.recover(secret, &answer).unwrap();
        assert_eq!(record, bytes[2 * index..2 * index + 2]);
    }
}

#[test]
fn bytes_of_the_other_scheme_are_refused() {
    let simple_params = simple::Params::for_database(50, 2).unwrap();
    let double_params = Params::for_double(50, 2).unwrap();
    // Both schemes share kind 1 for parameters and kind 11 for files. A byte of the header says which scheme it is.
    assert!(matches!(
        Params::from_bytes(&simple_params.to_bytes()),
        Err(Error::SchemeMismatch {
            found: Scheme::Simple,
            expected: Scheme::Double
        })
    ));
    assert!(matches!(
        simple::Params::from_bytes(&double_params.to_bytes()),
        Err(Error::SchemeMismatch {
            found: Scheme::Double,
            expected: Scheme::Simple
        })
    ));
    let path = std::env::temp_dir().join(format!("sordino-pir-scheme-{}", std::process::id()));
    let database = Database::from_slice(&double_params, &[0; 100]).unwrap();
    database.write_file(&path).unwrap();
    let read = simple::Database::read_file(&path);
    assert!(Database::read_file(&path).is_ok());
    std::fs::remove_file(&path).unwrap();
    assert!(matches!(
        read,
        Err(Error::SchemeMismatch {
            found: Scheme::Double,
            expected: Scheme::Simple
        })
    ));
    // A message's kind names its scheme too, and its header may name the other scheme.
    let seed = Seed([1; 32]);
    let (_, hint) = Server::setup(database, &double_params, &seed).unwrap();
    let mut bytes = hint.to_bytes();
    assert!(matches!(
        simple::Hint::from_bytes(&simple_params, &bytes),
        Err(Error::Kind {
            found: 5,
            expected: 2
        })
    ));
    bytes[6] = 2;
    assert!(matches!(
        simple::Hint::from_bytes(&simple_params, &bytes),
        Err(Error::SchemeMismatch {
            found: Scheme::Double,
            expected: Scheme::Simple
        })
    ));
}

#[test]
fn parameters_print_their_scheme() {
    let params = Params::for_double_with(40, 3, 7).unwrap();
    let text = "Params { scheme: Double, set: N64U, records: 40, record_len: 3, per_column: 7, ";
    assert!(format!("{params:?}").starts_with(text), "{params:?}");
    let other = Params::for_double_with(41, 3, 7).unwrap();
    let database = Database::from_slice(&other, &[0; 123]).unwrap();
    let error = Server::setup(database, &params, &Seed([1; 32])).unwrap_err();
    let text = format!("parameters differ: found {other:?}, expected {params:?}");
    assert_eq!(error.to_string(), text);
}
