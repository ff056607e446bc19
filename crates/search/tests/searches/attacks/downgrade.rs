//! A server replaces an index by a weaker one that the same owner signed.

use sordino_search::manifest::Packing;
use sordino_search::{Client, Error, Index, Server, build};
use sordino_testkit::{Hostile, SCORE, keys, kind, rng};

use super::answers::Answers;
use super::bed::{K, masked, open, open_with_sums, vectors};

const N: usize = 2000;

/// A masked index whose products have fewer bits.
fn coarse() -> Index {
    let (rng, keys) = (&mut rng(1), keys());
    build::masked(rng, &keys, &vectors(N), K, Packing::T64, &mut |_| ()).unwrap()
}

/// All indexes have the same vectors and are made with the same state of the owner's generator.
#[test]
fn a_weaker_index_is_taken_for_the_checked_one_by_a_client_without_a_pin_alone() {
    let vectors = vectors(N);
    let substitutions = [
        (open_with_sums(1, &vectors), open(1, &vectors)),
        (masked(1, &vectors), open(1, &vectors)),
        (masked(1, &vectors), coarse()),
    ];
    for (checked, weaker) in substitutions {
        let [checked, weaker] = [checked, weaker].map(|index| Server::new(index).unwrap());
        let connect = |server, pin| {
            let mut transport = Hostile::new(server, |_: &[u8], _: &mut Vec<u8>| ());
            let client = Client::connect(&mut transport, &keys().reader(), pin);
            (client, transport.requests)
        };
        let pin = connect(&checked, None).0.unwrap().pin();
        assert!(connect(&checked, Some(&pin)).0.is_ok());
        let (refused, requests) = connect(&weaker, Some(&pin));
        let refused = refused.map(drop);
        assert!(
            matches!(refused, Err(Error::OtherIndex { .. } | Error::Fork { .. })),
            "{refused:?}"
        );
        assert!(requests.iter().all(|request| kind(request) != SCORE));
        let (believed, _) = connect(&weaker, None);
        let mut transport = Hostile::new(&weaker, |_: &[u8], _: &mut Vec<u8>| ());
        let found = believed
            .unwrap()
            .search(&mut rng(2), &mut transport, vectors.row(3));
        assert_eq!(found.unwrap().hits[0].id, 3u32);
    }
}

/// What the server gains: a client that took the index without checks gets a record of the server's choice among the first
/// results.
#[test]
fn who_took_the_index_without_checks_believes_scores_that_the_other_one_refuses() {
    let vectors = vectors(N);
    let believed = |index| {
        let server = Server::new(index).unwrap();
        let trials = (0..20).filter(|&row| {
            let liked = (row * 7 + 900) % N;
            let mut transport = Hostile::new(&server, |request: &[u8], reply: &mut Vec<u8>| {
                if kind(request) == SCORE {
                    let mut answers = Answers::read(reply, N);
                    answers.add(liked, 11_000);
                    answers.write(reply);
                }
            });
            let client = Client::connect(&mut transport, &keys().reader(), None).unwrap();
            let found = client.search(&mut rng(1), &mut transport, vectors.row(row));
            let id = Some(liked as u64);
            found.is_ok_and(|found| found.hits.iter().any(|hit| hit.id.number() == id))
        });
        trials.count()
    };
    assert!(believed(open(1, &vectors)) >= 10);
    assert_eq!(believed(open_with_sums(1, &vectors)), 0);
}
