//! Searches that share passes find the same as separate searches.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

use sordino_search::manifest::Packing;
use sordino_search::payload::FetchKind;
use sordino_search::{
    Client, Error, Form, InProcess, Routing, Server, Spec, Together, Transport, Vectors, synthetic,
};
use sordino_testkit::{WAYS, by, connect, create, rng, serve};

const N: usize = 2500;
const DIM: usize = 16;
const K: usize = 3;
const THREADS: usize = 5;

fn forms() -> [Form; 5] {
    let sealed = Form::Sealed {
        recall: 0.8,
        queries: 10,
        routing: Some(Routing::Encrypted),
    };
    [
        Form::Masked(Packing::T4),
        Form::Open(Packing::T8),
        Form::Routed {
            recall: 0.9,
            queries: 20,
        },
        Form::Local,
        sealed,
    ]
}

fn with_server(form: Form, work: impl FnOnce(&Server, &Client, &Vectors)) {
    with_server_of(&Spec::new(form), work);
}

/// Like `with_server`, for an index whose payloads are fetched in this way.
fn with_server_by(way: FetchKind, work: impl FnOnce(&Server, &Client, &Vectors)) {
    let spec = by(way, Spec::new(Form::Masked(Packing::T4)));
    with_server_of(&spec, |server, client, queries| {
        let payloads = server.manifest().payloads.as_ref().expect("payloads");
        assert_eq!(payloads.fetch.kind(), way);
        work(server, client, queries);
    });
}

fn with_server_of(spec: &Spec, work: impl FnOnce(&Server, &Client, &Vectors)) {
    let (base, queries) = synthetic::clustered(N, 23, DIM, 7);
    let payloads = (0..N).map(|id| format!("record {id}").repeat(50).into_bytes());
    let batch = sordino_search::Batch::from(base).with_payloads(payloads.collect());
    let (dir, _) = create(&spec.clone().k(K), batch);
    let server = serve(dir.path());
    work(&server, &connect(&server), &queries);
}

#[test]
fn every_mode_finds_the_same_together() {
    forms()
        .into_iter()
        .for_each(|form| with_server(form, same_together));
}

#[test]
fn every_way_finds_the_same_together() {
    WAYS.into_iter()
        .for_each(|way| with_server_by(way, same_together));
}

fn same_together(server: &Server, client: &Client, queries: &Vectors) {
    let mut alone = InProcess::new(server);
    let expected = queries.rows().enumerate().map(|(at, query)| {
        let found = client.search(&mut rng(at as u64), &mut alone, query);
        let found = found.expect("an answer");
        (found.hits, found.payloads)
    });
    let expected: Vec<_> = expected.collect();
    let together = Together::new(server);
    let members: Vec<_> = (0..THREADS).map(|_| together.member()).collect();
    // The threads have different numbers of searches. The last searches do not wait for threads
    // that have ended.
    let found = thread::scope(|scope| {
        let search = |(first, mut member): (usize, sordino_search::Member<'_>)| {
            let mine = (first..queries.len()).step_by(THREADS);
            mine.map(|at| {
                let found = client.search(&mut rng(at as u64), &mut member, queries.row(at));
                let found = found.expect("an answer");
                (at, (found.hits, found.payloads))
            })
            .collect::<Vec<_>>()
        };
        let threads = members.into_iter().enumerate();
        let threads: Vec<_> = threads
            .map(|each| scope.spawn(move || search(each)))
            .collect();
        let found = threads.into_iter().map(|thread| thread.join());
        found
            .flat_map(|found| found.expect("no panic"))
            .collect::<Vec<_>>()
    });
    assert_eq!(found.len(), expected.len());
    for (at, found) in found {
        assert_eq!(found, expected[at], "query {at}");
    }
}

#[test]
fn a_refusal_is_of_its_request_alone() {
    with_server(Form::Masked(Packing::T4), |server, client, queries| {
        let together = Together::new(server);
        let (mut good, mut bad) = (together.member(), together.member());
        thread::scope(|scope| {
            let refused = scope.spawn(move || bad.call(b"no request", 100));
            let found = client.search(&mut rng(1), &mut good, queries.row(0));
            assert_eq!(found.expect("an answer").hits.len(), K);
            assert!(good.take_server_time() > std::time::Duration::ZERO);
            assert_eq!(good.take_server_time(), std::time::Duration::ZERO);
            let refused = refused.join().expect("no panic");
            assert!(matches!(refused, Err(Error::Malformed { .. })));
        });
    });
}

#[test]
fn a_thread_that_panics_leaves_nobody_waiting() {
    with_server(Form::Masked(Packing::T4), |server, client, queries| {
        let together = Together::new(server);
        let (mut other, member) = (together.member(), together.member());
        thread::scope(|scope| {
            let waits = scope.spawn(move || client.search(&mut rng(1), &mut other, queries.row(0)));
            let panics = || {
                let _member = member;
                while together.waiting() == 0 {
                    thread::yield_now();
                }
                std::panic::resume_unwind(Box::new("on purpose"));
            };
            assert!(catch_unwind(AssertUnwindSafe(panics)).is_err());
            let found = waits.join().expect("no panic");
            assert!(matches!(found, Err(Error::Transport { .. })));
        });
    });
}
