//! Requests from end to end, at sizes whose layouts differ.

use sordino_pir::hintless::{
    Answer, Client, Database, Evaluation, Keys, Params, Query, Server, Session,
};
use sordino_pir::{Error, Seed};

use crate::rng;

const SEED: Seed = Seed([9; 32]);

fn record(i: usize, len: usize) -> Vec<u8> {
    (0..len)
        .map(|j| (i * 31 + j * 7 + i / 256).to_le_bytes()[0])
        .collect()
}

#[expect(clippy::unwrap_used, reason = "a test fails by panicking")]
fn deploy(records: usize, len: usize, batch: usize) -> (Server, Client) {
    let params = Params::new(records, len, batch).unwrap();
    let all = (0..records).map(|i| record(i, len));
    let database = Database::from_records(&params, &SEED, all).unwrap();
    (Server::from(database), Client::new(&params, &SEED))
}

#[test]
fn one_record_comes_back() {
    let (session, keys) = Session::new(&mut rng(1));
    let keys = Evaluation::from(&Keys::from_bytes(&keys.to_bytes()).unwrap());
    for (records, len) in [
        (1, 1),
        (2, 5),
        (700, 9),
        (9, 2000),
        (40, 5000),
        (406, 32_768),
        (300, 2304),
        (2000, 2048),
    ] {
        let (server, client) = deploy(records, len, 1);
        let params = client.params();
        for index in [0, records / 2, records - 1] {
            let (asked, query) = client.query(&mut rng(2), &session, &[index]).unwrap();
            let query = query.to_bytes();
            assert_eq!(query.len(), params.query_len());
            let query = Query::from_bytes(params, &query).unwrap();
            let answer = server.answer(&keys, &query).unwrap().to_bytes();
            assert_eq!(answer.len(), params.answer_len());
            let answer = Answer::from_bytes(params, &answer).unwrap();
            let found = client.recover(&session, asked, &answer).unwrap();
            assert_eq!(found, [Some(record(index, len))], "{records} of {len}");
        }
    }
}

#[test]
fn several_records_come_back_in_order_and_repeated_ones_too() {
    let (session, keys) = Session::new(&mut rng(3));
    let keys = Evaluation::from(&keys);
    for (records, len, batch) in [
        (50, 100, 2),
        (1000, 13_000, 24),
        (3000, 700, 10),
        (200, 3000, 64),
        (3000, 1024, 10),
    ] {
        let (server, client) = deploy(records, len, batch);
        let params = client.params();
        let mut wanted: Vec<usize> = (0..batch).map(|i| (i * 7919 + 3) % records).collect();
        // Short neighbouring records share a unit. The same record, asked for twice, always does.
        wanted[1] = wanted[0];
        let (asked, query) = client.query(&mut rng(4), &session, &wanted).unwrap();
        assert_eq!(query.to_bytes().len(), params.query_len());
        let answer = server.answer(&keys, &query).unwrap();
        let found = client.recover(&session, asked, &answer).unwrap();
        assert_eq!(found.len(), batch);
        for (found, index) in found.iter().zip(&wanted) {
            assert_eq!(
                found.as_ref(),
                Some(&record(*index, len)),
                "{records} of {len}: {index}"
            );
        }
        // A request for fewer records has the same number of bytes.
        let (asked, query) = client.query(&mut rng(5), &session, &wanted[..1]).unwrap();
        assert_eq!(query.to_bytes().len(), params.query_len());
        let answer = server.answer(&keys, &query).unwrap();
        let found = client.recover(&session, asked, &answer).unwrap();
        assert_eq!(found, [Some(record(wanted[0], len))]);
    }
}

#[test]
fn answers_are_the_same_on_any_number_of_threads_and_in_used_memory() {
    let (session, keys) = Session::new(&mut rng(3));
    let keys = Evaluation::from(&keys);
    let (server, client) = deploy(3000, 700, 10);
    let wanted: Vec<usize> = (0..10).map(|i| 299 * i).collect();
    let query = |seed| client.query(&mut rng(seed), &session, &wanted).unwrap().1;
    let (one, other) = (query(4), query(5));
    let expected = server.answer(&keys, &one).unwrap();
    assert!(server.answer(&keys, &other).unwrap() != expected);
    for threads in [1, 3, 8] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        let pool = pool.build().unwrap();
        let found = pool.install(|| server.answer(&keys, &one)).unwrap();
        assert!(found == expected, "{threads} threads");
    }
    // Simultaneous answers use separate memory.
    std::thread::scope(|scope| {
        let answer = || server.answer(&keys, &one).unwrap();
        let both = [scope.spawn(answer), scope.spawn(answer)];
        for found in both {
            assert!(found.join().unwrap() == expected);
        }
    });
}

#[test]
fn records_are_replaced_and_added() {
    let (session, keys) = Session::new(&mut rng(6));
    let keys = Evaluation::from(&keys);
    let (mut server, client) = deploy(60, 900, 3);
    let (asked, query) = client.query(&mut rng(7), &session, &[5, 6, 59]).unwrap();
    // An older query is answered with the current records.
    server.database_mut().replace(6, b"new").unwrap();
    let answer = server.answer(&keys, &query).unwrap();
    let found = client.recover(&session, asked, &answer).unwrap();
    let mut new = b"new".to_vec();
    new.resize(900, 0);
    assert_eq!(
        found,
        [Some(record(5, 900)), Some(new), Some(record(59, 900))]
    );

    server
        .database_mut()
        .append(&[record(60, 900), record(61, 900)])
        .unwrap();
    let found = server.answer(&keys, &query);
    assert!(matches!(found, Err(Error::LayoutMismatch { .. })));
    let client = Client::new(server.database().params(), &SEED);
    let (asked, query) = client.query(&mut rng(8), &session, &[0, 60, 61]).unwrap();
    let answer = server.answer(&keys, &query).unwrap();
    let found = client.recover(&session, asked, &answer).unwrap();
    assert_eq!(found, [0, 60, 61].map(|i| Some(record(i, 900))));

    // The layout grows from one row to several, and the earlier records stay in place.
    let more: Vec<_> = (62..1500).map(|i| record(i, 900)).collect();
    server.database_mut().append(&more).unwrap();
    let client = Client::new(server.database().params(), &SEED);
    let wanted = [1, 61, 1499];
    let (asked, query) = client.query(&mut rng(9), &session, &wanted).unwrap();
    let answer = server.answer(&keys, &query).unwrap();
    let found = client.recover(&session, asked, &answer).unwrap();
    assert_eq!(found, wanted.map(|i| Some(record(i, 900))));
}
