//! Counting by volume: how many records a question finds shows in what a client fetches afterwards, if it fetches what
//! it found.

use std::collections::BTreeSet;

use sordino_search::{Exchange, Hit, InProcess, Question, Server};
use sordino_testkit::{FETCH_PAYLOADS, connect, rng};

use super::bed::{K, vectors, without_hint};

const N: usize = 700;

/// Records with payloads of these lengths.
fn server(len: impl Fn(usize) -> usize) -> Server {
    without_hint(N, len)
}

/// The server's estimate of how many records were found: what it sent, in what it sends at once.
fn count(exchanges: &[Exchange], once: usize) -> usize {
    fetched(exchanges) / once
}

/// Bytes of payloads that a server sent.
fn fetched(exchanges: &[Exchange]) -> usize {
    let fetches = exchanges.iter().filter(|it| it.kind == FETCH_PAYLOADS);
    fetches.map(|it| it.down).sum()
}

#[test]
fn what_a_question_finds_does_not_show_in_what_is_fetched() {
    let (server, vectors) = (server(|_| 900), vectors(N));
    let client = connect(&server);
    let mut transport = InProcess::new(&server);
    let mut ask = |row: usize, k: usize, threshold: f32| {
        let mut question = Question::new(vectors.row(row));
        question.k = Some(k);
        question.threshold = Some(threshold);
        transport.take_exchanges();
        let found = client.ask(&mut rng(row as u64), &mut transport, &question);
        (found.unwrap().hits, transport.take_exchanges())
    };
    // Keys go up once.
    ask(0, 1, 0.0);
    let (most, honest) = ask(0, K, -1.0);
    assert_eq!(most.len(), K);
    let once = fetched(&honest);
    let questions = [
        (1, K, -1.0),
        (2, 2, -1.0),
        (3, K, 0.99),
        (4, K, 1.5),
        (5, 1, 0.0),
    ];
    let found = questions.map(|(row, k, threshold)| {
        let (hits, exchanges) = ask(row, k, threshold);
        assert_eq!(exchanges, honest);
        hits
    });
    // A client that fetches the payload of each hit by itself is counted exactly.
    let mut fetch_each = |hits: &[Hit]| {
        transport.take_exchanges();
        for hit in hits {
            let payload =
                client.payloads(&mut rng(1), &mut transport, std::slice::from_ref(&hit.id));
            assert!(payload.unwrap()[0].is_some());
        }
        transport.take_exchanges()
    };
    for hits in &found {
        assert_eq!(count(&fetch_each(hits), once), hits.len());
    }
    let counts: BTreeSet<usize> = found.iter().map(Vec::len).collect();
    assert!(counts.len() > 2, "{counts:?} records were found");
}

#[test]
fn lengths_of_payloads_within_a_class_do_not_show() {
    let parts = |len: fn(usize) -> usize| -> Vec<usize> {
        let manifest = server(len).manifest().clone();
        let parts = manifest.parts().unwrap();
        parts
            .iter()
            .map(|it| usize::try_from(it.len).unwrap())
            .collect()
    };
    let long = parts(|_| 1000);
    assert_eq!(long, parts(|row| if row == 3 { 900 } else { row % 7 }));
    // The longest shows, by its power of two.
    assert_ne!(long, parts(|row| if row == 3 { 1100 } else { 0 }));
}
