#![no_main]
//! Every SimplePIR message: decoding never panics, and what decodes can be used.

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use sordino_pir::Seed;
use sordino_pir::simple::{
    Answer, Client, Database, Hint, Params, Query, RawAnswer, Server, Update,
};

const SEED: Seed = Seed([1; 32]);

fn deployed() -> &'static (Params, Server, Client) {
    static DEPLOYED: OnceLock<(Params, Server, Client)> = OnceLock::new();
    DEPLOYED.get_or_init(|| {
        let params = Params::for_database(60, 3).expect("served");
        let database = Database::from_slice(&params, &[5; 180]).expect("180 bytes");
        let (server, hint) = Server::setup(database, &params, &SEED).expect("one layout");
        let client = Client::new(&params, &SEED, &hint).expect("one layout");
        (params, server, client)
    })
}

fuzz_target!(|data: &[u8]| {
    let (params, server, client) = deployed();
    if let Ok(params) = Params::from_bytes(data) {
        assert_eq!(params.to_bytes(), data);
        assert!(params.log2_failure() <= -40.0);
    }
    if let Ok(query) = Query::from_bytes(params, data) {
        assert_eq!(query.to_bytes(), data);
        let _ = server.answer(&query);
    }
    if let Ok(answer) = Answer::from_bytes(params, data) {
        let mut rng =
            <chacha20::ChaCha20Rng as chacha20::rand_core::SeedableRng>::from_seed([2; 32]);
        let (secret, _) = client.query(&mut rng, 7).expect("in range");
        let _ = client.recover(secret, &answer);
    }
    let _ = RawAnswer::from_bytes(params, data).map(|raw| raw.round());
    let _ = Hint::from_bytes(params, data).map(|hint| Client::new(params, &SEED, &hint).is_ok());
    let _ = Update::from_bytes(params, data).map(|update| update.to_bytes());
});
