//! Randomness that is used twice: after a machine is restored or a process forks, its generator continues from a state
//! that was used before. If two queries had one secret, their difference would reveal the difference of their contents.

use rand::rngs::StdRng;
use sordino_pir::{Database, Params, Seed, simple};
use sordino_search::manifest::{Mode, Packing, Routing};
use sordino_search::payload::FetchKind;
use sordino_search::{Client, Form, Id, Index, KEYS_LEN, Server, Spec, Wish, build};
use sordino_testkit::{ASKED, FETCH, FETCH_PAYLOADS, Hostile, by, connect, keys, kind, rng};

use super::bed::{K, agreement, masked, open, vectors, with_payloads};

/// Numbers of records. With the second number, clients of many searches fetch payloads with a hint. With the third, clients
/// of few searches fetch buckets without one.
const N: usize = 600;
const MORE: usize = 5000;
const MOST: usize = 20_000;
/// The bytes of a message's head and the edition, and at least the bytes before a query's numbers.
const HEADS: usize = 16 + 24;
const INNER: usize = 88;

/// A change of replies that does nothing.
type Silent = fn(&[u8], &mut Vec<u8>);

/// Indexes whose searches have one message, for scores.
fn scored() -> [Index; 3] {
    let vectors = vectors(N);
    let wish = Wish::default().k(K);
    let routed = build::routed(&mut rng(1), &keys(), &vectors, wish, &mut |_| ());
    [
        masked(1, &vectors),
        open(1, &vectors),
        routed.unwrap().index,
    ]
}

/// An index of `n` records, whose payloads are fetched in this way.
fn fetched(form: Form, n: usize, way: FetchKind) -> Index {
    let spec = by(way, Spec::new(form).k(K));
    // The total number of payload bytes does not depend on the number of records.
    let longest = 1500 * MORE / n;
    with_payloads(&spec, (0..n).map(|row| vec![1; row % longest]).collect())
}

/// Whether buckets are fetched with a hint, if there are buckets, and the way to payloads.
fn ways(index: &Index) -> (Option<bool>, FetchKind) {
    let manifest = index.manifest();
    let buckets = match &manifest.mode {
        Mode::Sealed(mode) => Some(mode.hint.is_some()),
        _ => None,
    };
    let fetch = &manifest.payloads.as_ref().unwrap().fetch;
    (buckets, fetch.kind())
}

/// The messages of a new client's requests, all made from one state of the generator.
fn messages(
    server: &Server,
    state: u64,
    ask: impl FnOnce(&Client, &mut StdRng, &mut Hostile<'_, Silent>),
) -> Vec<Vec<u8>> {
    let silent: Silent = |_, _| ();
    let mut transport = Hostile::new(server, silent);
    ask(&connect(server), &mut rng(state), &mut transport);
    transport.requests
}

/// The session keys in a request, if it has any, and the encrypted part.
fn split(request: &[u8], session: bool) -> (&[u8], &[u8]) {
    let fetches = [FETCH, FETCH_PAYLOADS].contains(&kind(request));
    let brings = fetches && session && request.len() > KEYS_LEN;
    let (keys, query) = request[HEADS..].split_at(if brings { KEYS_LEN } else { 0 });
    (keys, &query[INNER..])
}

/// Asks twice for record 3 and once for record 4 from one state, and for record 4 from another
/// state.
fn share_nothing(server: &Server, request: impl Fn(usize, u64) -> Vec<Vec<u8>>) {
    let payloads = server.manifest().payloads.as_ref();
    let session = payloads.is_some_and(|it| it.fetch.kind() == FetchKind::Hintless);
    let (first, again) = (request(3, 9), request(3, 9));
    let (other, independent) = (request(4, 9), request(4, 10));
    // Equal queries from equal states give equal messages, as they must.
    assert_eq!(first, again);
    assert_eq!((first.len(), first.len()), (other.len(), independent.len()));
    for ((one, other), independent) in first.iter().zip(&other).zip(&independent) {
        let ((keys, one), (others, other)) = (split(one, session), split(other, session));
        // A session depends on the state alone, but its queries do not.
        assert_eq!(keys, others);
        let (_, independent) = split(independent, session);
        // A message with several queries has a head for each of them.
        let heads = agreement(one, independent);
        let part = agreement(one, other);
        assert!(heads < 0.2, "{heads} of the bytes are heads");
        assert!(part < heads + 0.02, "{part} of the bytes are equal");
    }
}

/// Searches for the vectors of these records.
fn searches_share_nothing(index: Index) {
    let (server, vectors) = (Server::new(index).unwrap(), vectors(N));
    share_nothing(&server, |row, state| {
        messages(&server, state, |client, rng, transport| {
            client.search(rng, transport, vectors.row(row)).unwrap();
        })
    });
}

#[test]
fn searches_from_one_state_of_the_generator_share_nothing_unless_they_are_the_same() {
    scored().into_iter().for_each(searches_share_nothing);
}

#[test]
fn fetches_from_one_state_of_the_generator_share_nothing_unless_they_are_the_same() {
    let sealed = |queries, routing| Form::Sealed {
        recall: 0.9,
        queries,
        routing: Some(routing),
    };
    let (rows, encrypted) = (Form::Masked(Packing::T4), sealed(1000, Routing::Encrypted));
    let (pir, hintless, scan) = (FetchKind::Pir, FetchKind::Hintless, FetchKind::Scan);
    let indexes = [
        fetched(rows, MORE, pir),
        fetched(rows, MORE, hintless),
        fetched(rows, MORE, scan),
        fetched(encrypted, MORE, pir),
        fetched(sealed(1, Routing::Downloaded), MOST, hintless),
    ];
    let expected = [
        (None, pir),
        (None, hintless),
        (None, scan),
        (Some(true), pir),
        (Some(false), hintless),
    ];
    assert_eq!(indexes.each_ref().map(ways), expected);
    indexes.into_iter().for_each(searches_share_nothing);
}

/// Two lists of records that have one record in common. A query that depended only on its own record would be equal in
/// both.
#[test]
fn lists_that_agree_in_a_place_share_nothing_from_one_state() {
    for way in ASKED {
        let index = fetched(Form::Masked(Packing::T4), MORE, way);
        let server = Server::new(index).unwrap();
        share_nothing(&server, |row, state| {
            let ids = [1, row as u64, 2].map(Id::Number);
            messages(&server, state, |client, rng, transport| {
                client.payloads(rng, transport, &ids).unwrap();
            })
        });
    }
}

/// The positions of the first and the last byte in which two requests differ.
fn difference(a: &[u8], b: &[u8]) -> (usize, usize) {
    let mut places = (0..a.len()).filter(|&at| a[at] != b[at]);
    let first = places.next().expect("a difference");
    (first, places.next_back().unwrap_or(first))
}

/// Queries that are prepared before their use is known cannot depend on it, as their documentation says. Two of them from
/// one state reveal both columns. Queries made for a known use reveal neither.
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
