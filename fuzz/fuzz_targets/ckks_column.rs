#![no_main]
//! Messages of column packing: decoding never panics, and what decodes can be used.

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use rand_core::SeedableRng;
use sordino_ckks::column::{Client, Combination, Database, Hint, HintDelta, Params, Query, Reply};

const SEED: [u8; 32] = [1; 32];
const DIM: usize = 3;
const COUNT: usize = 5;

/// A deployment with rounded answers, and the client of one with whole answers.
fn deployed() -> &'static (Database, Hint, Client, Client) {
    static DEPLOYED: OnceLock<(Database, Hint, Client, Client)> = OnceLock::new();
    DEPLOYED.get_or_init(|| {
        let vectors = [0.5; COUNT * DIM];
        let [rounded, whole] = [Params::real_t4(), Params::real_t4().whole()].map(|params| {
            let (database, hint) =
                Database::encode(&params, SEED, &vectors, DIM).expect("short vectors");
            let client = Client::new(&params, SEED, DIM, COUNT, &hint).expect("one shape");
            (database, hint, client)
        });
        let (database, hint, client) = rounded;
        (database, hint, client, whole.2)
    })
}

fuzz_target!(|data: &[u8]| {
    let (database, hint, client, whole) = deployed();
    if let Ok(query) = Query::from_bytes(data) {
        assert_eq!(query.to_bytes(), data);
        let _ = database.score(&query);
    }
    if let Ok(reply) = Reply::from_bytes(data) {
        assert_eq!(reply.to_bytes(), data);
        let blocks = reply.len().div_ceil(reply.params().block_vectors());
        let mut joined = Vec::new();
        Reply::join(&[data], [(0, blocks)], &mut joined).expect("it is all of it");
        assert_eq!(joined, data);
        // Joining twice the number of parts must not panic, and joining an empty list must not
        // panic.
        let _ = Reply::join(&[data, data], [(0, blocks), (1, blocks)], &mut joined);
        let mut rng = chacha20::ChaCha20Rng::from_seed([1; 32]);
        let (secret, _) = client
            .encrypt(&mut rng, &[0.5; DIM])
            .expect("a short query");
        let _ = client.decrypt(secret, &reply);
        let weights = vec![u64::MAX; reply.len()];
        let weighted = reply.weighted(0, &[&weights, &weights]);
        assert_eq!(weighted.is_ok(), reply.params().is_whole());
    }
    if let Ok(combination) = Combination::from_bytes(data) {
        assert_eq!(*combination.to_bytes(), data);
        let mut rng = chacha20::ChaCha20Rng::from_seed([1; 32]);
        // A query of the parameter set that combinations use.
        let (_, query) = whole.encrypt(&mut rng, &[0.5; DIM]).expect("a short query");
        let _ = combination.of(&query);
    }
    if let Ok(hint) = Hint::from_bytes(data) {
        assert_eq!(hint.to_bytes(), data);
        let _ = Client::new(&Params::real_t4(), SEED, DIM, COUNT, &hint);
    }
    if let Ok((database, hint)) = Database::from_bytes(data) {
        assert!(database.hint() == hint);
        let mut again = Vec::new();
        database.write_to(&mut again).expect("into memory");
        assert_eq!(again, data);
    }
    if let Ok(delta) = HintDelta::from_bytes(data) {
        assert_eq!(delta.to_bytes(), data);
        let _ = hint.clone().apply(&delta);
    }
});
