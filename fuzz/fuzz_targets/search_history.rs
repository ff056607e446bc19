#![no_main]
//! Manifests that a server shows to a client that knows an older version: no bytes make up a chain.

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use rand_core::SeedableRng;
use sordino_search::{
    Client, Error, InProcess, Index, OwnerKeys, Pin, Server, Spec, Store, Transport, synthetic,
};

/// A server that answers the question about the past with these bytes.
struct Shows<'a> {
    inner: InProcess<'a>,
    body: &'a [u8],
}

impl Transport for Shows<'_> {
    fn call(&mut self, request: &[u8], limit: usize) -> Result<Vec<u8>, Error> {
        if request[6..8] != 111u16.to_le_bytes() {
            return self.inner.call(request, limit);
        }
        let len = (self.body.len() as u64).to_le_bytes();
        Ok([b"SRDN\x03\x00\x70\x00", &len[..], self.body].concat())
    }
}

fuzz_target!(|data: &[u8]| {
    static SERVER: OnceLock<Server> = OnceLock::new();
    let keys = OwnerKeys::from_master([1; 32]);
    let server = SERVER.get_or_init(|| {
        let rng = &mut chacha20::ChaCha20Rng::from_seed([2; 32]);
        let dir = std::env::temp_dir().join(format!("search_history_{}", std::process::id()));
        let batches = [Ok(synthetic::uniform(20, 8, 1).into())];
        let store = Store::create(&dir, rng, &keys, &Spec::default(), batches, &mut |_| ());
        let mut store = store.expect("a store");
        for id in 0..3u32 {
            store.delete(rng, &[id]).expect("a version");
        }
        let index = Index::open_dir(&dir, &keys.public()).expect("an index");
        std::fs::remove_dir_all(dir).expect("a directory of ours");
        Server::new(index).expect("a server")
    });
    let pin = Pin {
        index: server.manifest().index,
        version: 0,
        manifest: [1; 32],
    };
    let mut shows = Shows {
        inner: InProcess::new(server),
        body: data,
    };
    assert!(Client::connect(&mut shows, &keys.reader(), Some(&pin)).is_err());
});
