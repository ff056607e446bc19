//! Processes that share a folder of downloaded parts, while the clock jumps. The server sees which public parts the
//! folder had already. About the searches, it sees no more than about any two clients' searches.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::time::{Duration, SystemTime};

use sordino_search::{Cache, Client, ConnectOptions, Server};
use sordino_testkit::{Hostile, SCORE, keys, kind, rng};

use super::bed::{agreement, vectors, without_hint};

const N: usize = 700;
const CLIENTS: usize = 6;
const GET_MANIFEST: u16 = 101;
const GET_PARTS: u16 = 103;
/// Numbers of bytes: a message's head, the edition, and at least the bytes before a query's
/// numbers.
const HEAD: usize = 16;
const EDITION: usize = 24;
const HEADS: usize = 160;

/// Payloads are fetched without a hint, so clients have sessions.
fn server() -> Server {
    without_hint(N, |_| 900)
}

/// The messages of a new process that connects and searches for a record's vector: the messages before the search, and the
/// messages of the search.
fn process(server: &Server, cache: &Cache, state: u64, row: usize) -> [Vec<Vec<u8>>; 2] {
    let mut transport = Hostile::new(server, |_: &[u8], _: &mut Vec<u8>| ());
    let reader = keys().reader();
    let client = Client::connect_with(
        &mut transport,
        &reader,
        ConnectOptions::default().cache(Some(cache)),
    )
    .unwrap();
    let vectors = vectors(N);
    let query = vectors.row(row);
    let found = client.search(&mut rng(state), &mut transport, query);
    assert_eq!(found.unwrap().hits[0].id, row as u64);
    let mut requests = transport.requests;
    let first = requests.iter().position(|it| kind(it) == SCORE).unwrap();
    let searches = requests.split_off(first);
    [requests, searches]
}

fn parts(request: &[u8]) -> Vec<u16> {
    let (numbers, rest) = request[HEAD + EDITION..].as_chunks();
    assert!(rest.is_empty());
    numbers
        .iter()
        .map(|number| u16::from_le_bytes(*number))
        .collect()
}

#[test]
fn processes_with_one_cache_show_the_parts_that_were_there_and_no_more() {
    let server = server();
    let folder = tempfile::tempdir().unwrap();
    let cache = &Cache::new(folder.path(), u64::MAX);
    let [_, expected] = process(&server, &Cache::new(folder.path().join("none"), 0), 99, 1);
    let all: Vec<[Vec<Vec<u8>>; 2]> = std::thread::scope(|scope| {
        let server = &server;
        let started =
            (0..CLIENTS).map(|at| scope.spawn(move || process(server, cache, at as u64, 10 * at)));
        let started: Vec<_> = started.collect();
        started.into_iter().map(|it| it.join().unwrap()).collect()
    });
    let known = server.manifest().parts().unwrap();
    for [downloads, searches] in &all {
        // The downloads contain only part numbers, each once, in ascending order.
        assert_eq!(kind(&downloads[0]), GET_MANIFEST);
        assert_eq!(downloads[0].len(), HEAD);
        let asked = downloads[1..].iter().flat_map(|request| {
            assert_eq!(kind(request), GET_PARTS);
            parts(request)
        });
        let asked: Vec<u16> = asked.collect();
        assert!(asked.is_sorted_by(|a, b| a < b), "{asked:?}");
        assert!(asked.iter().all(|&part| usize::from(part) < known.len()));
        let sizes = |messages: &[Vec<u8>]| -> Vec<(u16, usize)> {
            let sizes = messages.iter().map(|it| (kind(it), it.len()));
            sizes.collect()
        };
        assert_eq!(sizes(searches), sizes(&expected));
    }
    // The searches of one process have nothing in common with another's, not even a session.
    for (at, [_, one]) in all.iter().enumerate() {
        for [_, other] in &all[..at] {
            for (one, other) in one.iter().zip(other) {
                let part = agreement(&one[HEADS..], &other[HEADS..]);
                assert!(part < 0.02, "{part} of the bytes are equal");
            }
        }
    }
    // Processes that also share their generator's state send the same searches, whatever the folder contains.
    let [downloads, again] = process(&server, cache, 3, 30);
    assert_eq!((downloads.len(), &again), (1, &all[3][1]));
    // The folder has only public parts.
    let digests: BTreeSet<String> = known
        .iter()
        .map(|part| {
            part.digest
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect()
        })
        .collect();
    for file in fs::read_dir(folder.path()).unwrap() {
        let name = file.unwrap().file_name().into_string().unwrap();
        assert!(digests.contains(&name), "{name}");
    }
}

#[test]
fn a_clock_that_jumps_changes_no_message() {
    let server = server();
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::new(folder.path(), u64::MAX);
    let [all, first] = process(&server, &cache, 1, 3);
    assert!(all.len() > 1);
    // The folder's files have times before 1970 and a hundred years from now.
    let later = SystemTime::now() + Duration::from_secs(100 * 365 * 24 * 3600);
    for time in [SystemTime::UNIX_EPOCH, later] {
        for file in fs::read_dir(folder.path()).unwrap() {
            let file = File::options().write(true).open(file.unwrap().path());
            file.unwrap().set_modified(time).unwrap();
        }
        cache.trim().unwrap();
        let [downloads, search] = process(&server, &cache, 1, 3);
        assert_eq!(downloads.len(), 1);
        assert_eq!(search, first);
    }
    // An empty folder makes the client download all parts again.
    Cache::new(folder.path(), 0).trim().unwrap();
    assert_eq!(process(&server, &cache, 1, 3), [all, first]);
}
