#![no_main]
//! Messages to a server in each mode: an answer or a typed error.

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use rand_core::SeedableRng;
use sordino_search::{OwnerKeys, Plan, Routing, Server, Wish, build, synthetic};

fn servers() -> Vec<Server> {
    let keys = OwnerKeys::from_master([1; 32]);
    let rng = &mut chacha20::ChaCha20Rng::from_seed([2; 32]);
    let base = synthetic::uniform(200, 8, 1);
    let mut indexes = Vec::new();
    for routing in [Routing::Downloaded, Routing::Encrypted] {
        let wish = Wish { k: 3, recall: 0.9, queries: 1, routing: Some(routing) };
        let plan = Plan::new(200, 8, wish).expect("a plan");
        let built = build::sealed(rng, &keys, &base, &plan, &mut |_| ());
        indexes.push(built.expect("an index").index);
    }
    indexes.push(build::local(rng, &keys, &base, 3, &mut |_| ()).expect("an index"));
    indexes.into_iter().map(|index| Server::new(index).expect("a server")).collect()
}

fuzz_target!(|data: &[u8]| {
    static SERVERS: OnceLock<Vec<Server>> = OnceLock::new();
    for server in SERVERS.get_or_init(servers) {
        let _ = server.handle(data);
    }
});
