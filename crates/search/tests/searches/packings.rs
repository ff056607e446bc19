//! Routed mode with each packing of a query's secret, for clusters with odd and even numbers of parts of check
//! rows.

use std::collections::HashSet;

use sordino_search::manifest::{Grid, Mode, SecretPacking};
use sordino_search::recall;
use sordino_search::{Client, InProcess, Index, Server, Vectors, Wish, build, synthetic};
use sordino_testkit::{keys, rng};

const K: usize = 10;

/// An index for clients with this number of searches, its grid, and the recall that its builder
/// measured.
fn built(base: &Vectors, recall: f64, queries: u64) -> (Index, Grid, f64) {
    let wish = Wish::default().k(K).recall(recall).queries(queries);
    let mut rng = rng(1);
    let built = build::routed(&mut rng, &keys(), base, wish, &mut |_| ());
    let built = built.expect("an index");
    let (index, measured) = (built.index, built.measured.expected_recall);
    let Mode::Routed(mode) = &index.manifest().mode else {
        panic!("a routed index");
    };
    let grid = mode.grid;
    (index, grid, measured)
}

#[test]
fn every_packing_is_read_whatever_the_number_of_check_rows() {
    let mut cut = HashSet::new();
    for (n, dim, recall, queries) in [
        (6_000, 32, 0.95, 3),
        (6_000, 32, 0.95, 100),
        (20_000, 128, 0.99, 1),
        (60_000, 64, 0.9, 1),
    ] {
        let base = synthetic::uniform(n, dim, 11);
        let questions = synthetic::uniform(20, dim, 12);
        let truth = recall::exact(&base, &questions, K);
        let (index, grid, measured) = built(&base, recall, queries);
        let parts = (grid.stored() - grid.slots as usize) / 64;
        assert!(grid.groups > 2, "{grid:?}");
        cut.insert((grid.packing, parts % 2));
        let server = Server::new(index).expect("a server");
        let mut transport = InProcess::new(&server);
        let client = Client::connect(&mut transport, &keys().reader(), None).expect("a client");
        let mut rng = rng(2);
        let mut share = 0.0;
        for (at, question) in questions.rows().enumerate() {
            let found = client.search(&mut rng, &mut transport, question);
            let found = found.expect("an honest reply");
            for hit in &found.hits {
                let row = hit.id.number().expect("a number");
                let row = base.row(usize::try_from(row).expect("a row"));
                let cosine: f32 = row.iter().zip(question).map(|(a, b)| a * b).sum();
                assert!((hit.score - cosine).abs() < 0.01, "{} {cosine}", hit.score);
            }
            share += truth.recall(at, K, found.numbers()) / questions.len() as f64;
        }
        assert!(
            (share - measured).abs() < 0.1,
            "{share}, {measured} measured"
        );
    }
    // With t = 16, a block holds two steps of check rows.
    use SecretPacking::{T16, T32, T64, T128};
    let all = [(T16, 1), (T32, 0), (T64, 1), (T128, 1)];
    assert_eq!(cut, all.into());
}

#[test]
fn of_vectors_with_many_copies_some_are_found_and_counted() {
    let copies = 60;
    let points = synthetic::uniform(50, 32, 13);
    let rows = (0..copies).flat_map(|_| points.as_slice()).copied();
    let base = Vectors::new(32, rows.collect()).expect("vectors");
    let (index, _, measured) = built(&base, 0.95, 10);
    // Every copy counts as found. If ids decided, only some of the sixty copies would count.
    assert!(measured > 0.9, "{measured}");
    let server = Server::new(index).expect("a server");
    let mut transport = InProcess::new(&server);
    let client = Client::connect(&mut transport, &keys().reader(), None).expect("a client");
    let mut rng = rng(2);
    let mut lost = 0;
    for (at, point) in points.rows().enumerate() {
        let found = client.search(&mut rng, &mut transport, point);
        let hits = found.expect("an honest reply").hits;
        let equal = hits.iter().filter(|hit| {
            let row = hit.id.number().expect("a number");
            usize::try_from(row).expect("a row") % points.len() == at
        });
        lost += usize::from(equal.count() < K);
    }
    assert!(
        lost <= 3,
        "{lost} of 50 points have fewer copies than asked for"
    );
}
