//! A server sends messages of one index in place of another's. One owner signed both indexes, one key reads both, and
//! both have the same shape.

use sordino_search::{Client, Error, Found, InProcess, Index, Server, Vectors};
use sordino_testkit::{Hostile, SCORE, connect, keys, kind, rng};

use super::bed::{DIM, masked, open, open_with_sums, vectors};

const N: usize = 2000;
/// With this number of records, all scores of another index are often possible values.
const FEW: usize = 20;
/// Numbers of bytes: of a message's head, of the edition after it, of the head of a query or a reply, of the seed's
/// name in that head, and of the index's state.
const HEAD: usize = 16;
const EDITION: usize = 24;
const INNER: usize = 16;
const EPOCH: usize = 8;
const STATE: usize = 16;

/// The bytes that name the seed in a request's query.
fn epoch(request: &mut [u8]) -> &mut [u8] {
    &mut request[HEAD + EDITION + INNER..][..EPOCH]
}

/// A reply of `other` to a request for this server. All names in request and reply are changed so
/// that they fit.
fn substitute(other: &Server, seen: &[u8], request: &[u8], reply: &mut Vec<u8>) {
    let mut forged = request.to_vec();
    forged[HEAD..HEAD + EDITION].copy_from_slice(&other.manifest().edition().to_bytes());
    let mut theirs = seen.to_vec();
    epoch(&mut forged).copy_from_slice(epoch(&mut theirs));
    let mut answer = other.handle(&forged).expect("a query of this shape");
    let heads = HEAD + INNER + STATE;
    answer[..heads].copy_from_slice(&reply[..heads]);
    *reply = answer;
}

/// Builds an index of these vectors with a generator of this seed.
type Build = fn(u64, &Vectors) -> Index;

/// Searches among `n` records at a server with two indexes. The first result has the other index's scores, the second
/// its own index's.
fn asked(build: Build, n: usize, seed: u64) -> [Result<Found, Error>; 2] {
    let vectors = vectors(n);
    let own = Server::new(build(1, &vectors)).unwrap();
    let mut turned = vectors.as_slice().to_vec();
    turned.rotate_left(5);
    let turned = Vectors::new(DIM, turned).unwrap();
    let other = Server::new(build(2, &turned)).unwrap();
    // A request for the other index, which shows the name of its seed.
    let mut transport = Hostile::new(&other, |_: &[u8], _: &mut Vec<u8>| ());
    let honest = connect(&other).search(&mut rng(1), &mut transport, vectors.row(3));
    honest.unwrap();
    let seen = transport.requests.pop().expect("a request");

    let client = connect(&own);
    [&other, &own].map(|from| {
        let forge = |request: &[u8], reply: &mut Vec<u8>| {
            if kind(request) == SCORE {
                let own = std::ptr::eq(from, &raw const own);
                let named = if own { request } else { &seen };
                substitute(from, named, request, reply);
            }
        };
        let mut transport = Hostile::new(&own, forge);
        client.search(&mut rng(seed), &mut transport, vectors.row(3))
    })
}

#[test]
fn scores_of_another_index_are_refused() {
    for build in [masked as Build, open, open_with_sums] {
        let [others, own] = asked(build, N, 1);
        assert!(matches!(others, Err(Error::BadReply)), "{others:?}");
        // The same method with the index's own answers gives a usual search.
        assert_eq!(own.unwrap().hits[0].id, 3u32);
    }
}

/// A client cannot distinguish another index's scores. If only their range is checked and they are few, the client believes
/// them.
#[test]
fn a_few_scores_of_another_index_are_believed_without_checks_alone() {
    let believed = |build: Build| {
        let trials = (0..10).map(|seed| asked(build, FEW, seed));
        trials.filter(|[others, _]| others.is_ok()).count()
    };
    assert!(believed(open) >= 5);
    assert_eq!([masked as Build, open_with_sums].map(believed), [0, 0]);
}

#[test]
fn another_index_is_taken_for_this_one_by_a_client_without_a_pin_alone() {
    let vectors = vectors(50);
    let own = Server::new(masked(1, &vectors)).unwrap();
    let other = Server::new(masked(2, &vectors)).unwrap();
    let pin = connect(&own).pin();
    let connect = |pin| Client::connect(&mut InProcess::new(&other), &keys().reader(), pin);
    assert!(connect(None).is_ok());
    let refused = connect(Some(&pin)).map(drop);
    assert!(matches!(refused, Err(Error::OtherIndex { .. })));
}
