//! Randomness that is used twice: a machine is restored, or a process forks, and its generator goes on from a state that
//! was used before. Under one secret two queries differ by what they ask for, in the clear.

use rand::rngs::StdRng;
use sordino_pir::{Database, Params, Seed, simple};
use sordino_search::manifest::{Mode, Packing, Routing};
use sordino_search::payload::FetchKind;
use sordino_search::{Client, Form, Id, Index, KEYS_LEN, Server, Spec, Wish, build};
use sordino_testkit::{ASKED, FETCH, FETCH_PAYLOADS, Hostile, by, connect, keys, kind, rng};

use super::bed::{K, agreement, masked, open, vectors, with_payloads};

/// Records; enough of them that payloads are fetched with a hint where there are many searches; enough that buckets are fetched without one where
/// there are few.
const N: usize = 600;
const MORE: usize = 5000;
const MOST: usize = 20_000;
/// Bytes of a message's head and the edition, and no fewer than are before a query's numbers.
const HEADS: usize = 16 + 24;
const INNER: usize = 88;

/// A server that changes nothing.
type Silent = fn(&[u8], &mut Vec<u8>);

/// Indexes whose searches have one message, of scores.
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

/// An index of this number of records with payloads that are fetched in this way.
fn fetched(form: Form, n: usize, way: FetchKind) -> Index {
    let spec = by(way, Spec::new(form).k(K));
    // All payloads have the same length, whatever their number.
    let longest = 1500 * MORE / n;
    with_payloads(&spec, (0..n).map(|row| vec![1; row % longest]).collect())
}

/// True if buckets are fetched with a hint, and the way to fetch payloads.
fn ways(index: &Index) -> (Option<bool>, FetchKind) {
    let manifest = index.manifest();
    let buckets = match &manifest.mode {
        Mode::Sealed(mode) => Some(mode.hint.is_some()),
        _ => None,
    };
    let fetch = &manifest.payloads.as_ref().unwrap().fetch;
    (buckets, fetch.kind())
}

/// The messages of a new client's requests, all from one state of the generator.
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

/// A request's keys, if it brings those of a session, where clients have any, and what is encrypted in it.
fn split(request: &[u8], session: bool) -> (&[u8], &[u8]) {
    let fetches = [FETCH, FETCH_PAYLOADS].contains(&kind(request));
    let brings = fetches && session && request.len() > KEYS_LEN;
    let (keys, query) = request[HEADS..].split_at(if brings { KEYS_LEN } else { 0 });
    (keys, &query[INNER..])
}

/// Asks twice for record 3 and once for record 4 from one state, and once from another state.
fn share_nothing(server: &Server, request: impl Fn(usize, u64) -> Vec<Vec<u8>>) {
    let payloads = server.manifest().payloads.as_ref();
    let session = payloads.is_some_and(|it| it.fetch.kind() == FetchKind::Hintless);
    let (first, again) = (request(3, 9), request(3, 9));
    let (other, independent) = (request(4, 9), request(4, 10));
    // Equal requests show, since a message is a function of the query and the state.
    assert_eq!(first, again);
    assert_eq!((first.len(), first.len()), (other.len(), independent.len()));
    for ((one, other), independent) in first.iter().zip(&other).zip(&independent) {
        let ((keys, one), (others, other)) = (split(one, session), split(other, session));
        // A session is a function of the state alone. Its queries are not.
        assert_eq!(keys, others);
        let (_, independent) = split(independent, session);
        // Each query in a shared message has its own head.
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

/// Two lists of records that agree in one place: a query that was bound to its own record alone would be the same in both.
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

/// The first and the last byte in which two requests differ, as fractions of their length.
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
