//! Intersection: whoever sees what searches touch, and that some are for the same thing, finds it, however many decoys
//! hide each of them.

use std::collections::BTreeSet;

use rand::RngExt;
use sordino_pir::{Database, Params, Seed, simple};
use sordino_testkit::rng;

/// The number of records, and the bytes of each.
const RECORDS: usize = 48;
const LEN: usize = 16;
/// The number of searches for the same record, and of decoys in each.
const SEARCHES: usize = 8;
const DECOYS: usize = 15;

/// The records that every one of these searches touched.
fn intersection(views: &[BTreeSet<usize>]) -> BTreeSet<usize> {
    let (first, rest) = views.split_first().expect("a search");
    let all = |record: &&usize| rest.iter().all(|view| view.contains(*record));
    first.iter().filter(all).copied().collect()
}

/// Servers of the same records, in each of which another record is changed.
struct Servers {
    own: simple::Server,
    changed: Vec<simple::Server>,
}

impl Servers {
    fn new(params: &simple::Params, seed: &Seed, records: &[[u8; LEN]]) -> Self {
        let server = |records: &[[u8; LEN]]| {
            let database = Database::from_records(params, records).unwrap();
            simple::Server::new(database, params, seed).unwrap()
        };
        let changed = (0..records.len()).map(|at| {
            let mut records = records.to_vec();
            records[at].iter_mut().for_each(|byte| *byte ^= 0xff);
            server(&records)
        });
        Self {
            own: server(records),
            changed: changed.collect(),
        }
    }

    /// The records that an answer depends on, as anybody finds out who can change them.
    fn touched(&self, query: &simple::Query) -> BTreeSet<usize> {
        let answer = |server: &simple::Server| server.answer(query).unwrap().to_bytes();
        let own = answer(&self.own);
        let all = self.changed.iter().enumerate();
        let touched = all.filter(|(_, changed)| answer(changed) != own);
        touched.map(|(record, _)| record).collect()
    }
}

#[test]
fn what_repeats_among_decoys_is_found_and_a_private_request_touches_everything() {
    let rng = &mut rng(1);
    let records: Vec<[u8; LEN]> = (0..RECORDS).map(|_| rng.random()).collect();
    let (params, seed) = (Params::for_columns(RECORDS, LEN).unwrap(), Seed([1; 32]));
    let database = Database::from_records(&params, &records).unwrap();
    let (_, hint) = simple::Server::setup(database, &params, &seed).unwrap();
    let client = simple::Client::new(&params, &seed, &hint).unwrap();
    let servers = Servers::new(&params, &seed, &records);
    for wanted in [0, 17, RECORDS - 1] {
        // Fetches by number, among decoys.
        let among_decoys: Vec<BTreeSet<usize>> = (0..SEARCHES)
            .map(|_| {
                let decoys = (0..DECOYS).map(|_| rng.random_range(0..RECORDS));
                decoys.chain([wanted]).collect()
            })
            .collect();
        assert_eq!(intersection(&among_decoys), BTreeSet::from([wanted]));
        // Fetches by private retrieval.
        let private: Vec<BTreeSet<usize>> = (0..SEARCHES)
            .map(|_| servers.touched(&client.query(rng, wanted).unwrap().1))
            .collect();
        let all: BTreeSet<usize> = (0..RECORDS).collect();
        assert_eq!(intersection(&private), all);
    }
}
