//! A generator that repeats its output: different queries share no secret, and the same query gives the
//! same message.

use sordino_pir::{Database, Params, Protocol, Security, Seed, double, simple};

use crate::rng;

/// The share of the bytes after the header in which two messages are equal, which is 1 in 256 by chance.
/// Two queries under one secret would differ only in one or two bytes.
fn agreement(a: &[u8], b: &[u8]) -> f64 {
    assert_eq!((a.len(), &a[..48]), (b.len(), &b[..48]));
    let equal = a[48..].iter().zip(&b[48..]).filter(|(a, b)| a == b);
    equal.count() as f64 / (a.len() - 48) as f64
}

/// Uniform secrets, then Gaussian ones.
fn sets<P: Protocol>(params: Params<P>) -> [Params<P>; 2] {
    [
        params,
        params.with_room(100_000, Security::default()).unwrap(),
    ]
}

#[test]
fn simple_queries_for_other_records_share_no_secret() {
    for params in sets(Params::for_columns(500, 2).unwrap()) {
        let client = |seed| {
            let database = Database::from_slice(&params, &[3; 1000]).unwrap();
            let (_, hint) = simple::Server::setup(database, &params, &seed).unwrap();
            simple::Client::new(&params, &seed, &hint).unwrap()
        };
        let client = client(Seed([1; 32]));
        let query = |index| client.query(&mut rng(5), index).unwrap().1.to_bytes();
        assert!(agreement(&query(3), &query(4)) < 0.05);
        assert_eq!(query(3), query(3));
        let batch = |indices: &[usize]| {
            let (_, queries) = client.query_batch(&mut rng(5), indices).unwrap();
            let messages = queries.iter().map(simple::Query::to_bytes);
            messages.collect::<Vec<_>>()
        };
        // The batches share no secret either for the record that both ask for.
        let (one, other) = (batch(&[3, 4]), batch(&[3, 5]));
        assert!(agreement(&one[0], &other[0]) < 0.05);
        assert!(agreement(&one[1], &other[1]) < 0.05);
        assert_eq!(one, batch(&[3, 4]));
        assert!(agreement(&one[0], &one[1]) < 0.05);
    }
}

#[test]
fn double_queries_for_other_records_share_no_secret() {
    for params in sets(Params::for_double_with(10_000, 1, 100).unwrap()) {
        let database = Database::from_slice(&params, &[3; 10_000]).unwrap();
        let seed = Seed([1; 32]);
        let (_, hint) = double::Server::setup(database, &params, &seed).unwrap();
        let client = double::Client::new(&params, &seed, &hint).unwrap();
        let query = |index| client.query(&mut rng(5), index).unwrap().1.to_bytes();
        // Two records of one column, then two records of one slot.
        assert!(agreement(&query(300), &query(301)) < 0.05);
        assert!(agreement(&query(300), &query(400)) < 0.05);
        assert_eq!(query(300), query(300));
    }
}

/// The documentation of `prepare` warns of this: the secret is drawn before the index is known.
#[test]
fn prepared_queries_rest_on_the_generator_alone() {
    let params = Params::for_columns(500, 2).unwrap();
    let database = Database::from_slice(&params, &[3; 1000]).unwrap();
    let seed = Seed([1; 32]);
    let (_, hint) = simple::Server::setup(database, &params, &seed).unwrap();
    let client = simple::Client::new(&params, &seed, &hint).unwrap();
    let query = |index| {
        let prepared = client.prepare(&mut rng(5), 1).pop().unwrap();
        let (_, query) = client.query_prepared(prepared, index).unwrap();
        query.to_bytes()
    };
    assert!(agreement(&query(3), &query(4)) > 0.99);
}
