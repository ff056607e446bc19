//! Randomness that is used twice: a machine is restored, or a process forks, and its generator goes on from a state that
//! was used before. Under one secret two queries differ by what they ask for, in the clear.

use sordino_pir::{Database, Params, Seed, simple};
use sordino_search::{Server, Wish, build};

use crate::bed::{Hostile, K, agreement, connect, keys, masked, open, rng, vectors};

/// Records and vectors.
const N: usize = 600;
/// Bytes of a message's heads: its own, the edition, the query's.
const HEADS: usize = 128;

#[test]
fn searches_from_one_state_of_the_generator_share_nothing_unless_they_are_the_same() {
    let vectors = vectors(N);
    let wish = Wish {
        k: K,
        ..Wish::default()
    };
    let routed = build::routed(&mut rng(1), &keys(), &vectors, wish, &mut |_| ());
    for index in [masked(1, &vectors), open(&vectors), routed.unwrap().index] {
        let server = Server::new(index).unwrap();
        let client = connect(&server);
        let request = |row: usize| {
            let mut transport = Hostile::new(&server, |_: &[u8], _: &mut Vec<u8>| ());
            let query = vectors.row(row);
            client.search(&mut rng(9), &mut transport, query).unwrap();
            transport.requests.pop().expect("a request")
        };
        let (first, again, other) = (request(3), request(3), request(4));
        // Equality shows, as it must: a message is a function of the query and of the state.
        assert_eq!(first, again);
        let part = agreement(&first[HEADS..], &other[HEADS..]);
        assert!(part < 0.02, "{part} of the bytes are equal");
    }
}

/// The bytes in which two requests differ, the first and the last, as parts of their length.
fn difference(a: &[u8], b: &[u8]) -> (usize, usize) {
    let mut places = (0..a.len()).filter(|&at| a[at] != b[at]);
    let first = places.next().expect("a difference");
    (first, places.next_back().unwrap_or(first))
}

/// Queries that are prepared before they are for something cannot be bound to it, as their documentation says: two of one state
/// show both columns. A query that knows what it is for shows neither.
#[test]
fn prepared_queries_from_one_state_show_both_columns_and_bound_ones_none() {
    let params = Params::for_columns(N, 2).unwrap();
    let (seed, zeros) = (Seed([1; 32]), vec![0; 2 * N]);
    let database = Database::from_slice(&params, &zeros).unwrap();
    let (_, hint) = simple::Server::setup(database, &params, &seed).unwrap();
    let client = simple::Client::new(&params, &seed, &hint).unwrap();
    let prepared = |index| {
        let prepared = client.prepare(&mut rng(5), 1).pop().unwrap();
        client.query_prepared(prepared, index).unwrap().1.to_bytes()
    };
    let bound = |index| client.query(&mut rng(5), index).unwrap().1.to_bytes();
    let (head, len) = (48, prepared(0).len());
    let column = |byte: usize| (byte - head) * N / (len - head);
    for (low, high) in [(3, 400), (200, 201), (0, N - 1)] {
        let (first, last) = difference(&prepared(low), &prepared(high));
        assert!(column(first).abs_diff(low) <= 1, "{first} for {low}");
        assert!(column(last).abs_diff(high) <= 1, "{last} for {high}");
        let (low, high) = (bound(low), bound(high));
        assert!(agreement(&low[head..], &high[head..]) < 0.05);
    }
}
