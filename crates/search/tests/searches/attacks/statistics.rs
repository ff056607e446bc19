//! Intersection: an observer sees which records each search touches, and knows that some searches are for one record.
//! It finds this record, whatever number of decoys each search has.

use std::collections::BTreeSet;

use rand::RngExt;
use sordino_pir::{Database, Params, Seed, simple};
use sordino_testkit::rng;

/// The number of records, and the bytes of a record.
const RECORDS: usize = 48;
const LEN: usize = 16;
/// The number of searches for one record, and of decoys in each search.
const SEARCHES: usize = 8;
const DECOYS: usize = 15;

/// The records that all of these searches touched.
fn intersection(views: &[BTreeSet<usize>]) -> BTreeSet<usize> {
    let (first, rest) = views.split_first().expect("a search");
    let all = |record: &&usize| rest.iter().all(|view| view.contains(*record));
    first.iter().filter(all).copied().collect()
}

/// A server of the records, and for each record a server on which only this record differs.
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

    /// The records on which an answer depends. An attacker finds them by changing records.
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
        // The client asks by number, among decoys.
        let among_decoys: Vec<BTreeSet<usize>> = (0..SEARCHES)
            .map(|_| {
                let decoys = (0..DECOYS).map(|_| rng.random_range(0..RECORDS));
                decoys.chain([wanted]).collect()
            })
            .collect();
        assert_eq!(intersection(&among_decoys), BTreeSet::from([wanted]));
        // The client uses private retrieval.
        let private: Vec<BTreeSet<usize>> = (0..SEARCHES)
            .map(|_| servers.touched(&client.query(rng, wanted).unwrap().1))
            .collect();
        let all: BTreeSet<usize> = (0..RECORDS).collect();
        assert_eq!(intersection(&private), all);
    }
}
