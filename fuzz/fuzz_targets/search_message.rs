#![no_main]
//! Messages to a server in each mode, which give an answer or a typed error. Also the heads of
//! shards' replies.

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use sordino_fuzz::{current, servers};
use sordino_index::shard::Head;
use sordino_search::Server;

fuzz_target!(|data: &[u8]| {
    static SERVERS: OnceLock<Vec<Server>> = OnceLock::new();
    if let Ok((head, rest)) = Head::read(data) {
        assert_eq!([&head.to_bytes()[..], rest].concat(), data);
    }
    for server in SERVERS.get_or_init(servers) {
        let _ = server.handle(data);
        let _ = server.handle(&current(server, data));
    }
});
