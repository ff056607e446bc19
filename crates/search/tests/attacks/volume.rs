//! Counting by volume: how many records a question finds shows in what a client fetches afterwards, if it fetches what
//! it found.

use sordino_search::manifest::Packing;
use sordino_search::{
    Batch, Client, Exchange, Form, InProcess, Memory, Question, Server, Spec, Store, Vectors,
};

use crate::bed::{FETCH_PAYLOADS, K, keys, rng, vectors};

const N: usize = 700;

/// Records with payloads of these lengths, for clients that come once: payloads are fetched.
fn server(len: impl Fn(usize) -> usize) -> (Server, Vectors) {
    let vectors = vectors(N);
    let payloads = (0..N).map(|row| vec![row.to_le_bytes()[0]; len(row)]);
    let batch = Batch::from(vectors.clone()).with_payloads(payloads.collect());
    let spec = Spec {
        k: K,
        form: Form::Masked(Packing::T4),
        searches: 1,
        ..Spec::default()
    };
    let (disk, rng, keys) = (Memory::default(), &mut rng(1), keys());
    Store::create_on(disk.clone(), "", rng, &keys, &spec, [batch], &mut |_| ()).unwrap();
    let index = sordino_search::Index::open_on(disk, "", &keys.public()).unwrap();
    (Server::new(index).unwrap(), vectors)
}

/// The server's estimate of how many records were found: what it sent, in slots.
fn count(fetched: usize, slot: usize) -> usize {
    fetched / slot
}

/// Bytes of payloads that a server sent.
fn fetched(exchanges: &[Exchange]) -> usize {
    let fetches = exchanges.iter().filter(|it| it.kind == FETCH_PAYLOADS);
    fetches.map(|it| it.down).sum()
}

#[test]
fn what_a_question_finds_does_not_show_in_what_is_fetched() {
    let (server, vectors) = server(|_| 900);
    let payloads = server.manifest().payloads.clone();
    let slot = payloads.unwrap().form.sealed_len();
    let mut transport = InProcess::new(&server);
    let client = Client::connect(&mut transport, &keys().reader(), None).unwrap();
    let mut ask = |row: usize, k: usize, threshold: f32| {
        let mut question = Question::new(vectors.row(row));
        question.k = Some(k);
        question.threshold = Some(threshold);
        transport.take_exchanges();
        let found = client.ask(&mut rng(row as u64), &mut transport, &question);
        (found.unwrap().hits.len(), transport.take_exchanges())
    };
    // Keys go up once.
    ask(0, 1, 0.0);
    let (most, honest) = ask(0, K, -1.0);
    assert_eq!(most, K);
    let mut seen = std::collections::BTreeSet::new();
    for (row, k, threshold) in [
        (1, K, -1.0),
        (2, 2, -1.0),
        (3, K, 0.99),
        (4, K, 1.5),
        (5, 1, 0.0),
    ] {
        let (hits, exchanges) = ask(row, k, threshold);
        seen.insert(hits);
        assert_eq!(exchanges, honest);
        // A client that fetches a slot for each hit is counted exactly.
        assert_eq!(count(hits * slot, slot), hits);
    }
    assert!(seen.len() > 2, "{seen:?} records were found");
    assert!(fetched(&honest) > 0);
}

#[test]
fn lengths_of_payloads_within_a_class_do_not_show() {
    let parts = |len: fn(usize) -> usize| -> Vec<usize> {
        let manifest = server(len).0.manifest().clone();
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
