//! The client in a separate process under memcheck. The test marks everything secret as undefined memory, and memcheck
//! reports every branch and every address that depends on it.
//!
//! `scripts/constant_time.sh` runs this test. Outside valgrind the marks do nothing, and the test only checks that records
//! are recovered. One comparison of an index is allowed, the check of its range, which `scripts/constant_time.supp` lists.

#![cfg(all(target_arch = "x86_64", not(miri)))]

use chacha20::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};
use sordino_lattice::sample::{gaussian::Sampler, stream::Stream};
use sordino_memcheck::{SecretRng, is_watching, public, secret};
use sordino_pir::{Database, Params, Security, Seed, double, hintless, simple};

fn secret_index(index: usize) -> usize {
    let index = [index];
    secret(&index);
    std::hint::black_box(index[0])
}

fn rng() -> SecretRng<ChaCha20Rng> {
    SecretRng(ChaCha20Rng::from_seed([1; 32]))
}

#[test]
fn the_marks_are_seen_when_valgrind_runs() {
    // Fails if the script asked for valgrind and the test does not run under it.
    if !is_watching() {
        println!("not under valgrind: secrets are not tracked");
    }
}

#[test]
fn sampling_does_not_branch_on_randomness() {
    let mut samples = [0; 40];
    let mut seed = [0; 32];
    rng().fill_bytes(&mut seed);
    Sampler::new(32, 1).fill(&mut Stream::new(&seed, 0), &mut samples);
    public(&samples);
    assert!(samples.iter().any(|x| *x != 0));
}

#[test]
fn simple_clients_do_not_branch_on_index_or_secret() {
    // Uniform secrets, then Gaussian ones.
    let params = Params::for_database(300, 5).unwrap();
    simple_client_does_not_branch(&params);
    let params = params.with_room(30_000, Security::Classical128).unwrap();
    assert!(!params.set().has_uniform_secrets());
    simple_client_does_not_branch(&params);
}

#[expect(clippy::unwrap_used, reason = "a test fails by panicking")]
fn simple_client_does_not_branch(params: &simple::Params) {
    let bytes: Vec<u8> = (0..1500u16).map(|i| i.to_le_bytes()[0]).collect();
    let database = Database::from_slice(params, &bytes).unwrap();
    let seed = Seed([1; 32]);
    let (server, hint) = simple::Server::setup(database, params, &seed).unwrap();
    let client = simple::Client::new(params, &seed, &hint).unwrap();
    let mut rng = rng();
    let fresh = client.query(&mut rng, secret_index(299)).unwrap();
    let prepared = client.prepare(&mut rng, 1).pop().unwrap();
    let prepared = client.query_prepared(prepared, secret_index(17)).unwrap();
    for ((secret, query), index) in [(fresh, 299), (prepared, 17)] {
        let answer = server.answer(&query).unwrap();
        let record = client.recover(secret, &answer).unwrap();
        public(&record);
        assert_eq!(record, bytes[5 * index..5 * index + 5]);
    }
}

#[test]
fn double_clients_do_not_branch_on_index_or_secret() {
    let params = Params::for_double_with(60, 1, 5).unwrap();
    double_client_does_not_branch(&params);
    let params = params.with_room(10_000, Security::Classical128).unwrap();
    assert!(!params.set().has_uniform_secrets());
    double_client_does_not_branch(&params);
}

#[expect(clippy::unwrap_used, reason = "a test fails by panicking")]
fn double_client_does_not_branch(params: &double::Params) {
    let bytes: Vec<u8> = (0..60).collect();
    let database = Database::from_slice(params, &bytes).unwrap();
    let seed = Seed([1; 32]);
    let (server, hint) = double::Server::setup(database, params, &seed).unwrap();
    let client = double::Client::new(params, &seed, &hint).unwrap();
    let mut rng = rng();
    let (secret, query) = client.query(&mut rng, secret_index(41)).unwrap();
    let answer = server.answer(&query).unwrap();
    let record = client.recover(secret, &answer).unwrap();
    public(&record);
    assert_eq!(record, bytes[41..42]);
}

#[test]
fn hintless_clients_do_not_branch_on_index_or_secret() {
    let seed = Seed([1; 32]);
    let mut rng = rng();
    let (session, keys) = hintless::Session::new(&mut rng);
    let keys = keys.to_bytes();
    public(&keys);
    // The name of the keys is public, and the session has computed it from them.
    public(session.digest());
    let keys = hintless::Evaluation::from(&hintless::Keys::from_bytes(&keys).unwrap());
    // One record in a unit, and several; one slot, and several; records of one row, and of several.
    for (records, len, batch) in [(5, 2000, 1), (30, 150, 1), (30, 150, 3), (150, 1792, 2)] {
        let params = hintless::Params::new(records, len, batch).unwrap();
        let of = |i: usize| vec![i.to_le_bytes()[0]; len];
        let database = hintless::Database::from_records(&params, &seed, (0..records).map(of));
        let server = hintless::Server::from(database.unwrap());
        let client = hintless::Client::new(&params, &seed);
        let wanted: Vec<_> = (0..batch).map(|i| records - 1 - 9 * i).collect();
        let asked: Vec<_> = wanted.iter().map(|index| secret_index(*index)).collect();
        let (asked, query) = client.query(&mut rng, &session, &asked).unwrap();
        let query = query.to_bytes();
        public(&query);
        let query = hintless::Query::from_bytes(&params, &query).unwrap();
        let answer = server.answer(&keys, &query).unwrap();
        let found = client.recover(&session, asked, &answer).unwrap();
        for (found, index) in found.iter().zip(wanted) {
            let found = found.as_ref().unwrap();
            public(found);
            assert_eq!(found, &of(index));
        }
    }
}
