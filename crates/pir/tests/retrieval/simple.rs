//! SimplePIR recovers every record at its real noise, on every backend and with every layout.

use rand_core::Rng;
use sordino_lattice::matrix::Backend;
use sordino_pir::simple::{Answer, Client, Database, Hint, Params, Query, Server};
use sordino_pir::{Error, Security, Seed};

use crate::rng;

fn random_bytes(seed: u8, len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    rng(seed).fill_bytes(&mut bytes);
    bytes
}

/// A server and a client over random records.
fn deploy(params: &Params, seed: u8, backend: Backend) -> (Vec<u8>, Server, Hint, Client) {
    let bytes = random_bytes(seed, params.database_bytes());
    let database = Database::from_slice(params, &bytes).unwrap();
    let a = Seed([seed; 32]);
    let (server, hint) = Server::setup_on(backend, database, params, &a).unwrap();
    let client = Client::new_on(backend, params, &a, &hint).unwrap();
    (bytes, server, hint, client)
}

#[test]
fn every_index_of_every_layout_is_recovered() {
    let layouts = [
        Params::for_database(1, 1).unwrap(),
        Params::for_database(1000, 3).unwrap(),
        Params::for_database(999, 7).unwrap(),
        Params::for_database(130, 64).unwrap(),
        Params::for_columns(65, 333).unwrap(),
        Params::for_columns(1, 10).unwrap(),
        Params::with_layout(100, 3, 100, Security::Classical128).unwrap(),
        Params::for_columns(547, 2).unwrap(),
        // With Gaussian secrets.
        Params::for_columns(700, 2).unwrap(),
        Params::for_database(200, 5)
            .unwrap()
            .with_room(40_000, Security::Classical128)
            .unwrap(),
        Params::for_database(200, 5)
            .unwrap()
            .with_room(40_000, Security::CoreSvp128)
            .unwrap(),
        Params::for_database(200, 5)
            .unwrap()
            .at(Security::Published121)
            .unwrap(),
    ];
    for (seed, params) in (1..).zip(layouts) {
        for backend in Backend::available_with_tiles() {
            let (bytes, server, _, client) = deploy(&params, seed, backend);
            let mut rng = rng(seed);
            for (index, record) in bytes.chunks_exact(params.record_len()).enumerate() {
                let (secret, query) = client.query(&mut rng, index).unwrap();
                let answer = server.answer(&query).unwrap();
                let found = client.recover(secret, &answer).unwrap();
                assert_eq!(found, record, "{params:?} {} {index}", backend.name());
            }
        }
    }
}

#[test]
fn a_batch_gives_what_single_queries_give() {
    let params = Params::for_columns(130, 500).unwrap();
    a_batch_gives_what_single_queries_give_for(&params);
    let params = params.with_room(2000, Security::Classical128).unwrap();
    a_batch_gives_what_single_queries_give_for(&params);
}

fn a_batch_gives_what_single_queries_give_for(params: &Params) {
    let (bytes, server, _, client) = deploy(params, 1, Backend::detect_with_tiles());
    for k in [0usize, 1, 2, 15, 16, 17, 40] {
        let indices: Vec<_> = (0..k).map(|t| t * 37 % 130).collect();
        let (secrets, queries) = client.query_batch(&mut rng(2), &indices).unwrap();
        let answers = server.answer_batch(&queries).unwrap();
        for (query, answer) in queries.iter().zip(&answers) {
            assert_eq!(*answer, server.answer(query).unwrap());
        }
        let records = client.recover_batch(secrets, &answers).unwrap();
        for (index, record) in indices.iter().zip(records) {
            assert_eq!(record, bytes[index * 500..(index + 1) * 500]);
        }
    }
}

#[test]
fn prepared_queries_recover_alone_and_mixed_with_fresh_ones() {
    let params = Params::for_database(700, 6).unwrap();
    prepared_queries_recover_for(&params);
    let params = params.with_room(70_000, Security::Classical128).unwrap();
    prepared_queries_recover_for(&params);
}

fn prepared_queries_recover_for(params: &Params) {
    let (bytes, server, _, client) = deploy(params, 11, Backend::detect_with_tiles());
    let mut rng = rng(12);
    let prepared = client.prepare(&mut rng, 5);
    let indices = [699, 0, 350, 26, 27, 3, 4];
    let mut pairs: Vec<_> = prepared
        .into_iter()
        .zip(indices)
        .map(|(prepared, index)| client.query_prepared(prepared, index).unwrap())
        .collect();
    pairs.insert(2, client.query(&mut rng, indices[5]).unwrap());
    pairs.push(client.query(&mut rng, indices[6]).unwrap());
    let asked = [699, 0, 3, 350, 26, 27, 4];
    let (secrets, queries): (Vec<_>, Vec<_>) = pairs.into_iter().unzip();
    let answers = server.answer_batch(&queries).unwrap();
    let records = client.recover_batch(secrets, &answers).unwrap();
    for (index, record) in asked.into_iter().zip(records) {
        assert_eq!(record, bytes[6 * index..6 * index + 6]);
    }
    let late = client.prepare(&mut rng, 1).pop().unwrap();
    assert!(matches!(
        client.query_prepared(late, 700),
        Err(Error::IndexOutOfRange { records: 700 })
    ));
}

#[test]
fn backends_agree_on_hints_and_answers() {
    let params = Params::for_database(5000, 4).unwrap();
    let mut runs = Backend::available_with_tiles().map(|backend| {
        let (_, server, hint, client) = deploy(&params, 3, backend);
        let (_, query) = client.query(&mut rng(4), 17).unwrap();
        let answer = server.answer(&query).unwrap();
        (hint, query, answer)
    });
    let first = runs.next().unwrap();
    for other in runs {
        assert_eq!(first, other);
    }
}

#[test]
fn a_database_of_one_megabyte_on_many_threads() {
    let params = Params::for_database(1 << 14, 100).unwrap();
    let (bytes, server, _, client) = deploy(&params, 5, Backend::detect_with_tiles());
    let mut rng = rng(6);
    let indices: Vec<_> = (0..40).map(|t| t * 409 % params.records()).collect();
    let (secrets, queries) = client.query_batch(&mut rng, &indices).unwrap();
    let answers = server.answer_batch(&queries).unwrap();
    let records = client.recover_batch(secrets, &answers).unwrap();
    for (index, record) in indices.iter().zip(records) {
        assert_eq!(record, bytes[index * 100..(index + 1) * 100]);
    }
}

#[test]
fn messages_have_the_length_that_parameters_say_and_survive_the_wire() {
    for params in [
        Params::for_database(1001, 3).unwrap(),
        Params::for_columns(7, 33)
            .unwrap()
            .with_room(1000, Security::CoreSvp128)
            .unwrap(),
    ] {
        let (bytes, server, hint, client) = deploy(&params, 7, Backend::detect_with_tiles());
        let wire = hint.to_bytes();
        assert_eq!(wire.len(), params.hint_len());
        assert_eq!(Hint::from_bytes(&params, &wire).unwrap(), hint);
        let (secret, query) = client.query(&mut rng(8), 5).unwrap();
        let wire = query.to_bytes();
        assert_eq!(wire.len(), params.query_len());
        let answer = server
            .answer(&Query::from_bytes(&params, &wire).unwrap())
            .unwrap();
        let wire = answer.to_bytes();
        assert_eq!(wire.len(), params.answer_len());
        let answer = Answer::from_bytes(&params, &wire).unwrap();
        let len = params.record_len();
        assert_eq!(
            client.recover(secret, &answer).unwrap(),
            bytes[5 * len..6 * len]
        );
        assert_eq!(Params::from_bytes(&params.to_bytes()).unwrap(), params);
    }
}

#[test]
fn what_does_not_fit_is_refused_by_name() {
    let params = Params::for_database(100, 4).unwrap();
    let (_, server, hint, client) = deploy(&params, 9, Backend::detect_with_tiles());
    let other = Params::for_database(101, 4).unwrap();
    let (_, _, _, stranger) = deploy(&other, 9, Backend::detect_with_tiles());
    let mut rng = rng(10);
    assert!(matches!(
        client.query(&mut rng, 100),
        Err(Error::IndexOutOfRange { records: 100 })
    ));
    let (secret, query) = stranger.query(&mut rng, 0).unwrap();
    assert!(matches!(
        server.answer(&query),
        Err(Error::ParamsMismatch { .. })
    ));
    assert!(matches!(
        server.answer_batch(std::slice::from_ref(&query)),
        Err(Error::ParamsMismatch { .. })
    ));
    let (_, query) = client.query(&mut rng, 0).unwrap();
    let answer = server.answer(&query).unwrap();
    assert!(matches!(
        stranger.recover(secret, &answer),
        Err(Error::ParamsMismatch { .. })
    ));
    assert!(matches!(
        client.recover_batch(Vec::new(), &[answer]),
        Err(Error::Count {
            found: 1,
            expected: 0
        })
    ));
    assert!(matches!(
        Client::new(&other, &Seed([9; 32]), &hint),
        Err(Error::ParamsMismatch { .. })
    ));
    assert!(matches!(
        Params::for_database(0, 4),
        Err(Error::Empty { .. })
    ));
    assert!(matches!(
        Params::for_columns(4, 0),
        Err(Error::Empty { .. })
    ));
    assert!(matches!(
        Params::for_columns(1 << 22, 10),
        Err(Error::TooLarge { .. })
    ));
    let records = |count: usize, len: usize| vec![vec![1u8; len]; count];
    assert!(matches!(
        Database::from_records(&params, records(100, 5)),
        Err(Error::RecordTooLong {
            index: 0,
            found: 5,
            expected: 4
        })
    ));
    for count in [99, 101, 150] {
        assert!(matches!(
            Database::from_records(&params, records(count, 4)),
            Err(Error::RecordCount { expected: 100, .. })
        ));
    }
    assert!(matches!(
        Database::from_slice(&params, &[0; 399]),
        Err(Error::Length {
            found: 399,
            expected: 400
        })
    ));
}

#[test]
fn a_record_shorter_than_declared_is_padded_with_zeros() {
    let params = Params::for_database(10, 4).unwrap();
    let database = Database::from_records(&params, [b"ab"; 10]).unwrap();
    let seed = Seed([1; 32]);
    let (server, hint) = Server::setup(database, &params, &seed).unwrap();
    let client = Client::new(&params, &seed, &hint).unwrap();
    let (secret, query) = client.query(&mut rng(1), 9).unwrap();
    let answer = server.answer(&query).unwrap();
    assert_eq!(client.recover(secret, &answer).unwrap(), b"ab\0\0");
}
