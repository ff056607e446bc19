#![no_main]
//! Manifests that a server shows to a client that knows an older version. No bytes may be accepted
//! as a chain of versions.

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use sordino_fuzz::{changed_server, owner};
use sordino_search::{Client, Error, InProcess, Pin, Server, Transport};

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
        // The bytes follow the head of a reply in the current form.
        let honest = self.inner.call(request, limit)?;
        let len = (self.body.len() as u64).to_le_bytes();
        Ok([&honest[..8], &len, self.body].concat())
    }
}

fuzz_target!(|data: &[u8]| {
    static SERVER: OnceLock<Server> = OnceLock::new();
    let server = SERVER.get_or_init(changed_server);
    let pin = Pin {
        index: server.manifest().index,
        version: 0,
        manifest: [1; 32],
    };
    let mut shows = Shows {
        inner: InProcess::new(server),
        body: data,
    };
    assert!(Client::connect(&mut shows, &owner().reader(), Some(&pin)).is_err());
});
