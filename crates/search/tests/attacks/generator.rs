//! Bytes of a generator are never shown. A copy of it, in a child process or a restored machine, may make a
//! secret of what this one shows.

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use sordino_search::manifest::Packing;
use sordino_search::{
    Client, Error, InProcess, OwnerKeys, Plan, Routing, Server, Transport, Wish, build, synthetic,
};

const DIM: usize = 16;

fn rng() -> StdRng {
    StdRng::seed_from_u64(8)
}

/// Keeps all that goes over the wire.
struct Wire<'a> {
    inner: InProcess<'a>,
    seen: Vec<Vec<u8>>,
}

impl Wire<'_> {
    /// True if anything that was sent holds bytes that the generator gives.
    fn shows(&self, bytes_of_generator: &[u8]) -> bool {
        let given: std::collections::HashSet<&[u8]> = bytes_of_generator.chunks_exact(8).collect();
        let mut windows = self.seen.iter().flat_map(|message| message.windows(8));
        windows.any(|window| given.contains(window))
    }
}

impl Transport for Wire<'_> {
    fn call(&mut self, request: &[u8], limit: usize) -> Result<Vec<u8>, Error> {
        let reply = self.inner.call(request, limit)?;
        self.seen.push(request.to_vec());
        self.seen.push(reply.clone());
        Ok(reply)
    }
}

#[test]
fn neither_an_index_nor_a_search_shows_bytes_of_the_generator() {
    let keys = OwnerKeys::from_master([6; 32]);
    let (base, queries) = synthetic::clustered(600, 1, DIM, 4);
    let sealed = |routing| {
        let wish = Wish {
            k: 5,
            recall: 0.9,
            queries: 10,
            routing: Some(routing),
            ..Wish::default()
        };
        let plan = Plan::new(600, DIM, wish).unwrap();
        let built = build::sealed(&mut rng(), &keys, &base, &plan, &mut |_| ());
        built.unwrap().index
    };
    let masked = build::masked(&mut rng(), &keys, &base, 5, Packing::T4, &mut |_| ());
    // More than the largest of these draws.
    let mut stream = vec![0; 1 << 20];
    rng().fill_bytes(&mut stream);
    let indexes = Routing::ALL.map(sealed);
    let wish = Wish {
        k: 5,
        ..Wish::default()
    };
    let routed = build::routed(&mut rng(), &keys, &base, wish, &mut |_| ());
    let scored = [masked.unwrap(), routed.unwrap().index];
    for index in indexes.into_iter().chain(scored) {
        let server = Server::new(index).unwrap();
        let mut wire = Wire {
            inner: InProcess::new(&server),
            seen: Vec::new(),
        };
        let client = Client::connect(&mut wire, &keys.reader(), None).unwrap();
        client
            .search(&mut rng(), &mut wire, queries.row(0))
            .unwrap();
        assert!(!wire.shows(&stream));
        wire.seen.push(stream[64..80].to_vec());
        assert!(wire.shows(&stream));
    }
}
