#![no_main]
//! Messages to a server in each mode: an answer or a typed error. And the heads of shards' replies.

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use rand_core::SeedableRng;
use sordino_index::shard::Head;
use sordino_search::manifest::Packing;
use sordino_search::{OwnerKeys, Plan, Routing, Server, Wish, build, synthetic};

fn servers() -> Vec<Server> {
    let keys = OwnerKeys::from_master([1; 32]);
    let rng = &mut chacha20::ChaCha20Rng::from_seed([2; 32]);
    let base = synthetic::uniform(200, 8, 1);
    let mut indexes = Vec::new();
    for routing in [Routing::Downloaded, Routing::Encrypted, Routing::Hashed] {
        let wish = Wish {
            k: 3,
            recall: 0.9,
            queries: 1,
            routing: Some(routing),
            ..Wish::default()
        };
        let plan = Plan::new(200, 8, wish).expect("a plan");
        let built = build::sealed(rng, &keys, &base, &plan, &mut |_| ());
        indexes.push(built.expect("an index").index);
    }
    indexes.push(build::local(rng, &keys, &base, 3, &mut |_| ()).expect("an index"));
    let packing = Packing::T8;
    indexes.push(build::open(rng, &keys, &base, 3, packing, &mut |_| ()).expect("an index"));
    indexes.push(build::masked(rng, &keys, &base, 3, packing, &mut |_| ()).expect("an index"));
    let wish = Wish {
        k: 3,
        queries: 1,
        ..Wish::default()
    };
    let routed = build::routed(rng, &keys, &base, wish, &mut |_| ());
    indexes.push(routed.expect("an index").index);
    indexes
        .into_iter()
        .map(|index| Server::new(index).expect("a server"))
        .collect()
}

fuzz_target!(|data: &[u8]| {
    static SERVERS: OnceLock<Vec<Server>> = OnceLock::new();
    if let Ok((head, rest)) = Head::read(data) {
        assert_eq!([&head.to_bytes()[..], rest].concat(), data);
    }
    for server in SERVERS.get_or_init(servers) {
        let _ = server.handle(data);
        // A request about another version is refused at once: name the one that is served.
        let mut current = data.to_vec();
        if let Some(edition) = current.get_mut(16..40) {
            edition[..8].copy_from_slice(&server.manifest().version.to_le_bytes());
            edition[8..].copy_from_slice(&server.manifest().digest()[..16]);
            let _ = server.handle(&current);
        }
    }
});
