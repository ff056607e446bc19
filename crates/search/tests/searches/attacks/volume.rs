//! Counting by volume: if a client fetches what its search found, the size of the fetch reveals the number of results.

use std::collections::BTreeSet;

use sordino_search::payload::FetchKind;
use sordino_search::{Exchange, Hit, InProcess, Question, Server};
use sordino_testkit::{ASKED, FETCH_PAYLOADS, connect, rng};

use super::bed::{K, fetched_by, vectors};

const N: usize = 700;

/// Records with payloads of these lengths.
fn server(way: FetchKind, len: impl Fn(usize) -> usize) -> Server {
    Server::new(fetched_by(way, N, len)).unwrap()
}

/// The server's estimate of the number of results: the bytes that it sent, divided by the bytes of
/// one fetch.
fn count(exchanges: &[Exchange], once: usize) -> usize {
    fetched(exchanges) / once
}

/// The number of payload bytes that a server sent.
fn fetched(exchanges: &[Exchange]) -> usize {
    let fetches = exchanges.iter().filter(|it| it.kind == FETCH_PAYLOADS);
    fetches.map(|it| it.down).sum()
}

#[test]
fn what_a_question_finds_does_not_show_in_what_is_fetched() {
    ASKED.into_iter().for_each(counted);
}

fn counted(way: FetchKind) {
    let (server, vectors) = (server(way, |_| 900), vectors(N));
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
    // The keys are sent once.
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
    // If a client fetches each result's payload separately, the server counts the results exactly.
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
fn sizes_say_nothing_of_a_payload_but_what_all_of_them_have_together() {
    ASKED.into_iter().for_each(sized);
}

fn sized(way: FetchKind) {
    let parts = |len: &dyn Fn(usize) -> usize| -> Vec<usize> {
        let manifest = server(way, len).manifest().clone();
        let parts = manifest.parts().unwrap();
        let len = |len: u64| usize::try_from(len).unwrap();
        parts.iter().map(|it| len(it.len)).collect()
    };
    // Other records with the same lengths. Each index has its own order of pages, so the parts' sizes differ a little.
    let some = parts(&|row| 40 + row % 7 * 100);
    for first in [1, 3, 5] {
        let others = parts(&|row| 40 + (row + first) % 7 * 100);
        for (a, b) in some.iter().zip(&others) {
            assert!(a.abs_diff(*b) <= a / 20, "{a} and {b} bytes");
        }
    }
    // But the sizes reveal that the sum of the lengths doubled.
    let all = |parts: &[usize]| parts.iter().sum::<usize>();
    let twice = parts(&|row| 80 + row % 7 * 200);
    assert!(all(&twice) > all(&some) + some.len());
}
