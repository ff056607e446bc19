//! The parties: small indexes, keys, a server, clients.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use rand::SeedableRng;
use rand::rngs::StdRng;
use sordino_net::{
    Access, ClientKey, Connection, Endpoint, Identity, Limits, Listen, Running, Service,
};
use sordino_search::manifest::Packing;
use sordino_search::recall::{self, Truth};
use sordino_search::{
    Client, Index, OwnerKeys, Plan, Routing, Server, Transport, Vectors, Wish, build, synthetic,
};

pub(crate) const N: usize = 3000;
pub(crate) const DIM: usize = 32;
pub(crate) const K: usize = 10;

pub(crate) struct Set {
    pub(crate) base: Vectors,
    pub(crate) queries: Vectors,
    pub(crate) truth: Truth,
}

pub(crate) fn set() -> Set {
    let (base, queries) = synthetic::clustered(N, 20, DIM, 11);
    let truth = recall::exact(&base, &queries, K);
    Set {
        base,
        queries,
        truth,
    }
}

pub(crate) fn rng(seed: u64) -> StdRng {
    StdRng::seed_from_u64(seed)
}

pub(crate) fn owner() -> OwnerKeys {
    OwnerKeys::from_master([5; 32])
}

pub(crate) fn client_key() -> ClientKey {
    ClientKey::from_seed(&[6; 32])
}

/// The names of the forms, and what each finds at least.
pub(crate) const FORMS: [(&str, f64); 6] = [
    ("sealed, centroids downloaded", 0.85),
    ("sealed, centroids scored", 0.85),
    ("local", 0.97),
    ("open", 0.99),
    ("masked", 0.99),
    ("routed", 0.85),
];

pub(crate) fn index(form: usize, set: &Set) -> Index {
    let (rng, keys) = (&mut rng(1), owner());
    let sealed = |rng: &mut StdRng, routing| {
        let wish = Wish::default()
            .k(K)
            .recall(0.9)
            .queries(10)
            .routing(Some(routing));
        let plan = Plan::new(N, DIM, wish).expect("a plan");
        build::sealed(rng, &keys, &set.base, &plan, &mut |_| ()).map(|built| built.index)
    };
    let built = match form {
        0 => sealed(rng, Routing::Downloaded),
        1 => sealed(rng, Routing::Encrypted),
        2 => build::local(rng, &keys, &set.base, K, &mut |_| ()),
        3 => build::open(rng, &keys, &set.base, K, Packing::T4, &mut |_| ()),
        4 => build::masked(rng, &keys, &set.base, K, Packing::T4, &mut |_| ()),
        _ => {
            let wish = Wish::default().k(K).recall(0.9).queries(10).routing(None);
            build::routed(rng, &keys, &set.base, wish, &mut |_| ()).map(|built| built.index)
        }
    };
    built.expect("an index")
}

pub(crate) fn server(form: usize, set: &Set) -> Server {
    Server::new(index(form, set)).expect("a server")
}

/// An address on which nothing else listens.
pub(crate) fn loopback() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 0))
}

/// A certificate for this test, and who vouches for it: itself.
pub(crate) struct Certificate {
    pub(crate) pem: String,
    pub(crate) key: String,
}

pub(crate) fn certificate() -> Certificate {
    let names = vec!["localhost".to_owned()];
    let made = rcgen::generate_simple_self_signed(names).expect("a certificate");
    Certificate {
        pem: made.cert.pem(),
        key: made.signing_key.serialize_pem(),
    }
}

/// A server without TLS for all clients.
pub(crate) fn open_door(server: Server, limits: Limits) -> Running {
    let service = Service::new(server, &Access::Anyone, limits).expect("a service");
    service.listen(&Listen::on(loopback())).expect("a port")
}

/// A server without TLS for the holder of [`client_key`], and of another.
pub(crate) fn signed_door(server: Server, limits: Limits) -> Running {
    let other = ClientKey::from_seed(&[7; 32]);
    let access = Access::Keys(vec![client_key().public().clone(), other.public().clone()]);
    let service = Service::new(server, &access, limits).expect("a service");
    service.listen(&Listen::on(loopback())).expect("a port")
}

/// A server with TLS for the holder of [`client_key`].
pub(crate) fn locked_door(server: Server, certificate: &Certificate) -> Running {
    let access = Access::Keys(vec![client_key().public().clone()]);
    let service = Service::new(server, &access, Limits::default()).expect("a service");
    let identity = Identity::from_pem(&certificate.pem, &certificate.key);
    let listen = Listen::on(loopback()).metrics(loopback()).tls(identity);
    service.listen(&listen).expect("a port")
}

/// Waits until it is so. A minute is no measure of speed: a test that waits that long waits for ever.
#[track_caller]
pub(crate) fn until(mut so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !so() {
        assert!(start.elapsed() < Duration::from_secs(60), "it never is");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Waits until the server's metrics have this line.
#[track_caller]
pub(crate) fn until_metric(running: &Running, line: &str) {
    let line = format!("sordino_{line}\n");
    until(|| running.service().metrics().contains(&line));
}

pub(crate) fn endpoint(running: &Running) -> Endpoint {
    Endpoint::new(format!("http://{}", running.address()))
}

pub(crate) fn connect(running: &Running) -> Connection {
    Connection::open(endpoint(running)).expect("a connection")
}

pub(crate) fn connect_tls(running: &Running, certificate: &Certificate) -> Connection {
    let endpoint = Endpoint::new(format!("https://{}", running.address()))
        .roots(certificate.pem.as_bytes())
        .name("localhost")
        .key(client_key());
    Connection::open(endpoint).expect("a connection")
}

/// A message without a body, as the search protocol writes it.
pub(crate) fn message(kind: u16, body: &[u8]) -> Vec<u8> {
    let len = (body.len() as u64).to_le_bytes();
    [b"SRDN\x04\x00", &kind.to_le_bytes()[..], &len, body].concat()
}

pub(crate) const GET_MANIFEST: u16 = 101;
pub(crate) const GET_PARTS: u16 = 103;
pub(crate) const SCORE: u16 = 105;

/// Passes messages on and keeps the requests.
struct Recorder<'a>(&'a Server, Vec<Vec<u8>>);

impl Transport for Recorder<'_> {
    fn call(&mut self, request: &[u8], _: usize) -> Result<Vec<u8>, sordino_search::Error> {
        self.1.push(request.to_vec());
        self.0.handle(request)
    }
}

/// The request for what a client of this server downloads once.
pub(crate) fn parts_request(server: &Server) -> Vec<u8> {
    let mut recorder = Recorder(server, Vec::new());
    Client::connect(&mut recorder, &owner().reader(), None).expect("a client");
    recorder.1.pop().expect("a request")
}
