//! Whole searches on a small clustered set: their results, and what an observer sees.

use sordino_index::wire::Request;
use sordino_search::Exchange;
use sordino_search::manifest::{Mode, Packing};
use sordino_search::recall;
use sordino_search::{
    Client, Error, InProcess, Index, Plan, Routing, Server, Vectors, Wish, synthetic, vectors,
};
use sordino_search::{Step, build};
use sordino_testkit::{Hostile, Set, keys, rng};

const N: usize = 3000;
const DIM: usize = 32;
const K: usize = 10;

fn sealed(set: &Set, routing: Routing) -> Index {
    let wish = Wish::default()
        .k(K)
        .recall(0.9)
        .queries(10)
        .routing(Some(routing));
    let plan = Plan::new(N, DIM, wish).expect("a plan");
    let mut steps = Vec::new();
    let built = build::sealed(&mut rng(1), &keys(), &set.base, &plan, &mut |step| {
        steps.push(step);
    })
    .expect("an index");
    // Long steps are reported more than once.
    steps.dedup();
    assert_eq!(steps, Step::SEALED);
    built.index
}

fn routed(set: &Set) -> Index {
    let wish = Wish::default().k(K).queries(10);
    let built = build::routed(&mut rng(1), &keys(), &set.base, wish, &mut |_| ());
    built.expect("an index").index
}

fn local(set: &Set) -> Index {
    build::local(&mut rng(1), &keys(), &set.base, K, &mut |_| ()).expect("an index")
}

fn open(set: &Set, packing: Packing) -> Index {
    build::open(&mut rng(1), &keys(), &set.base, K, packing, &mut |_| ()).expect("an index")
}

fn masked(set: &Set, packing: Packing) -> Index {
    build::masked(&mut rng(1), &keys(), &set.base, K, packing, &mut |_| ()).expect("an index")
}

/// An index of each mode. If a mode has two forms, an index of each form.
fn all(set: &Set) -> [Index; 8] {
    [
        sealed(set, Routing::Downloaded),
        sealed(set, Routing::Encrypted),
        local(set),
        open(set, Packing::T4),
        open(set, Packing::T8),
        masked(set, Packing::T4),
        masked(set, Packing::T8),
        routed(set),
    ]
}

#[test]
fn every_mode_finds_what_exact_search_finds() {
    let set = Set::clustered(N, 30, DIM, K);
    for index in all(&set) {
        let name = index.manifest().mode.kind().name();
        // The lowest accepted recall, and the largest accepted difference of a score from the cosine.
        let (least, most) = match index.manifest().mode {
            Mode::Sealed(_) => (0.85, 0.06),
            // The error of a score is at most 2e-3 times the distance of the vector from its base.
            Mode::Routed(_) => (0.85, 0.01),
            Mode::Local(_) => (0.97, 0.06),
            _ => (0.99, 0.001),
        };
        let server = Server::new(index).unwrap();
        let mut transport = InProcess::new(&server);
        let client = Client::connect(&mut transport, &keys().reader(), None).unwrap();
        let mut recall = 0.0;
        for (at, query) in set.queries.rows().enumerate() {
            let found = client
                .search(&mut rng(at as u64), &mut transport, query)
                .unwrap();
            assert_eq!(found.hits.len(), K);
            assert!(found.hits.is_sorted_by(|a, b| a.score >= b.score));
            for hit in &found.hits {
                let row = usize::try_from(hit.id.number().unwrap()).unwrap();
                let row = set.base.row(row);
                let cosine: f32 = row.iter().zip(query).map(|(a, b)| a * b).sum();
                assert!(
                    (hit.score - cosine).abs() < most,
                    "{name}: {} for {cosine}",
                    hit.score
                );
            }
            recall += set.truth.recall(at, K, found.numbers()) / set.queries.len() as f64;
        }
        assert!(recall > least, "{name}: recall {recall}");
    }
}

/// Enough vectors that comparing their codes first is worthwhile. This holds for all seeds of the codes, which follow from
/// the segment's id.
#[test]
fn local_mode_in_two_stages_finds_what_scoring_everything_finds() {
    let (base, queries) = synthetic::clustered(40_000, 50, 128, 11);
    let truth = recall::exact(&base, &queries, K);
    let index = build::local(&mut rng(1), &keys(), &base, K, &mut |_| ()).unwrap();
    let Mode::Local(mode) = &index.manifest().mode else {
        unreachable!("a local index");
    };
    let sketch = mode.sketch.expect("a first stage");
    assert!(sketch.candidates < 5000, "{sketch:?}");
    let read = Index::from_bytes(&index.to_bytes(), &keys().public()).unwrap();
    assert_eq!(read, index);
    let server = Server::new(index).unwrap();
    let mut transport = InProcess::new(&server);
    let client = Client::connect(&mut transport, &keys().reader(), None).unwrap();
    transport.take_exchanges();
    let mut recall = 0.0;
    for (at, query) in queries.rows().enumerate() {
        let found = client.search(&mut rng(2), &mut transport, query).unwrap();
        recall += truth.recall(at, K, found.numbers()) / queries.len() as f64;
    }
    // The recall includes the loss of 8-bit codes.
    assert!(recall > 0.97, "{recall}");
    assert!(transport.take_exchanges().is_empty());
}

#[test]
fn an_observer_sees_the_same_for_every_query() {
    let set = Set::clustered(N, 30, DIM, K);
    for index in all(&set) {
        let messages = match &index.manifest().mode {
            Mode::Sealed(mode) if mode.routing == Routing::Encrypted => 2,
            Mode::Local(_) => 0,
            _ => 1,
        };
        let server = Server::new(index).unwrap();
        let mut transport = InProcess::new(&server);
        let client = Client::connect(&mut transport, &keys().reader(), None).unwrap();
        assert_eq!(transport.take_exchanges().len(), 2);
        let mut transcripts: Vec<Vec<Exchange>> = Vec::new();
        let extremes = [vec![1e30; DIM], vec![-1e-30; DIM], {
            let mut one = vec![0.0; DIM];
            one[DIM - 1] = 1.0;
            one
        }];
        let queries = set.queries.rows().map(<[f32]>::to_vec).chain(extremes);
        for query in queries {
            client.search(&mut rng(2), &mut transport, &query).unwrap();
            transcripts.push(transport.take_exchanges());
        }
        assert_eq!(transcripts[0].len(), messages);
        assert!(
            transcripts
                .iter()
                .all(|transcript| *transcript == transcripts[0])
        );
    }
}

#[test]
fn the_same_query_twice_shares_nothing_on_the_wire() {
    let set = Set::clustered(N, 30, DIM, K);
    for index in all(&set) {
        let server = Server::new(index).unwrap();
        let mut transport = Hostile::new(&server, |_, _| ());
        let client = Client::connect(&mut transport, &keys().reader(), None).unwrap();
        transport.requests.clear();
        let mut rng = rng(3);
        for _ in 0..2 {
            client
                .search(&mut rng, &mut transport, set.queries.row(0))
                .unwrap();
        }
        // Fresh secrets make the messages of equal queries look unrelated.
        let (first, second) = transport.requests.split_at(transport.requests.len() / 2);
        for (first, second) in first.iter().zip(second) {
            assert_eq!(first.len(), second.len());
            let same: Vec<_> = first.iter().zip(second).map(|(a, b)| a == b).collect();
            let runs = same.chunk_by(|a, b| a == b).filter(|run| run[0]);
            // Longer runs of equal bytes are the head of a message and the head of its query. In
            // the rest, 1 byte in 256 is equal by chance.
            let (heads, others): (Vec<_>, Vec<_>) =
                runs.map(<[bool]>::len).partition(|run| *run >= 5);
            assert!(heads.iter().all(|head| *head < 100), "{heads:?}");
            let equal: usize = others.iter().sum();
            assert!(
                equal < first.len() / 60 + 10,
                "{equal} of {} bytes equal",
                first.len()
            );
            assert!(heads.iter().sum::<usize>() < first.len() / 4, "{heads:?}");
        }
    }
}

/// A reply in a batch equals the reply to the same request alone, whatever else the batch contains.
#[test]
fn a_batch_answers_as_its_requests_alone_would_be_answered() {
    let set = Set::clustered(N, 30, DIM, K);
    for index in all(&set) {
        let server = Server::new(index).unwrap();
        let mut transport = Hostile::new(&server, |_, _| ());
        let client = Client::connect(&mut transport, &keys().reader(), None).unwrap();
        for query in set.queries.rows().take(5) {
            client.search(&mut rng(5), &mut transport, query).unwrap();
        }
        let mut requests = transport.requests;
        // Adds damaged requests, an empty request, and a reply in place of a request.
        let last = requests.last().unwrap().clone();
        for (at, byte) in [(0, 4), (2, 6), (3, 17), (5, last.len() - 1)] {
            let mut damaged = last.clone();
            damaged[byte % last.len()] ^= 0xff;
            requests.insert(at, damaged);
        }
        requests.insert(1, Vec::new());
        requests.insert(4, server.handle(&last).unwrap());
        assert!(
            requests
                .iter()
                .any(|request| server.handle(request).is_err())
        );
        let borrowed: Vec<&[u8]> = requests.iter().map(Vec::as_slice).collect();
        let replies = server.handle_batch(&borrowed);
        assert_eq!(replies.len(), requests.len());
        for (request, reply) in requests.iter().zip(replies) {
            let alone = server.handle(request);
            assert_eq!(
                reply.map_err(|error| error.to_string()),
                alone.map_err(|error| error.to_string())
            );
            if let Ok(prepared) = server.handle(request) {
                assert!(request.len() <= server.longest_request().unwrap());
                if let Some(whole) = server.prepared(Request::read(&request[..]).unwrap()) {
                    assert_eq!(whole.len(), prepared.len());
                    for step in [1000, 16, 7777] {
                        let starts = (0..whole.len() + 1).step_by(step);
                        let ranges: Vec<u8> = starts.flat_map(|at| whole.range(at, step)).collect();
                        assert_eq!(ranges, prepared);
                    }
                }
            }
        }
        assert!(server.handle_batch(&[]).is_empty());
    }
}

#[test]
fn an_index_survives_its_file() {
    let set = Set::clustered(N, 30, DIM, K);
    for index in all(&set) {
        let bytes = index.to_bytes();
        let read = Index::from_bytes(&bytes, &keys().public()).unwrap();
        assert_eq!(read, index);
        let [a, b] = [index, read].map(|index| {
            let server = Server::new(index).unwrap();
            let mut transport = InProcess::new(&server);
            let client = Client::connect(&mut transport, &keys().reader(), None).unwrap();
            client
                .search(&mut rng(4), &mut transport, set.queries.row(3))
                .unwrap()
                .hits
        });
        assert_eq!(a, b);
    }
}

#[test]
fn builds_repeat_only_in_what_they_should() {
    let set = Set::clustered(N, 30, DIM, K);
    let build = |seed| build::local(&mut rng(seed), &keys(), &set.base, K, &mut |_| ()).unwrap();
    let (a, b, c) = (
        build(1).to_bytes(),
        build(1).to_bytes(),
        build(2).to_bytes(),
    );
    assert_eq!(a, b);
    // An index with another id has other keys, so only the heads are equal.
    let equal = a.iter().zip(&c).filter(|(a, c)| a == c).count();
    assert!(equal < a.len() / 100, "{equal} of {}", a.len());
}

#[test]
fn a_generator_that_repeats_itself_does_not_repeat_an_index() {
    let set = Set::clustered(N, 30, DIM, K);
    let mut changed = set.base.as_slice().to_vec();
    changed[17] += 0.25;
    let changed = Vectors::new(DIM, changed).unwrap();
    let ids = [&set.base, &changed, &set.base].map(|base| {
        let index = build::masked(&mut rng(1), &keys(), base, K, Packing::T4, &mut |_| ());
        index.unwrap().manifest().index
    });
    assert_ne!(ids[0], ids[1]);
    assert_eq!(ids[0], ids[2]);
}

#[test]
fn callers_mistakes_are_named_and_send_nothing() {
    let set = Set::clustered(N, 30, DIM, K);
    let server = Server::new(sealed(&set, Routing::Downloaded)).unwrap();
    let mut transport = InProcess::new(&server);
    let client = Client::connect(&mut transport, &keys().reader(), None).unwrap();
    transport.take_exchanges();
    let mut search = |query: &[f32]| {
        client
            .search(&mut rng(1), &mut transport, query)
            .unwrap_err()
    };
    assert!(matches!(
        search(&[1.0; DIM - 1]),
        Error::Dimension {
            found: 31,
            expected: 32
        }
    ));
    assert!(matches!(
        search(&[0.0; DIM]),
        Error::Vectors(vectors::Error::ZeroVector { .. })
    ));
    let mut nan = [1.0; DIM];
    nan[7] = f32::NAN;
    assert!(matches!(
        search(&nan),
        Error::Vectors(vectors::Error::NotFinite { column: 7, .. })
    ));
    assert!(transport.take_exchanges().is_empty());

    let build = |k| build::local(&mut rng(1), &keys(), &set.base, k, &mut |_| ());
    assert!(matches!(build(0), Err(Error::K { k: 0, n: N })));
    assert!(matches!(build(N + 1), Err(Error::K { .. })));
    let plan = Plan::new(N + 1, DIM, Wish::default()).unwrap();
    let other = build::sealed(&mut rng(1), &keys(), &set.base, &plan, &mut |_| ());
    assert!(matches!(other, Err(Error::Count { found: N, .. })));
}

#[test]
fn a_tiny_set_works_too() {
    for n in [1usize, 2, 5] {
        let base = synthetic::uniform(n, 3, 1);
        let wish = Wish::default().k(n).recall(0.9).queries(1).routing(None);
        let plan = Plan::new(n, 3, wish).unwrap();
        let (rng, keys) = (&mut rng(1), keys());
        let packing = Packing::T8;
        for index in [
            build::sealed(rng, &keys, &base, &plan, &mut |_| ()).map(|built| built.index),
            build::local(rng, &keys, &base, n, &mut |_| ()),
            build::open(rng, &keys, &base, n, packing, &mut |_| ()),
            build::masked(rng, &keys, &base, n, packing, &mut |_| ()),
            build::routed(rng, &keys, &base, wish, &mut |_| ()).map(|built| built.index),
        ] {
            let server = Server::new(index.unwrap()).unwrap();
            let mut transport = InProcess::new(&server);
            let client = Client::connect(&mut transport, &keys.reader(), None).unwrap();
            let found = client.search(rng, &mut transport, base.row(0)).unwrap();
            assert_eq!(found.hits[0].id, 0u32);
            assert_eq!(found.hits.len(), n);
        }
    }
}

/// This holds even for a generator that repeats its output, with which only equal content gives
/// equal ids.
#[test]
fn one_generator_and_two_forms_make_two_ids() {
    let set = Set::clustered(N, 30, DIM, K);
    let mut ids: Vec<[u8; 16]> = [
        sealed(&set, Routing::Downloaded),
        sealed(&set, Routing::Encrypted),
        local(&set),
    ]
    .iter()
    .map(|index| index.manifest().index)
    .collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 3);
    assert_eq!(local(&set).manifest().index, local(&set).manifest().index);
}
